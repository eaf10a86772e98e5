package proxy

import (
	"sync"
	"time"
)

// tick is how often the watch looks, and so how late a bound may strike.
const tick = 100 * time.Millisecond

// watch bounds how long things may take, with one timer for all of them: a
// timer each for reading, preparing, writing and capturing costs more than the
// rest of a small request, most of it in waking the network poller. The zero
// watch is ready, and runs only while something is bound.
type watch struct {
	mu      sync.Mutex
	bounds  map[*bound]struct{}
	ticking bool
}

// bound is one limit. It is paused until it is set.
type bound struct {
	watch  *watch
	hit    func()
	until  time.Time // zero: paused
	struck bool
}

// over makes a paused bound. hit is called under the watch's lock, so that it
// never comes after pause or end; it must not block.
func (w *watch) over(hit func()) *bound {
	b := &bound{watch: w, hit: hit}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bounds == nil {
		w.bounds = map[*bound]struct{}{}
	}
	w.bounds[b] = struct{}{}
	if !w.ticking {
		w.ticking = true
		time.AfterFunc(tick, w.look)
	}
	return b
}

// within is over and set in one.
func (w *watch) within(d time.Duration, hit func()) *bound {
	b := w.over(hit)
	b.set(d)
	return b
}

func (b *bound) set(d time.Duration) {
	until := time.Now().Add(d)
	b.watch.mu.Lock()
	b.until = until
	b.watch.mu.Unlock()
}

func (b *bound) pause() {
	b.watch.mu.Lock()
	b.until = time.Time{}
	b.watch.mu.Unlock()
}

// end forgets the bound and tells whether it ever struck.
func (b *bound) end() bool {
	b.watch.mu.Lock()
	defer b.watch.mu.Unlock()
	delete(b.watch.bounds, b)
	return b.struck
}

func (w *watch) look() {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for b := range w.bounds {
		if !b.until.IsZero() && now.After(b.until) {
			b.until, b.struck = time.Time{}, true
			b.hit()
		}
	}
	if w.ticking = len(w.bounds) > 0; w.ticking {
		time.AfterFunc(tick, w.look)
	}
}
