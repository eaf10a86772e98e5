package sqlstore

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// maxDirty is how many scopes are told one by one; more are "everything".
const maxDirty = 4096

// dirty are scopes in which something was committed, each once, in the order in
// which they were first marked. The system scope stands for all.
type dirty struct {
	mu     sync.Mutex
	scopes []dhruva.Scope
	seen   map[dhruva.Scope]bool
	wake   chan struct{} // holds one token while there is something to take
}

func newDirty() *dirty { return &dirty{seen: map[dhruva.Scope]bool{}, wake: make(chan struct{}, 1)} }

// everywhere is the hint to look at everything.
var everywhere = []dhruva.Scope{dhruva.SystemScope()}

func (d *dirty) mark(scopes []dhruva.Scope) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range scopes {
		if !d.seen[s] {
			d.seen[s], d.scopes = true, append(d.scopes, s)
		}
	}
	if len(d.scopes) > maxDirty {
		d.scopes, d.seen = slices.Clone(everywhere), map[dhruva.Scope]bool{everywhere[0]: true}
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *dirty) take() []dhruva.Scope {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.scopes
	d.scopes = nil
	clear(d.seen)
	return out
}

// hints tells the followers in this process, and those of others through
// notify, where something was committed.
type hints struct {
	mu        sync.Mutex
	followers map[*dirty]bool
	watching  context.CancelFunc // stops the watch of other processes
	notify    *dirty             // nil when other processes notice by themselves
}

// committed is told after every commit, and after those that may have been.
func (h *hints) committed(scopes []dhruva.Scope) {
	if h.notify != nil {
		h.notify.mark(scopes)
	}
	h.mark(scopes)
}

// mark tells the followers in this process.
func (h *hints) mark(scopes []dhruva.Scope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for f := range h.followers {
		f.mark(scopes)
	}
}

// Hints yields where something was committed. Other processes are watched while
// somebody follows.
func (s *Store) Hints(ctx context.Context) iter.Seq[dhruva.Scope] {
	return func(yield func(dhruva.Scope) bool) {
		f := s.follow()
		defer s.unfollow(f)
		f.mark(everywhere)
		for s.usable(ctx) == nil {
			for _, scope := range f.take() {
				if s.usable(ctx) != nil || !yield(scope) {
					return
				}
			}
			select {
			case <-f.wake:
			case <-ctx.Done():
			case <-s.closing:
			}
		}
	}
}

func (s *Store) follow() *dirty {
	f := newDirty()
	s.hints.mu.Lock()
	defer s.hints.mu.Unlock()
	s.hints.followers[f] = true
	if len(s.hints.followers) == 1 {
		s.startWatch()
	}
	return f
}

func (s *Store) unfollow(f *dirty) {
	s.hints.mu.Lock()
	defer s.hints.mu.Unlock()
	delete(s.hints.followers, f)
	if len(s.hints.followers) == 0 && s.hints.watching != nil {
		s.hints.watching()
		s.hints.watching = nil
	}
}

// startWatch watches other processes until its context ends, or the store does.
func (s *Store) startWatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shutting || s.d.watch == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(s.life, cancel)
	s.hints.watching = func() { stop(); cancel() }
	s.running.Go(func() { s.d.watch(ctx, s) })
}

// poll looks at a mark of the database at intervals, and hints that everything
// may have changed whenever it is another one than before.
func (s *Store) poll(ctx context.Context, every time.Duration, look func(context.Context) (string, error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var seen mark
	for {
		now, err := look(ctx)
		if seen.changed(now, err) && ctx.Err() == nil {
			s.hints.mark(everywhere)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// mark is the last one that was seen.
type mark struct {
	last string
	seen bool // and nothing was missed since
}

// changed says whether something may have been missed: between two marks that
// differ, and before the first. While the database does not answer there is
// nothing to look at.
func (m *mark) changed(now string, err error) bool {
	if err != nil {
		m.seen = false
		return false
	}
	changed := !m.seen || now != m.last
	m.last, m.seen = now, true
	return changed
}
