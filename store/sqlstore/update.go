package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// update is one call of Update, on its way through a lane.
type update struct {
	ctx    context.Context
	scopes []dhruva.Scope
	turn   chan *tx   // the lane hands over the connection, once or more often
	ran    chan error // the caller hands it back
	done   chan error // the outcome; buffered, since the caller may have left
	wrote  bool       // the lane's
}

var errAborted = errors.New("fn did not return")

// Update runs fn and returns when it is durable.
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
	l, err := s.enter(scopes)
	if err != nil {
		return fmt.Errorf("sqlstore: update: %w", err)
	}
	defer s.leave(l)
	u := &update{ctx: ctx, scopes: scopes, turn: make(chan *tx), ran: make(chan error), done: make(chan error, 1)}
	select {
	case l.queue <- u: // its turn comes at once
	case <-ctx.Done():
		return fmt.Errorf("sqlstore: update: %w", ended(ctx))
	case <-s.closing:
		return fmt.Errorf("sqlstore: update: %w", errClosed)
	}
	return s.noted(u, u.follow(fn))
}

// follow runs fn whenever the lane says so, until the outcome is there.
func (u *update) follow(fn func(dhruva.Tx) error) error {
	unknown := false
	for {
		select {
		case t := <-u.turn:
			unknown = u.run(t, fn)
		case err := <-u.done:
			return err
		case <-u.ctx.Done():
			return u.left(unknown)
		}
	}
}

// left is the outcome when the context ends first. One that is there already
// counts.
func (u *update) left(unknown bool) error {
	select {
	case err := <-u.done:
		return err
	default:
	}
	if unknown {
		return fmt.Errorf("sqlstore: update: outcome unknown: %w", ended(u.ctx))
	}
	return fmt.Errorf("sqlstore: update: %w", ended(u.ctx))
}

// run calls fn in the caller's goroutine. When fn panics, or ends the
// goroutine, the lane has taken the connection back before the panic goes on.
// It reports whether fn may be kept.
func (u *update) run(t *tx, fn func(dhruva.Tx) error) bool {
	err := errAborted
	defer func() {
		if err == errAborted {
			t.end()
			u.ran <- err
			<-u.done
		}
	}()
	result := fn(t)
	if result == nil && t.spoiled == nil {
		t.raiseHeads()
	}
	if t.spoiled != nil && (result == nil || isAgain(t.spoiled)) {
		result = t.spoiled
	}
	t.end()
	err = nil
	u.ran <- result
	return result == nil
}

// refuse answers an update whose fn will not run, or not again.
func (u *update) refuse(err error) {
	if !errors.Is(err, dhruva.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", dhruva.ErrUnavailable, err)
	}
	u.done <- fmt.Errorf("sqlstore: update: %w", err)
}
