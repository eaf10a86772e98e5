package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// The audit log: a leaf is committed with the receipt that it attests
// (closeReceipt) and is pending until the tenant's sequencer gives it its place.
// The sequencer holds the lease "audit" of the tenant; each of its Updates reads
// the lease again and leaves its number in the head, so that one that was paused
// gives out no place. Tree and signed heads are made of the places, by whoever
// holds the same lease.

// auditLease is the name of the sequencer's lease in each tenant.
const auditLease = "audit"

// sequenceRows is how many leaves get their place in one Update. It holds the
// tenant's lock, and on an embedded store everybody waits for it.
const sequenceRows = 500

// Sequencer is a node's wish to be the one that gives out a tenant's places.
func (l *Ledger) Sequencer(t dhruva.TenantID, owner dhruva.NodeID) *Tenure {
	return &Tenure{Ledger: l, Scope: dhruva.TenantScope(t), Name: auditLease, Owner: owner}
}

// PendingLeaves are leaves of a tenant without a place, oldest first, at most
// limit.
func (l *Ledger) PendingLeaves(ctx context.Context, t dhruva.TenantID, limit int) (out []dhruva.Leaf, err error) {
	err = l.Store.View(ctx, dhruva.TenantScope(t), func(tx dhruva.Tx) error {
		out, err = tx.PendingLeaves(limit)
		return err
	})
	return out, wrap("pending leaves", err)
}

// SequenceLeaves gives the oldest pending leaves of a tenant the next places, in
// one Update under the lease that is held; more tells that others may be
// pending. A lease that is not held any more is ErrFenced, and nothing was
// written.
func (l *Ledger) SequenceLeaves(ctx context.Context, held dhruva.Lease) (placed int, more bool, err error) {
	now := l.now()
	err = l.Store.Update(ctx, []dhruva.Scope{dhruva.TenantScope(held.Tenant)}, func(tx dhruva.Tx) error {
		if _, err := holds(tx, held, now); err != nil {
			return err
		}
		placed, err = sequence(tx, held, now)
		return err
	})
	if err != nil {
		return 0, false, wrap("sequence leaves", err)
	}
	return placed, placed == sequenceRows, nil
}

// sequence places the oldest pending leaves behind the head.
func sequence(tx dhruva.Tx, held dhruva.Lease, now time.Time) (int, error) {
	head, err := tx.AuditHead()
	if err != nil {
		return 0, err
	}
	if head.Fence > held.Fence {
		return 0, fmt.Errorf("%w: a later sequencer (%d, this one is %d) has written", dhruva.ErrFenced, head.Fence, held.Fence)
	}
	leaves, err := tx.PendingLeaves(sequenceRows)
	if err != nil || len(leaves) == 0 {
		return 0, err
	}
	for _, leaf := range leaves {
		head.Size++
		if err := tx.PlaceLeaf(leaf.ID, head.Size); err != nil {
			return 0, err
		}
	}
	head.Tenant, head.Fence, head.At = held.Tenant, held.Fence, latest(head.At, now)
	return len(leaves), tx.PutAuditHead(head)
}

// SettleLeaves gives all pending leaves of a tenant their places, for a process
// that will not stay: each Update takes the lease, writes, and ends the lease
// again. It does nothing while somebody else holds the lease.
func (l *Ledger) SettleLeaves(ctx context.Context, t dhruva.TenantID, owner dhruva.NodeID) (total int, err error) {
	for {
		pending, err := l.PendingLeaves(ctx, t, 1)
		if err != nil || len(pending) == 0 {
			return total, err
		}
		n, err := l.settleLeaves(ctx, dhruva.TenantScope(t), owner)
		total += n
		if err != nil || n < sequenceRows {
			return total, wrap("settle leaves", err)
		}
	}
}

func (l *Ledger) settleLeaves(ctx context.Context, s dhruva.Scope, owner dhruva.NodeID) (placed int, err error) {
	now, skew := l.now(), l.upkeep().Skew
	err = l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
		placed = 0
		row, err := leaseRow(tx, s, auditLease)
		if err != nil || taken(row, owner, now, skew) {
			return err
		}
		row.Owner, row.Until = owner, time.Time{}
		row.Fence++
		if placed, err = sequence(tx, row, now); err != nil || placed == 0 {
			return err
		}
		return tx.PutLease(row)
	})
	return placed, err
}
