package sqlstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dhruva-memory/dhruva/internal/pgtest"
)

// TestSnapshotBeforeMigration: a file with rows gets a verified snapshot of the
// old schema beside it, and the log says so.
func TestSnapshotBeforeMigration(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "dhruva.db")
	old(t, path)
	before, err := fileManifest(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s, err := Open(ctx, path, Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	name := path + ".before-0002"
	info, err := VerifyBackup(ctx, name, nil)
	if err != nil || len(info.Diff(before)) > 0 || info.Schema != "0001_spine.sql" {
		t.Errorf("%+v: %v, %v", info, info.Diff(before), err)
	}
	if stat, err := os.Stat(name); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", stat, err)
	}
	if !strings.Contains(log.String(), `"snapshot":"`+name+`"`) || !strings.Contains(log.String(), "0002_ground.sql") {
		t.Errorf("log: %s", log.String())
	}
	again, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if next, err := VerifyBackup(ctx, path+".before-0003", nil); err != nil || next.Schema != "0002_ground.sql" {
		t.Errorf("before the next one: %+v, %v", next, err)
	}
	if got := names(t, path); len(got) > 5 { // with the log and its index
		t.Errorf("files: %q", got)
	}
}

// TestNoSnapshotOfNothing: neither a new store nor one without rows gets one.
func TestNoSnapshotOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	openOld(t, path, nil)
	openTest(t, path).Close()
	if got := names(t, path); len(got) != 1 {
		t.Errorf("files: %q", got)
	}
}

// openOld opens a file with the first migration and a second one of the test's,
// or none, and answers how that ended.
func openOld(t *testing.T, path string, second *string) error {
	t.Helper()
	d, err := sqliteDialect(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := fs.ReadFile(d.schema, "0001_spine.sql")
	if err != nil {
		t.Fatal(err)
	}
	schema := fstest.MapFS{"0001_spine.sql": {Data: first}}
	if second != nil {
		schema["0002_ground.sql"] = &fstest.MapFile{Data: []byte(*second)}
	}
	d.schema, d.before = schema, beforeMigration(context.Background(), d, path, Options{})
	s, err := open(context.Background(), d, Options{})
	if err == nil {
		err = s.Close()
	}
	return err
}

// TestFailedMigration leaves the old file as it was, says where the snapshot is,
// and makes no second one of the same rows; when there are others it does.
func TestFailedMigration(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "dhruva.db")
	old(t, path)
	before, err := fileManifest(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	bad := "DELETE FROM turns; CREATE TABLE more (id TEXT NOT NULL PRIMARY KEY) STRICT; SELECT no_such_function()"
	for range 2 {
		err := openOld(t, path, &bad)
		if err == nil || !strings.Contains(err.Error(), "snapshot of it is in "+path+".before-0002") || !strings.Contains(err.Error(), "no_such_function") {
			t.Fatalf("%v", err)
		}
		after, err := fileManifest(ctx, path)
		if err != nil || len(after.Diff(before)) > 0 {
			t.Errorf("%v, %v", after.Diff(before), err)
		}
	}
	db, err := openShared(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.exec(ctx, "UPDATE turns SET content = 'changed'"), db.close()); err != nil {
		t.Fatal(err)
	}
	if err := openOld(t, path, &bad); err == nil || !strings.Contains(err.Error(), ".before-0002-2") {
		t.Errorf("%v", err)
	}
	if err := openOld(t, path, nil); err != nil {
		t.Errorf("the old program: %v", err)
	}
	if s := openTest(t, path); s == nil {
		t.Error("the new program")
	}
}

// TestMigrationWaitsForItsSnapshot: where none can be made nothing is migrated.
func TestMigrationWaitsForItsSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	old(t, path)
	if err := os.Mkdir(path+".before-0002", 0o700); err != nil { // its name cannot be had
		t.Fatal(err)
	}
	_, err := Open(context.Background(), path, Options{})
	if err == nil || !strings.Contains(err.Error(), "no snapshot before migration 0002") {
		t.Errorf("%v", err)
	}
	if m, err := fileManifest(context.Background(), path); err != nil || m.Schema != "0001_spine.sql" {
		t.Errorf("%s, %v", m.Schema, err)
	}
}

// TestOldStoreIsBackedUpAsItIs, is restored by a newer program, and comes back
// with the rows that migrating it gives.
func TestOldStoreIsBackedUpAsItIs(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path, file, elsewhere := filepath.Join(dir, "dhruva.db"), filepath.Join(dir, "backup"), filepath.Join(t.TempDir(), "dhruva.db")
	old(t, path)
	info, err := Backup(ctx, path, file, BackupOptions{})
	if err != nil || info.Schema != "0001_spine.sql" {
		t.Fatalf("%+v, %v", info, err)
	}
	if m, err := fileManifest(ctx, path); err != nil || m.Schema != "0001_spine.sql" {
		t.Errorf("the backup migrated the store: %s, %v", m.Schema, err)
	}
	out, err := Restore(ctx, file, elsewhere, RestoreOptions{})
	if err != nil || out.Manifest.Schema != "0003_state.sql" || out.Backup.Schema != "0001_spine.sql" {
		t.Fatalf("%+v, %v", out, err)
	}
	want, got := manifestAt(t, path), manifestAt(t, elsewhere)
	for n, sum := range got.Tables {
		if other := map[string]bool{"changes": true, "epochs": true}; !other[sum.Table] && sum != want.Tables[n] { // the feed begins anew
			t.Errorf("%+v, want %+v", sum, want.Tables[n])
		}
	}
	if got := names(t, elsewhere); len(got) != 1 {
		t.Errorf("files: %q", got)
	}
}

// TestMigratingPostgresIsLogged: a base backup is the way back there.
func TestMigratingPostgresIsLogged(t *testing.T) {
	ctx := context.Background()
	at := pgtest.URL(t)
	d, err := postgresDialect(at, Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := fs.ReadFile(d.schema, "0001_spine.sql")
	if err != nil {
		t.Fatal(err)
	}
	d.schema = fstest.MapFS{"0001_spine.sql": {Data: first}}
	s, err := open(ctx, d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	if s, err = Open(ctx, at, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.Contains(log.String(), "base backup") || !strings.Contains(log.String(), "0002_ground.sql") {
		t.Errorf("log: %s", log.String())
	}
	if _, err := s.Manifest(ctx, nil); err != nil {
		t.Error(err)
	}
}

// TestMigrationsDoNotChange: a store is recognized by what its migrations made,
// word by word. One that was released is never changed; what comes next is another
// one.
func TestMigrationsDoNotChange(t *testing.T) {
	want := map[string]string{
		"migrations/postgres/0001_spine.sql":  "da58b9cb10e686f3a89081b800de341c440845dffa418494dc6555d92a6efe2f",
		"migrations/postgres/0002_ground.sql": "01bb0e982f007889b5270bdb60a225d84db473235974e6f56a136e5166c7ce62",
		"migrations/postgres/0003_state.sql":  "dc7c65e207fd8a03dd26de307b6bda1acf9d029499db3e26290eb67453c5dd0d",
		"migrations/sqlite/0001_spine.sql":    "67ba30305c90aae66e8a4d6e77381a5e99b2c7488c18f8bce2aa1771105e2af5",
		"migrations/sqlite/0002_ground.sql":   "c03ff20074a7511066f919c1e4efa8625d338c46ad5ee5c74920612c7baacb0c",
		"migrations/sqlite/0003_state.sql":    "7be2d76c3901d8aa35e865a1b04032edaa627f8c715a679d6e487577b71b930a",
	}
	found := 0
	err := fs.WalkDir(migrations, "migrations", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found++
		text, err := fs.ReadFile(migrations, path)
		if got := fmt.Sprintf("%x", sha256.Sum256(text)); got != want[path] {
			t.Errorf("%s is %s, want %q", path, got, want[path])
		}
		return err
	})
	if err != nil || found != len(want) {
		t.Errorf("%d migrations, %v", found, err)
	}
}
