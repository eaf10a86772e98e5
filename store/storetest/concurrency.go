package storetest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dhruva-memory/dhruva"
)

// concurrencyCases are about many at once.
var concurrencyCases = []testCase{
	{"WritersOfOneSpace", testWriters},
	{"FailingMates", testMates},
	{"SwapRace", testSwapRace},
	{"ViewIsASnapshot", testSnapshot},
	{"FeedWhileWriting", testFeedWhileWriting},
}

func goexit() { runtime.Goexit() }

const writers = 32

// together runs n goroutines that start at once.
func together(n int, run func(worker int)) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	for w := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			run(w)
		})
	}
	done.Wait()
}

// appendTurn is the read-modify-write that a lost update would break.
func appendTurn(tx dhruva.Tx, scope dhruva.Scope, id dhruva.SessionID) error {
	s, err := tx.Session(id)
	if err != nil {
		return err
	}
	s.LastSeq++
	row := turn(scope, string(id), s.LastSeq)
	row.Content = fmt.Sprint("turn ", s.LastSeq)
	if err := tx.AppendTurn(row); err != nil {
		return err
	}
	if _, err := tx.AppendChange(scope.Space(), dhruva.Change{Kind: dhruva.ChangeSource, Ref: fmt.Sprint(s.LastSeq)}); err != nil {
		return err
	}
	return tx.PutSession(s)
}

func testWriters(f *fixture) {
	const each = 8
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.PutSession(session(spaceA, "s", at(0)))) })
	together(writers, func(int) {
		for range each {
			if err := f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error { return appendTurn(tx, spaceA, "s") }); err != nil {
				f.Error(err)
			}
		}
	})
	feed := f.feed(spaceA, 0)
	same(f, len(feed), nil, writers*each)
	for n, c := range feed { // commit order is turn order
		if c.Seq != int64(n+1) || c.Ref != fmt.Sprint(n+1) {
			f.Fatalf("change %d is %+v", n+1, c)
		}
	}
	f.must(Check(f.ctx, f.Store, spaceA))
}

// testMates: half of the updates fail, by error, panic or swallowed refusal,
// and none of the others is hurt.
func testMates(f *fixture) {
	const each = 6
	together(writers, func(w int) {
		for n := range each {
			id := fmt.Sprintf("%02d-%d", w, n)
			err := f.mate(id, (w+n)%2 == 1, w%3)
			if ((w+n)%2 == 1) != errors.Is(err, errRollback) {
				f.Errorf("update %s: %v", id, err)
			}
		}
	})
	var want []string
	for w := range writers {
		for n := range each {
			if (w+n)%2 == 0 {
				want = append(want, fmt.Sprintf("%02d-%d", w, n))
			}
		}
	}
	slices.Reverse(want)
	f.read(spaceA, func(tx dhruva.Tx) {
		rows, err := tx.ListSessions(dhruva.SessionQuery{Page: dhruva.Page{Limit: 1000}})
		names(f, rows, err, sessionName, want...)
	})
	same(f, len(f.feed(spaceA, 0)), nil, len(want))
}

// mate is one update that fails, or not, after it has written.
func (f *fixture) mate(id string, fail bool, how int) (err error) {
	defer func() {
		if got := recover(); got != nil {
			err = got.(error)
		}
	}()
	return f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
		_, change := tx.AppendChange("a", dhruva.Change{Ref: id})
		if err := errors.Join(change, tx.PutSession(session(spaceA, id, at(0)))); err != nil || !fail {
			return err
		}
		switch how {
		case 0:
			panic(errRollback)
		case 1: // a conflict before it fails
			tx.AppendTurn(turn(spaceA, id, 1))
			tx.AppendTurn(turn(spaceA, id, 1))
		}
		return errRollback
	})
}

// testSwapRace: of many who expect the same head one wins.
func testSwapRace(f *fixture) {
	old := dhruva.Hash{}
	for round := range 5 {
		var won atomic.Int64
		var head dhruva.Hash
		together(writers, func(w int) {
			b := dhruva.Branch{Space: "a", Name: "main", Head: digest(fmt.Sprint(round, w))}
			err := f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error { return tx.SwapBranch(b, old) })
			switch {
			case err == nil:
				won.Add(1)
				head = b.Head // one winner: no race
			case !errors.Is(err, dhruva.ErrConflict):
				f.Error(err)
			}
		})
		same(f, won.Load(), nil, 1)
		f.read(spaceA, func(tx dhruva.Tx) {
			b, err := tx.Branch("a", "main")
			same(f, b.Head, err, head)
		})
		old = head
	}
}

// testSnapshot: two rows that are always written alike are always read alike,
// and what was read once in a view is read again.
func testSnapshot(f *fixture) {
	put := func(n int) error {
		return f.Update(f.ctx, []dhruva.Scope{spaceA, spaceB}, func(tx dhruva.Tx) error {
			return errors.Join(tx.PutSession(session(spaceA, "x", at(n))), tx.PutSession(session(spaceB, "y", at(n))))
		})
	}
	f.must(put(0))
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; !stop.Load(); n++ {
			if err := put(n); err != nil {
				f.Error(err)
				return
			}
		}
	})
	together(4, func(int) {
		for range 100 {
			err := f.View(f.ctx, tenant, func(tx dhruva.Tx) error {
				x, err1 := tx.Session("x")
				runtime.Gosched()
				y, err2 := tx.Session("y")
				again, err3 := tx.Session("x")
				if !x.UpdatedAt.Equal(y.UpdatedAt) || !x.UpdatedAt.Equal(again.UpdatedAt) {
					f.Errorf("saw %v, %v and %v", x.UpdatedAt, y.UpdatedAt, again.UpdatedAt)
				}
				return errors.Join(err1, err2, err3)
			})
			if err != nil {
				f.Error(err)
			}
		}
	})
	stop.Store(true)
	wg.Wait()
}

// testFeedWhileWriting: a follower that reads from where it stopped sees every
// change once, in order.
func testFeedWhileWriting(f *fixture) {
	const each = 20
	var done atomic.Bool
	var follower sync.WaitGroup
	var last int64
	follower.Go(func() {
		for stopping := false; !stopping; {
			stopping = done.Load() // one more round after the end
			for c, err := range f.Changes(f.ctx, spaceA, last) {
				if err != nil || c.Seq != last+1 {
					f.Errorf("after %d comes %+v, %v", last, c, err)
					return
				}
				last = c.Seq
			}
			runtime.Gosched()
		}
	})
	together(8, func(w int) {
		for range each {
			if err := f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
				_, err1 := tx.AppendChange("a", dhruva.Change{Ref: fmt.Sprint(w)})
				_, err2 := tx.AppendChange("a", dhruva.Change{Ref: fmt.Sprint(w)})
				return errors.Join(err1, err2)
			}); err != nil {
				f.Error(err)
			}
		}
	})
	done.Store(true)
	follower.Wait()
	same(f, last, nil, 8*each*2)
}
