package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// tamper runs a statement on a closed store's file.
func tamper(t *testing.T, path, statement string) {
	t.Helper()
	if err := tampered(path, statement); err != nil {
		t.Fatal(err)
	}
}

func tampered(path, statement string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(statement)
	return errors.Join(err, db.Close())
}

func TestNewerOrForeignStoreIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ statement, want string }{
		"newer":   {"INSERT INTO migrations VALUES (99, '0099_later.sql', 0)", "newer"},
		"foreign": {"UPDATE migrations SET name = 'other.sql' WHERE number = 1", "another program"},
		"emptied": {"DELETE FROM migrations", "its table of migrations is empty"},
		"torn":    {"DROP TABLE notes", "its table notes is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dhruva.db")
			open(t, path, sqlstore.Options{}).Close()
			tamper(t, path, c.statement)
			_, err := sqlstore.Open(context.Background(), path, sqlstore.Options{})
			if !errors.Is(err, dhruva.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("open: %v", err)
			}
		})
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage")
	if err := os.WriteFile(garbage, bytes.Repeat([]byte("this is no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{garbage, dir, filepath.Join(dir, "no", "such", "directory")} {
		if s, err := sqlstore.Open(context.Background(), path, sqlstore.Options{}); err == nil {
			s.Close()
			t.Errorf("opened %s", path)
		}
	}
}

// TestSeveredLog: a log without its database is left as it is, for it may hold all
// that was acknowledged.
func TestSeveredLog(t *testing.T) {
	for name, main := range map[string][]byte{"gone": nil, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dhruva.db")
			log := bytes.Repeat([]byte("acknowledged "), 100)
			if err := os.WriteFile(path+"-wal", log, 0o600); err != nil {
				t.Fatal(err)
			}
			if main != nil {
				if err := os.WriteFile(path, main, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := sqlstore.Open(context.Background(), path, sqlstore.Options{})
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, dhruva.ErrInvalid) || !strings.Contains(err.Error(), "dhruva.db-wal") {
				t.Errorf("%v", err)
			}
			if now, err := os.ReadFile(path + "-wal"); err != nil || !bytes.Equal(now, log) {
				t.Errorf("the log changed: %v", err)
			}
		})
	}
}

// TestFileIsPrivate: the file and its log can be read by their owner only.
func TestFileIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	path := filepath.Join(t.TempDir(), "a b%20?c#d.db") // also a name that a URI would misread
	s := open(t, path, sqlstore.Options{})
	if err := noteOne(s, "x"); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", suffix, info.Mode())
		}
	}
}

// TestIntegrity finds a damaged page.
func TestIntegrity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	s := open(t, path, sqlstore.Options{})
	for n := range 50 {
		if err := capture(s, shared, "s", 0, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Integrity(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := len(data) / 2; at < len(data); at += 4096 {
		copy(data[at&^4095:], bytes.Repeat([]byte{0xa5}, 64))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := sqlstore.Open(context.Background(), path, sqlstore.Options{}); err == nil {
		defer s.Close()
		if err := s.Integrity(context.Background()); err == nil {
			t.Error("damage was not found")
		}
	}
}

// TestCloseLeavesOneFile: the log is moved into the file and removed, so that a
// closed store can be copied as one file.
func TestCloseLeavesOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	s := open(t, path, sqlstore.Options{})
	if err := noteOne(s, "x"); err != nil {
		t.Fatal(err)
	}
	holds(t, s, []string{"x"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("left after Close: %v, %v", files, err)
	}
}

// TestViewDoesNotBlockTheWriter: an update is committed while a view is open,
// and the view does not see it.
func TestViewDoesNotBlockTheWriter(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "dhruva.db"), sqlstore.Options{})
	if err := noteOne(s, "before"); err != nil {
		t.Fatal(err)
	}
	err := s.View(context.Background(), shared, func(tx dhruva.Tx) error {
		before, err := tx.Session("shared-s")
		if err != nil {
			return err
		}
		done := make(chan error)
		go func() { done <- noteOne(s, "during") }()
		if err := <-done; err != nil {
			return err
		}
		after, err := tx.Session("shared-s")
		if before.LastSeq != 1 || after.LastSeq != 1 {
			t.Errorf("the view saw turn %d and then %d", before.LastSeq, after.LastSeq)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, s, []string{"before", "during"})
}

// TestBusyProcessIsUnavailable: a lock held by another process for longer than
// the timeout is ErrUnavailable, and the store works when it is gone.
func TestBusyProcessIsUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	s := open(t, path, sqlstore.Options{BusyTimeout: 50 * time.Millisecond})
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := noteOne(s, "during"); !errors.Is(err, dhruva.ErrUnavailable) {
		t.Errorf("update beside a lock: %v", err)
	}
	if _, err := c.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := noteOne(s, "after"); err != nil {
		t.Fatal(err)
	}
	holds(t, s, []string{"after"})
}
