package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// beside is a ledger on the same store whose clock differs by a constant.
func (r *rig) beside(skew time.Duration) *ledger.Ledger {
	l := *r.l
	l.Now = func() time.Time { return r.clock().Add(skew) }
	return &l
}

func (r *rig) lease(s dhruva.Scope, name string) (out dhruva.Lease) {
	r.Helper()
	r.must(r.store.View(context.Background(), s, func(tx dhruva.Tx) (err error) {
		out, err = tx.Lease(s.Tenant(), name)
		return err
	}))
	return out
}

// leased runs a test for a lease of a tenant and for one of the installation.
func leased(t *testing.T, fn func(*rig, dhruva.Scope)) {
	each(t, func(r *rig) {
		r.still = true
		fn(r, r.owner.Scope())
		fn(r, dhruva.SystemScope())
	})
}

func TestALeaseIsOnes(t *testing.T) {
	leased(t, func(r *rig, s dhruva.Scope) {
		up := r.l.Upkeep.WithDefaults()
		a := must[dhruva.Lease](r)(r.l.AcquireLease(background, s, "x", "a"))
		if a.Fence != 1 || a.Owner != "a" || a.Until.Sub(r.now) != up.Lease || a.Tenant != s.Tenant() {
			r.Errorf("%+v", a)
		}
		_, err := r.l.AcquireLease(background, s, "x", "b")
		r.is(err, dhruva.ErrConflict)
		if b := must[dhruva.Lease](r)(r.l.AcquireLease(background, s, "y", "b")); b.Fence != 1 {
			r.Errorf("another name: %+v", b)
		}
		r.later(up.Lease - time.Second)
		if a = must[dhruva.Lease](r)(r.l.RenewLease(background, s, a)); a.Fence != 1 || a.Until.Sub(r.now) != up.Lease {
			r.Errorf("renewed: %+v", a)
		}
		if again := must[dhruva.Lease](r)(r.l.AcquireLease(background, s, "x", "a")); again.Fence != 1 {
			r.Errorf("one's own: %+v", again)
		}
		// It ended, but not yet for others: their clocks may be ahead.
		r.later(up.Lease + up.Skew)
		_, err = r.l.RenewLease(background, s, a)
		r.is(err, dhruva.ErrFenced)
		_, err = r.l.AcquireLease(background, s, "x", "b")
		r.is(err, dhruva.ErrConflict)
		r.later(time.Microsecond)
		b := must[dhruva.Lease](r)(r.l.AcquireLease(background, s, "x", "b"))
		if b.Fence != 2 || b.Owner != "b" {
			r.Errorf("%+v", b)
		}
		_, err = r.l.RenewLease(background, s, a)
		r.is(err, dhruva.ErrFenced)
		r.must(r.l.ReleaseLease(background, s, a)) // it is not a's any more
		if got := r.lease(s, "x"); !got.Until.Equal(b.Until) {
			r.Errorf("%+v", got)
		}
		r.must(r.l.ReleaseLease(background, s, b))
		if c := must[dhruva.Lease](r)(r.l.AcquireLease(background, s, "x", "c")); c.Fence != 3 {
			r.Errorf("after a release: %+v", c)
		}
		_, err = r.l.RenewLease(background, s, dhruva.Lease{Tenant: s.Tenant(), Name: "never", Owner: "a", Fence: 1})
		r.is(err, dhruva.ErrFenced)
	})
}

// One's own lease that ended is taken anew, under another number: somebody may
// have had it in between.
func TestALeaseThatEndedIsTakenAnew(t *testing.T) {
	leased(t, func(r *rig, s dhruva.Scope) {
		a := must[dhruva.Lease](r)(r.l.AcquireLease(background, s, "x", "a"))
		r.later(time.Minute)
		if again := must[dhruva.Lease](r)(r.l.AcquireLease(background, s, "x", "a")); again.Fence != a.Fence+1 {
			r.Errorf("%+v", again)
		}
	})
}

// The clock of the holder, or ours, jumps: a renewal never shortens, and a lease
// of a holder whose clock is behind stands until it ends on ours and the skew.
func TestClocksThatJump(t *testing.T) {
	leased(t, func(r *rig, s dhruva.Scope) {
		up := r.l.Upkeep.WithDefaults()
		a := must[dhruva.Lease](r)(r.l.AcquireLease(background, s, "x", "a"))
		r.later(-time.Hour)
		if back := must[dhruva.Lease](r)(r.l.RenewLease(background, s, a)); !back.Until.Equal(a.Until) || back.Fence != a.Fence {
			r.Errorf("shortened from %s to %s", a.Until, back.Until)
		}
		if back := must[dhruva.Lease](r)(r.l.AcquireLease(background, s, "x", "a")); !back.Until.Equal(a.Until) {
			r.Errorf("shortened from %s to %s", a.Until, back.Until)
		}
		r.later(time.Hour)
		behind := r.beside(-up.Skew)
		z := must[dhruva.Lease](r)(behind.AcquireLease(background, s, "z", "behind"))
		r.later(z.Until.Sub(r.now) + up.Skew)
		_, err := r.l.AcquireLease(background, s, "z", "b")
		r.is(err, dhruva.ErrConflict)
		r.later(time.Second)
		must[dhruva.Lease](r)(r.l.AcquireLease(background, s, "z", "b"))
	})
}

// A tenure writes only when it must, and never while somebody else holds.
func TestATenureCostsLittle(t *testing.T) {
	leased(t, func(r *rig, s dhruva.Scope) {
		counted := storetest.NewFaulty(r.store, storetest.Lost, -1)
		l := *r.l
		l.Store = counted
		up := l.Upkeep.WithDefaults()
		a := &ledger.Tenure{Ledger: &l, Scope: s, Name: "t", Owner: "a"}
		b := &ledger.Tenure{Ledger: &l, Scope: s, Name: "t", Owner: "b"}
		hold := func(t *ledger.Tenure, want bool, updates int) {
			r.Helper()
			before := counted.Updates()
			held, err := t.Hold(background)
			r.must(err)
			if held != want || counted.Updates()-before != updates {
				r.Errorf("held %v, want %v, %d updates, want %d", held, want, counted.Updates()-before, updates)
			}
		}
		hold(a, true, 1)
		hold(a, true, 0)
		hold(b, false, 0)
		r.later(up.Lease / 2)
		hold(a, true, 1)
		r.later(up.Lease + up.Skew + time.Second)
		hold(b, true, 1)
		hold(a, false, 1) // its renewal is refused
		hold(a, false, 0)
		if a.Lease().Fence != 0 || b.Lease().Fence != 2 {
			r.Errorf("%+v %+v", a.Lease(), b.Lease())
		}
		r.must(a.Release(background)) // it holds nothing
		hold(b, true, 0)
		r.must(b.Release(background))
		hold(a, true, 1)
		a.Lost()
		if a.Lease().Fence != 0 {
			r.Error("lost and still held")
		}
	})
}

// A clock that had jumped a year ahead leaves a lease that ends in a year. Nobody
// renews it, so it is taken after the time that any lease has; one that is
// renewed is not.
func TestALeaseFromTheFutureIsTaken(t *testing.T) {
	leased(t, func(r *rig, s dhruva.Scope) {
		up := r.l.Upkeep.WithDefaults()
		ahead := r.beside(365 * 24 * time.Hour)
		far := must[dhruva.Lease](r)(ahead.AcquireLease(background, s, "f", "ahead"))
		b := &ledger.Tenure{Ledger: r.l, Scope: s, Name: "f", Owner: "b"}
		hold := func(want bool) {
			r.Helper()
			if held, err := b.Hold(background); err != nil || held != want {
				r.Errorf("%v %v, want %v", held, err, want)
			}
		}
		hold(false)
		r.later(up.Lease / 2)
		renewed := must[dhruva.Lease](r)(ahead.RenewLease(background, s, far)) // it lives
		hold(false)
		r.later(up.Lease + up.Skew)
		hold(false)
		r.later(time.Second)
		hold(true)
		if got := b.Lease(); got.Fence != far.Fence+1 || got.Until.Sub(r.now) != up.Lease {
			r.Errorf("%+v", got)
		}
		_, err := ahead.RenewLease(background, s, renewed)
		r.is(err, dhruva.ErrFenced)
	})
}

// However many wish for a lease, with clocks that differ within the skew, one
// holds it: each number is one owner's.
func TestTenuresAtOnce(t *testing.T) {
	each(t, func(r *rig) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		owners := map[int64]dhruva.NodeID{}
		for n := range 5 {
			wg.Go(func() {
				l := r.beside(time.Duration(n-2) * time.Second)
				tenure := &ledger.Tenure{Ledger: l, Scope: r.owner.Scope(), Name: "x", Owner: dhruva.NodeID(fmt.Sprint(n))}
				for range 40 { // each reading of the clock is a second
					held, err := tenure.Hold(background)
					if err != nil {
						t.Error(err)
						return
					}
					if !held {
						continue
					}
					got := tenure.Lease()
					mu.Lock()
					if other, ok := owners[got.Fence]; ok && other != got.Owner {
						t.Errorf("number %d is %s's and %s's", got.Fence, other, got.Owner)
					}
					owners[got.Fence] = got.Owner
					mu.Unlock()
				}
				if n%2 == 0 {
					if err := tenure.Release(background); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if len(owners) == 0 {
			t.Error("nobody held it")
		}
	})
}

func TestNodesStandAndGo(t *testing.T) {
	each(t, func(r *rig) {
		r.still = true
		sys, up := dhruva.SystemScope(), r.l.Upkeep.WithDefaults()
		first := must[dhruva.Node](r)(r.l.Heartbeat(background, sys, dhruva.Node{ID: "a", Name: "one", Version: "1"}))
		if !first.StartedAt.Equal(r.now) || first.Until.Sub(r.now) != up.NodeLease {
			t.Errorf("%+v", first)
		}
		r.later(time.Second)
		again := must[dhruva.Node](r)(r.l.Heartbeat(background, sys, dhruva.Node{ID: "a", Name: "one", Version: "1"}))
		if !again.StartedAt.Equal(first.StartedAt) || !again.Until.After(first.Until) {
			t.Errorf("%+v", again)
		}
		r.later(-time.Hour)
		if back := must[dhruva.Node](r)(r.l.Heartbeat(background, sys, dhruva.Node{ID: "a"})); !back.Until.Equal(again.Until) {
			t.Errorf("shortened: %s, was %s", back.Until, again.Until)
		}
		r.later(time.Hour)
		must[dhruva.Node](r)(r.l.Heartbeat(background, sys, dhruva.Node{ID: "b"}))
		r.later(up.NodeLease)
		must[dhruva.Node](r)(r.l.Heartbeat(background, sys, dhruva.Node{ID: "b"}))
		r.later(up.Skew + time.Second)
		all, live, err := r.l.Nodes(background, sys)
		r.must(err)
		if len(all) != 2 || live["a"] || !live["b"] {
			t.Errorf("%+v %v", all, live)
		}
		if n := must[int](r)(r.l.RemoveDeadNodes(background, sys)); n != 1 {
			t.Errorf("%d removed", n)
		}
		if n := must[int](r)(r.l.RemoveDeadNodes(background, sys)); n != 0 {
			t.Errorf("%d removed again", n)
		}
		r.must(r.l.Leave(background, sys, "b"))
		if all, _, err := r.l.Nodes(background, sys); err != nil || len(all) != 0 {
			t.Errorf("%+v %v", all, err)
		}
		_, err = r.l.Heartbeat(background, r.owner.Scope(), dhruva.Node{ID: "a"})
		r.is(err, dhruva.ErrDenied)
		_, _, err = r.l.Nodes(background, r.owner.Scope())
		r.is(err, dhruva.ErrDenied)
		r.is(r.l.Leave(background, r.owner.Scope(), "a"), dhruva.ErrDenied)
	})
}
