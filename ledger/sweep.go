package ledger

import (
	"context"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// The sweep puts away what nobody will come back for. Each step reads again in
// its Update what it decided on, so that it may run anywhere, twice, and beside
// whoever is late.

// sweepRows is how many rows one Update of the sweep touches.
const sweepRows = 200

// InterruptReceipts makes open receipts final as interrupted, each with its
// leaf: those that are older than ReceiptAge and whose process is not among the
// live nodes. A live node closes its own, however long the request takes. It
// returns how many they were.
func (l *Ledger) InterruptReceipts(ctx context.Context, t dhruva.TenantID, live map[dhruva.NodeID]bool) (total int, err error) {
	now := l.now()
	q := dhruva.ReceiptQuery{State: ReceiptOpen, Before: now.Add(-l.upkeep().ReceiptAge), Page: dhruva.Page{Limit: sweepRows}}
	for {
		var rows []dhruva.Receipt
		err := l.Store.View(ctx, dhruva.TenantScope(t), func(tx dhruva.Tx) error {
			rows, err = tx.ListReceipts(q)
			return err
		})
		if err != nil || len(rows) == 0 {
			return total, wrap("interrupt receipts", err)
		}
		for space, gone := range abandoned(rows, live) {
			n, err := l.interrupt(ctx, t, space, gone, now)
			total += n
			if err != nil {
				return total, wrap("interrupt receipts", err)
			}
		}
		q.After = string(rows[len(rows)-1].ID)
	}
}

// abandoned are the receipts whose process is gone, by space.
func abandoned(rows []dhruva.Receipt, live map[dhruva.NodeID]bool) map[dhruva.SpaceID][]dhruva.ReceiptID {
	out := map[dhruva.SpaceID][]dhruva.ReceiptID{}
	for _, r := range rows {
		if r.Node == "" || !live[r.Node] {
			out[r.Space] = append(out[r.Space], r.ID)
		}
	}
	return out
}

// interrupt takes the lock under which a receipt is closed.
func (l *Ledger) interrupt(ctx context.Context, t dhruva.TenantID, space dhruva.SpaceID, ids []dhruva.ReceiptID, now time.Time) (n int, err error) {
	scope := dhruva.TenantScope(t)
	if space != "" {
		scope = dhruva.SpaceScope(t, space)
	}
	err = l.Store.Update(ctx, []dhruva.Scope{scope}, func(tx dhruva.Tx) error {
		n = 0
		for _, id := range ids {
			r, err := tx.Receipt(id)
			if err := ignoreMissing(err); err != nil {
				return err
			}
			if r.State != ReceiptOpen { // it was closed meanwhile
				continue
			}
			r.State, r.FinishedAt = ReceiptInterrupted, now
			if err := dhruva.Attest(tx, r); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// ForgetCalls removes the memory of calls with an idempotency key that have
// expired.
func (l *Ledger) ForgetCalls(ctx context.Context, t dhruva.TenantID) error {
	return wrap("forget calls", l.forget(ctx, dhruva.Principal{Tenant: t}, l.now()))
}

// DropJobs removes the jobs that are done for longer than JobKept, and the dead
// ones whose space or generation is gone; it returns how many they were.
func (l *Ledger) DropJobs(ctx context.Context, t dhruva.TenantID) (total int, err error) {
	before := l.now().Add(-l.upkeep().JobKept)
	for _, state := range []dhruva.JobState{dhruva.JobDone, dhruva.JobDead} {
		q := dhruva.JobQuery{State: state, Page: dhruva.Page{Limit: sweepRows}}
		for {
			n, last, err := l.dropJobs(ctx, t, q, before)
			total += n
			if err != nil {
				return total, wrap("drop jobs", err)
			}
			if last == "" {
				break
			}
			q.After = string(last)
		}
	}
	return total, nil
}

// dropJobs looks at one page, and writes only when there is something to remove.
func (l *Ledger) dropJobs(ctx context.Context, t dhruva.TenantID, q dhruva.JobQuery, before time.Time) (n int, last dhruva.JobID, err error) {
	var old []dhruva.JobID
	err = l.Store.View(ctx, dhruva.TenantScope(t), func(tx dhruva.Tx) error {
		old, last = nil, ""
		rows, err := tx.ListJobs(q)
		if err != nil {
			return err
		}
		for _, j := range rows {
			if ok, err := disposable(tx, j, before); err != nil {
				return err
			} else if ok {
				old = append(old, j.ID)
			}
		}
		if len(rows) == q.Size() {
			last = rows[len(rows)-1].ID
		}
		return nil
	})
	if err != nil || len(old) == 0 {
		return 0, last, err
	}
	err = l.Store.Update(ctx, []dhruva.Scope{dhruva.TenantScope(t)}, func(tx dhruva.Tx) error {
		n = 0
		for _, id := range old {
			j, err := tx.Job(id)
			if err := ignoreMissing(err); err != nil {
				return err
			}
			ok, err := disposable(tx, j, before) // a person may have queued it again
			if err != nil || !ok {
				if err != nil {
					return err
				}
				continue
			}
			if err := tx.DropJob(id); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, last, err
}

func disposable(tx dhruva.Tx, j dhruva.Job, before time.Time) (bool, error) {
	switch j.State {
	case dhruva.JobDone:
		return j.UpdatedAt.Before(before), nil
	case dhruva.JobDead:
		return mootJob(tx, j)
	}
	return false, nil
}
