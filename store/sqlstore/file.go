package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// rawFile is one connection to a SQLite file as it is: nothing is migrated, and
// its journal mode is left alone.
type rawFile struct {
	path string
	db   *sql.DB
	c    *sql.Conn
}

// sqlQuerier is a connection of the SQL package, under a context.
type sqlQuerier struct {
	ctx context.Context
	c   *sql.Conn
}

func (q sqlQuerier) query(query string, args ...any) (rows, error) {
	r, err := q.c.QueryContext(q.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// under is what is read of the file under a context.
func (f *rawFile) under(ctx context.Context, report *reporter) reading {
	return reading{(&dialect{}).introspection(), sqlQuerier{ctx, f.c}, func() error { return ended(ctx) }, report}
}

// openShared opens a store's file beside the processes that use it. It is opened
// by SQLite alone: when a process closes a file, the locks that it holds on it
// elsewhere go with it.
func openShared(ctx context.Context, path string) (*rawFile, error) {
	if _, err := regular(path); err != nil {
		return nil, err
	}
	return openRaw(ctx, path, url.Values{"mode": {"rw"}})
}

// openSealed opens a file that nobody writes, and that is not touched by it: no
// log is made beside it. A file with a log beside it is refused, since what it
// holds is not in it.
func openSealed(ctx context.Context, path string) (*rawFile, error) {
	if err := sealed(path); err != nil {
		return nil, err
	}
	return openRaw(ctx, path, url.Values{"mode": {"ro"}, "immutable": {"1"}})
}

func openRaw(ctx context.Context, path string, q url.Values) (*rawFile, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	q["_pragma"] = []string{"busy_timeout(5000)",
		"trusted_schema(0)", "cell_size_check(1)", "secure_delete(1)", "temp_store(2)", "foreign_keys(0)"}
	q.Set("_defensive", "1")
	q.Set("_dqs", "0")
	q.Set("_error_rc", "1")
	db, err := sql.Open("sqlite", fileURI(abs)+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(0)
	f := &rawFile{path: path, db: db}
	if f.c, err = db.Conn(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return f, nil
}

func (f *rawFile) close() error { return errors.Join(f.c.Close(), f.db.Close()) }

func (f *rawFile) exec(ctx context.Context, query string, args ...any) error {
	_, err := f.c.ExecContext(ctx, query, args...)
	return err
}

// text reads one value.
func (f *rawFile) text(ctx context.Context, query string) (v string, err error) {
	return v, f.c.QueryRowContext(ctx, query).Scan(&v)
}

// begin opens a read transaction that sees the file as it is now.
func (f *rawFile) begin(ctx context.Context) error {
	if err := f.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	_, err := number(sqlQuerier{ctx, f.c}, "SELECT count(*) FROM main.sqlite_schema") // the snapshot is taken by the first read
	return err
}

func (f *rawFile) rollback() { _ = f.exec(context.Background(), "ROLLBACK") } // fails when there is none

// fileURI names a file for SQLite.
func fileURI(abs string) string {
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") { // a drive letter
		abs = "/" + abs
	}
	return "file:" + (&url.URL{Path: abs}).EscapedPath()
}

// regular is a file that is there.
func regular(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: there is no file %s", dhruva.ErrNotFound, path)
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is not a file", dhruva.ErrInvalid, path)
	}
	return info, err
}

// headerSize is that of the header of a SQLite database.
const headerSize = 100

// sqliteMagic opens one.
var sqliteMagic = []byte("SQLite format 3\x00")

// header is what the beginning of a file says.
type header struct {
	size  int64 // of the file
	pages int64 // bytes that the database says it has
}

func headerOf(path string) (h header, err error) {
	info, err := regular(path)
	if err != nil {
		return h, err
	}
	f, err := os.Open(path)
	if err != nil {
		return h, err
	}
	defer f.Close()
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(f, head); err != nil || !bytes.HasPrefix(head, sqliteMagic) {
		return h, fmt.Errorf("%w: %s is no SQLite database", dhruva.ErrInvalid, path)
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 1 << 16
	}
	return header{size: info.Size(), pages: page * int64(binary.BigEndian.Uint32(head[28:]))}, nil
}

// sealed: a file that is whole by itself.
func sealed(path string) error {
	h, err := headerOf(path)
	if err != nil {
		return err
	}
	if h.size < h.pages {
		return fmt.Errorf("%w: %s is cut short: it has %d bytes of %d", dhruva.ErrInvalid, path, h.size, h.pages)
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(path + suffix); err == nil && info.Size() > 0 {
			return fmt.Errorf("%w: %s has a log beside it (%s): it is the file of a store in use, or a copy of one, and not a backup",
				dhruva.ErrInvalid, path, filepath.Base(path+suffix))
		}
	}
	return nil
}

// syncFile makes a file's content durable, syncDir its name.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func syncDir(path string) error {
	if runtime.GOOS == "windows" { // names are durable there when the call returns
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// place gives a finished file its name, and does not take one that is taken
// unless it may replace. The name is durable when it returns.
func place(from, to string, replace bool) error {
	if err := syncFile(from); err != nil {
		return err
	}
	if replace {
		if err := os.Rename(from, to); err != nil {
			return err
		}
		return syncDir(filepath.Dir(to))
	}
	if err := os.Link(from, to); err != nil {
		if _, there := os.Lstat(to); there == nil {
			return taken(to)
		}
		if err := os.Rename(from, to); err != nil { // a file system without links
			return err
		}
		return syncDir(filepath.Dir(to))
	}
	if err := os.Remove(from); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

func taken(path string) error { return fmt.Errorf("%w: %s exists", dhruva.ErrConflict, path) }

// discard removes a temporary database with what SQLite may have put beside it.
func discard(path string) {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		_ = os.Remove(path + suffix) // what is left is named as temporary
	}
}
