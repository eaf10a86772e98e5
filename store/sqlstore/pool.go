package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// pool holds a fixed number of connections; a nil one is made when it is first
// needed, and again after it broke.
type pool struct {
	d    *dialect
	db   *sql.DB
	idle chan *conn
}

func newPool(d *dialect, source string, size int) (*pool, error) {
	db, err := sql.Open(d.driver, source)
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(0) // a conn we close is closed
	p := &pool{d: d, db: db, idle: make(chan *conn, size)}
	for range size {
		p.idle <- nil
	}
	return p, nil
}

// take waits for a connection until the context or the store ends.
func (p *pool) take(ctx context.Context, closing <-chan struct{}) (*conn, error) {
	select {
	case c := <-p.idle:
		if c != nil {
			return c, nil
		}
		c, err := p.d.dial(ctx, p.db)
		if err != nil {
			p.idle <- nil
		}
		return c, err
	case <-ctx.Done():
		return nil, ended(ctx)
	case <-closing:
		return nil, errClosed
	}
}

// give returns a connection, or drops it when it is broken. The only
// connection of a database in memory is kept: it is the database.
func (p *pool) give(c *conn, broken bool) {
	if broken && !p.d.single {
		c.close()
		c = nil
	}
	p.idle <- c
}

// close waits for every connection to come back and closes it.
func (p *pool) close() error {
	var first error
	for range cap(p.idle) {
		if c := <-p.idle; c != nil {
			first = firstOf(first, c.close())
		}
	}
	return firstOf(first, p.db.Close())
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

var errClosed = fmt.Errorf("%w: store is closed", dhruva.ErrUnavailable)
