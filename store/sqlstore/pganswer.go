package sqlstore

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dhruva-memory/dhruva"
)

// receive reads the answers to all that was sent; last gets the tag of the last
// statement, when it is not nil.
func (c *pgConn) receive(last *int64) error {
	defer c.rest()
	for len(c.sent) > 0 {
		if _, err := c.step(last); err != nil {
			return err
		}
	}
	return c.usable()
}

// step reads one message, which answers the oldest that was sent, and returns
// the row when it is one. Its error ends the connection; a refusal of the
// server is in failed. tag gets how many rows a statement touched.
func (c *pgConn) step(tag *int64) (*pgproto3.DataRow, error) {
	m, err := c.front.Receive()
	if err != nil {
		return nil, c.lose(err)
	}
	if len(c.sent) == 0 {
		return nil, c.lose(fmt.Errorf("%w: %T", errUnexpected, m))
	}
	switch m := m.(type) {
	case *pgproto3.DataRow:
		if a := c.sent[0].ahead; a != nil {
			a.keep(m)
			return nil, nil
		}
		return m, nil
	case *pgproto3.CommandComplete:
		c.complete(m.CommandTag, tag)
	case *pgproto3.RowDescription:
		c.sent[0].st.describe(m)
	case *pgproto3.ErrorResponse:
		return nil, c.refused(m)
	case *pgproto3.ReadyForQuery:
		c.pop()
	case *pgproto3.NoticeResponse:
		if m.SeverityUnlocalized == "WARNING" {
			c.warning = m.Message
		}
	case *pgproto3.ParseComplete, *pgproto3.BindComplete, *pgproto3.ParameterDescription, *pgproto3.NoData,
		*pgproto3.ParameterStatus, *pgproto3.NotificationResponse:
	default:
		return nil, c.lose(fmt.Errorf("%w: %T", errUnexpected, m))
	}
	return nil, nil
}

func (c *pgConn) pop() {
	c.sent = c.sent[1:]
}

func (c *pgConn) complete(tag []byte, n *int64) {
	c.answered = true
	switch s := c.sent[0]; s.kind {
	case sentAhead:
		s.ahead.whole = true
	case sentSavepoint:
		c.stands = c.stands || s.at == c.at
	case sentCommit:
		if !bytes.Equal(tag, []byte("COMMIT")) {
			c.failed = fmt.Errorf("%w: the server answered COMMIT with %s", dhruva.ErrUnavailable, tag)
		}
	}
	if n != nil {
		*n = affected(tag)
	}
	c.pop()
}

// affected is the number at the end of a command tag.
func affected(tag []byte) int64 {
	n, err := strconv.ParseInt(string(tag[bytes.LastIndexByte(tag, ' ')+1:]), 10, 64)
	if err != nil {
		return 0 // a command that touches no rows
	}
	return n
}

func (s *pgStatement) describe(m *pgproto3.RowDescription) {
	s.oids = s.oids[:0]
	for _, f := range m.Fields {
		s.oids = append(s.oids, f.DataTypeOID)
	}
}

// refused: the server skips everything up to the next Sync, what it should have
// prepared too.
func (c *pgConn) refused(m *pgproto3.ErrorResponse) error {
	err := postgresError(m)
	if m.SeverityUnlocalized == "FATAL" || m.SeverityUnlocalized == "PANIC" || unprepared(m.Code) {
		return c.lose(err)
	}
	c.answered = true
	lost := c.sent[0].kind == sentRace && strings.HasPrefix(m.Code, "23")
	over := c.sent[0].at != 0 && c.sent[0].at != c.at // its turn is over
	if (lost || over) && !isAgain(err) {
		err = &again{err}
	}
	c.failed = err
	for len(c.sent) > 0 && c.sent[0].kind != sentSync {
		if c.sent[0].parse {
			c.forget(c.sent[0].st)
		}
		c.pop()
	}
	return nil
}

func (c *pgConn) forget(s *pgStatement) {
	for text, known := range c.statements {
		if known == s {
			delete(c.statements, text)
		}
	}
}

// rows reads up to the answer of the last statement that was sent.
func (c *pgConn) rows() (rows, error) {
	r := &pgRows{c: c, st: c.sent[len(c.sent)-2].st}
	for len(c.sent) > 2 {
		if _, err := c.step(nil); err != nil {
			r.end()
			return nil, err
		}
	}
	if c.failed != nil { // skipped
		r.Close()
		return nil, c.usable()
	}
	return r, nil
}

// pgRows are the rows of the last statement, read as they come.
type pgRows struct {
	c    *pgConn
	st   *pgStatement
	row  *pgproto3.DataRow
	done bool
}

// Next reads up to the next row, or to the end of all that was sent.
func (r *pgRows) Next() bool {
	for !r.done {
		if r.c.broken != nil || len(r.c.sent) == 0 {
			r.end()
			break
		}
		if r.row, _ = r.c.step(nil); r.row != nil {
			return true
		}
	}
	return false
}

func (r *pgRows) end() {
	r.done = true
	r.c.rest()
}

func (r *pgRows) Err() error { return r.c.usable() }

// Close reads what is left.
func (r *pgRows) Close() error {
	for r.Next() {
	}
	return nil
}
