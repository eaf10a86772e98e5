package dhruva

import (
	"fmt"
	"time"
)

// HeadMove is one entry of a space's reflog: the head of a branch went from one
// checkpoint to another.
type HeadMove struct {
	Tenant TenantID
	Space  SpaceID
	Branch string
	// Seq counts the moves of all branches of the space, from 1.
	Seq  int64
	From Hash // zero when the branch was made
	To   Hash // zero when the branch was taken away
	// Act is what was done: commit, merge, revert, fork, undo, redo, delete.
	Act string
	// Undoes is the number of the move that this one takes back, 0 when it takes
	// none back.
	Undoes int64
	By     PrincipalID
	At     time.Time
}

// HeadMoveQuery selects head moves of a space, the newest (greatest Seq) first.
type HeadMoveQuery struct {
	Space  SpaceID
	Branch string // "" means any
	Before int64  // selects those with a smaller Seq; 0: all
	Limit  int    // as Page.Limit
}

// HeadMoveRows are the reflogs of the scope's spaces.
type HeadMoveRows interface {
	// AppendHeadMove inserts; an existing (space, seq) is ErrConflict.
	AppendHeadMove(HeadMove) error
	HeadMoves(HeadMoveQuery) ([]HeadMove, error)
}

// Validate is as said in row.go; numbers start at 1.
func (m HeadMove) Validate() error {
	if m.Seq < 1 {
		return fmt.Errorf("%w: head move: number %d", ErrInvalid, m.Seq)
	}
	return firstError(validKey("head move", string(m.Tenant), string(m.Space), m.Branch, m.Act),
		ValidText("head move", string(m.By)), validTime("head move", m.At))
}

// Canonical is as said in row.go.
func (m HeadMove) Canonical() HeadMove {
	m.At = Micros(m.At)
	return m
}
