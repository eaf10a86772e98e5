package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
)

// Traits say what is particular about a store.
type Traits struct {
	// Serial: it has one writer, so that an Update that is held open holds up
	// every other. The contract asks this of updates of one scope only.
	Serial bool
}

// Run holds a store to its contract. open returns an empty store; Run closes it.
func Run(t *testing.T, open func(t *testing.T) dhruva.Store, traits ...Traits) {
	var own Traits
	for _, tr := range traits {
		own.Serial = own.Serial || tr.Serial
	}
	for _, group := range [][]testCase{valueCases, lookupCases, spaceCases, sessionCases, turnCases, checkpointCases, outlineCases,
		headMoveCases, noteCases, claimCases, worktreeCases, documentCases, sourceCases, recordCases, replayCases,
		receiptCases, auditCases, jobCases, cursorCases, callCases, keyCases, userCases, listCases, feedCases, hintCases, scopeCases,
		updateCases, concurrencyCases, lockCases} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				s := open(t)
				t.Cleanup(func() {
					if err := s.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				})
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				c.run(&fixture{T: t, Store: s, ctx: ctx, traits: own})
			})
		}
	}
}

// patience is how long a test may take before its store is said to hang.
const patience = 5 * time.Minute

type testCase struct {
	name string
	run  func(*fixture)
}

// fixture is one test on one empty store.
type fixture struct {
	*testing.T
	dhruva.Store
	ctx    context.Context
	traits Traits
}

// The scopes of most tests.
var (
	system = dhruva.SystemScope()
	tenant = dhruva.TenantScope("t1")
	spaceA = dhruva.SpaceScope("t1", "a")
	spaceB = dhruva.SpaceScope("t1", "b")
	other  = dhruva.TenantScope("t2")
)

// epochStart is an arbitrary moment; at counts seconds from it.
var epochStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return epochStart.Add(time.Duration(seconds) * time.Second) }

// write runs fn in an update that must be kept.
func (f *fixture) write(scope dhruva.Scope, fn func(tx dhruva.Tx)) {
	f.Helper()
	f.must(f.Update(f.ctx, []dhruva.Scope{scope}, func(tx dhruva.Tx) error {
		fn(tx)
		return nil
	}))
}

// read runs fn in a view.
func (f *fixture) read(scope dhruva.Scope, fn func(tx dhruva.Tx)) {
	f.Helper()
	f.must(f.View(f.ctx, scope, func(tx dhruva.Tx) error {
		fn(tx)
		return nil
	}))
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// is wants an error.
func (f *fixture) is(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("error %v, want %v", err, want)
	}
}

// same wants a value and no error.
func same[T any](f *fixture, got T, err error, want T) {
	f.Helper()
	if err != nil {
		f.Errorf("error: %v", err)
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		f.Errorf("(-want +got):\n%s", d)
	}
}

// missing wants ErrNotFound and a zero value.
func missing[T any](f *fixture, got T, err error) {
	f.Helper()
	var zero T
	f.is(err, dhruva.ErrNotFound)
	if d := cmp.Diff(zero, got); d != "" {
		f.Errorf("value beside ErrNotFound: %s", d)
	}
}

// empty wants an empty list and no error.
func empty[T any](f *fixture, got []T, err error) {
	f.Helper()
	if err != nil || len(got) != 0 {
		f.Errorf("got %v, %v, want an empty list", got, err)
	}
}

// names wants rows with these keys, in order.
func names[T any](f *fixture, rows []T, err error, key func(T) string, want ...string) {
	f.Helper()
	var got []string
	for _, r := range rows {
		got = append(got, key(r))
	}
	same(f, got, err, slices.Clip(append([]string(nil), want...)))
}

// keys are the keys of rows.
func keys[T any](rows []T, key func(T) string) (out []string) {
	for _, r := range rows {
		out = append(out, key(r))
	}
	return out
}

// lister reads one page of a list, as keys.
type lister func(dhruva.Tx, dhruva.Page) ([]string, error)

// pages wants a list as a whole, from every place in it, and page by page; and
// nothing after what no row can be.
func (f *fixture) pages(scope dhruva.Scope, want []string, list lister) {
	f.Helper()
	f.read(scope, func(tx dhruva.Tx) {
		get := func(p dhruva.Page, want []string) {
			f.Helper()
			got, err := list(tx, p)
			same(f, got, err, slices.Clip(append([]string(nil), want...)))
		}
		get(dhruva.Page{}, want)
		get(dhruva.Page{Limit: 3}, want[:min(3, len(want))])
		for n, after := range want {
			get(dhruva.Page{After: after, Limit: 2}, want[n+1:min(n+3, len(want))])
		}
		for _, after := range badTexts {
			get(dhruva.Page{After: after}, nil)
		}
	})
}

// feed is all changes after a number.
func (f *fixture) feed(scope dhruva.Scope, after int64) []dhruva.Change {
	f.Helper()
	var out []dhruva.Change
	for c, err := range f.Changes(f.ctx, scope, after) {
		f.must(err)
		out = append(out, c)
	}
	return out
}
