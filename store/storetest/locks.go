package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// lockCases are about who waits for whom.
var lockCases = []testCase{
	{"LevelsDoNotBlock", testLevels},
	{"OneScopeIsSerial", testSerialScope},
	{"ScopesInBothOrders", testBothOrders},
	{"WaitingEndsWithItsContext", testWaiting},
	{"ReadersDoNotWait", testReaders},
}

// hold keeps an update open until it is told to go on; it returns when fn runs.
func (f *fixture) hold(scopes []dhruva.Scope, write func(dhruva.Tx) error) (release func() error) {
	f.Helper()
	inside, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		done <- f.Update(f.ctx, scopes, func(tx dhruva.Tx) error {
			err := write(tx)
			once.Do(func() { close(inside) })
			<-goOn
			return err
		})
	}()
	select {
	case <-inside:
	case err := <-done:
		f.Fatalf("update of %v did not begin: %v", scopes, err)
	}
	release = sync.OnceValue(func() error { close(goOn); return <-done })
	f.Cleanup(func() { release() })
	return release
}

// levels are scopes of which none blocks another.
func levels() []dhruva.Scope {
	return []dhruva.Scope{system, tenant, spaceA, spaceB, other, dhruva.SpaceScope("t2", "a")}
}

// put writes something in a scope of levels.
func (f *fixture) put(scope dhruva.Scope, n int64) func(dhruva.Tx) error {
	p := place{scope.Tenant(), scope.Space(), n}
	return func(tx dhruva.Tx) error {
		switch scope.Level() {
		case dhruva.LevelSystem:
			return errors.Join(putNode(tx, p), putInstalled(tx, p))
		case dhruva.LevelTenant:
			return errors.Join(putUser(tx, p), putAuditHead(tx, p), putCall(tx, p))
		}
		return errors.Join(appendChange(tx, p), putSession(tx, p), putTurn(tx, p), putJob(tx, p), putLeaf(tx, p), putCall(tx, p))
	}
}

// testLevels holds an update of each scope open and writes in the others.
func testLevels(f *fixture) {
	if f.traits.Serial {
		f.Skip("a store with one writer")
	}
	n := int64(0)
	for _, held := range levels() {
		n++
		release := f.hold([]dhruva.Scope{held}, f.put(held, n))
		for _, scope := range levels() {
			if n++; scope == held {
				continue
			}
			ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
			if err := f.Update(ctx, []dhruva.Scope{scope}, f.put(scope, n)); err != nil {
				f.Fatalf("an update of %s, while one of %s is open: %v", scope, held, err)
			}
			cancel()
		}
		f.must(release())
	}
}

// testSerialScope: what an update reads it reads when the one before has ended.
func testSerialScope(f *fixture) {
	for n, scopes := range [][]dhruva.Scope{{spaceA}, {tenant}, {system}, {spaceA, spaceB}} {
		var ended atomic.Bool
		release := f.hold(scopes, f.put(scopes[0], int64(10*n)))
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				if err := f.Update(f.ctx, scopes[len(scopes)-1:], func(tx dhruva.Tx) error {
					if _, err := tx.Idempotency("p", "r", digest("k")); !errors.Is(err, dhruva.ErrNotFound) || !ended.Load() {
						f.Errorf("two updates of %v at once: %v", scopes, err)
					}
					return f.put(scopes[len(scopes)-1], int64(10*n+w+1))(tx)
				}); err != nil {
					f.Error(err)
				}
			})
		}
		if !f.traits.Serial { // give them time to be wrong in
			for w := range 20 {
				scope := dhruva.SpaceScope("t1", dhruva.SpaceID(fmt.Sprint("c", n)))
				f.must(f.Update(f.ctx, []dhruva.Scope{scope}, f.put(scope, int64(1000+20*n+w))))
			}
		}
		ended.Store(true)
		f.must(release())
		wg.Wait()
	}
}

// testBothOrders: updates that name the same scopes in whatever order, and
// share some of them, all end.
func testBothOrders(f *fixture) {
	const each = 6
	sets := [][]dhruva.Scope{{spaceA, spaceB}, {spaceB, spaceA}, {tenant, spaceB}, {spaceA, tenant}, {system, spaceA}, {spaceB, system, tenant, spaceA}}
	f.write(tenant, func(tx dhruva.Tx) { f.must(tx.PutSession(session(spaceA, "s", at(0)))) })
	var inA atomic.Int64
	together(2*len(sets), func(w int) {
		scopes := sets[w%len(sets)]
		for range each {
			err := f.Update(f.ctx, scopes, func(tx dhruva.Tx) error {
				if slices.Contains(scopes, spaceA) { // it has the lock
					return appendTurn(tx, spaceA, "s")
				}
				return nil
			})
			if err != nil {
				f.Errorf("update of %v: %v", scopes, err)
			} else if slices.Contains(scopes, spaceA) {
				inA.Add(1)
			}
		}
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		s, err := tx.Session("s")
		same(f, s.LastSeq, err, inA.Load())
	})
	f.must(Check(f.ctx, f.Store, spaceA))
}

// testWaiting: an update that waits for a lock gives up with its context, and
// nothing of it is kept.
func testWaiting(f *fixture) {
	release := f.hold([]dhruva.Scope{spaceA}, f.put(spaceA, 1))
	for _, scopes := range [][]dhruva.Scope{{spaceA}, {spaceA, spaceB}} {
		ctx, cancel := context.WithTimeout(f.ctx, 50*time.Millisecond)
		err := f.Update(ctx, scopes, func(tx dhruva.Tx) error {
			if got, err := tx.Session("id1"); err == nil {
				f.Errorf("it read %s, which is not committed", got.ID)
			}
			tx.PutSession(session(spaceA, "late", at(1)))
			return nil
		})
		f.is(err, dhruva.ErrUnavailable)
		cancel()
	}
	f.must(release())
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Session("late")
		missing(f, got, err)
	})
	f.must(f.Update(f.ctx, []dhruva.Scope{spaceA}, f.put(spaceA, 2)))
}

// testReaders: a view sees what was committed while an update is open, and what
// the update does not keep is never seen.
func testReaders(f *fixture) {
	if f.traits.Serial {
		f.Skip("a store with one writer")
	}
	f.must(f.Update(f.ctx, []dhruva.Scope{spaceA}, f.put(spaceA, 1)))
	release := f.hold([]dhruva.Scope{spaceA}, f.put(spaceA, 2))
	ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
	defer cancel()
	f.must(f.View(ctx, spaceA, func(tx dhruva.Tx) error {
		_, err := tx.Session(place{"t1", "a", 1}.session().ID)
		f.must(err)
		_, err = tx.Session(place{"t1", "a", 2}.session().ID)
		f.is(err, dhruva.ErrNotFound)
		e, err := tx.Epoch("a")
		same(f, e.Head, err, 1)
		return nil
	}))
	f.must(release())
}
