package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// The fault table: every operation of the ledger that writes, with every fault
// at every one of its writes, and the process going on or ending there. Then the
// operation is repeated, as its caller would, and what the store holds is what
// it holds when nothing went wrong.

// writeOp is a row of the table.
type writeOp struct {
	// name is that of a method of Ledger, and a few words when it has more than
	// one row.
	name string
	// prepare makes what the operation works on. What it returns can be called
	// again with the same arguments, on another ledger of the same store.
	prepare func(*rig) func(*ledger.Ledger) error
	// keyed: without an idempotency key a repeated call is another call. unkeyed:
	// it is never called with one.
	keyed, unkeyed bool
	// repeated is what a repeated call without key may say when the first one was
	// kept.
	repeated error
	// afterwards is what workers do in any case when the caller has its answer.
	afterwards func(*rig)
	// also is a part of the effect that no list of the tenant's rows shows.
	also func(*rig) string
}

// method is the name alone.
func (o writeOp) method() string { name, _, _ := strings.Cut(o.name, " "); return name }

// fault is one thing that goes wrong.
type fault struct {
	kind storetest.Fault
	at   int
	// ends: the process ends with it, and another one goes on later.
	ends bool
	// keyed: the call has an idempotency key.
	keyed bool
}

// String is for messages.
func (f fault) String() string {
	return fmt.Sprintf("%v at %d, process ends %v, with a key %v", f.kind, f.at, f.ends, f.keyed)
}

// process is the store as a process sees it that may end at the fault.
type process struct {
	*storetest.Faulty
	ends  bool
	ended atomic.Bool
}

var errEnded = fmt.Errorf("%w: the process has ended", dhruva.ErrUnavailable)

// View fails when the process has ended.
func (p *process) View(ctx context.Context, s dhruva.Scope, fn func(dhruva.Tx) error) error {
	if p.ended.Load() {
		return errEnded
	}
	return p.Faulty.View(ctx, s, fn)
}

// Update fails when the process has ended, or ends with it.
func (p *process) Update(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) error {
	if p.ended.Load() {
		return errEnded
	}
	err := p.Faulty.Update(ctx, scopes, fn)
	if p.ends && errors.Is(err, dhruva.ErrUnavailable) {
		p.ended.Store(true)
	}
	return err
}

// Changes are none when the process has ended.
func (p *process) Changes(ctx context.Context, s dhruva.Scope, after int64) iter.Seq2[dhruva.Change, error] {
	if p.ended.Load() {
		return func(yield func(dhruva.Change, error) bool) { yield(dhruva.Change{}, errEnded) }
	}
	return p.Faulty.Changes(ctx, s, after)
}

// table runs the rows, each case as a tenant of its own on one store, or on a
// new one where that costs nothing.
type table struct {
	*testing.T
	store   dhruva.Store
	fresh   func(testing.TB) dhruva.Store
	place   string // where the store can be opened again
	tenants int
	faults  map[storetest.Fault]int
	// sample, when set, draws which rows are refused: not every one.
	sample *rand.Rand
}

// stride is how far the next fault is: every update has its own, and every row
// of those that a short operation writes. Rows of a long one are alike.
func (t *table) stride(f fault) int {
	switch {
	case f.kind != storetest.Refused || testkit.Campaign():
		return 1
	case t.sample != nil:
		return 1 + t.sample.IntN(20+f.at)
	}
	return 1 + f.at/25
}

func newTable(t *testing.T, s dhruva.Store) *table {
	return &table{T: t, store: s, faults: map[storetest.Fault]int{}}
}

// tableOn is a table on a kind of store.
func tableOn(t *testing.T, name string) *table {
	place, lasts := lasting[name]
	if !lasts {
		tab := newTable(t, openers[name](t))
		tab.fresh = openers[name]
		return tab
	}
	at := place(t)
	tab := newTable(t, opened(t, at))
	tab.place = at
	return tab
}

func (t *table) rig() *rig {
	if t.tenants++; t.fresh != nil {
		t.store = t.fresh(t.T)
	}
	r := newRig(t.T, t.store)
	r.owner.Tenant = dhruva.TenantID(fmt.Sprint("case-", t.tenants))
	r.l = ledger.New(t.store, r.keys)
	r.l.Now = r.clock
	return r
}

// run runs a row with every fault, until there is none left to make.
func (t *table) run(o writeOp) {
	want := t.clean(o)
	for _, keyed := range []bool{false, true} {
		if keyed && o.unkeyed || !keyed && o.keyed {
			continue
		}
		for _, kind := range storetest.Faults() {
			for _, ends := range []bool{false, true} {
				for f := (fault{kind, 1, ends, keyed}); t.fail(o, f, want); f.at += t.stride(f) {
					t.faults[kind]++
				}
			}
		}
	}
}

// clean is the effect of the operation when nothing goes wrong.
func (t *table) clean(o writeOp) []string {
	r := t.rig()
	act := o.prepare(r)
	r.must(act(r.l))
	want := o.effect(r)
	r.check()
	return want
}

func (o writeOp) effect(r *rig) []string {
	if o.afterwards != nil {
		o.afterwards(r)
	}
	lines := r.effect()
	if o.also != nil {
		lines = append(lines, o.also(r))
	}
	return lines
}

// fail runs the operation with a fault, repeats it, and compares. It tells
// whether the fault was made: an operation may have ended before.
func (t *table) fail(o writeOp, f fault, want []string) (made bool) {
	r := t.rig()
	act := o.prepare(r)
	broken := &process{Faulty: storetest.NewFaulty(t.store, f.kind, f.at), ends: f.ends}
	mine := *r.l
	mine.Store = broken
	err := r.call(o, f, &mine, act)
	if !broken.Happened() {
		return false
	}
	if err != nil && !errors.Is(err, dhruva.ErrUnavailable) {
		t.Errorf("%s: %v: %v", o.name, f, err)
	}
	if f.ends { // until what it held is taken for dead
		t.reopen(r, f)
		r.later(2 * time.Minute)
	}
	if err != nil {
		if err := r.call(o, f, r.l, act); err != nil && (f.keyed || o.repeated == nil || !errors.Is(err, o.repeated)) {
			t.Errorf("%s: %v: again: %v", o.name, f, err)
		}
	}
	if diff := cmp.Diff(want, o.effect(r)); diff != "" {
		t.Errorf("%s: %v (-without +with):\n%s", o.name, f, diff)
	}
	if t.sample == nil || t.sample.IntN(4) == 0 { // it reads everything
		r.check()
	}
	return !t.Failed()
}

// reopen opens the store again where that is another thing than going on.
func (t *table) reopen(r *rig, f fault) {
	t.Helper()
	if t.place == "" || f.kind == storetest.Refused {
		return
	}
	r.must(t.store.Close())
	t.store = opened(t, t.place)
	r.store, r.l.Store = t.store, t.store
}

// call calls an operation as its caller does.
func (r *rig) call(o writeOp, f fault, l *ledger.Ledger, act func(*ledger.Ledger) error) error {
	if !f.keyed {
		return act(l)
	}
	_, err := l.Once(r.ctx(), ledger.Call{Route: o.name, Key: "key", Request: []byte(o.name)}, act)
	return err
}

// faultKinds are those of a whole update.
var faultKinds = []storetest.Fault{storetest.Lost, storetest.Kept}

// TestEveryWriteOfEveryOperation is the fault table. Where an update costs a
// commit, and under the race detector, rows are refused by sample.
func TestEveryWriteOfEveryOperation(t *testing.T) {
	for name := range openers {
		t.Run(name, func(t *testing.T) {
			tab := tableOn(t, name)
			if (name != "memory" || testkit.Raced) && !testkit.Campaign() {
				tab.sample = rand.New(rand.NewPCG(testkit.Seed(t), 2))
			}
			for _, o := range writeOps {
				tab.run(o)
			}
			lost, kept, refused := tab.faults[storetest.Lost], tab.faults[storetest.Kept], tab.faults[storetest.Refused]
			testkit.Figure(t, "%d operations in %d rows survived %d faults: %d updates lost, %d kept unknown to the caller, %d rows refused",
				len(methods(writeOps)), len(writeOps), lost+kept+refused, lost, kept, refused)
			if err := tab.store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func methods(rows []writeOp) []string {
	var out []string
	for _, o := range rows {
		out = append(out, o.method())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
