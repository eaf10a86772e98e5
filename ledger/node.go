package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// Nodes: the processes of the installation. They live in System scope, which
// only the program mints; so it is handed in.

// system refuses a scope that is not the installation's.
func system(s dhruva.Scope) error {
	if s.Level() != dhruva.LevelSystem {
		return fmt.Errorf("%w: nodes are of the installation, not of %s", dhruva.ErrDenied, s)
	}
	return nil
}

// Heartbeat registers a node, or says that it still runs: it stands for a node's
// lease from now, and never for less than it did. One that was removed as dead
// meanwhile is there again.
func (l *Ledger) Heartbeat(ctx context.Context, sys dhruva.Scope, n dhruva.Node) (out dhruva.Node, err error) {
	if err := system(sys); err != nil {
		return out, wrap("heartbeat", err)
	}
	now := l.now()
	until := now.Add(l.upkeep().NodeLease)
	err = l.Store.Update(ctx, []dhruva.Scope{sys}, func(tx dhruva.Tx) error {
		out = n
		old, err := tx.Node(n.ID)
		if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
			return err
		}
		out.StartedAt = old.StartedAt
		if out.StartedAt.IsZero() {
			out.StartedAt = now
		}
		out.Until = latest(old.Until, until)
		return tx.PutNode(out)
	})
	if err != nil {
		return dhruva.Node{}, wrap("heartbeat", err)
	}
	return out, nil
}

// Nodes lists the nodes by id, with those that stand by our clock and the skew.
func (l *Ledger) Nodes(ctx context.Context, sys dhruva.Scope) (all []dhruva.Node, live map[dhruva.NodeID]bool, err error) {
	if err := system(sys); err != nil {
		return nil, nil, wrap("nodes", err)
	}
	now, skew := l.now(), l.upkeep().Skew
	err = l.Store.View(ctx, sys, func(tx dhruva.Tx) error {
		all, live = nil, map[dhruva.NodeID]bool{}
		for page := (dhruva.Page{Limit: 1000}); ; {
			rows, err := tx.ListNodes(page)
			if err != nil {
				return err
			}
			for _, n := range rows {
				all = append(all, n)
				if !n.Until.Add(skew).Before(now) {
					live[n.ID] = true
				}
			}
			if len(rows) < page.Limit {
				return nil
			}
			page.After = string(rows[len(rows)-1].ID)
		}
	})
	return all, live, wrap("nodes", err)
}

// Leave removes a node that ends in order. Its cursors are its own to take back
// (DropCursor); those that it leaves behind go with the dead ones'.
func (l *Ledger) Leave(ctx context.Context, sys dhruva.Scope, id dhruva.NodeID) error {
	if err := system(sys); err != nil {
		return wrap("leave", err)
	}
	return wrap("leave", l.Store.Update(ctx, []dhruva.Scope{sys}, func(tx dhruva.Tx) error { return tx.DropNode(id) }))
}

// RemoveDeadNodes removes the nodes that have not said for longer than their
// lease and the skew that they run, and returns how many they were. Their
// cursors go when the feed of each space is kept (KeepFeed).
func (l *Ledger) RemoveDeadNodes(ctx context.Context, sys dhruva.Scope) (int, error) {
	all, live, err := l.Nodes(ctx, sys)
	if err != nil || len(all) == len(live) {
		return 0, err
	}
	now, skew, removed := l.now(), l.upkeep().Skew, 0
	err = l.Store.Update(ctx, []dhruva.Scope{sys}, func(tx dhruva.Tx) error {
		removed = 0
		for _, n := range all {
			if live[n.ID] || removed == sweepRows {
				continue
			}
			row, err := tx.Node(n.ID) // it may have spoken since
			if err != nil || !row.Until.Add(skew).Before(now) {
				if err := ignoreMissing(err); err != nil {
					return err
				}
				continue
			}
			if err := tx.DropNode(n.ID); err != nil {
				return err
			}
			removed++
		}
		return nil
	})
	return removed, wrap("remove dead nodes", err)
}
