package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// write is the one goroutine that commits.
func (s *Store) write() {
	defer close(s.stopped)
	for {
		select {
		case <-s.closing:
			return
		case u := <-s.queue:
			s.batch(u)
		}
	}
}

// batch is one transaction: the update that opened it and those that wait
// behind it.
func (s *Store) batch(first *update) {
	c, err := s.begin(first.ctx)
	if err != nil {
		first.refuse(err)
		return
	}
	var ran []*update
	for u, n := first, 0; u != nil; u = s.next(n) {
		n++
		kept, err := u.under(c)
		if kept {
			ran = append(ran, u)
		}
		if err != nil { // the connection is in doubt, and with it the batch
			s.abandon(c, ran, err)
			return
		}
	}
	if _, err := c.exec("COMMIT"); err != nil {
		s.abandon(c, ran, err)
		return
	}
	s.writers.give(c, false)
	settle(ran, nil)
}

// next is an update that is waiting now, or none.
func (s *Store) next(sofar int) *update {
	if sofar >= s.options.BatchUpdates {
		return nil
	}
	select {
	case u := <-s.queue:
		return u
	default:
		return nil
	}
}

func (s *Store) begin(ctx context.Context) (*conn, error) {
	c, err := s.writers.take(ctx, s.closing)
	if err != nil {
		return nil, err
	}
	if _, err := c.exec(s.d.begin); err != nil {
		s.writers.give(c, !s.d.busy(err))
		return nil, err
	}
	return c, nil
}

// abandon gives up a transaction whose commit, or whose connection, failed.
func (s *Store) abandon(c *conn, ran []*update, cause error) {
	c.exec("ROLLBACK") // fails when the database has rolled back already
	s.writers.give(c, true)
	settle(ran, fmt.Errorf("sqlstore: update: outcome unknown: %w: commit: %w", dhruva.ErrUnavailable, cause))
}

func settle(ran []*update, err error) {
	for _, u := range ran {
		u.done <- err
	}
}

// refuse answers an update whose fn will not run.
func (u *update) refuse(err error) {
	if !errors.Is(err, dhruva.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", dhruva.ErrUnavailable, err)
	}
	u.done <- fmt.Errorf("sqlstore: update: %w", err)
	close(u.turn)
}

// under gives the update its turn on the connection, under a savepoint. kept
// says that it waits for the commit; an error says that the connection is in
// doubt, and all that was kept with it.
func (u *update) under(c *conn) (kept bool, err error) {
	if u.ctx.Err() != nil {
		u.refuse(context.Cause(u.ctx))
		return false, nil
	}
	if _, err := c.exec("SAVEPOINT fn"); err != nil {
		u.refuse(err)
		return false, err
	}
	u.turn <- newTx(u.ctx, c, u.scopes)
	if err := <-u.ran; err != nil {
		_, err = c.exec("ROLLBACK TO fn")
		if err == nil {
			_, err = c.exec("RELEASE fn")
		}
		u.done <- nil // it is gone either way
		return false, err
	}
	_, err = c.exec("RELEASE fn")
	return true, err
}
