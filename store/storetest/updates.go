package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/dhruva-memory/dhruva"
)

// updateCases are about transactions as a whole.
var updateCases = []testCase{
	{"FailedUpdateLeavesNothing", testRollback},
	{"PanicLeavesNothing", testPanic},
	{"Goexit", testGoexit},
	{"TooLarge", testTooLarge},
	{"TxAfterItsEnd", testDeadTx},
	{"ViewDoesNotWrite", testViewDoesNotWrite},
	{"EndedContext", testEndedContext},
	{"ContextEndsInside", testContextEndsInside},
	{"Closed", testClosed},
}

var errRollback = errors.New("rolled back on purpose")

func testRollback(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) { // something to go back to
		f.must(tx.PutTenant(dhruva.Tenant{ID: "t1", Name: "before"}))
		f.must(tx.PutSpace(dhruva.Space{Tenant: "t1", ID: "a", Name: "before"}))
		f.must(tx.PutSession(session(spaceA, "s", at(1))))
		f.must(tx.PutKey(dhruva.Key{Tenant: "t1", ID: "key", Hash: []byte("before")}))
		f.must(tx.SwapBranch(dhruva.Branch{Space: "a", Name: "old", Head: digest("before")}, dhruva.Hash{}))
	})
	err := f.Update(f.ctx, []dhruva.Scope{tenant}, func(tx dhruva.Tx) error {
		for kind, err := range everyWrite(tx, spaceA) {
			if err != nil {
				f.Errorf("%s: %v", kind, err)
			}
		}
		f.must(tx.SwapBranch(dhruva.Branch{Space: "a", Name: "old", Head: digest("after")}, digest("before")))
		return errRollback
	})
	if err != errRollback { // as it is, not wrapped
		f.Errorf("error %v", err)
	}
	f.read(tenant, func(tx dhruva.Tx) {
		sp, err := tx.Space("a")
		same(f, sp.Name, err, "before")
		s, err := tx.Session("s")
		same(f, s, err, session(spaceA, "s", at(1)))
		b, err := tx.Branch("a", "old")
		same(f, b.Head, err, digest("before"))
		// space, epoch (of none), session, list of named spaces is empty now,
		// list of spaces, the branch
		if n := seen(f, tx); n != 5 {
			f.Errorf("%d kinds of rows, want 5", n)
		}
	})
	f.read(system, func(tx dhruva.Tx) {
		k, err := tx.KeyByHash([]byte("before"))
		same(f, k.ID, err, "key")
		k, err = tx.KeyByHash([]byte("t1"))
		missing(f, k, err)
	})
	if got := f.feed(spaceA, 0); len(got) != 0 {
		f.Errorf("changes were kept: %v", got)
	}
	f.write(tenant, func(tx dhruva.Tx) { // and the numbers start where they were
		n, err := tx.AppendChange("a", dhruva.Change{})
		same(f, n, err, 1)
	})
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

// testDeadTx: a Tx that fn kept reaches nothing.
func testDeadTx(f *fixture) {
	var kept []dhruva.Tx
	keep := func(tx dhruva.Tx) { kept = append(kept, tx) }
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.PutSession(session(spaceA, "s", at(0))))
		f.must(tx.AppendTurn(turn(spaceA, "s", 1)))
		keep(tx)
	})
	f.read(spaceA, keep)
	f.read(tenant, keep)
	for _, tx := range kept {
		if _, err := tx.Session("s"); err == nil {
			f.Error("read after the end")
		}
		if rows, err := tx.ListTurns(dhruva.TurnQuery{Session: "s"}); err == nil && len(rows) > 0 {
			f.Error("list after the end")
		}
		f.is(tx.PutSession(session(spaceA, "late", at(0))), dhruva.ErrDenied)
		f.is(tx.AppendTurn(turn(spaceA, "s", 2)), dhruva.ErrDenied)
		f.is(tx.PutReceipt(receipt(spaceA, "late")), dhruva.ErrDenied)
	}
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Session("late")
		missing(f, got, err)
	})
}

func testViewDoesNotWrite(f *fixture) {
	f.must(f.View(f.ctx, tenant, func(tx dhruva.Tx) error {
		for kind, err := range everyWrite(tx, spaceA) {
			if f.is(err, dhruva.ErrDenied); f.Failed() {
				f.Fatal(kind)
			}
		}
		f.is(tx.PutTenant(fullTenant()), dhruva.ErrDenied)
		return nil
	}))
	if err := f.View(f.ctx, tenant, func(dhruva.Tx) error { return errRollback }); err != errRollback {
		f.Errorf("error %v, want fn's own", err)
	}
	f.read(tenant, func(tx dhruva.Tx) {
		if n := seen(f, tx); n != 1 { // the epoch of none
			f.Errorf("%d kinds of rows", n)
		}
	})
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
