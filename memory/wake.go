package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/dhruva-memory/dhruva"
)

// wanted is a set of things to look at. However often a thing is added before it
// is taken, it is looked at once; what is added while one looks is taken next.
type wanted[K comparable] struct {
	compare func(a, b K) int

	mu   sync.Mutex
	set  map[K]struct{}
	wake chan struct{}
}

type (
	tenants = wanted[dhruva.TenantID]
	scopes  = wanted[dhruva.Scope]
)

func newTenants() *tenants {
	return &tenants{compare: func(a, b dhruva.TenantID) int {
		return dhruva.TenantScope(a).Compare(dhruva.TenantScope(b))
	}, set: map[dhruva.TenantID]struct{}{}, wake: make(chan struct{}, 1)}
}

func newScopes() *scopes {
	return &scopes{compare: dhruva.Scope.Compare, set: map[dhruva.Scope]struct{}{}, wake: make(chan struct{}, 1)}
}

func (w *wanted[K]) add(keys ...K) {
	w.mu.Lock()
	for _, k := range keys {
		w.set[k] = struct{}{}
	}
	w.mu.Unlock()
	if len(keys) > 0 {
		signal(w.wake)
	}
}

// take empties the set, in order.
func (w *wanted[K]) take() []K {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]K, 0, len(w.set))
	for k := range w.set {
		out = append(out, k)
	}
	clear(w.set)
	slices.SortFunc(out, w.compare)
	return out
}

// wait returns when something was added since it returned last; false when ctx
// has ended.
func (w *wanted[K]) wait(ctx context.Context) bool {
	select {
	case <-w.wake:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// signal wakes who waits on a channel of one, now or when it waits next.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
