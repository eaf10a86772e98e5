package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// update is one call of Update, on its way through the writer.
type update struct {
	ctx    context.Context
	scopes []dhruva.Scope
	turn   chan *tx   // the writer hands over the connection, or nothing and done
	ran    chan error // the caller hands it back
	done   chan error // the outcome; buffered, since the caller may have left
}

var errAborted = errors.New("fn did not return")

// Update runs fn and returns when it is on disk.
func (s *Store) Update(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) error {
	scopes, err := dhruva.SortScopes(scopes)
	if err != nil {
		return fmt.Errorf("sqlstore: update: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.WriteTimeout)
	defer cancel()
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("sqlstore: update: %w", err)
	}
	u := &update{ctx: ctx, scopes: scopes, turn: make(chan *tx), ran: make(chan error), done: make(chan error, 1)}
	select {
	case s.queue <- u: // its turn comes at once
	case <-ctx.Done():
		return fmt.Errorf("sqlstore: update: %w", ended(ctx))
	case <-s.closing:
		return fmt.Errorf("sqlstore: update: %w", errClosed)
	}
	t := <-u.turn
	if t == nil {
		return <-u.done
	}
	if err := u.run(t, fn); err != nil {
		return err
	}
	select {
	case err := <-u.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("sqlstore: update: outcome unknown: %w", ended(ctx))
	}
}

// run calls fn in the caller's goroutine. When fn panics, or ends the
// goroutine, the writer has rolled back before the panic goes on.
func (u *update) run(t *tx, fn func(dhruva.Tx) error) error {
	err := errAborted
	defer func() {
		if err == errAborted {
			t.end()
			u.ran <- err
			<-u.done
		}
	}()
	result := fn(t)
	if result == nil {
		result = t.spoiled
	}
	t.end()
	err = nil
	u.ran <- result
	if result != nil {
		<-u.done // rolled back
	}
	return result
}
