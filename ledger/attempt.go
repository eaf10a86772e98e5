package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// errOutrun refuses the Update of an attempt when the call's row is not as this
// attempt left it: another one was faster, or this one was taken for dead.
var errOutrun = fmt.Errorf("%w: another call with this idempotency key went on meanwhile", dhruva.ErrConflict)

// attempt is a Store for one run of a call's operation: its Updates carry the
// call's row.
type attempt struct {
	dhruva.Store
	ledger    *Ledger
	principal dhruva.Principal
	call      Call

	mu sync.Mutex
	// row is the call as this attempt last wrote it, or would begin it; its Fence
	// is this attempt's own.
	row dhruva.Idempotency
	// stored: the row exists, with the fence held.
	stored bool
	held   int64
	// open: the outcome of an Update that was not the last is unknown.
	open bool
	// lost: an Update was refused with errOutrun.
	lost bool
}

// resume goes on where an attempt that ended early left off.
func (a *attempt) resume(old dhruva.Idempotency) {
	a.stored, a.held = true, old.Fence
	a.row.CreatedAt, a.row.Results, a.row.Fence = old.CreatedAt, old.Results, old.Fence+1+anyFence()>>31
}

// run runs the operation. When it wrote nothing to the end, the call is settled
// afterwards; when it failed, the call is given up. That another attempt was
// faster is no error here.
func (a *attempt) run(ctx context.Context, op func(*Ledger) error) error {
	err := a.claim(ctx)
	if err == nil && !a.lost {
		err = op(a.ledger.over(a))
	}
	if err == nil && !a.lost && a.row.State != dhruva.CallDone {
		err = a.Update(ctx, []dhruva.Scope{a.principal.Scope()}, func(dhruva.Tx) error { return nil })
	}
	if err == nil || a.lost || a.overtaken(ctx, err) {
		return nil
	}
	a.giveUp(ctx)
	return err
}

// overtaken reports whether an operation failed because another attempt did the
// same before it: the name is taken, the space is gone already.
func (a *attempt) overtaken(ctx context.Context, err error) bool {
	if errors.Is(err, dhruva.ErrUnavailable) || a.row.State == dhruva.CallDone {
		return false
	}
	row, err := a.ledger.called(ctx, a)
	a.lost = err == nil && a.foreign(row)
	return a.lost
}

// foreign: the row is not as this attempt left it, or found it.
func (a *attempt) foreign(row dhruva.Idempotency) bool {
	ours := row.Fence == a.row.Fence || a.stored && row.Fence == a.held
	return !ours || row.State == dhruva.CallDone
}

// blame is overtaken for an Update whose fn failed. It asks the same snapshot,
// which may show what is not committed yet.
func (a *attempt) blame(tx dhruva.Tx, failure error) error {
	row, err := tx.Idempotency(a.row.Principal, a.row.Route, a.row.Key)
	if err == nil && a.foreign(row) {
		return errOutrun
	}
	return failure
}

func (a *attempt) claim(ctx context.Context) error {
	if a.call.Claim <= 0 {
		return nil
	}
	err := a.Update(ctx, []dhruva.Scope{a.principal.Scope()}, func(tx dhruva.Tx) error {
		more(tx)
		return nil
	})
	if a.lost {
		return nil
	}
	return err
}

// Update is the store's, with the call's row.
func (a *attempt) Update(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.lost:
		return errOutrun
	case a.row.State == dhruva.CallDone:
		return errors.New("an update after the last one of its call")
	}
	begun, done := a.next(a.ledger.now())
	var row dhruva.Idempotency
	err := a.Store.Update(ctx, scopes, func(tx dhruva.Tx) error {
		r := &recorder{Tx: tx, made: made{refs: slices.Clone(a.row.Results)}}
		if err := fn(r); err != nil {
			return a.blame(tx, err)
		}
		row = done
		if r.more {
			row = begun
		}
		row.Results = r.made.refs
		return a.put(tx, row)
	})
	switch {
	case err == nil:
		a.row, a.stored, a.held, a.open = row, true, row.Fence, false
	case errors.Is(err, errOutrun):
		a.lost = true
	case row.State == dhruva.CallBegun: // fn was content: the commit failed, and may have been kept
		a.open = true
	}
	return err
}

// next is the row after an Update that is not the last, and after one that is.
func (a *attempt) next(now time.Time) (begun, done dhruva.Idempotency) {
	limits := a.ledger.limits()
	begun = a.row
	if !a.call.Forever {
		begun.ExpiresAt = now.Add(limits.CallKept)
	}
	done = begun
	begun.Until = now.Add(max(limits.CallTime, a.call.Claim))
	done.State, done.Until = dhruva.CallDone, time.Time{}
	return begun, done
}

func (a *attempt) put(tx dhruva.Tx, row dhruva.Idempotency) error {
	err := error(nil)
	if a.stored {
		err = tx.SwapIdempotency(row, a.held)
	} else {
		err = tx.PutIdempotency(row)
	}
	if errors.Is(err, dhruva.ErrConflict) {
		return errOutrun
	}
	return err
}

// giveUp lets a call that failed be run again at once. When it cannot, the row
// is taken for dead when its time is over.
func (a *attempt) giveUp(ctx context.Context) {
	if begun := a.stored && a.held == a.row.Fence; a.row.State == dhruva.CallDone || !begun && !a.open {
		return
	}
	_ = a.Store.Update(context.WithoutCancel(ctx), []dhruva.Scope{a.principal.Scope()}, func(tx dhruva.Tx) error {
		row, err := tx.Idempotency(a.row.Principal, a.row.Route, a.row.Key)
		if err != nil || row.Fence != a.row.Fence || row.State == dhruva.CallDone {
			return ignoreMissing(err)
		}
		row.Until = time.Time{}
		return tx.SwapIdempotency(row, row.Fence)
	})
}
