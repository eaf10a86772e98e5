package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// conn is one connection and the statements prepared on it. It is for one
// goroutine at a time.
//
// Statements run without the caller's context: the driver would start a
// goroutine for each to interrupt it, and all of them are short. Whoever
// holds the conn looks at the context between statements and rows.
type conn struct {
	d          *dialect
	sql        *sql.Conn
	statements map[string]*sql.Stmt // by text, a fixed set
}

// dial makes a connection and checks it, waiting a while for another process
// that is just making the database.
func (d *dialect) dial(ctx context.Context, db *sql.DB) (*conn, error) {
	for {
		c, err := d.dialOnce(ctx, db)
		if err == nil {
			return c, nil
		}
		if !d.busy(err) {
			return nil, d.classify(err)
		}
		pause := time.NewTimer(busyPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, d.classify(err)
		}
	}
}

func (d *dialect) dialOnce(ctx context.Context, db *sql.DB) (*conn, error) {
	raw, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{d: d, sql: raw, statements: map[string]*sql.Stmt{}}
	if err := d.ready(ctx, c); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// close finalizes the statements first: SQLite keeps a connection open, and its
// log in place, while one of them lives.
func (c *conn) close() error {
	var first error
	for _, s := range c.statements {
		first = firstOf(first, s.Close())
	}
	return firstOf(first, c.sql.Close())
}

// text reads one value by a statement that is not worth keeping.
func (c *conn) text(ctx context.Context, query string, into *string) error {
	return c.sql.QueryRowContext(ctx, query).Scan(into)
}

func (c *conn) prepared(query string) (*sql.Stmt, error) {
	if s, ok := c.statements[query]; ok {
		return s, nil
	}
	s, err := c.sql.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, c.d.classify(err)
	}
	c.statements[query] = s
	return s, nil
}

// exec runs a statement and says how many rows it touched.
func (c *conn) exec(query string, args ...any) (int64, error) {
	s, err := c.prepared(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, c.d.classify(err)
	}
	return r.RowsAffected()
}

// query runs a statement that gives rows.
func (c *conn) query(query string, args ...any) (*sql.Rows, error) {
	s, err := c.prepared(query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return nil, c.d.classify(err)
	}
	return rows, nil
}

// ended says that a context has ended, as both its own error and ours.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", dhruva.ErrUnavailable, context.Cause(ctx))
}
