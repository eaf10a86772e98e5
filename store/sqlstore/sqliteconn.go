package sqlstore

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// busyPause is how long an opening process waits for another that is opening.
const busyPause = 10 * time.Millisecond

// sqliteConn is a connection of the SQL package and the statements prepared on
// it.
//
// Statements run without the caller's context: the driver would start a
// goroutine for each to interrupt it, and all of them are short. Whoever
// holds the conn looks at the context between statements and rows.
type sqliteConn struct {
	sql        *sql.Conn
	statements map[string]*sql.Stmt // by text, a fixed set
	keep       bool                 // the only one of a database in memory: never lost, it is the database
	patience   time.Duration        // how long begin waits for another process
	version    int64                // what dataVersion was at the last begin
	crowded    time.Time            // until when others are thought of
	committed  time.Time            // when this connection did last
	broken     bool
	// A savepoint is wanted, and made by the first write. wrote: something was
	// written in this part of the transaction.
	wanted, made, wrote bool
}

// dialSQLite makes a connection and checks it, waiting a while for another
// process that is just making the database.
func dialSQLite(ctx context.Context, db *sql.DB, keep bool, want []pragma) (conn, error) {
	for {
		c, err := dialSQLiteOnce(ctx, db, keep, want)
		if err == nil {
			return c, nil
		}
		if !sqliteBusy(err) {
			return nil, sqliteError(err)
		}
		pause := time.NewTimer(busyPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, sqliteError(err)
		}
	}
}

func dialSQLiteOnce(ctx context.Context, db *sql.DB, keep bool, want []pragma) (*sqliteConn, error) {
	raw, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &sqliteConn{sql: raw, statements: map[string]*sql.Stmt{}, keep: keep}
	if err := c.ready(ctx, want); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// close finalizes the statements first: SQLite keeps a connection open, and its
// log in place, while one of them lives.
func (c *sqliteConn) close() error {
	var first error
	for _, s := range c.statements {
		first = firstOf(first, s.Close())
	}
	return sqliteError(firstOf(first, c.sql.Close()))
}

func (c *sqliteConn) prepared(query string) (*sql.Stmt, error) {
	if s, ok := c.statements[query]; ok {
		return s, nil
	}
	s, err := c.sql.PrepareContext(context.Background(), positional(query))
	if err != nil {
		return nil, sqliteError(err)
	}
	c.statements[query] = s
	return s, nil
}

// positional is a statement with ? for each parameter, when each is there once:
// the driver looks up the name of every other for every execution.
func positional(query string) string {
	names := parameterNumber.FindAllString(query, -1)
	for n, name := range names {
		if name != "$"+strconv.Itoa(n+1) {
			return query
		}
	}
	return parameterNumber.ReplaceAllString(query, "?")
}

var parameterNumber = regexp.MustCompile(`\$[0-9]+`)

// run is exec outside a savepoint.
func (c *sqliteConn) run(query string, args ...any) (int64, error) {
	s, err := c.prepared(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, sqliteError(err)
	}
	return r.RowsAffected()
}

func (c *sqliteConn) exec(query string, args ...any) (int64, error) {
	if err := c.writing(); err != nil {
		return 0, err
	}
	return c.run(query, args...)
}

func (c *sqliteConn) send(query string, args ...any) error {
	_, err := c.exec(query, args...)
	return err
}

func (c *sqliteConn) race(query string, args ...any) error { return c.send(query, args...) }

func (c *sqliteConn) ahead(string, ...any)      {}
func (c *sqliteConn) knows(string, ...any) bool { return true }

func (c *sqliteConn) query(query string, args ...any) (rows, error) {
	if !strings.HasPrefix(query, "SELECT") {
		if err := c.writing(); err != nil {
			return nil, err
		}
	}
	s, err := c.prepared(query)
	if err != nil {
		return nil, err
	}
	r, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return nil, sqliteError(err)
	}
	return sqliteRows{r}, nil
}

// sqliteRows are rows whose errors are ours.
type sqliteRows struct{ *sql.Rows }

func (r sqliteRows) Err() error { return sqliteError(r.Rows.Err()) }

func (c *sqliteConn) script(text string) error {
	_, err := c.sql.ExecContext(context.Background(), text)
	return sqliteError(err)
}

// Two processes that write without a pause take turns. SQLite itself would ask
// for the lock at ever longer intervals, and hardly ever meet the moment in which
// the other one does not hold it; so begin asks often, and a process that sees
// that others write leaves them a moment after each commit of its own.
const (
	// askAgain is how long SQLite waits for a lock before begin asks anew.
	askAgain = "PRAGMA busy_timeout = 2"
	// moment is longer than that.
	moment = 4 * time.Millisecond
	// remembered is how long others are thought of after a commit of theirs.
	remembered = 10 * time.Second
)

// begin takes the lock of the file, which covers every scope.
func (c *sqliteConn) begin([]dhruva.Scope) error {
	waiting := time.Now()
	if waiting.Before(c.crowded) {
		time.Sleep(moment - waiting.Sub(c.committed))
	}
	for {
		_, err := c.run("BEGIN IMMEDIATE")
		if err == nil {
			return c.lookAround()
		}
		if busy := sqliteBusy(err); !busy || time.Since(waiting) >= c.patience {
			c.broken = !busy
			return err
		}
	}
}

// lookAround notes whether others have written since the last time.
func (c *sqliteConn) lookAround() error {
	version, err := c.dataVersion()
	if err != nil {
		return firstOf(err, c.rollback())
	}
	if c.version != 0 && c.version != version {
		c.crowded = time.Now().Add(remembered)
	}
	c.version = version
	return nil
}

// dataVersion is a number that changes with every commit of another connection.
func (c *sqliteConn) dataVersion() (n int64, err error) {
	r, err := c.query("PRAGMA data_version")
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if r.Next() {
		err = r.Scan(&n)
	}
	return n, firstOf(err, r.Err())
}

func (c *sqliteConn) snapshot([]dhruva.Scope) error {
	_, err := c.run("BEGIN")
	c.broken = err != nil
	return err
}

func (c *sqliteConn) part(savepoint bool) { c.wanted, c.made, c.wrote = savepoint, false, false }

// writing makes the savepoint that is wanted.
func (c *sqliteConn) writing() error {
	c.wrote = true
	if !c.wanted {
		return nil
	}
	c.wanted, c.made = false, true
	_, err := c.run("SAVEPOINT fn")
	return err
}

func (c *sqliteConn) undo() error {
	switch {
	case !c.wrote:
		return nil
	case !c.made:
		return errNoSavepoint
	}
	if _, err := c.run("ROLLBACK TO fn"); err != nil {
		return err
	}
	return c.release()
}

func (c *sqliteConn) release() (err error) {
	if c.made {
		_, err = c.run("RELEASE fn")
	}
	c.wanted, c.made = false, false
	return err
}

func (c *sqliteConn) settle() error { return nil }

func (c *sqliteConn) commit() error {
	_, err := c.run("COMMIT")
	c.committed = time.Now()
	return err
}

// rollback is the end of a view, or of an update whose connection is in doubt.
// It fails when the database has rolled back already.
func (c *sqliteConn) rollback() error {
	c.wanted, c.made = false, false
	_, err := c.run("ROLLBACK")
	c.broken = err != nil
	return err
}

func (c *sqliteConn) bound(context.Context) {}
func (c *sqliteConn) lost() bool            { return c.broken && !c.keep }
func (c *sqliteConn) stale() bool           { return false }
