package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Dependents is what hangs on a checkpoint.
type Dependents struct {
	Checkpoint dhruva.Outline
	// Children are the checkpoints whose first parent it is, newest first.
	Children []dhruva.Outline
	// Forked are the sessions that were forked from it, Seeded those that say they
	// began with it, Mounted those that hold it. Last used first.
	Forked, Seeded, Mounted []dhruva.Session
}

// Blocking is how many of them a deletion would leave without what they follow.
func (d Dependents) Blocking() int { return len(d.Children) + len(d.Forked) }

// Blocked says that a checkpoint was not deleted because others follow it. It is
// an ErrConflict.
type Blocked struct{ Dependents Dependents }

// Error is what a caller is told.
func (b *Blocked) Error() string {
	return fmt.Sprintf("%v: checkpoint %s has %s after it and %s forked from it; delete them too, or nothing",
		dhruva.ErrConflict, b.Dependents.Checkpoint.Hash.Short(), count(len(b.Dependents.Children), "checkpoint"), count(len(b.Dependents.Forked), "session"))
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Unwrap is ErrConflict.
func (b *Blocked) Unwrap() error { return dhruva.ErrConflict }

// Advice is a name for it and what to do.
func (b *Blocked) Advice() (code, hint string) {
	return "has_dependents", "look at what depends on the checkpoint, and delete it with cascade if all of that may go too"
}

// Dependents tells what hangs on a checkpoint, for a person who would delete it.
// Needs state:read.
func (l *Ledger) Dependents(ctx context.Context, ref string) (out Dependents, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return out, wrap("dependents", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		c, err := checkpointIn(tx, p, "", ref)
		if err != nil {
			return err
		}
		out, err = dependentsOf(tx, c)
		return err
	})
	return out, wrap("dependents", err)
}

func dependentsOf(tx dhruva.Tx, c dhruva.Checkpoint) (Dependents, error) {
	d := Dependents{Checkpoint: c.Outline()}
	err := eachOutline(tx, dhruva.OutlineQuery{Space: c.Space}, func(o dhruva.Outline) error {
		if o.Parent() == c.Hash && o.HiddenAt.IsZero() {
			d.Children = append(d.Children, o)
		}
		return nil
	})
	if err != nil {
		return d, err
	}
	return d, eachSession(tx, c.Space, func(s dhruva.Session) error {
		if s.ForkedFrom == c.Hash {
			d.Forked = append(d.Forked, s)
		}
		if s.Seeded == c.Hash {
			d.Seeded = append(d.Seeded, s)
		}
		if s.Mount != nil && s.Mount.Checkpoint == c.Hash {
			d.Mounted = append(d.Mounted, s)
		}
		return nil
	})
}

// eachSession walks the live sessions of a space, last used first.
func eachSession(tx dhruva.Tx, space dhruva.SpaceID, fn func(dhruva.Session) error) error {
	for q := (dhruva.SessionQuery{Space: space, Page: dhruva.Page{Limit: 1000}}); ; {
		rows, err := tx.ListSessions(q)
		if err != nil {
			return err
		}
		for _, s := range rows {
			if err := fn(s); err != nil {
				return err
			}
		}
		if len(rows) < q.Limit {
			return nil
		}
		q.After = string(rows[len(rows)-1].ID)
	}
}

// DeleteCheckpoint hides a checkpoint: it is shown nowhere any more, and what only
// it says is not recalled; its lineage still verifies, and its texts are erased by
// a purge alone. A branch whose head it was goes back to the nearest first parent
// that is shown, or is dropped. A second time it is ErrNotFound. Needs state:write.
//
// While checkpoints follow it (as a first parent), or sessions were forked from
// it, the error is a Blocked with its dependents. With cascade the checkpoints that
// descend from it over first parents go too, the deepest first, and before them
// the sessions that were forked from any of them. That takes as many Updates as
// it takes: each leaves a whole lineage, and calling again goes on. The result
// tells what hung on the checkpoint itself.
func (l *Ledger) DeleteCheckpoint(ctx context.Context, ref string, cascade bool) (Dependents, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return Dependents{}, wrap("delete checkpoint", err)
	}
	d, err := l.deleteCheckpoint(ctx, p, ref, cascade)
	return d, wrap("delete checkpoint", err)
}

func (l *Ledger) deleteCheckpoint(ctx context.Context, p dhruva.Principal, ref string, cascade bool) (d Dependents, err error) {
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		c, err := checkpointIn(tx, p, "", ref)
		if err == nil {
			d, err = dependentsOf(tx, c)
		}
		return err
	})
	if err != nil {
		return d, err
	}
	del := deletion{ledger: l, p: p, target: d.Checkpoint, cascade: cascade, now: l.now()}
	for !del.done {
		if err := del.endForks(ctx); err != nil {
			return d, err
		}
		if err := l.update(ctx, p, del.target.Space, del.step); err != nil {
			return d, err
		}
	}
	return d, nil
}

// deletion is one deletion on its way.
type deletion struct {
	ledger  *Ledger
	p       dhruva.Principal
	target  dhruva.Outline
	cascade bool
	now     time.Time
	done    bool
}

// endForks deletes the sessions that were forked from what goes. They go first, so
// that none of them is ever left without its source.
func (d *deletion) endForks(ctx context.Context) error {
	if !d.cascade {
		return nil
	}
	var forked []dhruva.Session
	err := d.ledger.view(ctx, d.p, func(tx dhruva.Tx) error {
		if _, err := checkpointIn(tx, d.p, d.target.Space, d.target.Hash.String()); err != nil {
			return err
		}
		going, err := descendants(tx, d.target)
		if err == nil {
			forked, err = forkedFrom(tx, d.target.Space, going)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range forked {
		if err := ignoreMissing(d.ledger.endSession(ctx, d.p, s.ID, more)); err != nil {
			return err
		}
	}
	return nil
}

func forkedFrom(tx dhruva.Tx, space dhruva.SpaceID, going []dhruva.Outline) (out []dhruva.Session, err error) {
	gone := map[dhruva.Hash]bool{}
	for _, o := range going {
		gone[o.Hash] = true
	}
	err = eachSession(tx, space, func(s dhruva.Session) error {
		if gone[s.ForkedFrom] {
			out = append(out, s)
		}
		return nil
	})
	return out, err
}

// step is one Update: it hides as many as fit it, the deepest first.
func (d *deletion) step(tx dhruva.Tx) error {
	d.done = false
	c, err := checkpointIn(tx, d.p, d.target.Space, d.target.Hash.String())
	if err != nil {
		return err
	}
	going := []dhruva.Outline{c.Outline()}
	if d.cascade {
		if going, err = descendants(tx, d.target); err != nil {
			return err
		}
		if forked, err := forkedFrom(tx, c.Space, going); err != nil || len(forked) > 0 { // meanwhile
			more(tx)
			return err
		}
	} else if deps, err := dependentsOf(tx, c); err != nil || deps.Blocking() > 0 {
		return firstOf(err, &Blocked{deps})
	}
	now, rest, err := d.portion(tx, going)
	if err != nil {
		return err
	}
	if d.done = len(rest) == 0; !d.done {
		more(tx)
	}
	return d.hide(tx, now)
}

// descendants are the checkpoints that descend from one over first parents, itself
// included, the deepest first. Those that are hidden are not among them.
func descendants(tx dhruva.Tx, of dhruva.Outline) ([]dhruva.Outline, error) {
	children := map[dhruva.Hash][]dhruva.Outline{}
	err := eachOutline(tx, dhruva.OutlineQuery{Space: of.Space}, func(o dhruva.Outline) error {
		if p := o.Parent(); !p.IsZero() && o.HiddenAt.IsZero() {
			children[p] = append(children[p], o)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out, depth := []dhruva.Outline{of}, map[dhruva.Hash]int{of.Hash: 0}
	for n := 0; n < len(out); n++ {
		for _, child := range children[out[n].Hash] {
			if _, seen := depth[child.Hash]; !seen {
				depth[child.Hash] = depth[out[n].Hash] + 1
				out = append(out, child)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b dhruva.Outline) int { return cmp.Compare(depth[b.Hash], depth[a.Hash]) })
	return out, nil
}

// deletionRows are the rows of an Update that a deletion may use; the others are
// for the row of its call, and for whoever counts differently.
const deletionRows = dhruva.MaxUpdateRows - 50

// portion is what one Update can hide.
func (d *deletion) portion(tx dhruva.Tx, going []dhruva.Outline) (now []dhruva.Checkpoint, rest []dhruva.Outline, err error) {
	branches, err := tx.ListBranches(d.target.Space)
	if err != nil {
		return nil, nil, err
	}
	heads := map[dhruva.Hash]int{}
	for _, b := range branches {
		heads[b.Head]++
	}
	rows, moving := 0, 0
	for n, o := range going {
		c, err := tx.Checkpoint(o.Hash)
		if err != nil {
			return nil, nil, err
		}
		moving += heads[o.Hash]
		rows += 2 + 2*len(c.Items)
		if n > 0 && rows+2*moving > deletionRows {
			return now, going[n:], nil
		}
		now = append(now, c)
	}
	return now, nil, nil
}

// hide hides checkpoints, the deepest first: heads leave them, and what only they
// say is not recalled any more.
func (d *deletion) hide(tx dhruva.Tx, now []dhruva.Checkpoint) error {
	going := map[dhruva.Hash]bool{}
	for _, c := range now {
		going[c.Hash] = true
	}
	why := headMoving{d.p.Tenant, d.p.ID, MovedByDelete, 0, d.now}
	if err := leaveHidden(tx, why, d.target.Space, going); err != nil {
		return err
	}
	for _, c := range now {
		if err := tx.HideCheckpoint(c.Hash, d.now); err != nil {
			return err
		}
		_, err := tx.AppendChange(c.Space, dhruva.Change{Kind: dhruva.ChangeCheckpoint, Ref: c.Hash.String(), At: d.now})
		if err := firstOf(err, d.ledger.withdrawItems(tx, c, d.now)); err != nil {
			return err
		}
	}
	return nil
}

// withdrawItems holds the sources of a hidden checkpoint's items that nothing else
// says where it is read.
func (l *Ledger) withdrawItems(tx dhruva.Tx, c dhruva.Checkpoint, now time.Time) error {
	e, err := tx.Epoch(c.Space)
	if err != nil {
		return err
	}
	seen := map[dhruva.SourceID]bool{}
	for _, i := range c.Items {
		if i.Redacted || i.Kind == dhruva.KindTitle {
			continue
		}
		id, err := l.saidIn(tx, dhruva.Checkpoint{Tenant: c.Tenant, Space: c.Space, Generation: e.Generation}, i, []dhruva.Checkpoint{c})
		if err != nil {
			return err
		}
		if id == "" || seen[id] {
			continue
		}
		seen[id] = true
		if err := withdrawUnsaid(tx, c.Space, e.Generation, id, now); err != nil {
			return err
		}
	}
	return nil
}

// withdrawUnsaid holds a source that is ready although nothing says it where it is
// read.
func withdrawUnsaid(tx dhruva.Tx, space dhruva.SpaceID, generation int64, id dhruva.SourceID, now time.Time) error {
	src, err := tx.Source(space, generation, id)
	if err != nil || src.State != dhruva.SourceReady {
		return ignoreMissing(err)
	}
	if ok, err := standing(tx, src); err != nil || ok {
		return err
	}
	src.State, src.HeldFor = dhruva.SourceHeld, heldUnsaved
	return firstOf(tx.PutSource(src), announce(tx, src, dhruva.ChangeSource, now))
}

// endSession is DeleteSession; after is called in each of its Updates that others
// of the operation follow, the last of its own too when it is not nil.
func (l *Ledger) endSession(ctx context.Context, p dhruva.Principal, id dhruva.SessionID, after func(dhruva.Tx)) error {
	now := l.now()
	for from := int64(0); ; from += chunk {
		s, err := l.editSession(ctx, p, id, func(tx dhruva.Tx, s *dhruva.Session) error {
			switch {
			case s.LastSeq > from+chunk:
				more(tx)
			default:
				s.DeletedAt = now
				if after != nil {
					after(tx)
				}
			}
			touch(s, now)
			return withdraw(tx, *s, from, min(from+chunk, s.LastSeq), now)
		})
		if err != nil || !s.DeletedAt.IsZero() {
			return err
		}
	}
}
