package sqlstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/dhruva-memory/dhruva"
)

// pool holds at most a number of connections, made when they are needed. The
// one that was used last is used first.
type pool struct {
	dial  func(context.Context) (conn, error)
	slots chan struct{} // one for each connection in use

	mu   sync.Mutex
	idle []conn
}

func newPool(size int, dial func(context.Context) (conn, error)) *pool {
	return &pool{dial: dial, slots: make(chan struct{}, size)}
}

// take waits for a connection until the context or the store ends.
func (p *pool) take(ctx context.Context, closing <-chan struct{}) (conn, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ended(ctx)
	case <-closing:
		return nil, errClosed
	}
	if c := p.pop(); c != nil {
		return c, nil
	}
	c, err := p.dial(ctx)
	if err != nil {
		<-p.slots
	}
	return c, err
}

func (p *pool) pop() conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	c := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return c
}

// give returns a connection, or drops it when it is lost. When it was lost
// before it was used, so were those that are idle.
func (p *pool) give(c conn) {
	if c.stale() {
		p.drop()
	}
	if c.lost() {
		c.close()
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	<-p.slots
}

// drop closes the idle connections.
func (p *pool) drop() (first error) {
	for c := p.pop(); c != nil; c = p.pop() {
		first = firstOf(first, c.close())
	}
	return first
}

// close waits for every connection to come back and closes it.
func (p *pool) close() error {
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	return p.drop()
}

var errClosed = fmt.Errorf("%w: store is closed", dhruva.ErrUnavailable)
