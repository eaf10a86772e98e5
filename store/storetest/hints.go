package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/dhruva-memory/dhruva"
)

// hintCases are about the stream of hints. A store may hint more than was
// committed, and may say "look everywhere" (the system scope) instead; it may
// not be silent.
var hintCases = []testCase{
	{"HintAfterCommit", testHints},
	{"HintsOfSeveralScopes", testHintsOfSeveral},
	{"SlowConsumerOfHints", testSlowConsumer},
	{"HintsEnd", testHintsEnd},
	{"ManyConsumersOfHints", testManyConsumers},
}

// consumer collects hints.
type consumer struct {
	mu      sync.Mutex
	changed *sync.Cond
	seen    map[dhruva.Scope]int
	ended   bool
	hold    chan struct{} // closed: go on
}

// consume starts one and waits for its first hint, which is the system scope.
func (f *fixture) consume(ctx context.Context, hold chan struct{}) *consumer {
	f.Helper()
	c := &consumer{seen: map[dhruva.Scope]int{}, hold: hold}
	c.changed = sync.NewCond(&c.mu)
	first := make(chan dhruva.Scope, 1)
	go func() {
		started := false
		for scope := range f.Hints(ctx) {
			if !started {
				started = true
				first <- scope
				<-c.hold
				continue
			}
			c.note(scope, false)
		}
		if !started {
			close(first)
		}
		c.note(dhruva.Scope{}, true)
	}()
	select {
	case scope, ok := <-first:
		if !ok || scope != system {
			f.Fatalf("the first hint is %s, %v", scope, ok)
		}
	case <-f.ctx.Done():
		f.Fatal("no first hint")
	}
	return c
}

func (c *consumer) note(scope dhruva.Scope, end bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end {
		c.ended = true
	} else {
		c.seen[scope]++
	}
	c.changed.Broadcast()
}

// await waits until it is so, or the test has no more patience.
func (f *fixture) await(c *consumer, what string, is func() bool) {
	f.Helper()
	stop := context.AfterFunc(f.ctx, c.changed.Broadcast)
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !is() {
		if f.ctx.Err() != nil {
			f.Fatalf("waited for %s in vain; seen %v", what, c.seen)
		}
		c.changed.Wait()
	}
}

// hinted waits for a hint of each scope since the counts given; one of the
// system scope stands for all.
func (f *fixture) hinted(c *consumer, since map[dhruva.Scope]int, scopes ...dhruva.Scope) {
	f.Helper()
	f.await(c, fmt.Sprint(scopes), func() bool {
		for _, s := range scopes {
			if c.seen[s] <= since[s] && c.seen[system] <= since[system] {
				return false
			}
		}
		return true
	})
}

// counts are how often each scope was hinted until now.
func (c *consumer) counts() map[dhruva.Scope]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[dhruva.Scope]int{}
	for s, n := range c.seen {
		out[s] = n
	}
	return out
}

func released() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// testHints: of every level, again and again.
func testHints(f *fixture) {
	c := f.consume(f.ctx, released())
	for n := range int64(3) {
		for scope, put := range map[dhruva.Scope]func(dhruva.Tx, place) error{spaceA: putSession, tenant: putUser, system: putNode, spaceB: nil} {
			p := at1a(n)
			if put == nil {
				p.space, put = "b", appendChange
			}
			before := c.counts()
			f.write(scope, func(tx dhruva.Tx) { f.must(put(tx, p)) })
			f.hinted(c, before, scope)
		}
	}
}

// testHintsOfSeveral: every scope that an update named, whichever it wrote in.
func testHintsOfSeveral(f *fixture) {
	c := f.consume(f.ctx, released())
	for n, scopes := range [][]dhruva.Scope{{spaceB, spaceA}, {tenant, spaceA}, {system, tenant}} {
		before := c.counts()
		f.must(f.Update(f.ctx, scopes, func(tx dhruva.Tx) error { return putCall(tx, at1a(int64(n))) }))
		f.hinted(c, before, scopes...)
	}
}

// testSlowConsumer: one that does not look for a while misses no scope.
func testSlowConsumer(f *fixture) {
	const spaces = 300
	hold := make(chan struct{})
	c := f.consume(f.ctx, hold)
	var scopes []dhruva.Scope
	for n := range 2 * spaces { // each twice
		scope := dhruva.SpaceScope("t1", dhruva.SpaceID(fmt.Sprint(n%spaces)))
		if n < spaces {
			scopes = append(scopes, scope)
		}
		f.write(scope, func(tx dhruva.Tx) {
			_, err := tx.AppendChange(scope.Space(), fullChange())
			f.must(err)
		})
	}
	close(hold)
	f.hinted(c, nil, scopes...)
}

// testHintsEnd: with the context, with the loop, and with the store.
func testHintsEnd(f *fixture) {
	ended := func(c *consumer) {
		f.Helper()
		f.await(c, "the end", func() bool { return c.ended })
	}
	ctx, cancel := context.WithCancel(f.ctx)
	one := f.consume(ctx, released())
	cancel()
	ended(one)
	for range f.Hints(ctx) { // ended before it began
		f.Error("a hint after the end")
	}
	n := 0
	for range f.Hints(f.ctx) {
		if n++; n == 1 {
			break
		}
	}
	other, slow := f.consume(f.ctx, released()), make(chan struct{})
	late := f.consume(f.ctx, slow)
	f.must(f.Close())
	ended(other)
	close(slow)
	ended(late)
	for scope := range f.Hints(f.ctx) {
		f.Errorf("hint %s of a closed store", scope)
	}
}

func testManyConsumers(f *fixture) {
	var all []*consumer
	for range 8 {
		all = append(all, f.consume(f.ctx, released()))
	}
	together(8, func(w int) {
		scope := dhruva.SpaceScope("t1", dhruva.SpaceID(fmt.Sprint(w)))
		if err := f.Update(f.ctx, []dhruva.Scope{scope}, func(tx dhruva.Tx) error { return putSession(tx, place{"t1", scope.Space(), int64(w)}) }); err != nil {
			f.Error(err)
		}
	})
	for _, c := range all {
		for w := range 8 {
			f.hinted(c, nil, dhruva.SpaceScope("t1", dhruva.SpaceID(fmt.Sprint(w))))
		}
	}
}
