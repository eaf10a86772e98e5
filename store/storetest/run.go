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

// Run holds a store to its contract. open returns an empty store; Run closes it.
func Run(t *testing.T, open func(t *testing.T) dhruva.Store) {
	for _, group := range [][]testCase{rowCases, listCases, scopeCases, updateCases, concurrencyCases} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				s := open(t)
				t.Cleanup(func() {
					if err := s.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				})
				c.run(&fixture{T: t, Store: s, ctx: context.Background()})
			})
		}
	}
}

type testCase struct {
	name string
	run  func(*fixture)
}

// fixture is one test on one empty store.
type fixture struct {
	*testing.T
	dhruva.Store
	ctx context.Context
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
