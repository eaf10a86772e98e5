package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/dhruva-memory/dhruva"
)

// Fault says how an update goes wrong.
type Fault int

// The faults. To the caller they look alike: ErrUnavailable, outcome unknown.
const (
	// Lost: fn ran, and nothing of it was kept.
	Lost Fault = iota
	// Kept: the update is durable, and its caller was not told.
	Kept
)

// Faulty is a Store whose n-th update goes wrong, counted from 1. The others,
// and updates whose fn fails by itself, are those of the store within.
type Faulty struct {
	dhruva.Store
	fault   Fault
	at      int64
	updates atomic.Int64
}

// NewFaulty wraps a store; closing it closes that store.
func NewFaulty(s dhruva.Store, fault Fault, at int) *Faulty {
	return &Faulty{Store: s, fault: fault, at: int64(at)}
}

// Updates is how many updates were begun; a fault table ends when it stays
// below the place of the fault.
func (f *Faulty) Updates() int { return int(f.updates.Load()) }

// Update fails when its turn comes.
func (f *Faulty) Update(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) error {
	if f.updates.Add(1) != f.at {
		return f.Store.Update(ctx, scopes, fn)
	}
	fault := fmt.Errorf("storetest: update %d: %w: outcome unknown", f.at, dhruva.ErrUnavailable)
	if f.fault == Kept {
		if err := f.Store.Update(ctx, scopes, fn); err != nil {
			return err
		}
		return fault
	}
	lost := errors.New("lost")
	err := f.Store.Update(ctx, scopes, func(tx dhruva.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return lost
	})
	if err == lost {
		return fault
	}
	return err
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
