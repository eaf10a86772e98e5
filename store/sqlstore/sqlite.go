package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/dhruva-memory/dhruva"
)

//go:embed migrations/*/*.sql
var migrations embed.FS

// memory names a private database in memory.
const memory = ":memory:"

// minimum is the first SQLite without the WAL-reset bug of 2026.
var minimum = [3]int{3, 51, 3}

// pragma is a setting of a connection and what reading it back must show.
type pragma struct {
	set, read, want string
}

// pragmas are those of every connection. busy_timeout is first: setting
// journal_mode may have to wait.
func pragmas(o Options, journal string) []pragma {
	busy := strconv.FormatInt(o.BusyTimeout.Milliseconds(), 10)
	cache := strconv.Itoa(-o.CacheKiB)
	return []pragma{
		{"busy_timeout(" + busy + ")", "PRAGMA busy_timeout", busy},
		{"journal_mode(" + journal + ")", "PRAGMA journal_mode", journal},
		{"synchronous(2)", "PRAGMA synchronous", "2"}, // FULL
		{"fullfsync(1)", "PRAGMA fullfsync", "1"},     // macOS
		{"checkpoint_fullfsync(1)", "PRAGMA checkpoint_fullfsync", "1"},
		{"foreign_keys(1)", "PRAGMA foreign_keys", "1"},
		{"trusted_schema(0)", "PRAGMA trusted_schema", "0"},
		{"cell_size_check(1)", "PRAGMA cell_size_check", "1"},
		{"secure_delete(1)", "PRAGMA secure_delete", "1"},
		// Savepoints keep their old pages in memory: a temporary file would cost a
		// fifth of a write, and hold text outside the store's own files.
		{"temp_store(2)", "PRAGMA temp_store", "2"},
		{"cache_size(" + cache + ")", "PRAGMA cache_size", cache},
		// A page that is written often is moved into the file once in 16 MiB of log,
		// not once in 4: an eighth of the cost of a write.
		{"wal_autocheckpoint(4000)", "PRAGMA wal_autocheckpoint", "4000"},
		{"journal_size_limit(67108864)", "PRAGMA journal_size_limit", "67108864"},
	}
}

// introspection sets what a SQLite database is asked about its tables.
func (d *dialect) introspection() *dialect {
	d.tables = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
	d.columns = "SELECT name, pk FROM pragma_table_info($1)"
	d.parents = `SELECT DISTINCT "table" FROM pragma_foreign_key_list($1)`
	return d
}

// sqliteDialect is SQLite on a file, or in memory with one connection.
func sqliteDialect(path string, o Options) (*dialect, error) {
	o.BusyTimeout, o.CacheKiB = positive(o.BusyTimeout, 5*time.Second), positive(o.CacheKiB, 2048)
	schema, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return nil, err
	}
	file, journal := memory, "memory"
	if path != memory {
		journal = "wal"
		if file, err = privateFile(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	want := pragmas(o, journal)
	d := &dialect{
		name: path, schema: schema, alone: true, writers: 1, readers: 4, batch: 256,
		check: []string{"PRAGMA integrity_check(20)", "SELECT 'foreign key of ' || \"table\" FROM pragma_foreign_key_check LIMIT 20"},
	}
	d.introspection()
	write, err := sqliteSource(file, want, path == memory)
	if err != nil {
		return nil, err
	}
	write.patience = o.BusyTimeout
	d.write, d.close = write.dial, write.db.Close
	if path != memory {
		read, err := sqliteSource(file, append(want[:len(want):len(want)], pragma{set: "query_only(1)"}), false)
		if err != nil {
			return nil, err
		}
		read.want = want
		d.read, d.watch = read.dial, watchSQLite
		d.close = func() error { return firstOf(read.db.Close(), write.db.Close()) }
	}
	return d, nil
}

// sqliteFile makes connections to a file, or to a database in memory.
type sqliteFile struct {
	db       *sql.DB
	want     []pragma
	keep     bool
	patience time.Duration // of connections that write
}

func sqliteSource(file string, settings []pragma, keep bool) (*sqliteFile, error) {
	db, err := sql.Open("sqlite", source(file, settings))
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(0) // a conn we close is closed
	return &sqliteFile{db: db, want: settings, keep: keep}, nil
}

func (f *sqliteFile) dial(ctx context.Context) (conn, error) {
	c, err := dialSQLite(ctx, f.db, f.keep, f.want)
	if err != nil || f.patience == 0 {
		return c, err
	}
	if err := c.script(askAgain); err != nil {
		return nil, firstOf(err, c.close())
	}
	c.(*sqliteConn).patience = f.patience
	return c, nil
}

// privateFile makes the file, readable by its owner only, if it does not
// exist, and returns its URI. The log files inherit its mode.
func privateFile(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := unlessSevered(abs); err != nil {
		return "", err
	}
	f, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") { // a drive letter
		abs = "/" + abs
	}
	return "file:" + (&url.URL{Path: abs}).EscapedPath(), nil
}

// unlessSevered refuses a file that is gone, or empty, while its log is there: the
// log may hold all that was acknowledged, and SQLite would drop it.
func unlessSevered(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // what is wrong with it is seen when it is opened
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(path + suffix); err == nil && info.Size() > 0 {
			return fmt.Errorf("%w: it is gone or empty, and its log %s is there: the two belong together", dhruva.ErrInvalid, filepath.Base(path+suffix))
		}
	}
	return nil
}

func source(file string, settings []pragma) string {
	q := url.Values{"_defensive": {"1"}, "_dqs": {"0"}, "_error_rc": {"1"}}
	for _, p := range settings {
		q.Add("_pragma", p.set)
	}
	return file + "?" + q.Encode()
}

// ready reads back what the driver was told, since it may be overridden.
func (c *sqliteConn) ready(ctx context.Context, want []pragma) error {
	var version string
	if err := c.text(ctx, "SELECT sqlite_version()", &version); err != nil {
		return err
	}
	if err := recent(version); err != nil {
		return err
	}
	for _, p := range want {
		var got string
		if err := c.text(ctx, p.read, &got); err != nil {
			return err
		}
		if got != p.want {
			return fmt.Errorf("%w: %s is %s, want %s", dhruva.ErrUnavailable, p.read, got, p.want)
		}
	}
	return nil
}

// text reads one value by a statement that is not worth keeping.
func (c *sqliteConn) text(ctx context.Context, query string, into *string) error {
	return c.sql.QueryRowContext(ctx, query).Scan(into)
}

// recent refuses a SQLite older than the minimum.
func recent(version string) error {
	var have [3]int
	for n, part := range strings.SplitN(version, ".", 3) {
		v, err := strconv.Atoi(part)
		if err != nil {
			return fmt.Errorf("%w: SQLite version %q", dhruva.ErrUnavailable, version)
		}
		have[n] = v
	}
	for n := range have {
		if have[n] != minimum[n] {
			if have[n] > minimum[n] {
				return nil
			}
			return fmt.Errorf("%w: SQLite %s is older than %d.%d.%d", dhruva.ErrUnavailable, version, minimum[0], minimum[1], minimum[2])
		}
	}
	return nil
}

// sqliteError classifies by result code, never by text.
func sqliteError(err error) error {
	var e *sqlite.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", dhruva.ErrUnavailable, err)
	case !errors.As(err, &e):
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT:
		return fmt.Errorf("%w: %w", dhruva.ErrConflict, err)
	case sqlite3.SQLITE_TOOBIG:
		return fmt.Errorf("%w: %w", dhruva.ErrTooLarge, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", dhruva.ErrUnavailable, err)
	}
	return err
}

func sqliteBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}
