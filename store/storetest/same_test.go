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
	"time"

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
	walksShown     struct{ dhruva.Tx } // a walk passes over what is hidden
	titlesLast     struct{ dhruva.Tx } // a title that is no title item's
	seamsUnread    struct{ dhruva.Tx } // a turn that was redacted is no seam
	dropsBlindly   struct{ dhruva.Tx } // a branch at another head is dropped
	findsAll       struct{ dhruva.Tx } // checkpoints that lack the item
	redactsNothing struct{ dhruva.Tx } // a note that is absent was redacted
	movesClaims    struct{ dhruva.Tx } // a claim of another space is no conflict
	livesOn        struct{ dhruva.Tx } // a claim lives at the moment it expires
	mixesKinds     struct{ dhruva.Tx } // documents of a session, of whatever kind
	repeatsMoves   struct{ dhruva.Tx } // a number that is taken is taken again
)

func (t walksShown) Ancestry(h dhruva.Hash, limit int) ([]dhruva.Outline, error) {
	rows, err := t.Tx.Ancestry(h, limit)
	return slices.DeleteFunc(rows, func(o dhruva.Outline) bool { return !o.HiddenAt.IsZero() }), err
}
func (t titlesLast) ListOutlines(q dhruva.OutlineQuery) ([]dhruva.Outline, error) {
	rows, err := t.Tx.ListOutlines(q)
	for n := range rows {
		if c, err := t.Tx.Checkpoint(rows[n].Hash); err == nil && len(c.Items) > 0 {
			rows[n].Title = c.Items[len(c.Items)-1].Text
		}
	}
	return rows, err
}
func (t seamsUnread) Seams(s dhruva.SessionID, after, through int64) ([]dhruva.Seam, error) {
	rows, err := t.Tx.Seams(s, after, through)
	return slices.DeleteFunc(rows, func(s dhruva.Seam) bool { return s.Redacted }), err
}
func (t dropsBlindly) DropBranch(s dhruva.SpaceID, name string, old dhruva.Hash) error {
	if b, err := t.Tx.Branch(s, name); err == nil {
		old = b.Head
	}
	return t.Tx.DropBranch(s, name, old)
}
func (t findsAll) ListCheckpoints(q dhruva.CheckpointQuery) ([]dhruva.Checkpoint, error) {
	q.Item = ""
	return t.Tx.ListCheckpoints(q)
}
func (t redactsNothing) RedactNote(s dhruva.SpaceID, id dhruva.NoteID) error {
	err := t.Tx.RedactNote(s, id)
	if errors.Is(err, dhruva.ErrNotFound) {
		return nil
	}
	return err
}
func (t movesClaims) PutClaim(c dhruva.Claim) error {
	err := t.Tx.PutClaim(c)
	if errors.Is(err, dhruva.ErrConflict) {
		return nil
	}
	return err
}
func (t livesOn) ListClaims(q dhruva.ClaimQuery) ([]dhruva.Claim, error) {
	if !q.Live.IsZero() {
		q.Live = q.Live.Add(-time.Microsecond)
	}
	return t.Tx.ListClaims(q)
}
func (t mixesKinds) ListDocuments(q dhruva.DocumentQuery) ([]dhruva.Document, error) {
	if q.Session != "" {
		q.Kind = ""
	}
	return t.Tx.ListDocuments(q)
}
func (t repeatsMoves) AppendHeadMove(m dhruva.HeadMove) error {
	err := t.Tx.AppendHeadMove(m)
	if errors.Is(err, dhruva.ErrConflict) {
		return nil
	}
	return err
}

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
		"walks shown":     b(func(tx dhruva.Tx) dhruva.Tx { return walksShown{tx} }),
		"titles last":     b(func(tx dhruva.Tx) dhruva.Tx { return titlesLast{tx} }),
		"seams unread":    b(func(tx dhruva.Tx) dhruva.Tx { return seamsUnread{tx} }),
		"drops blindly":   b(func(tx dhruva.Tx) dhruva.Tx { return dropsBlindly{tx} }),
		"finds all":       b(func(tx dhruva.Tx) dhruva.Tx { return findsAll{tx} }),
		"redacts nothing": b(func(tx dhruva.Tx) dhruva.Tx { return redactsNothing{tx} }),
		"moves claims":    b(func(tx dhruva.Tx) dhruva.Tx { return movesClaims{tx} }),
		"lives on":        b(func(tx dhruva.Tx) dhruva.Tx { return livesOn{tx} }),
		"mixes kinds":     b(func(tx dhruva.Tx) dhruva.Tx { return mixesKinds{tx} }),
		"repeats moves":   b(func(tx dhruva.Tx) dhruva.Tx { return repeatsMoves{tx} }),
		"leaks":           leaks{memstore.New()},
	}
}

// TestCampaignFinds plants faults, and finds each again from the seed that the
// failure names.
func TestCampaignFinds(t *testing.T) {
	for name, planted := range plants() {
		n, rounds, err := rounds(60_000, 1, []dhruva.Store{memstore.New(), planted})
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
