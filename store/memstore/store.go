package memstore

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/dhruva-memory/dhruva"
)

// Store keeps rows in memory.
type Store struct {
	turn     chan struct{} // held by the update that runs, or waits for mu
	mu       sync.RWMutex
	closed   bool // under mu
	rows     rows // under mu
	watchers watchers
}

var _ dhruva.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return &Store{turn: make(chan struct{}, 1), rows: newRows()} }

// View runs fn over the present, which does not change while it runs.
func (s *Store) View(ctx context.Context, scope dhruva.Scope, fn func(dhruva.Tx) error) error {
	scopes, err := dhruva.SortScopes([]dhruva.Scope{scope})
	if err != nil {
		return fmt.Errorf("memstore: view: %w", err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("memstore: view: %w", err)
	}
	t := &tx{rows: &s.rows, reach: dhruva.ReachOf(scopes), readOnly: true}
	defer t.end()
	return fn(t)
}

// Update runs fn once, alone, and undoes what it wrote when it fails.
func (s *Store) Update(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) error {
	scopes, err := dhruva.SortScopes(scopes)
	if err != nil {
		return fmt.Errorf("memstore: update: %w", err)
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("memstore: update: %w", unavailable(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("memstore: update: %w", err)
	}
	t := &tx{rows: &s.rows, reach: dhruva.ReachOf(scopes)}
	defer t.end()
	keep := false
	defer func() {
		if !keep {
			t.rollback()
		}
	}()
	if err := fn(t); err != nil {
		return err
	}
	if t.spoiled != nil {
		return t.spoiled
	}
	keep = true
	if t.written > 0 {
		s.watchers.tell(scopes)
	}
	return nil
}

// Changes yields the changes up to the head at the time of the call.
func (s *Store) Changes(ctx context.Context, scope dhruva.Scope, after int64) iter.Seq2[dhruva.Change, error] {
	changes, err := s.changesAfter(ctx, scope, after)
	return func(yield func(dhruva.Change, error) bool) {
		if err != nil {
			yield(dhruva.Change{}, fmt.Errorf("memstore: changes: %w", err))
			return
		}
		for _, c := range changes {
			if err := unavailable(ctx); err != nil {
				yield(dhruva.Change{}, fmt.Errorf("memstore: changes: %w", err))
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (s *Store) changesAfter(ctx context.Context, scope dhruva.Scope, after int64) ([]dhruva.Change, error) {
	if _, err := dhruva.SortScopes([]dhruva.Scope{scope}); err != nil || scope.Level() != dhruva.LevelSpace {
		return nil, fmt.Errorf("%w: changes of scope %s, want a space", dhruva.ErrInvalid, scope)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	key := spaceKey{scope.Tenant(), scope.Space()}
	all, tail := s.rows.changes[key], s.rows.epochs[key].Tail
	after = max(after, 0)
	if after < tail {
		return nil, fmt.Errorf("%w: the changes up to %d", dhruva.ErrCompacted, tail)
	}
	return slices.Clone(all[min(after-tail, int64(len(all))):]), nil
}

// Close forgets everything; later calls are ErrUnavailable. A second Close
// does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.rows = true, newRows()
	s.watchers.close()
	return nil
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return fmt.Errorf("%w: store is closed", dhruva.ErrUnavailable)
	}
	return unavailable(ctx)
}

// unavailable says that a context has ended, as both its own error and ours.
func unavailable(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%w: %w", dhruva.ErrUnavailable, err)
	}
	return nil
}
