package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Leases: the right of one process to be the only one that does a thing, for a
// while. They are bounded by clocks, which lie; so whoever writes under a lease
// checks its number in the Update (holds), and a wrong clock costs time, never
// order.

// AcquireLease takes a lease of a tenant (Tenant scope) or of the installation
// (System scope). One that somebody else holds is ErrConflict, until it has
// ended on our clock by more than the skew. One's own is renewed. The number
// rises unless it was one's own and had not ended.
func (l *Ledger) AcquireLease(ctx context.Context, s dhruva.Scope, name string, owner dhruva.NodeID) (dhruva.Lease, error) {
	out, err := l.acquire(ctx, s, name, owner, dhruva.Lease{})
	return out, wrap("acquire lease", err)
}

// acquire also takes a lease that is as stale says, whatever its time.
func (l *Ledger) acquire(ctx context.Context, s dhruva.Scope, name string, owner dhruva.NodeID, stale dhruva.Lease) (out dhruva.Lease, err error) {
	now, up := l.now(), l.upkeep()
	err = l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
		if out, err = leaseRow(tx, s, name); err != nil {
			return err
		}
		switch {
		case out.Owner == owner && out.Until.After(now):
		case taken(out, owner, now, up.Skew) && !sameLease(out, stale):
			return fmt.Errorf("%w: the lease %s is held by %s", dhruva.ErrConflict, name, out.Owner)
		default:
			out.Owner, out.Until = owner, time.Time{}
			out.Fence++
		}
		out.Until = latest(out.Until, now.Add(up.Lease))
		return tx.PutLease(out)
	})
	if err != nil {
		return dhruva.Lease{}, err
	}
	return out, nil
}

// leaseRow is a lease as it stands; one that never was is free.
func leaseRow(tx dhruva.Tx, s dhruva.Scope, name string) (dhruva.Lease, error) {
	row, err := tx.Lease(s.Tenant(), name)
	if errors.Is(err, dhruva.ErrNotFound) {
		return dhruva.Lease{Tenant: s.Tenant(), Name: name}, nil
	}
	return row, err
}

// taken reports that a lease is another's, as far as our clock can tell.
func taken(row dhruva.Lease, owner dhruva.NodeID, now time.Time, skew time.Duration) bool {
	return row.Owner != "" && row.Owner != owner && !row.Until.Add(skew).Before(now)
}

// sameLease: nothing was written of it in between.
func sameLease(a, b dhruva.Lease) bool {
	return a.Owner == b.Owner && a.Fence == b.Fence && a.Until.Equal(b.Until)
}

// RenewLease holds a lease for as long again from now, and never for less than
// it was held already. One that ended, or that changed hands, is ErrFenced.
func (l *Ledger) RenewLease(ctx context.Context, s dhruva.Scope, held dhruva.Lease) (out dhruva.Lease, err error) {
	now, up := l.now(), l.upkeep()
	err = l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
		if out, err = holds(tx, held, now); err != nil {
			return err
		}
		out.Until = latest(out.Until, now.Add(up.Lease))
		return tx.PutLease(out)
	})
	if err != nil {
		return dhruva.Lease{}, wrap("renew lease", err)
	}
	return out, nil
}

// ReleaseLease ends a lease at once, so that the next one need not wait. One
// that is not held any more is left alone.
func (l *Ledger) ReleaseLease(ctx context.Context, s dhruva.Scope, held dhruva.Lease) error {
	err := l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
		row, err := leaseRow(tx, s, held.Name)
		if err != nil || row.Owner != held.Owner || row.Fence != held.Fence {
			return err
		}
		row.Until = time.Time{}
		return tx.PutLease(row)
	})
	return wrap("release lease", err)
}

// holds answers ErrFenced unless a lease is still held as it was taken and has
// not ended. Whoever writes under a lease asks it in the Update that writes.
func holds(tx dhruva.Tx, held dhruva.Lease, now time.Time) (dhruva.Lease, error) {
	row, err := tx.Lease(held.Tenant, held.Name)
	switch {
	case errors.Is(err, dhruva.ErrNotFound), err == nil && (row.Owner != held.Owner || row.Fence != held.Fence):
		err = fmt.Errorf("%w: the lease %s changed hands", dhruva.ErrFenced, held.Name)
	case err == nil && !row.Until.After(now):
		err = fmt.Errorf("%w: the lease %s ended", dhruva.ErrFenced, held.Name)
	}
	return row, err
}

// Tenure is the wish of one process to hold a lease over time. It is for one
// goroutine.
type Tenure struct {
	Ledger *Ledger
	Scope  dhruva.Scope
	Name   string
	Owner  dhruva.NodeID

	held  dhruva.Lease
	seen  dhruva.Lease // another's, that claims more time than a lease has
	since time.Time
}

// Hold takes the lease if it is free and renews it when half of its time is
// over; it tells whether it is held now. That somebody else holds it is no
// error, and costs no write.
func (t *Tenure) Hold(ctx context.Context) (bool, error) {
	now, up := t.Ledger.now(), t.Ledger.upkeep()
	if t.held.Fence > 0 && t.held.Until.Sub(now) > up.Lease/2 {
		return true, nil
	}
	if t.held.Fence > 0 {
		renewed, err := t.Ledger.RenewLease(ctx, t.Scope, t.held)
		if err == nil {
			t.held = renewed
			return true, nil
		}
		if !errors.Is(err, dhruva.ErrFenced) {
			return t.held.Until.After(now), err
		}
		t.held = dhruva.Lease{}
	}
	free, stale, err := t.free(ctx, now)
	if err != nil || !free {
		return false, err
	}
	held, err := t.Ledger.acquire(ctx, t.Scope, t.Name, t.Owner, stale)
	if errors.Is(err, dhruva.ErrConflict) { // somebody was quicker
		return false, nil
	}
	if err == nil {
		t.held = held
	}
	return err == nil, wrap("hold lease", err)
}

// free looks whether the lease can be taken. A clock that had jumped ahead may
// have left a lease that ends in a year. A holder that lives renews it in time;
// so one that claims more than a lease has, and does not change for longer than
// that, is stale.
func (t *Tenure) free(ctx context.Context, now time.Time) (free bool, stale dhruva.Lease, err error) {
	up := t.Ledger.upkeep()
	var row dhruva.Lease
	err = t.Ledger.Store.View(ctx, t.Scope, func(tx dhruva.Tx) error {
		row, err = leaseRow(tx, t.Scope, t.Name)
		return err
	})
	if err != nil {
		return false, stale, wrap("hold lease", err)
	}
	if !taken(row, t.Owner, now, up.Skew) {
		return true, stale, nil
	}
	if !row.Until.After(now.Add(up.Lease + up.Skew)) {
		return false, stale, nil
	}
	if !sameLease(t.seen, row) {
		t.seen, t.since = row, now
	}
	return now.Sub(t.since) > up.Lease+up.Skew, row, nil
}

// Lease is the lease as it was taken or renewed last, for the Updates that are
// made under it; zero when it is not held.
func (t *Tenure) Lease() dhruva.Lease { return t.held }

// Lost is called when an Update under the lease was fenced.
func (t *Tenure) Lost() { t.held = dhruva.Lease{} }

// Release ends the lease, if it is held.
func (t *Tenure) Release(ctx context.Context) error {
	if t.held.Fence == 0 {
		return nil
	}
	held := t.held
	t.held = dhruva.Lease{}
	return t.Ledger.ReleaseLease(ctx, t.Scope, held)
}
