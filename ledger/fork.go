package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/dhruva-memory/dhruva"
)

// ForkInput says what to fork.
type ForkInput struct {
	// Checkpoint is a hash, prefix or UUID.
	Checkpoint string
	// Session and Seq name a turn instead: what was said up to it is copied into
	// the new session. A message is to be said anew there, so that the copies end
	// before it; an answer is the last of them.
	Session dhruva.SessionID
	Seq     int64
	// Scope is which turns are copied; "" is the path.
	Scope ForkScope
	// Branch is the new branch; "" makes one of today's date. A name that is
	// taken, and "main", are refused.
	Branch string
	Title  string // "" is "Fork from <hash7>", or "Fork of <title>" from a turn
	// Provider and Model are, from a turn, those of its session when both are "".
	Provider, Model string
}

// ForkScope is which turns a fork from a turn copies.
type ForkScope string

// The scopes.
const (
	// ForkPath: the conversation that leads to the turn. The copies are numbered
	// anew, from 1.
	ForkPath ForkScope = "path"
	// ForkRelated: also what branches off on the way, the versions that edits and
	// regenerations left aside with all that followed them, but nothing that
	// follows the turn. Numbered anew.
	ForkRelated ForkScope = "related"
	// ForkAll: every turn of the session, under its own number; the tip is the
	// turn.
	ForkAll ForkScope = "all"
)

// active is the disposition of a new branch.
const active = "active"

// Fork makes a session on a new branch whose head is the checkpoint, without
// turns; or, from a turn, one with copies of what was said up to it, on a new
// branch whose head is the one that the turn's session is at. The branch exists
// from now on, so that no other fork can share it. Needs state:write.
//
// Copies keep their words and times, and what they say is the same source with one
// more reference. The fork's context is what the session's own was at that turn:
// copies that its window did not show are not shown in the fork's, and those of
// requests that had begun before its boundary are left out (but with ForkAll).
// More than Limits.ForkTurns of them are ErrTooLarge. A fork of a FRESH session
// is FRESH, and has no branch.
func (l *Ledger) Fork(ctx context.Context, in ForkInput) (dhruva.Session, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Session{}, wrap("fork", err)
	}
	s, err := l.fork(ctx, p, in)
	return s, wrap("fork", err)
}

func (l *Ledger) fork(ctx context.Context, p dhruva.Principal, in ForkInput) (out dhruva.Session, err error) {
	if in.Session == "" && (in.Seq != 0 || in.Scope != "") || in.Session != "" && in.Checkpoint != "" {
		return out, fmt.Errorf("%w: fork from a checkpoint, or from a turn of a session", dhruva.ErrInvalid)
	}
	if in.Session != "" {
		return l.forkTurn(ctx, p, in)
	}
	if in.Branch, err = l.freshBranch(in.Branch); err != nil {
		return out, err
	}
	var source dhruva.Checkpoint
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		source, err = checkpointIn(tx, p, "", in.Checkpoint)
		return err
	})
	if err != nil {
		return out, err
	}
	if strings.TrimSpace(in.Title) == "" {
		in.Title = "Fork from " + source.Hash.Short()
	}
	draft, err := l.newSession(p, SessionInput{Space: source.Space, Title: in.Title, Provider: in.Provider, Model: in.Model})
	if err != nil {
		return out, err
	}
	draft.ForkedFrom = source.Hash
	err = l.update(ctx, p, source.Space, func(tx dhruva.Tx) error {
		out = draft
		if _, err := checkpointIn(tx, p, out.Space, source.Hash.String()); err != nil { // deleted meanwhile
			return err
		}
		return firstOf(branchOff(tx, &out, in.Branch), tx.PutSession(out))
	})
	if err != nil {
		return dhruva.Session{}, err
	}
	return out, nil
}

// branchOff makes the branch of a fork, whose head is its source.
func branchOff(tx dhruva.Tx, s *dhruva.Session, name string) (err error) {
	if s.Branch, err = forkBranch(tx, s.Space, name, s.CreatedAt); err != nil {
		return err
	}
	b := dhruva.Branch{Space: s.Space, Name: s.Branch, Head: s.ForkedFrom}
	_, err = moveHead(tx, headMoving{s.Tenant, s.Owner, MovedByFork, 0, s.CreatedAt}, b, dhruva.Hash{})
	return err
}

func forkBranch(tx dhruva.Tx, space dhruva.SpaceID, name string, now time.Time) (string, error) {
	if name == "" {
		return freeBranch(tx, space, "branch-"+now.Format(time.DateOnly))
	}
	taken, err := branchTaken(tx, space, name)
	if err == nil && taken {
		err = fmt.Errorf("%w: branch %q exists", dhruva.ErrConflict, name)
	}
	return name, err
}

// branchName is the one rule for names of branches, wherever they come from: a
// plain label that no command takes for an option or a range, and that nobody
// takes for main. "" stays "".
func branchName(name string) (string, error) {
	name, err := plainLabel("branch", name)
	switch {
	case err != nil:
	case strings.HasPrefix(name, "-"):
		err = fmt.Errorf("%w: branch %q begins with a dash", dhruva.ErrInvalid, name)
	case strings.Contains(name, ".."):
		err = fmt.Errorf("%w: branch %q holds \"..\"", dhruva.ErrInvalid, name)
	case name != dhruva.MainBranch && likeMain(name):
		err = fmt.Errorf("%w: branch %q is too much like %q", dhruva.ErrInvalid, name, dhruva.MainBranch)
	}
	return name, err
}

// likeMain reports whether a name is main in another case, that of Turkish
// included, or in other forms of its letters.
func likeMain(name string) bool {
	plain := strings.NewReplacer("\u0130", "i", "\u0131", "i").Replace(norm.NFKC.String(name))
	return strings.EqualFold(plain, dhruva.MainBranch)
}

// newBranchName checks a name for a branch to be made; "main" is made by the
// first checkpoint alone.
func newBranchName(name string) (string, error) {
	name, err := branchName(name)
	if err == nil && name == dhruva.MainBranch {
		err = fmt.Errorf("%w: %q is the branch of ordinary sessions; choose another name", dhruva.ErrInvalid, name)
	}
	return name, err
}

func branchTaken(tx dhruva.Tx, space dhruva.SpaceID, name string) (bool, error) {
	_, err := tx.Branch(space, name)
	if errors.Is(err, dhruva.ErrNotFound) {
		return name == dhruva.MainBranch, nil
	}
	return err == nil, err
}

// freeBranch is the name, or the name with the first free number from 2. A name
// that a branch once had is not free: a session may still work under it.
func freeBranch(tx dhruva.Tx, space dhruva.SpaceID, name string) (string, error) {
	for n, try := 2, name; ; n++ {
		taken, err := branchTaken(tx, space, try)
		if err != nil {
			return try, err
		}
		moves, err := tx.HeadMoves(dhruva.HeadMoveQuery{Space: space, Branch: try, Limit: 1})
		if err != nil || !taken && len(moves) == 0 {
			return try, err
		}
		try = fmt.Sprintf("%s-%d", name, n)
	}
}
