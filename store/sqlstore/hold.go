package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/dhruva-memory/dhruva"
)

// heldFile is a store's file that no other process can open.
type heldFile struct {
	*rawFile
	// damaged: SQLite cannot read it, so it is not held.
	damaged error
}

// hold takes a store's file for itself, and moves its log into it. It is nil
// when there is none. ErrConflict: another process has it open.
func hold(ctx context.Context, path string) (*heldFile, error) {
	log, err := spareLog(path)
	if err != nil {
		return nil, err
	}
	defer log.end()
	f, err := openShared(ctx, path)
	if errors.Is(err, dhruva.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = f.take(ctx)
	if err == nil {
		return &heldFile{rawFile: f}, nil
	}
	err = errors.Join(err, f.close(), log.back())
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return nil, err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return nil, fmt.Errorf("%w: another process has %s open", dhruva.ErrConflict, path)
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FORMAT:
		return &heldFile{rawFile: nil, damaged: err}, nil
	}
	return nil, err
}

// spare is a second name of a log. SQLite removes a log that it can make nothing
// of; it belongs to what is moved aside all the same.
type spare struct{ log, name string }

func spareLog(path string) (spare, error) {
	s := spare{log: path + "-wal", name: path + ".consulted-wal"}
	if err := os.Remove(s.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	err := os.Link(s.log, s.name)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

// back gives the log its first name again, if it has lost it.
func (s spare) back() error {
	if err := os.Link(s.name, s.log); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s spare) end() { _ = os.Remove(s.name) } // the next restore removes it, too

// take: the journal mode can be changed only by whoever has the file alone, and
// with the exclusive locking mode it stays so until it is closed. In this mode
// there is no log beside the file that a new one could be mistaken to have.
func (f *rawFile) take(ctx context.Context) error {
	for _, statement := range []string{"PRAGMA busy_timeout = 1000", "PRAGMA main.locking_mode = EXCLUSIVE"} {
		if err := f.exec(ctx, statement); err != nil {
			return err
		}
	}
	mode, err := f.text(ctx, "PRAGMA main.journal_mode = DELETE")
	if err == nil && mode != "delete" {
		err = fmt.Errorf("%w: %s stays in journal mode %s", dhruva.ErrConflict, f.path, mode)
	}
	if err != nil {
		return err
	}
	if err := f.exec(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	return f.exec(ctx, "COMMIT")
}

func (h *heldFile) close() error {
	if h.rawFile == nil {
		return nil
	}
	err := h.rawFile.close()
	h.rawFile = nil
	return err
}
