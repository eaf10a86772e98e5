package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/dhruva-memory/dhruva"
)

// Fault says how a store goes wrong.
type Fault int

// The faults. To the caller all of them are ErrUnavailable.
const (
	// Lost: fn ran, nothing of the update was kept, and its caller does not know.
	Lost Fault = iota
	// Kept: the update is durable, and its caller was not told.
	Kept
	// Refused: a row could not be written, as when the disk is full. The update
	// fails as a whole, also when fn ignores the error.
	Refused
)

// String is for tables.
func (f Fault) String() string {
	if f < Lost || f > Refused {
		return fmt.Sprint("fault ", int(f))
	}
	return [...]string{"lost", "kept", "refused"}[f]
}

// Faults are all of them.
func Faults() []Fault { return []Fault{Lost, Kept, Refused} }

// Faulty is a Store of which one thing goes wrong: its n-th update, counted from
// 1, when the fault is Lost or Kept; the n-th write of a row, counted over all
// updates, when it is Refused. All else is as the store within has it, updates
// whose fn fails by itself too.
type Faulty struct {
	dhruva.Store
	fault   Fault
	at      int64
	updates atomic.Int64
	writes  atomic.Int64
}

// NewFaulty wraps a store; closing it closes that store.
func NewFaulty(s dhruva.Store, fault Fault, at int) *Faulty {
	return &Faulty{Store: s, fault: fault, at: int64(at)}
}

// Updates is how many updates were begun.
func (f *Faulty) Updates() int { return int(f.updates.Load()) }

// Writes is how many calls of a writing method of Tx there were, those that were
// refused too.
func (f *Faulty) Writes() int { return int(f.writes.Load()) }

// Happened tells whether the fault has; a table over its places ends when it
// has not.
func (f *Faulty) Happened() bool {
	if f.fault == Refused {
		return f.writes.Load() >= f.at
	}
	return f.updates.Load() >= f.at
}

// Update fails when its turn comes.
func (f *Faulty) Update(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) error {
	n := f.updates.Add(1)
	if f.fault == Refused || n != f.at {
		return f.Store.Update(ctx, scopes, f.counting(fn))
	}
	fault := fmt.Errorf("storetest: update %d: %w: outcome unknown", f.at, dhruva.ErrUnavailable)
	if f.fault == Kept {
		if err := f.Store.Update(ctx, scopes, f.counting(fn)); err != nil {
			return err
		}
		return fault
	}
	lost := errors.New("lost")
	err := f.Store.Update(ctx, scopes, func(tx dhruva.Tx) error {
		if err := f.counting(fn)(tx); err != nil {
			return err
		}
		return lost
	})
	if err == lost {
		return fault
	}
	return err
}

// counting runs fn on a Tx that counts its writes, and fails when one of them
// was refused.
func (f *Faulty) counting(fn func(dhruva.Tx) error) func(dhruva.Tx) error {
	return func(tx dhruva.Tx) error {
		w := &writeTx{Tx: tx, faulty: f}
		if err := fn(w); err != nil {
			return err
		}
		return w.refused
	}
}

// Rerun is a Store that runs every update's fn twice, the first time for
// nothing, as a store may. What a caller does with it shows whether its
// functions have side effects.
type Rerun struct{ dhruva.Store }

// Update runs fn in an update that is rolled back, then for good.
func (r Rerun) Update(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) error {
	again := errors.New("again")
	err := r.Store.Update(ctx, scopes, func(tx dhruva.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return again
	})
	if err != again {
		return err
	}
	return r.Store.Update(ctx, scopes, fn)
}
