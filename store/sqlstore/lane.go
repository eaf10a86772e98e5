package sqlstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// lane is one goroutine that commits updates of the same scopes, or of all
// scopes when the database has one writer. It lives while updates use it.
type lane struct {
	s      *Store
	scopes []dhruva.Scope
	queue  chan *update  // unbuffered: an update is taken when the lane is ready for it
	idle   chan struct{} // closed when the last one has left
	users  int           // guarded by the store's mu
	// failing counts down the transactions in which every update has a savepoint,
	// because one failed that had written without. Few do; without savepoints a
	// write costs less.
	failing int
}

// laneKey names a lane by its scopes: "" for all, else each scope's parts with
// their lengths.
func (s *Store) laneKey(scopes []dhruva.Scope) string {
	if s.d.alone {
		return ""
	}
	var key []byte
	for _, scope := range scopes {
		for _, part := range []string{string(scope.Tenant()), string(scope.Space())} {
			key = append(binary.AppendUvarint(key, uint64(len(part))), part...)
		}
	}
	return string(key)
}

// enter finds the lane of scopes, or starts it.
func (s *Store) enter(scopes []dhruva.Scope) (*lane, error) {
	key := s.laneKey(scopes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shutting {
		return nil, errClosed
	}
	l := s.lanes[key]
	if l == nil {
		l = &lane{s: s, scopes: scopes, queue: make(chan *update), idle: make(chan struct{})}
		s.lanes[key] = l
		s.running.Go(l.work)
	}
	l.users++
	return l, nil
}

// leave ends the lane when nobody else uses it.
func (s *Store) leave(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(s.lanes, s.laneKey(l.scopes))
		close(l.idle)
	}
}

func (l *lane) work() {
	for {
		select {
		case <-l.idle:
			return
		case <-l.s.closing:
			return
		case u := <-l.queue:
			l.batch(u)
		}
	}
}

// next is an update that is waiting now, or none.
func (l *lane) next(sofar int) *update {
	if sofar >= l.s.options.BatchUpdates {
		return nil
	}
	select {
	case u := <-l.queue:
		return u
	default:
		return nil
	}
}

// how updates run together.
type how int

const (
	freely how = iota // the one that is there, and those that wait behind it
	safely            // with savepoints, each waiting for its own statements
	singly            // each in a transaction of its own
)

// batch is one commit: the update that opened it and those that wait behind
// it. When one fails that cannot be taken back, the others run again safely.
// Those that the database wants to be run again, run singly, with patience that
// their own deadlines end.
func (l *lane) batch(first *update) {
	todo, as := l.transact([]*update{first}, freely)
	for attempt := 1; len(todo) > 0; {
		before := len(todo)
		if attempt++; as == singly {
			pause(attempt, l.s.closing)
		}
		todo, as = l.transact(todo, max(as, safely))
		if len(todo) < before {
			attempt = 0
		}
	}
}

// pause is a random part of a time that doubles with each attempt; there is none
// before the first.
func pause(attempt int, closing <-chan struct{}) {
	if attempt < 2 {
		return
	}
	longest := min(time.Millisecond<<min(attempt, 10), 100*time.Millisecond)
	var b [8]byte
	rand.Read(b[:])
	t := time.NewTimer(time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(longest)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-closing:
	}
}

// transact runs updates in one transaction, and commits it. It returns those
// that are still to be run, and how.
func (l *lane) transact(todo []*update, as how) ([]*update, how) {
	c, err := l.begin(todo[0])
	if err != nil {
		refuse(todo, err)
		return nil, as
	}
	defer func() { l.s.writers.give(c) }()
	l.failing = max(l.failing-1, 0)
	var kept []*update
	for n := 0; ; n++ {
		u := l.pick(todo, n, as)
		rest := todo[min(n+1, len(todo)):]
		if u == nil {
			return l.commit(c, kept, todo[min(n, len(todo)):], as)
		}
		switch l.under(c, u, as != freely) {
		case ranWell:
			kept = append(kept, u)
		case ranAgain:
			c.rollback()
			return append(append(kept, u), rest...), singly
		case ranBadly:
			c.rollback()
			return append(kept, rest...), safely
		}
	}
}

// pick is the n-th update of a transaction: of those given, then of the queue.
func (l *lane) pick(todo []*update, n int, as how) *update {
	switch {
	case n > 0 && as == singly:
		return nil
	case n < len(todo):
		return todo[n]
	case as == freely:
		return l.next(n)
	}
	return nil
}

func (l *lane) begin(first *update) (conn, error) {
	c, err := l.s.writers.take(first.ctx, l.s.closing)
	if err != nil {
		return nil, err
	}
	c.bound(first.ctx)
	scopes := l.scopes
	if err := c.begin(scopes); err != nil {
		l.s.writers.give(c)
		return nil, err
	}
	return c, nil
}

// commit makes what was kept durable, says so to its callers, and returns the
// rest.
func (l *lane) commit(c conn, kept, rest []*update, as how) ([]*update, how) {
	if len(kept) == 0 {
		c.rollback()
		return rest, as
	}
	bound, cancel := latest(kept)
	defer cancel()
	c.bound(bound)
	err := c.commit()
	switch {
	case isAgain(err):
		c.rollback()
		return append(kept, rest...), singly
	case err != nil:
		c.rollback() // fails when the database has rolled back already
		err = fmt.Errorf("sqlstore: update: outcome unknown: %w: commit: %w", dhruva.ErrUnavailable, err)
	}
	l.settle(kept, err)
	return rest, as
}

// latest is a context that ends with the last of the updates' deadlines.
func latest(kept []*update) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, u := range kept {
		if d, ok := u.ctx.Deadline(); ok && d.After(last) {
			last = d
		}
	}
	return context.WithDeadline(context.Background(), last)
}

// settle gives updates their outcome, and hints what they may have changed.
func (l *lane) settle(kept []*update, err error) {
	for _, u := range kept {
		u.done <- err
		if u.wrote {
			l.s.hints.committed(u.scopes)
		}
	}
}

func refuse(todo []*update, err error) {
	for _, u := range todo {
		u.refuse(err)
	}
}

// verdict is what became of an update's turn.
type verdict int

const (
	ranWell  verdict = iota // it waits for the commit
	ranNot                  // it was answered; nothing of it is in the transaction
	ranAgain                // all of the transaction is to be run again
	ranBadly                // it was answered, and the others are to be run again
)

// truth is why an update failed: that it is to run again counts more than what
// its fn said.
func truth(err, settled error) error {
	if err == nil || isAgain(settled) && err != errAborted {
		return settled
	}
	return err
}

// under gives the update its turn on the connection.
func (l *lane) under(c conn, u *update, careful bool) verdict {
	c.bound(u.ctx)
	c.part(careful || l.failing > 0)
	t := newTx(u.ctx, l.s.d, c, u.scopes)
	t.careful = t.careful || careful
	if u.ctx.Err() != nil {
		u.refuse(context.Cause(u.ctx))
		return ranNot
	}
	select {
	case u.turn <- t:
	case <-u.ctx.Done():
		u.refuse(context.Cause(u.ctx))
		return ranNot
	}
	err := <-u.ran
	u.wrote = t.wrote
	if err == nil {
		err = c.release()
	}
	if settled := err == nil && !careful; !settled && !c.lost() { // what a failing fn saw must be true, too
		err = truth(err, c.settle())
	}
	switch {
	case err == nil:
		return ranWell
	case isAgain(err), err != errAborted && c.stale():
		return ranAgain
	}
	u.done <- err
	switch c.undo() {
	case nil:
		return ranNot
	case errNoSavepoint:
		l.failing = savepointsAfter
	}
	return ranBadly
}

// savepointsAfter is how many transactions have savepoints after a failure.
const savepointsAfter = 100
