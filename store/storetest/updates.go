package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dhruva-memory/dhruva"
)

// updateCases are about transactions as a whole.
var updateCases = []testCase{
	{"FailedUpdateLeavesNothing", testRollback},
	{"PanicLeavesNothing", testPanic},
	{"Goexit", testGoexit},
	{"TooLarge", testTooLarge},
	{"RowCounts", testRowCounts},
	{"RefusalsCount", testRefusalsCount},
	{"TxAfterItsEnd", testDeadTx},
	{"ViewDoesNotWrite", testViewDoesNotWrite},
	{"EndedContext", testEndedContext},
	{"ContextEndsInside", testContextEndsInside},
	{"Closed", testClosed},
}

var errRollback = errors.New("rolled back on purpose")

// testRollback: after an update that fails everything is as it was, row by row
// and list by list, whatever it did: each deed alone, and all of them.
func testRollback(f *fixture) {
	p := at1a(1)
	f.everywhere(func(tx dhruva.Tx) { f.must(fill(tx, p)) })
	for n, d := range deeds() {
		p := at1a(int64(100 + n))
		if d.before != nil {
			f.everywhere(func(tx dhruva.Tx) { f.must(d.before(tx, p)) })
		}
		before := f.all(p)
		err := f.Update(f.ctx, []dhruva.Scope{system, tenant}, func(tx dhruva.Tx) error {
			f.must(d.run(tx, p))
			return errRollback
		})
		if err != errRollback { // as it is, not wrapped
			f.Errorf("error %v", err)
		}
		f.unchanged(p, d.method+" that was not kept", before)
	}
	before := f.all(p)
	f.tryDeeds([]dhruva.Scope{system, tenant}, 1000, func(d deed, p place, err error) {
		if err != nil {
			f.Errorf("%s: %v", d.method, err)
		}
	})
	f.is(f.Update(f.ctx, []dhruva.Scope{system, tenant}, func(tx dhruva.Tx) error { // the same rows again: replaced, refused, dropped
		for _, d := range deeds() {
			d.run(tx, p)
		}
		return errRollback
	}), errRollback)
	after := f.all(p)
	if d := cmp.Diff(only(before), only(after), cmpopts.EquateEmpty()); d != "" {
		f.Fatalf("all deeds changed (-before +after):\n%s", d)
	}
	f.write(tenant, func(tx dhruva.Tx) { // and the numbers start where they were
		e, err := tx.Epoch("a")
		f.must(err)
		n, err := tx.AppendChange("a", dhruva.Change{})
		same(f, n, err, e.Head+1)
	})
}

// only are the answers about one row: lists and the feed hold what other deeds
// prepared.
func only(answers []answer) (out []answer) {
	for _, a := range answers {
		_, change := a.Value.(dhruva.Change)
		if !change && reflect.ValueOf(a.Value).Kind() != reflect.Slice && !slices.Contains([]string{"Epoch", "CountSources"}, a.Op) {
			out = append(out, a)
		}
	}
	return out
}

func testPanic(f *fixture) {
	boom := errors.New("boom")
	func() {
		defer func() {
			if got := recover(); got != boom {
				f.Errorf("recovered %v", got)
			}
		}()
		f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
			f.must(tx.PutSession(session(spaceA, "s", at(0))))
			panic(boom)
		})
	}()
	func() {
		defer func() { recover() }()
		f.View(f.ctx, spaceA, func(tx dhruva.Tx) error { panic(boom) })
	}()
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Session("s")
		missing(f, got, err)
	})
}

// testGoexit: a test that fails inside fn ends its goroutine there.
func testGoexit(f *fixture) {
	var wg sync.WaitGroup
	wg.Go(func() {
		f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
			f.must(tx.PutSession(session(spaceA, "s", at(0))))
			goexit()
			return nil
		})
	})
	wg.Wait()
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Session("s")
		missing(f, got, err)
	})
}

func testTooLarge(f *fixture) {
	fill := func(n int) func(tx dhruva.Tx) error {
		return func(tx dhruva.Tx) (err error) {
			for i := range n {
				err = errors.Join(err, tx.PutSource(source(spaceA, fmt.Sprint(i))))
			}
			return err
		}
	}
	scopes := []dhruva.Scope{spaceA}
	f.is(f.Update(f.ctx, scopes, fill(dhruva.MaxUpdateRows+1)), dhruva.ErrTooLarge)
	f.is(f.Update(f.ctx, scopes, func(tx dhruva.Tx) error { // fn does not look
		fill(dhruva.MaxUpdateRows + 1)(tx)
		return nil
	}), dhruva.ErrTooLarge)
	f.is(f.Update(f.ctx, scopes, func(tx dhruva.Tx) error { // items are rows
		c := dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: "c", Items: make([]dhruva.Item, dhruva.MaxUpdateRows)}
		return tx.PutCheckpoint(sealed(c))
	}), dhruva.ErrTooLarge)
	f.read(spaceA, func(tx dhruva.Tx) {
		n, err := tx.CountSources("a", 1)
		same(f, n, err, 0)
	})
	f.must(f.Update(f.ctx, scopes, fill(dhruva.MaxUpdateRows)))
}

// spend counts rows without writing any: a claim of nothing.
func spend(tx dhruva.Tx, rows int) error {
	if rows == 0 {
		return nil
	}
	jobs, err := tx.ClaimJobs(dhruva.JobClaim{Kinds: []string{"of no job"}, Owner: "o", Limit: rows})
	if len(jobs) > 0 {
		return fmt.Errorf("claimed %v", jobs)
	}
	return err
}

// testRowCounts: each deed counts the rows that it says, no more and no less.
func testRowCounts(f *fixture) {
	for n, d := range deeds() {
		rows := max(d.rows, 1)
		p := at1a(int64(n + 1))
		if d.before != nil {
			f.everywhere(func(tx dhruva.Tx) { f.must(d.before(tx, p)) })
		}
		scopes := []dhruva.Scope{system, tenant}
		f.is(f.Update(f.ctx, scopes, func(tx dhruva.Tx) error {
			if err := errors.Join(spend(tx, dhruva.MaxUpdateRows-rows), d.run(tx, p)); err != nil {
				f.Errorf("%s counts more than %d rows: %v", d.method, rows, err)
			}
			return errRollback
		}), errRollback)
		f.is(f.Update(f.ctx, scopes, func(tx dhruva.Tx) error {
			f.must(spend(tx, dhruva.MaxUpdateRows-rows+1))
			if err := d.run(tx, p); !errors.Is(err, dhruva.ErrTooLarge) {
				f.Errorf("%s counts less than %d rows: %v", d.method, rows, err)
			}
			return nil // which does not help
		}), dhruva.ErrTooLarge)
	}
}

// testRefusalsCount: a conflict counts and spoils nothing; what is invalid or
// denied does not count.
func testRefusalsCount(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.AppendTurn(turn(spaceA, "s", 1))) })
	conflict := func(tx dhruva.Tx) error { return tx.AppendTurn(turn(spaceA, "s", 1)) }
	denied := func(tx dhruva.Tx) error { return tx.PutSession(session(spaceB, "s", at(1))) }
	invalid := func(tx dhruva.Tx) error { return tx.AppendTurn(turn(spaceA, "", 1)) }
	for want, write := range map[error]func(dhruva.Tx) error{dhruva.ErrConflict: conflict, dhruva.ErrDenied: denied,
		dhruva.ErrInvalid: invalid} {
		counts := want == dhruva.ErrConflict
		err := f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
			f.must(spend(tx, dhruva.MaxUpdateRows-1))
			f.is(write(tx), want)
			err := tx.PutSession(session(spaceA, "kept", at(1)))
			if counts != errors.Is(err, dhruva.ErrTooLarge) {
				f.Errorf("after %v: %v", want, err)
			}
			return nil
		})
		if counts {
			f.is(err, dhruva.ErrTooLarge)
		} else {
			f.must(err)
		}
	}
}

// testDeadTx: a Tx that fn kept reaches nothing.
func testDeadTx(f *fixture) {
	p := at1a(1)
	f.everywhere(func(tx dhruva.Tx) { f.must(fill(tx, p)) })
	var kept []dhruva.Tx
	keep := func(tx dhruva.Tx) { kept = append(kept, tx) }
	f.everywhere(keep)
	f.write(spaceA, keep)
	f.read(tenant, keep)
	f.read(system, keep)
	for _, tx := range kept {
		for _, l := range looks() {
			if found, v, err := l.finds(tx, dhruva.Reach{Tenant: "t1"}, p); found && err == nil {
				f.Errorf("%s after the end: %v", l.method, v)
			}
		}
		for _, d := range deeds() {
			if err := d.run(tx, at1a(2)); !errors.Is(err, dhruva.ErrDenied) {
				f.Errorf("%s after the end: %v", d.method, err)
			}
		}
	}
}

func testViewDoesNotWrite(f *fixture) {
	p := at1a(1)
	f.everywhere(func(tx dhruva.Tx) { f.must(fill(tx, p)) })
	before := f.all(p)
	for _, scope := range []dhruva.Scope{tenant, system, spaceA} {
		f.must(f.View(f.ctx, scope, func(tx dhruva.Tx) error {
			for _, d := range deeds() {
				if err := d.run(tx, p); !errors.Is(err, dhruva.ErrDenied) {
					f.Errorf("%s in a view of %s: %v", d.method, scope, err)
				}
			}
			return nil
		}))
	}
	if err := f.View(f.ctx, tenant, func(dhruva.Tx) error { return errRollback }); err != errRollback {
		f.Errorf("error %v, want fn's own", err)
	}
	f.unchanged(p, "writing in a view", before)
}

func testEndedContext(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	never := func(dhruva.Tx) error {
		f.Error("fn ran")
		return nil
	}
	err := f.Update(ctx, []dhruva.Scope{spaceA}, never)
	f.is(err, dhruva.ErrUnavailable)
	f.is(err, context.Canceled)
	err = f.View(ctx, spaceA, never)
	f.is(err, dhruva.ErrUnavailable)
	f.is(err, context.Canceled)
	for _, err := range f.Changes(ctx, spaceA, 0) {
		f.is(err, dhruva.ErrUnavailable)
	}
}

// testContextEndsInside: whatever the outcome, it is all or nothing.
func testContextEndsInside(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	err := f.Update(ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
		f.must(tx.PutSession(session(spaceA, "s", at(0))))
		cancel()
		return tx.AppendTurn(turn(spaceA, "s", 1))
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		_, session := tx.Session("s")
		_, turn := tx.Turn("s", 1)
		if (session == nil) != (turn == nil) || err == nil && turn != nil {
			f.Errorf("update %v: session %v, turn %v", err, session, turn)
		}
	})
	f.write(spaceB, func(tx dhruva.Tx) { f.must(tx.PutSession(session(spaceB, "after", at(0)))) })
}

func testClosed(f *fixture) {
	f.must(f.Close())
	f.must(f.Close())
	nothing := func(dhruva.Tx) error { return nil }
	f.is(f.View(f.ctx, spaceA, nothing), dhruva.ErrUnavailable)
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, nothing), dhruva.ErrUnavailable)
	for _, err := range f.Changes(f.ctx, spaceA, 0) {
		f.is(err, dhruva.ErrUnavailable)
	}
}
