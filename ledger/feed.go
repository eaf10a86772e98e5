package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// The feed of a space is kept for its followers: until each of them has passed a
// change (its cursor), and for FeedKept at least. A follower that falls behind
// that rebuilds from rows, so a cursor that is lost costs work and nothing else.

// compactRows is how many changes one Update takes away.
const compactRows = 900

// PutCursor says how far a node has followed the feed of a space. It never goes
// back. A number that the feed does not reach back to is ErrCompacted, one beyond
// its head ErrInvalid; a space that is gone takes none.
func (l *Ledger) PutCursor(ctx context.Context, s dhruva.Scope, node dhruva.NodeID, seq int64) error {
	if s.Level() != dhruva.LevelSpace || seq < 0 {
		return wrap("put cursor", fmt.Errorf("%w: cursor %d of %s", dhruva.ErrInvalid, seq, s))
	}
	c := dhruva.Cursor{Tenant: s.Tenant(), Space: s.Space(), Node: node, Seq: seq, At: l.now()}
	return wrap("put cursor", l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
		c := c
		if sp, err := tx.Space(s.Space()); err != nil || !sp.DeletedAt.IsZero() {
			return firstOf(notFound(err, "space", string(s.Space())), missing("space", string(s.Space())))
		}
		all, err := tx.Cursors(s.Space())
		if err != nil {
			return err
		}
		for _, old := range all {
			if old.Node == node {
				c.Seq = max(c.Seq, old.Seq)
			}
		}
		if err := within(tx, c); err != nil {
			return err
		}
		return tx.PutCursor(c)
	}))
}

// within: a cursor stands in the feed that is kept.
func within(tx dhruva.Tx, c dhruva.Cursor) error {
	e, err := tx.Epoch(c.Space)
	switch {
	case err != nil:
		return err
	case c.Seq > e.Head:
		return fmt.Errorf("%w: cursor %d, the head is %d", dhruva.ErrInvalid, c.Seq, e.Head)
	case c.Seq < e.Tail:
		return fmt.Errorf("%w: cursor %d, the feed begins after %d", dhruva.ErrCompacted, c.Seq, e.Tail)
	}
	return nil
}

// DropCursor says that a node follows a space no more.
func (l *Ledger) DropCursor(ctx context.Context, s dhruva.Scope, node dhruva.NodeID) error {
	return wrap("drop cursor", l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
		return tx.DropCursor(s.Space(), node)
	}))
}

// KeepFeed takes away what of a space's feed every follower has passed and that
// is older than FeedKept, in chunks, and the cursors of nodes that are not among
// the live ones. It returns how many changes went.
func (l *Ledger) KeepFeed(ctx context.Context, s dhruva.Scope, live map[dhruva.NodeID]bool) (total int64, err error) {
	if s.Level() != dhruva.LevelSpace {
		return 0, wrap("keep feed", fmt.Errorf("%w: feed of %s", dhruva.ErrInvalid, s))
	}
	if err := l.dropDead(ctx, s, live); err != nil {
		return 0, wrap("keep feed", err)
	}
	for {
		n, err := l.compact(ctx, s)
		total += n
		if err != nil || n < compactRows {
			return total, wrap("keep feed", err)
		}
	}
}

// dropDead removes cursors of nodes that are gone. A node that is not listed and
// has spoken lately may have registered after the list was made.
func (l *Ledger) dropDead(ctx context.Context, s dhruva.Scope, live map[dhruva.NodeID]bool) error {
	now, up := l.now(), l.upkeep()
	dead := func(c dhruva.Cursor) bool { return !live[c.Node] && c.At.Add(up.NodeLease+up.Skew).Before(now) }
	found := false
	err := l.Store.View(ctx, s, func(tx dhruva.Tx) error {
		found = false
		all, err := tx.Cursors(s.Space())
		for _, c := range all {
			found = found || dead(c)
		}
		return err
	})
	if err != nil || !found {
		return err
	}
	return l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
		all, err := tx.Cursors(s.Space())
		if err != nil {
			return err
		}
		for i, c := range all {
			if i < sweepRows && dead(c) {
				if err := tx.DropCursor(c.Space, c.Node); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// compact takes away one chunk of old changes.
func (l *Ledger) compact(ctx context.Context, s dhruva.Scope) (int64, error) {
	var tail int64
	err := l.Store.View(ctx, s, func(tx dhruva.Tx) error {
		e, err := tx.Epoch(s.Space())
		tail = e.Tail
		return err
	})
	if err != nil {
		return 0, err
	}
	through, err := l.oldThrough(ctx, s, tail)
	if err != nil || through == tail {
		return 0, err
	}
	var gone int64
	err = l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
		gone = 0
		e, err := tx.Epoch(s.Space())
		if err != nil {
			return err
		}
		passed, err := passedBy(tx, s.Space(), through)
		if err != nil || passed <= e.Tail {
			return err
		}
		gone = passed - e.Tail
		return tx.CompactChanges(s.Space(), passed)
	})
	return gone, err
}

// oldThrough is the last of at most a chunk of changes after tail that are all
// older than FeedKept.
func (l *Ledger) oldThrough(ctx context.Context, s dhruva.Scope, tail int64) (int64, error) {
	before, through := l.now().Add(-l.upkeep().FeedKept), tail
	for c, err := range l.Store.Changes(ctx, s, tail) {
		if errors.Is(err, dhruva.ErrCompacted) { // somebody else is at it
			return tail, nil
		}
		if err != nil {
			return tail, err
		}
		if !c.At.Before(before) || c.Seq-tail > compactRows {
			break
		}
		through = c.Seq
	}
	return through, nil
}

// passedBy is the number up to which every follower has come, at most through.
func passedBy(tx dhruva.Tx, space dhruva.SpaceID, through int64) (int64, error) {
	all, err := tx.Cursors(space)
	for _, c := range all {
		through = min(through, c.Seq)
	}
	return through, err
}

// lagging is how far behind the head the last follower of a space is.
func lagging(all []dhruva.Cursor, head int64) (lag int64) {
	for _, c := range all {
		lag = max(lag, head-c.Seq)
	}
	return lag
}
