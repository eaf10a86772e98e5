package memstore

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/dhruva-memory/dhruva"
)

// watchers are those who wait for hints.
type watchers struct {
	mu     sync.Mutex
	closed bool
	all    map[*watcher]bool
}

// watcher holds the scopes that one of them has not seen yet, each once, in the
// order in which they were first written.
type watcher struct {
	dirty []dhruva.Scope
	wake  chan struct{} // holds one token while there is something to look at
}

// Hints yields the system scope, then those of the updates that are kept.
func (s *Store) Hints(ctx context.Context) iter.Seq[dhruva.Scope] {
	return func(yield func(dhruva.Scope) bool) {
		w := s.watchers.join()
		defer s.watchers.leave(w)
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
			}
			scopes, open := s.watchers.take(w)
			if !open {
				return
			}
			for _, scope := range scopes {
				if ctx.Err() != nil || !yield(scope) {
					return
				}
			}
		}
	}
}

func (ws *watchers) join() *watcher {
	w := &watcher{wake: make(chan struct{}, 1)}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.all == nil {
		ws.all = map[*watcher]bool{}
	}
	ws.all[w] = true
	w.mark(dhruva.SystemScope())
	return w
}

func (ws *watchers) leave(w *watcher) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.all, w)
}

// take empties a watcher's list; false when the store is closed.
func (ws *watchers) take(w *watcher) ([]dhruva.Scope, bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	scopes := w.dirty
	w.dirty = nil
	return scopes, !ws.closed
}

func (ws *watchers) tell(scopes []dhruva.Scope) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.all {
		for _, scope := range scopes {
			w.mark(scope)
		}
	}
}

func (ws *watchers) close() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.closed = true
	for w := range ws.all {
		w.rouse()
	}
}

func (w *watcher) mark(scope dhruva.Scope) {
	if !slices.Contains(w.dirty, scope) {
		w.dirty = append(w.dirty, scope)
	}
	w.rouse()
}

func (w *watcher) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
