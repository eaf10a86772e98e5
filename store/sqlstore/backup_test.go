package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// noted is a store with n notes in it.
func noted(t *testing.T, path string, n int) (*sqlstore.Store, []string) {
	t.Helper()
	s := open(t, path, sqlstore.Options{})
	var ids []string
	for i := range n {
		id := fmt.Sprint("note-", i)
		if err := noteOne(s, id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return s, ids
}

func backup(t *testing.T, from, to string) sqlstore.BackupInfo {
	t.Helper()
	info, err := sqlstore.Backup(context.Background(), from, to, sqlstore.BackupOptions{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestBackup: the backup of a store in use is one private file that says what
// the store says, verifies, and opens as a store.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, "dhruva.db"), filepath.Join(dir, "backup")
	s, ids := noted(t, path, 30)
	info := backup(t, path, to)
	stat, err := os.Stat(to)
	if err != nil || stat.Mode().Perm() != 0o600 || stat.Size() != info.Size {
		t.Errorf("file: %v, %v", stat, err)
	}
	want, err := s.Manifest(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, info.Manifest); diff != "" {
		t.Error(diff)
	}
	again, err := sqlstore.VerifyBackup(context.Background(), to, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(info, again); diff != "" || again.Program != "test" || again.MadeAt.IsZero() {
		t.Errorf("%+v: %s", again, diff)
	}
	holds(t, open(t, to, sqlstore.Options{}), ids)
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestBackupWhileWriting: a backup that is taken while eight writers write, and
// kept from none of them, is a snapshot: whole by every invariant, with all that
// was acknowledged when it began, and of each writer the first so many notes.
func TestBackupWhileWriting(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dhruva.db")
	s, before := noted(t, path, 20)
	const writers = 8
	var stop atomic.Bool
	var mu sync.Mutex
	acknowledged := append([]string(nil), before...)
	var wg sync.WaitGroup
	begun := make(chan struct{}, writers)
	for w := range writers {
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
				id := fmt.Sprintf("w%d-%06d", w, n)
				if err := noteOne(s, id); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, id)
				mu.Unlock()
				if n == 3 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range writers {
		<-begun
	}
	for n := range testkit.Count(1, 3, 20) {
		mu.Lock()
		known := append([]string(nil), acknowledged...)
		mu.Unlock()
		to := filepath.Join(dir, fmt.Sprint("backup-", n))
		backup(t, path, to)
		mu.Lock()
		after := len(acknowledged)
		mu.Unlock()
		if after <= len(known) {
			t.Errorf("backup %d: nobody wrote meanwhile", n)
		}
		c := open(t, to, sqlstore.Options{})
		holds(t, c, known)
		prefixes(t, c)
	}
	stop.Store(true)
	wg.Wait()
	holds(t, s, acknowledged)
}

// prefixes wants the notes of each writer to be the first ones, none left out.
func prefixes(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	err := s.View(context.Background(), shared, func(tx dhruva.Tx) error {
		turns, err := tx.ListTurns(dhruva.TurnQuery{Session: "s"})
		next := map[string]int{}
		for _, row := range turns {
			writer, number, ok := strings.Cut(row.Content, "-")
			if !ok || writer == "note" {
				continue
			}
			if want := fmt.Sprintf("%06d", next[writer]); number != want {
				t.Errorf("%s has note %s where %s is expected", writer, number, want)
			}
			next[writer]++
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestBackupKeepsNothingDeleted: what was deleted from the store is not in the
// bytes of a backup.
func TestBackupKeepsNothingDeleted(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, "dhruva.db"), filepath.Join(dir, "backup")
	s, _ := noted(t, path, 40)
	const canary = "canary-7f3a"
	if err := noteOne(s, canary); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	backup(t, path, to+"-1")
	if !found(t, to+"-1", canary) {
		t.Fatal("the canary is not in the first backup: this test finds nothing")
	}
	for _, statement := range []string{
		"DELETE FROM turns WHERE content = 'canary-7f3a'", "DELETE FROM sources WHERE id = 'canary-7f3a'",
		"DELETE FROM source_references WHERE source = 'canary-7f3a'", "DELETE FROM receipts WHERE id = 'canary-7f3a'",
		"DELETE FROM changes WHERE ref = 'canary-7f3a'",
	} {
		tamper(t, path, statement)
	}
	backup(t, path, to+"-2")
	if found(t, to+"-2", canary) {
		t.Error("the deleted text is in the backup")
	}
}

func found(t *testing.T, path, text string) bool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(data, []byte(text))
}

// TestBackupRefuses: a target that is taken, the store itself, what is no store.
func TestBackupRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dhruva.db")
	noted(t, path, 3)
	taken, junk := filepath.Join(dir, "taken"), filepath.Join(dir, "junk")
	for _, name := range []string{taken, junk} {
		if err := os.WriteFile(name, bytes.Repeat([]byte("something of somebody's "), 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		from, to string
		replace  bool
		is       error
		says     string
	}{
		"taken":        {path, taken, false, dhruva.ErrConflict, "exists"},
		"itself":       {path, path, true, dhruva.ErrInvalid, "the store itself"},
		"its log":      {path, path + "-wal", true, dhruva.ErrInvalid, "the store itself"},
		"its journal":  {path, path + "-journal", false, dhruva.ErrInvalid, "the store itself"},
		"no backup":    {path, taken, true, dhruva.ErrConflict, "no backup"},
		"in use":       {path, path[:len(path)-len("dhruva.db")] + "other.db", true, dhruva.ErrConflict, "in use"},
		"a directory":  {path, dir, true, dhruva.ErrInvalid, "not a file"},
		"no store":     {filepath.Join(dir, "none"), filepath.Join(dir, "b"), false, dhruva.ErrNotFound, "no file"},
		"junk":         {junk, filepath.Join(dir, "b"), false, dhruva.ErrInvalid, "junk is damaged, or no store"},
		"no directory": {path, filepath.Join(dir, "no", "b"), false, os.ErrNotExist, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "in use" {
				if err := os.WriteFile(c.to+"-wal", []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := sqlstore.Backup(context.Background(), c.from, c.to, sqlstore.BackupOptions{Replace: c.replace})
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
	if !found(t, taken, "something of somebody's") {
		t.Error("the file that was there is gone")
	}
	older := filepath.Join(dir, "older")
	backup(t, path, older)
	if _, err := sqlstore.Backup(context.Background(), path, older, sqlstore.BackupOptions{Replace: true}); err != nil {
		t.Error(err)
	}
	if _, err := sqlstore.VerifyBackup(context.Background(), older, nil); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestVerifyBackupRefuses every damage, each with a sentence.
func TestVerifyBackupRefuses(t *testing.T) {
	dir := t.TempDir()
	path, good := filepath.Join(dir, "dhruva.db"), filepath.Join(dir, "good")
	noted(t, path, 60)
	backup(t, path, good)
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		damage func(path string) error
		says   string
	}{
		"cut short":        {func(p string) error { return os.Truncate(p, int64(len(whole))-4096) }, "cut short"},
		"cut in a page":    {func(p string) error { return os.Truncate(p, int64(len(whole))-1) }, "cut short"},
		"only a beginning": {func(p string) error { return os.Truncate(p, 60) }, "no SQLite database"},
		"empty":            {func(p string) error { return os.Truncate(p, 0) }, "no SQLite database"},
		"a log beside it":  {func(p string) error { return os.WriteFile(p+"-wal", []byte("frames"), 0o600) }, "has a log beside it"},
		"another program's": {func(p string) error {
			return errors.Join(os.Remove(p), tampered(p, "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT, applied_at INTEGER)"))
		}, "no migration"},
		"not a store":       {func(p string) error { return errors.Join(os.Remove(p), tampered(p, "CREATE TABLE t (a)")) }, "another program"},
		"newer":             {func(p string) error { return tampered(p, "INSERT INTO migrations VALUES (99, '0099_later.sql', 0)") }, "newer than this program"},
		"a trigger":         {func(p string) error { return tampered(p, "CREATE TRIGGER x AFTER DELETE ON turns BEGIN SELECT 1; END") }, "not those of migration"},
		"a further table":   {func(p string) error { return tampered(p, "CREATE TABLE more (id TEXT PRIMARY KEY)") }, "not those of migration"},
		"a missing index":   {func(p string) error { return tampered(p, "DROP INDEX spaces_by_name") }, "not those of migration"},
		"a changed row":     {func(p string) error { return tampered(p, "UPDATE turns SET content = 'x' WHERE seq = 7") }, "table turns: the rows differ"},
		"a missing row":     {func(p string) error { return tampered(p, "DELETE FROM receipts WHERE id = 'note-3'") }, "table receipts: 59 rows"},
		"another manifest":  {func(p string) error { return tampered(p, "UPDATE backup_manifest SET document = '{}'") }, "manifest"},
		"no manifest in it": {func(p string) error { return tampered(p, "DELETE FROM backup_manifest") }, "manifest"},
		"a damaged page": {func(p string) error {
			data := bytes.Clone(whole)
			for at := 3 * 4096; at < len(data); at += 4096 {
				copy(data[at:], bytes.Repeat([]byte{0xa5}, 64))
			}
			return os.WriteFile(p, data, 0o600)
		}, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			p := filepath.Join(t.TempDir(), "bad")
			if err := os.WriteFile(p, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.damage(p); err != nil {
				t.Fatal(err)
			}
			_, err := sqlstore.VerifyBackup(context.Background(), p, nil)
			if !errors.Is(err, dhruva.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want ErrInvalid with %q", err, c.says)
			}
		})
	}
	if _, err := sqlstore.VerifyBackup(context.Background(), filepath.Join(dir, "none"), nil); !errors.Is(err, dhruva.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
	t.Run("every cut", func(t *testing.T) { cutAnywhere(t, whole) })
}

// cutAnywhere: a backup that was cut at any length is refused.
func cutAnywhere(t *testing.T, whole []byte) {
	p := filepath.Join(t.TempDir(), "cut")
	for n := 0; n < len(whole); n += 1021 {
		if err := os.WriteFile(p, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlstore.VerifyBackup(context.Background(), p, nil); !errors.Is(err, dhruva.ErrInvalid) {
			t.Fatalf("cut at %d of %d: %v", n, len(whole), err)
		}
	}
}

// TestPlainCopyVerifies: a closed store's file is sound without a manifest, and
// says that it has none.
func TestPlainCopyVerifies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	s, _ := noted(t, path, 5)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := sqlstore.VerifyBackup(context.Background(), path, nil)
	if err != nil || info.Format != "" || info.Rows() == 0 {
		t.Errorf("%+v, %v", info, err)
	}
	after, err := os.ReadFile(path)
	if files, _ := os.ReadDir(filepath.Dir(path)); err != nil || !bytes.Equal(before, after) || len(files) != 1 {
		t.Errorf("verifying changed something: %v, %v", files, err)
	}
}

// TestBackupCancelled leaves nothing behind, whenever it is.
func TestBackupCancelled(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, "dhruva.db"), filepath.Join(dir, "backups", "b")
	noted(t, path, 10)
	if err := os.Mkdir(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for at := 0; ; at += testkit.Count(20, 5, 1) {
		ctx, cancel := context.WithCancel(context.Background())
		calls = 0
		_, err := sqlstore.Backup(ctx, path, to, sqlstore.BackupOptions{Progress: func(sqlstore.Progress) {
			if calls == at {
				cancel()
			}
			calls++
		}})
		ended := ctx.Err() != nil
		cancel()
		files, _ := os.ReadDir(filepath.Dir(to))
		if !ended {
			if err != nil || len(files) != 1 {
				t.Errorf("not cancelled: %v, %v", err, files)
			}
			break
		}
		if !errors.Is(err, context.Canceled) || !errors.Is(err, dhruva.ErrUnavailable) || len(files) != 0 {
			t.Fatalf("cancelled at %d: %v, %v", at, err, files)
		}
	}
	if calls < 20 {
		t.Errorf("only %d reports", calls)
	}
}

// TestManifestIsOfTheRows: it is equal for equal rows whatever the order in which
// they were written, and differs when any value does.
func TestManifestIsOfTheRows(t *testing.T) {
	ctx := context.Background()
	write := func(name string, order []int) *sqlstore.Store {
		s := open(t, filepath.Join(t.TempDir(), name), sqlstore.Options{})
		for _, n := range order {
			scope := dhruva.SpaceScope("t1", dhruva.SpaceID(fmt.Sprint("space-", n)))
			err := s.Update(ctx, []dhruva.Scope{scope}, func(tx dhruva.Tx) error {
				return tx.PutSpace(dhruva.Space{Tenant: "t1", ID: scope.Space(), Name: strings.Repeat("n", n)})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	sum := func(s *sqlstore.Store) sqlstore.Manifest {
		m, err := s.Manifest(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	a, b := write("a", []int{1, 2, 3, 10}), write("b", []int{10, 3, 1, 2})
	if diff := sum(a).Diff(sum(b)); len(diff) > 0 {
		t.Error(diff)
	}
	err := b.Update(ctx, []dhruva.Scope{dhruva.SpaceScope("t1", "space-2")}, func(tx dhruva.Tx) error {
		return tx.PutTombstone(dhruva.Tombstone{Space: "space-2", Generation: 1, Source: "s", State: "completed"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := sum(a).Diff(sum(b)); len(diff) != 1 || !strings.Contains(diff[0], "tombstones") {
		t.Errorf("%v", diff)
	}
	if err := storetest.Check(ctx, b, dhruva.TenantScope("t1")); err != nil {
		t.Error(err)
	}
}
