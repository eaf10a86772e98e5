package storetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// twins are the measure, twice beside itself.
func twins(t *testing.T) []dhruva.Store {
	stores := []dhruva.Store{memstore.New(), memstore.New(), Rerun{memstore.New()}}
	t.Cleanup(func() {
		for _, s := range stores {
			s.Close()
		}
	})
	return stores
}

func TestSame(t *testing.T) { Same(t, twins) }

func TestCampaign(t *testing.T) {
	operations := 10_000
	if testing.Short() {
		operations = 2_000
	}
	if n := Campaign(t, operations, rand.Uint64()>>1, twins); n < operations && !t.Failed() {
		t.Errorf("%d operations, want %d", n, operations)
	}
}

// Every method of Tx is drawn.
func TestEveryMethodIsDrawn(t *testing.T) {
	d := draw{chooser: seeded{rand.New(rand.NewPCG(1, 1))}, tag: "t"}
	var drawn []string
	for _, makers := range d.groups() {
		for _, maker := range makers {
			drawn = append(drawn, maker().name)
		}
	}
	slices.Sort(drawn)
	writes, reads := txMethods()
	want := append(writes, reads...)
	slices.Sort(want)
	if drawn = slices.Compact(drawn); !slices.Equal(drawn, want) {
		t.Errorf("drawn: %v\nof Tx: %v", drawn, want)
	}
}

// bent is a store with a fault in its transactions.
type bent struct {
	dhruva.Store
	bend func(dhruva.Tx) dhruva.Tx
}

func (b bent) Update(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) error {
	return b.Store.Update(ctx, scopes, func(tx dhruva.Tx) error { return fn(b.bend(tx)) })
}

func (b bent) View(ctx context.Context, s dhruva.Scope, fn func(dhruva.Tx) error) error {
	return b.Store.View(ctx, s, func(tx dhruva.Tx) error { return fn(b.bend(tx)) })
}

// The faults: what is easily got wrong in SQL.
type (
	tearsSources   struct{ dhruva.Tx } // a limit within the parts of a source
	claimsTwice    struct{ dhruva.Tx } // a claim does not look at the kinds
	swapsBlindly   struct{ dhruva.Tx } // a job's number is not compared
	keepsDone      struct{ dhruva.Tx } // a call that is done is taken up again
	compactsOne    struct{ dhruva.Tx } // one change too few goes
	forgetsSalt    struct{ dhruva.Tx } // a redacted item keeps its cites
	seesOthers     struct{ dhruva.Tx } // a grant of the tenant in a space's scope
	losesOrder     struct{ dhruva.Tx } // leaves that wait, by id only
	conflictsLate  struct{ dhruva.Tx } // a place that is taken is invalid
	replacesLeaves struct{ dhruva.Tx } // a leaf that exists is no conflict
)

func (t tearsSources) ListVectors(q dhruva.VectorQuery) ([]dhruva.Vector, error) {
	rows, err := t.Tx.ListVectors(q)
	return rows[:min(len(rows), q.Size())], err
}
func (t claimsTwice) ClaimJobs(c dhruva.JobClaim) ([]dhruva.Job, error) {
	if len(c.Kinds) > 1 {
		c.Kinds = c.Kinds[:1]
	}
	return t.Tx.ClaimJobs(c)
}
func (t swapsBlindly) SwapJob(j dhruva.Job, fence int64) error {
	if old, err := t.Tx.Job(j.ID); err == nil {
		fence = old.Fence
	}
	return t.Tx.SwapJob(j, fence)
}
func (t keepsDone) SwapIdempotency(i dhruva.Idempotency, fence int64) error {
	if i.State == dhruva.CallDone {
		i.State = dhruva.CallBegun
	}
	return t.Tx.SwapIdempotency(i, fence)
}
func (t compactsOne) CompactChanges(s dhruva.SpaceID, through int64) error {
	e, _ := t.Tx.Epoch(s)
	return t.Tx.CompactChanges(s, min(through, e.Head-1))
}
func (t forgetsSalt) Checkpoint(h dhruva.Hash) (dhruva.Checkpoint, error) {
	c, err := t.Tx.Checkpoint(h)
	for n := range c.Items {
		if c.Items[n].Redacted {
			c.Items[n].Salt[0] = 1
		}
	}
	return c, err
}
func (t seesOthers) ListGrants(s dhruva.SpaceID, p dhruva.Page) ([]dhruva.Grant, error) {
	rows, err := t.Tx.ListGrants(s, p)
	if s == "" {
		rows = nil
	}
	return rows, err
}
func (t losesOrder) PendingLeaves(n int) ([]dhruva.Leaf, error) {
	rows, err := t.Tx.PendingLeaves(n)
	slices.SortFunc(rows, func(a, b dhruva.Leaf) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return rows, err
}
func (t conflictsLate) PlaceLeaf(id dhruva.LeafID, n int64) error {
	err := t.Tx.PlaceLeaf(id, n)
	if errors.Is(err, dhruva.ErrConflict) {
		return dhruva.ErrInvalid
	}
	return err
}
func (t replacesLeaves) PutLeaf(l dhruva.Leaf) error {
	err := t.Tx.PutLeaf(l)
	if errors.Is(err, dhruva.ErrConflict) {
		return nil
	}
	return err
}

// leaks is a store that keeps what an update that fails has appended.
type leaks struct{ dhruva.Store }

func (l leaks) Update(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) error {
	var own error
	err := l.Store.Update(ctx, scopes, func(tx dhruva.Tx) error {
		own = fn(tx)
		return nil
	})
	if own != nil {
		return own
	}
	return err
}

func plants() map[string]dhruva.Store {
	b := func(bend func(dhruva.Tx) dhruva.Tx) dhruva.Store { return bent{memstore.New(), bend} }
	return map[string]dhruva.Store{
		"tears sources":   b(func(tx dhruva.Tx) dhruva.Tx { return tearsSources{tx} }),
		"claims one kind": b(func(tx dhruva.Tx) dhruva.Tx { return claimsTwice{tx} }),
		"swaps blindly":   b(func(tx dhruva.Tx) dhruva.Tx { return swapsBlindly{tx} }),
		"keeps done":      b(func(tx dhruva.Tx) dhruva.Tx { return keepsDone{tx} }),
		"compacts one":    b(func(tx dhruva.Tx) dhruva.Tx { return compactsOne{tx} }),
		"forgets salt":    b(func(tx dhruva.Tx) dhruva.Tx { return forgetsSalt{tx} }),
		"sees others":     b(func(tx dhruva.Tx) dhruva.Tx { return seesOthers{tx} }),
		"loses order":     b(func(tx dhruva.Tx) dhruva.Tx { return losesOrder{tx} }),
		"conflicts late":  b(func(tx dhruva.Tx) dhruva.Tx { return conflictsLate{tx} }),
		"replaces leaves": b(func(tx dhruva.Tx) dhruva.Tx { return replacesLeaves{tx} }),
		"leaks":           leaks{memstore.New()},
	}
}

// TestCampaignFinds plants faults, and finds each again from the seed that the
// failure names.
func TestCampaignFinds(t *testing.T) {
	for name, planted := range plants() {
		n, rounds, err := rounds(30_000, 1, []dhruva.Store{memstore.New(), planted})
		if err == nil {
			t.Errorf("%s: not found in %d operations", name, n)
			continue
		}
		if !strings.Contains(err.Error(), fmt.Sprintf("Campaign(t, 1, %d, ", rounds)) || !strings.Contains(err.Error(), "step ") {
			t.Errorf("%s: the failure does not name its seed and step: %.300v", name, err)
		}
		again := plants()[name]
		if _, err := round(rounds, []dhruva.Store{memstore.New(), again}); err == nil {
			t.Errorf("%s: not found again from seed %d", name, rounds)
		}
		t.Logf("%s: found after %d operations", name, n)
	}
}

// taker takes what rapid says of a property that fails.
type taker struct {
	testing.TB
	said   strings.Builder
	failed bool
}

func (t *taker) Helper()                      {}
func (t *taker) Name() string                 { return "taker" }
func (t *taker) Failed() bool                 { return t.failed }
func (t *taker) Fail()                        { t.failed = true }
func (t *taker) FailNow()                     { t.failed = true }
func (t *taker) Log(args ...any)              { fmt.Fprintln(&t.said, args...) }
func (t *taker) Logf(f string, args ...any)   { fmt.Fprintf(&t.said, f+"\n", args...) }
func (t *taker) Error(args ...any)            { t.Log(args...); t.failed = true }
func (t *taker) Errorf(f string, args ...any) { t.Logf(f, args...); t.failed = true }
func (t *taker) Fatal(args ...any)            { t.Log(args...); t.failed = true }
func (t *taker) Fatalf(f string, args ...any) { t.Logf(f, args...); t.failed = true }

// TestSameFinds: rapid finds a planted fault too, and shrinks it. It stops at the
// first, so that the number of its checks only says when it gives up.
func TestSameFinds(t *testing.T) {
	b := bent{memstore.New(), func(tx dhruva.Tx) dhruva.Tx { return replacesLeaves{tx} }}
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.checks": "20000"} { // it fails on purpose
		old := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		defer flag.Set(name, old)
	}
	rec := &taker{TB: t}
	rapid.Check(rec, sameness([]dhruva.Store{memstore.New(), b}))
	if !rec.failed || !strings.Contains(rec.said.String(), "PutLeaf") {
		t.Errorf("failed %v: %.2000s", rec.failed, rec.said.String())
	}
}
