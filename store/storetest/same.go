package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
)

// Same drives stores with the same random updates and views and wants the same
// answers: values, kinds of error, what is kept, the feeds, and what Check finds.
// open returns empty stores, the measure first, and sees to it that they are
// closed. It is called once: each of rapid's runs has tenants, and names of what
// is the installation's, of its own, so that it can be shrunk. For long runs
// there is Campaign.
func Same(t *testing.T, open func(t *testing.T) []dhruva.Store) {
	stores := open(t)
	rapid.Check(t, sameness(stores))
}

func sameness(stores []dhruva.Store) func(*rapid.T) {
	run := 0
	return func(t *rapid.T) {
		run++
		d := draw{chooser: shrinking{t}, tag: fmt.Sprintf("%06d", run)}
		d.about = d.choose(subjects(), "about")
		for range d.choose(10, "transactions") + 3 {
			if err := d.transaction().compare(stores); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.survey(stores); err != nil {
			t.Fatal(err)
		}
	}
}

// transaction is one update or view.
type transaction struct {
	view   bool
	fail   bool
	scopes []dhruva.Scope
	ops    []op
}

// op is one call of a Tx method.
type op struct {
	name string
	args any // for people
	run  func(dhruva.Tx) (any, error)
}

// answer is what came of an op, comparable between stores.
type answer struct {
	Op    string
	Value any
	Error string
}

var sentinels = []error{dhruva.ErrNotFound, dhruva.ErrConflict, dhruva.ErrInvalid, dhruva.ErrDenied, dhruva.ErrFenced,
	dhruva.ErrUnavailable, dhruva.ErrTooLarge, dhruva.ErrCompacted, errRollback}

// class is what a caller may depend on of an error.
func class(err error) string {
	if err == nil {
		return ""
	}
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return s.Error()
		}
	}
	return "unclassified: " + err.Error()
}

func (x transaction) run(s dhruva.Store) (answers []answer) {
	ctx := context.Background()
	fn := func(tx dhruva.Tx) error {
		answers = nil // it may be another run
		for _, o := range x.ops {
			v, err := o.run(tx)
			answers = append(answers, answer{o.name, v, class(err)})
		}
		if x.fail {
			return errRollback
		}
		return nil
	}
	var err error
	if x.view {
		err = s.View(ctx, x.scopes[0], fn)
	} else {
		err = s.Update(ctx, x.scopes, fn)
	}
	return append(answers, answer{"end", nil, class(err)})
}

// compare runs a transaction on all stores.
func (x transaction) compare(stores []dhruva.Store) error {
	want := x.run(stores[0])
	for n, s := range stores[1:] {
		got := x.run(s)
		if d := difference(want, got); d != "" {
			return fmt.Errorf("store %d, scopes %v, view %v, fails %v: %s (-measure +tested):\n%s", n+1, x.scopes, x.view, x.fail, x.blame(want, got), d)
		}
	}
	return nil
}

// blame names the first op that was answered differently, with its arguments.
func (x transaction) blame(want, got []answer) string {
	for n, o := range x.ops {
		if n >= len(got) || n >= len(want) || difference(want[n:n+1], got[n:n+1]) != "" {
			return fmt.Sprintf("op %d, %s(%+v)", n+1, o.name, o.args)
		}
	}
	return "the end"
}

// difference is "" when there is none; an empty list is no list.
func difference(want, got []answer) string {
	if reflect.DeepEqual(want, got) { // much faster than a diff
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

func answerOfFeed(s dhruva.Store, scope dhruva.Scope, after int64) (out []answer) {
	for c, err := range s.Changes(context.Background(), scope, after) {
		out = append(out, answer{fmt.Sprint(c.Seq), c, class(err)})
	}
	return out
}

// survey looks at everything that a run has to do with: every method that
// reads, the feeds, and Check. What a store has promised must hold besides.
func (d draw) survey(stores []dhruva.Store) error {
	for _, scope := range []dhruva.Scope{d.tenant(), system, d.other()} {
		x := transaction{view: true, scopes: []dhruva.Scope{scope}}
		for _, reads := range d.reads() {
			x.ops = append(x.ops, reads())
		}
		if err := x.compare(stores); err != nil {
			return fmt.Errorf("survey: %w", err)
		}
	}
	for _, space := range []dhruva.Scope{d.in("a"), d.in("b")} {
		after := int64(d.choose(12, "after")) - 1
		want := answerOfFeed(stores[0], space, after)
		for n, s := range stores[1:] {
			if diff := difference(want, answerOfFeed(s, space, after)); diff != "" {
				return fmt.Errorf("store %d: feed of %s after %d (-measure +tested):\n%s", n+1, space, after, diff)
			}
		}
	}
	return d.inspect(stores)
}

// inspect wants Check to find the same everywhere (a random story breaks rules
// of the ledger), and nothing that a store has promised to be broken.
func (d draw) inspect(stores []dhruva.Store) error {
	var first string
	for n, s := range stores {
		c := inspect(context.Background(), s, d.tenant(), d.in("a"), d.in("b"), d.other())
		if err := errors.Join(c.broken...); err != nil {
			return fmt.Errorf("store %d: %w", n, err)
		}
		found := fmt.Sprint(errors.Join(c.findings...))
		if n == 0 {
			first = found
		}
		if diff := cmp.Diff(first, found); diff != "" {
			return fmt.Errorf("store %d: check finds otherwise (-measure +tested):\n%s", n, diff)
		}
	}
	return nil
}
