package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// The reflog of a space: every move of a branch's head, written in the Update
// that moves it. Undo and redo are moves too, and name the one that they take
// back; so nothing in the reflog is ever changed, and what holds is read from it.

// What moved a head.
const (
	MovedByCommit = "commit"
	MovedByMerge  = "merge"
	MovedByRevert = "revert"
	MovedByFork   = "fork"
	MovedByUndo   = "undo"
	MovedByRedo   = "redo"
	MovedByDelete = "delete"
)

// MadeMove is the kind under which an Outcome names the move of an undo or a redo:
// space/seq.
const MadeMove = "head_move"

// headMoving is who moves a head, and why.
type headMoving struct {
	tenant dhruva.TenantID
	by     dhruva.PrincipalID
	act    string
	undoes int64
	at     time.Time
}

// moveHead is the one function that moves, makes or drops a branch: to is the
// branch as it is to be, a zero head drops it; from is its head now, zero when it
// is to be made. A head that is not from is ErrConflict. The move is noted in the
// space's reflog.
func moveHead(tx dhruva.Tx, why headMoving, to dhruva.Branch, from dhruva.Hash) (dhruva.HeadMove, error) {
	m := dhruva.HeadMove{
		Tenant: why.tenant, Space: to.Space, Branch: to.Name, Seq: 1, From: from, To: to.Head,
		Act: why.act, Undoes: why.undoes, By: why.by, At: why.at,
	}
	last, err := tx.HeadMoves(dhruva.HeadMoveQuery{Space: to.Space, Limit: 1})
	if err != nil {
		return m, err
	}
	if len(last) > 0 {
		m.Seq = last[0].Seq + 1
	}
	if to.Head.IsZero() {
		err = tx.DropBranch(to.Space, to.Name, from)
	} else {
		to.UpdatedAt, to.Disposition = why.at, disposed(to)
		err = tx.SwapBranch(to, from)
	}
	return m, firstOf(err, tx.AppendHeadMove(m))
}

// Reflog lists the moves of a branch's head, or of all of a space's, newest first:
// those with a smaller number than before, when that is not 0. limit 0 means 100,
// at most 1,000. Needs state:read.
func (l *Ledger) Reflog(ctx context.Context, space dhruva.SpaceID, branch string, before int64, limit int) (out []dhruva.HeadMove, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, wrap("reflog", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if _, err := liveSpace(tx, p, space); err != nil {
			return err
		}
		out, err = tx.HeadMoves(dhruva.HeadMoveQuery{Space: space, Branch: branch, Before: before, Limit: dhruva.Page{Limit: limit}.Size()})
		return err
	})
	return out, wrap("reflog", err)
}

// Undo takes back the newest move of a branch, or of a space when branch is "",
// that has not been taken back: the head goes to where it was, and a branch that
// the move made is dropped. It moves heads only: nothing that was saved is
// unsaved. A head that is elsewhere by now, and one that would go back to a
// checkpoint that was deleted, are ErrConflict, and so is nothing to undo. Needs
// state:write.
func (l *Ledger) Undo(ctx context.Context, space dhruva.SpaceID, branch string) (dhruva.HeadMove, error) {
	m, err := l.takeBack(ctx, space, branch, MovedByUndo)
	return m, wrap("undo", err)
}

// Redo takes back the newest undo that has not been taken back, under the same
// conditions. Needs state:write.
func (l *Ledger) Redo(ctx context.Context, space dhruva.SpaceID, branch string) (dhruva.HeadMove, error) {
	m, err := l.takeBack(ctx, space, branch, MovedByRedo)
	return m, wrap("redo", err)
}

func (l *Ledger) takeBack(ctx context.Context, space dhruva.SpaceID, branch, act string) (out dhruva.HeadMove, err error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return out, err
	}
	now := l.now()
	err = l.update(ctx, p, space, func(tx dhruva.Tx) error {
		m, err := standingMove(tx, space, branch, act)
		if err != nil {
			return err
		}
		out, err = reverse(tx, headMoving{p.Tenant, p.ID, act, m.Seq, now}, m)
		names(tx, MadeMove, fmt.Sprintf("%s/%d", space, out.Seq))
		return err
	})
	if err != nil {
		return dhruva.HeadMove{}, err
	}
	return out, nil
}

// standingMove is the newest move that an undo, or a redo, would take back. A move
// stands unless a later one that stands takes it back.
func standingMove(tx dhruva.Tx, space dhruva.SpaceID, branch, act string) (dhruva.HeadMove, error) {
	gone := map[int64]bool{}
	for q := (dhruva.HeadMoveQuery{Space: space, Branch: branch, Limit: 100}); ; {
		rows, err := tx.HeadMoves(q)
		if err != nil {
			return dhruva.HeadMove{}, err
		}
		for _, m := range rows {
			switch {
			case gone[m.Seq]:
			case act == MovedByUndo && m.Undoes == 0, act == MovedByRedo && m.Act == MovedByUndo:
				return m, nil
			default:
				gone[m.Undoes] = true
			}
		}
		if len(rows) < q.Limit {
			return dhruva.HeadMove{}, fmt.Errorf("%w: there is nothing to %s", dhruva.ErrConflict, act)
		}
		q.Before = rows[len(rows)-1].Seq
	}
}

// reverse moves a head back from where a move left it.
func reverse(tx dhruva.Tx, why headMoving, m dhruva.HeadMove) (dhruva.HeadMove, error) {
	b, err := tx.Branch(m.Space, m.Branch)
	if err := ignoreMissing(err); err != nil {
		return m, err
	}
	if b.Head != m.To {
		return m, fmt.Errorf("%w: the %s that would be taken back left branch %q at %s, and it is at %s by now", dhruva.ErrConflict, m.Act, m.Branch, m.To.Short(), b.Head.Short())
	}
	b.Space, b.Name, b.Head = m.Space, m.Branch, m.From
	if b.Head.IsZero() {
		return moveHead(tx, why, b, m.To)
	}
	back, err := shownOutline(tx, m.Space, b.Head)
	if err != nil {
		return m, err
	}
	if back == nil {
		return m, fmt.Errorf("%w: checkpoint %s, to which branch %q would go back, was deleted", dhruva.ErrConflict, b.Head.Short(), m.Branch)
	}
	return moveHead(tx, why, b, m.To)
}

// leaveHidden moves the heads of branches away from checkpoints that are about to
// be hidden: to the nearest first parent that is shown and stays, or the branch is
// dropped.
func leaveHidden(tx dhruva.Tx, why headMoving, space dhruva.SpaceID, going map[dhruva.Hash]bool) error {
	branches, err := tx.ListBranches(space)
	if err != nil {
		return err
	}
	for _, b := range branches {
		if !going[b.Head] {
			continue
		}
		from := b.Head
		if b.Head, err = nearestShown(tx, space, from, going); err != nil {
			return err
		}
		if _, err := moveHead(tx, why, b, from); err != nil {
			return err
		}
	}
	return nil
}

// nearestShown is the nearest first parent that is shown and does not go, zero
// when there is none.
func nearestShown(tx dhruva.Tx, space dhruva.SpaceID, from dhruva.Hash, going map[dhruva.Hash]bool) (dhruva.Hash, error) {
	for many := 8; ; many = min(4*many, graphStretch) {
		rows, err := tx.Ancestry(from, many)
		if err != nil {
			return dhruva.Hash{}, err
		}
		for _, row := range rows {
			if row.Space != space {
				return dhruva.Hash{}, nil
			}
			if row.HiddenAt.IsZero() && !going[row.Hash] {
				return row.Hash, nil
			}
			from = row.Parent()
		}
		if len(rows) < many || from.IsZero() {
			return dhruva.Hash{}, nil
		}
	}
}

// SetDisposition says what became of a branch: active, integrated or abandoned.
// It moves nothing, and can be said anew. A branch that is not there is
// ErrNotFound. Needs state:write.
func (l *Ledger) SetDisposition(ctx context.Context, space dhruva.SpaceID, branch, disposition string) (out dhruva.Branch, err error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return out, wrap("set disposition", err)
	}
	switch disposition {
	case active, BranchIntegrated, BranchAbandoned:
	default:
		return out, wrap("set disposition", fmt.Errorf("%w: disposition %q; use active, integrated or abandoned", dhruva.ErrInvalid, clip(disposition, 80)))
	}
	err = l.update(ctx, p, space, func(tx dhruva.Tx) error {
		if out, err = tx.Branch(space, branch); err != nil {
			return notFound(err, "branch", branch)
		}
		out.Disposition = disposition
		return tx.SwapBranch(out, out.Head)
	})
	if err != nil {
		return dhruva.Branch{}, wrap("set disposition", err)
	}
	return out, nil
}

// The dispositions of a branch.
const (
	BranchActive     = active
	BranchIntegrated = "integrated"
	BranchAbandoned  = "abandoned"
)

// headIn is the head of a branch, which must be there.
func headIn(tx dhruva.Tx, space dhruva.SpaceID, branch string) (dhruva.Branch, dhruva.Checkpoint, error) {
	b, err := tx.Branch(space, branch)
	if err != nil {
		return b, dhruva.Checkpoint{}, notFound(err, "branch", branch)
	}
	c, err := tx.Checkpoint(b.Head)
	if err == nil && !c.HiddenAt.IsZero() {
		err = dhruva.ErrNotFound
	}
	if errors.Is(err, dhruva.ErrNotFound) {
		err = missing("checkpoint", b.Head.String())
	}
	return b, c, err
}
