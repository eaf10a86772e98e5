package sqlstore

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"
)

// pgAhead is a question that was asked before anybody wanted the answer: it
// travels with another one, and saves the wait for a later.
type pgAhead struct {
	query string
	args  []any
	st    *pgStatement
	rows  [][][]byte
	whole bool
}

// ahead asks. The answer holds until something is written.
func (c *pgConn) ahead(query string, args ...any) {
	if c.usable() != nil || c.asked(query, args) != nil {
		return
	}
	a := &pgAhead{query: query, args: args}
	if c.put(sentAhead, query, args...) == nil {
		last := &c.sent[len(c.sent)-1]
		a.st, last.ahead = last.st, a
		c.known = append(c.known, a)
	}
}

func (c *pgConn) knows(query string, args ...any) bool { return c.asked(query, args) != nil }

// asked is the question, if it was asked already.
func (c *pgConn) asked(query string, args []any) *pgAhead {
	for _, a := range c.known {
		if a.query == query && slices.Equal(a.args, args) {
			return a
		}
	}
	return nil
}

// take gives the answer to a question that was asked ahead, once.
func (c *pgConn) take(query string, args []any) *pgKnown {
	if len(c.known) == 0 {
		return nil
	}
	a := c.asked(query, args)
	if a == nil || !a.whole {
		return nil
	}
	c.known = slices.DeleteFunc(c.known, func(other *pgAhead) bool { return other == a })
	return &pgKnown{a: a, at: -1}
}

// keep copies a row: the buffer it is in is used again.
func (a *pgAhead) keep(m *pgproto3.DataRow) {
	row := make([][]byte, len(m.Values))
	for n, v := range m.Values {
		row[n] = bytes.Clone(v)
	}
	a.rows = append(a.rows, row)
}

// pgKnown are the rows of such an answer.
type pgKnown struct {
	a  *pgAhead
	at int
}

func (r *pgKnown) Next() bool {
	r.at++
	return r.at < len(r.a.rows)
}

func (r *pgKnown) Scan(into ...any) error { return scanRow(r.a.st.oids, r.a.rows[r.at], into) }
func (r *pgKnown) Err() error             { return nil }
func (r *pgKnown) Close() error           { return nil }

// scanRow reads the columns of a row.
func scanRow(oids []uint32, values [][]byte, into []any) error {
	if len(into) != len(values) || len(into) != len(oids) {
		return fmt.Errorf("row of %d columns, %d wanted", len(oids), len(into))
	}
	for n, to := range into {
		if err := scan(oids[n], values[n], to); err != nil {
			return fmt.Errorf("column %d: %w", n+1, err)
		}
	}
	return nil
}
