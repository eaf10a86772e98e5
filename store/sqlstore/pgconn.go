package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dhruva-memory/dhruva"
)

// pgConn is a connection to a Postgres server and the transaction on it.
//
// Statements are pipelined: one whose result nobody needs waits in the buffer
// until something is waited for, and goes out with it. So the beginning of a
// transaction, its settings and its locks travel with the first statement, and
// all writes behind the last read with COMMIT. The answers come in the same
// order; an error makes the server skip what was sent behind it, up to the next
// Sync.
type pgConn struct {
	net        net
	front      *pgproto3.Frontend
	db         *postgres
	schema     string
	statements map[string]*pgStatement // by text, a fixed set
	sent       []pgSent                // unanswered, oldest first
	buffered   int                     // about how many bytes are not sent yet
	prepared   int                     // counts names
	used       int                     // counts transactions
	taken      *pgconn.HijackedConn
	broken     error  // why the connection cannot be used again
	warning    string // the last one of the server

	ctx     context.Context
	until   time.Time   // its deadline, or one of our own when it has none
	bounded bool        // it has one
	disarm  func() bool // set while something is waited for

	// The transaction. It is opened by its first statement.
	opening  []pgOpening
	times    time.Duration // how long a statement may take on the server
	answered bool          // anything of it has been answered
	locking  bool          // its opening takes locks
	failed   error         // why it cannot go on; undo or rollback ends that
	at       int           // counts parts; part 0 is the opening
	wanted   bool          // a savepoint is made by the first write
	made     bool          // it was sent
	stands   bool          // it was answered
	wrote    bool          // something was written in this part
	known    []*pgAhead    // what was asked ahead in this part
}

// net is what is needed of a network connection.
type net interface {
	SetDeadline(time.Time) error
	Close() error
}

// pgOpening is a statement that opens a transaction.
type pgOpening struct {
	query string
	args  []any
}

// pgSent is a message that the server has to answer.
type pgSent struct {
	kind  byte
	at    int          // the part of the transaction
	st    *pgStatement // nil for a Sync
	parse bool         // it is prepared by this message
	ahead *pgAhead     // who keeps the answer
}

// The kinds of messages.
const (
	sentStatement = iota
	sentAhead
	sentSavepoint
	sentRace
	sentCommit
	sentSync
)

// pgStatement is a prepared statement.
type pgStatement struct {
	name string
	oids []uint32 // of its columns
}

func newPgConn(taken *pgconn.HijackedConn, db *postgres) *pgConn {
	return &pgConn{taken: taken, net: taken.Conn, front: taken.Frontend, db: db, statements: map[string]*pgStatement{}}
}

func (c *pgConn) lost() bool { return c.broken != nil }

func (c *pgConn) stale() bool {
	return c.broken != nil && c.used > 1 && !c.answered && c.ctx.Err() == nil
}

func (c *pgConn) close() error {
	if c.broken == nil {
		c.net.SetDeadline(time.Now().Add(time.Second))
		c.front.Send(&pgproto3.Terminate{})
		c.front.Flush()
		c.broken = errClosed
	}
	return c.net.Close()
}

// bound: whatever is waited for ends with the context.
func (c *pgConn) bound(ctx context.Context) {
	c.ctx = ctx
	d, ok := ctx.Deadline()
	if !ok {
		d = time.Now().Add(c.db.timeout)
	}
	c.until, c.bounded = d, ok
}

// The settings of every transaction. They are local to it, so that a pooler may
// give each transaction another connection. $3 and $4 are in milliseconds: a
// statement of a client that is gone, or a client that stopped within a
// transaction, does not hold locks for ever.
const (
	pgBegin    = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	pgSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	pgSettings = `SELECT set_config('dhruva.tenant', $1, true), set_config('dhruva.reach', $2, true),
		set_config('statement_timeout', $3, true), set_config('lock_timeout', $3, true), set_config('idle_in_transaction_session_timeout', $4, true)`
	pgTimes = "SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true)"
	pgLock  = "SELECT pg_advisory_xact_lock($1)"
)

// serverFirst is how much sooner than our own deadline the server's comes, so
// that its answer is heard.
const serverFirst = 50 * time.Millisecond

// noTenant stands for the tenant where there is none; no tenant's id has a
// control character.
const noTenant = "\x01"

func (c *pgConn) begin(scopes []dhruva.Scope) error {
	c.open(pgBegin, scopes, c.db.timeout)
	c.locking = len(scopes) > 0
	for _, s := range scopes {
		c.opening = append(c.opening, pgOpening{pgLock, []any{lockKey(c.schema, s)}})
	}
	return c.broken
}

func (c *pgConn) snapshot(scopes []dhruva.Scope) error {
	c.open(pgSnapshot, scopes, 10*c.db.timeout) // the consumer may be slow
	return c.broken
}

// open begins a transaction: with its first statement, so that one without any
// costs nothing.
func (c *pgConn) open(begin string, scopes []dhruva.Scope, idle time.Duration) {
	c.used++
	c.locking, c.known = false, nil
	c.answered, c.failed, c.at, c.wanted, c.made = false, nil, 0, false, false
	c.times = c.left()
	reach := dhruva.ReachOf(scopes)
	tenant, wide := string(reach.Tenant), ""
	if tenant == "" {
		tenant = noTenant
	}
	if reach.System {
		wide = "system"
	}
	c.opening = append(c.opening[:0], pgOpening{begin, nil}, pgOpening{pgSettings, []any{tenant, wide, millis(c.times), millis(idle)}})
}

// left is how long a statement may take on the server.
func (c *pgConn) left() time.Duration {
	left := time.Until(c.until)
	return left - min(left/10, serverFirst)
}

func millis(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

// lockKey is the number of a scope's lock: the first 8 bytes of SHA-256 over a
// version, and schema, tenant and space, each with its length.
func lockKey(schema string, s dhruva.Scope) int64 {
	key := []byte("dhruva.lock.v1\n")
	for _, part := range []string{schema, string(s.Tenant()), string(s.Space())} {
		key = append(binary.BigEndian.AppendUint64(key, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(key)
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

func (c *pgConn) part(savepoint bool) {
	c.at, c.wanted, c.made, c.stands, c.wrote, c.known = c.at+1, savepoint, false, false, false, nil
	left := c.left()
	if len(c.opening) > 0 || c.usable() != nil || (left-c.times).Abs() < c.times/10 {
		return
	}
	c.times = left // it has its own time
	c.put(sentStatement, pgTimes, millis(left))
}

func (c *pgConn) undo() error {
	switch {
	case c.broken != nil:
		return c.broken
	case c.failed != nil && !c.stands:
		return c.failed
	case !c.wrote:
		return nil
	case !c.made:
		return errNoSavepoint
	}
	c.failed = nil
	c.put(sentStatement, "ROLLBACK TO SAVEPOINT fn")
	return c.release()
}

func (c *pgConn) release() error {
	if err := c.usable(); err != nil {
		return err
	}
	if c.made {
		c.put(sentStatement, "RELEASE SAVEPOINT fn")
	}
	c.wanted, c.made = false, false
	return nil
}

// commit: nothing that was sent may have failed, and the server must say that
// it has committed, without a warning: a wait for a synchronous standby that
// was given up is one.
func (c *pgConn) commit() error {
	if err := c.usable(); err != nil {
		return err
	}
	if len(c.opening) > 0 { // nothing was asked of it
		c.opening = c.opening[:0]
		return nil
	}
	c.at++           // whatever fails before COMMIT is an earlier part's
	if !c.answered { // COMMIT is not for a connection that may have been lost long ago
		if err := c.settle(); err != nil {
			if c.stale() {
				err = &again{err}
			}
			return err
		}
	}
	c.warning = ""
	c.put(sentCommit, "COMMIT")
	if err := c.settle(); err != nil {
		return err
	}
	if c.warning != "" {
		return fmt.Errorf("%w: the server warns: %s", dhruva.ErrUnavailable, c.warning)
	}
	return nil
}

// rollback does not wait for the answer.
func (c *pgConn) rollback() error {
	c.failed, c.wanted, c.made = nil, false, false
	if len(c.opening) > 0 {
		c.opening = c.opening[:0]
		return c.broken
	}
	if c.broken != nil {
		return c.broken
	}
	c.put(sentStatement, "ROLLBACK")
	err := c.flush()
	c.rest()
	return err
}

// usable: something may be sent.
func (c *pgConn) usable() error {
	if c.broken != nil {
		return c.broken
	}
	return c.failed
}

func (c *pgConn) exec(query string, args ...any) (int64, error) {
	if err := c.write(sentStatement, query, args...); err != nil {
		return 0, err
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	var n int64
	err := c.receive(&n)
	return n, err
}

// Bounds of what waits in the buffer. The answers to it fit in the buffers of
// the network, so that neither side waits for the other to read.
const (
	maxPgSent     = 200
	maxPgBuffered = 64 << 10
)

func (c *pgConn) send(query string, args ...any) error { return c.later(sentStatement, query, args...) }
func (c *pgConn) race(query string, args ...any) error { return c.later(sentRace, query, args...) }

func (c *pgConn) later(kind byte, query string, args ...any) error {
	if err := c.write(kind, query, args...); err != nil {
		return err
	}
	if len(c.sent) >= maxPgSent || c.buffered >= maxPgBuffered {
		return c.settle()
	}
	return nil
}

// write puts a statement behind the savepoint that it needs; ask puts one that
// needs none.
func (c *pgConn) write(kind byte, query string, args ...any) error {
	if err := c.usable(); err != nil {
		return err
	}
	c.wrote, c.known = true, nil
	if c.wanted {
		c.wanted, c.made = false, true
		c.put(sentSavepoint, "SAVEPOINT fn")
	}
	return c.put(kind, query, args...)
}

func (c *pgConn) ask(kind byte, query string, args ...any) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.put(kind, query, args...)
}

func (c *pgConn) query(query string, args ...any) (rows, error) {
	put := c.write
	if strings.HasPrefix(query, "SELECT") {
		if r := c.take(query, args); r != nil {
			return r, c.usable()
		}
		put = c.ask
	}
	if err := put(sentStatement, query, args...); err != nil {
		return nil, err
	}
	if err := c.flush(); err != nil {
		return nil, err
	}
	return c.rows()
}

// settle waits for the answers to all that was sent.
func (c *pgConn) settle() error {
	if err := c.usable(); err != nil {
		return err
	}
	if len(c.sent) == 0 {
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	return c.receive(nil)
}

// script runs statements by the simple protocol.
func (c *pgConn) script(text string) error {
	if err := firstOf(c.start(), c.settle()); err != nil {
		return err
	}
	c.front.SendQuery(&pgproto3.Query{String: text})
	c.arm()
	defer c.rest()
	if err := c.front.Flush(); err != nil {
		return c.lose(err)
	}
	for {
		m, err := c.front.Receive()
		if err != nil {
			return c.lose(err)
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			c.failed = postgresError(m)
		case *pgproto3.ReadyForQuery:
			return c.usable()
		}
	}
}

// put writes a statement into the buffer, behind the opening of the
// transaction when it is the first.
func (c *pgConn) put(kind byte, query string, args ...any) error {
	if err := c.start(); err != nil {
		return err
	}
	return c.append(kind, c.at, query, args)
}

func (c *pgConn) start() error {
	opening := c.opening
	c.opening = c.opening[:0]
	for _, o := range opening {
		if err := c.append(sentStatement, 0, o.query, o.args); err != nil {
			return err
		}
	}
	return nil
}

func (c *pgConn) append(kind byte, at int, query string, args []any) error {
	values, formats, oids, err := encode(args)
	if err != nil {
		return err
	}
	s, known := c.statements[query]
	if !known {
		s = &pgStatement{}
		if c.db.named {
			c.prepared++
			s.name = "s" + strconv.Itoa(c.prepared)
			c.statements[query] = s
		}
		c.front.SendParse(&pgproto3.Parse{Name: s.name, Query: query, ParameterOIDs: oids})
		c.front.SendDescribe(&pgproto3.Describe{ObjectType: 'S', Name: s.name})
		c.buffered += len(query)
	}
	c.front.SendBind(&pgproto3.Bind{PreparedStatement: s.name, ParameterFormatCodes: formats, Parameters: values, ResultFormatCodes: binaryFormat})
	c.front.SendExecute(&pgproto3.Execute{})
	c.sent = append(c.sent, pgSent{kind, at, s, !known, nil})
	for _, v := range values {
		c.buffered += len(v)
	}
	c.buffered += 64
	return nil
}

// flush ends what is in the buffer with a Sync and sends it.
func (c *pgConn) flush() error {
	c.front.SendSync(&pgproto3.Sync{})
	c.sent = append(c.sent, pgSent{kind: sentSync})
	c.buffered = 0
	c.arm()
	if err := c.front.Flush(); err != nil {
		return c.lose(err)
	}
	return nil
}

// arm sets the deadline of what is waited for, and has the connection cut when
// the context is cancelled, or the store closes while a lock is waited for; rest
// ends that.
func (c *pgConn) arm() {
	if c.disarm != nil {
		return
	}
	if !c.bounded {
		c.until = time.Now().Add(c.db.timeout)
	}
	c.net.SetDeadline(c.until)
	stop := func() bool { return true }
	if c.ctx.Done() != nil {
		stop = context.AfterFunc(c.ctx, c.cut)
	}
	c.disarm = stop
	if c.locking && !c.answered && c.db.life != nil {
		also := context.AfterFunc(c.db.life, c.cut)
		c.disarm = func() bool { a, b := stop(), also(); return a && b }
	}
}

// cut ends what is waited for, from whatever goroutine.
func (c *pgConn) cut() { c.net.SetDeadline(time.Unix(1, 0)) }

func (c *pgConn) rest() {
	if c.disarm != nil && !c.disarm() {
		c.lose(errCut)
	}
	c.disarm = nil
}

// lose gives the connection up.
func (c *pgConn) lose(err error) error {
	if c.broken == nil {
		c.broken = fmt.Errorf("%w: the connection to the database is lost: %w", dhruva.ErrUnavailable, err)
		if c.ctx.Err() != nil {
			c.broken = fmt.Errorf("%w: %w", c.broken, context.Cause(c.ctx))
		}
		var late interface{ Timeout() bool }
		if errors.Is(err, errCut) || errors.As(err, &late) && late.Timeout() {
			c.db.ending.Go(c.cancel)
		}
	}
	return c.broken
}

// cancel has the server end what it does for a client that has left: it would
// find out only when it has done it, and hold its locks till then.
func (c *pgConn) cancel() {
	ctx, done := context.WithTimeout(context.Background(), cancelTime)
	defer done()
	if taken, err := pgconn.Construct(c.taken); err == nil {
		taken.CancelRequest(ctx)
	}
}

// cancelTime bounds the request. There is nobody to tell when it fails.
const cancelTime = 2 * time.Second

var errCut = errors.New("it was cut")

var errUnexpected = errors.New("unexpected message from the server")
