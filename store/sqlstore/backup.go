package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/dhruva-memory/dhruva"
)

// BackupInfo is what a backup says of itself. It stands in the backup.
type BackupInfo struct {
	// Format is "dhruva.backup.v1"; "" for a file that holds no manifest: a plain
	// copy of a store that was closed.
	Format string `json:"format"`
	// MadeAt is when the snapshot was taken, Program by which version.
	MadeAt  time.Time `json:"made_at,omitzero"`
	Program string    `json:"program,omitempty"`
	Manifest
	// Size is that of the file in bytes.
	Size int64 `json:"bytes,omitempty"`
}

const backupFormat = "dhruva.backup.v1"

// BackupOptions say how a backup is made. The zero value is good.
type BackupOptions struct {
	// Replace an existing file.
	Replace bool
	// Program is the version that is noted in the backup.
	Program string
	// Progress, when not nil, is told how it comes along.
	Progress func(Progress)
	// at is called before each step with its name, and fails it.
	at func(step string) error
}

// Backup makes a backup of the SQLite store at from, which may be in use and
// written to by other processes: the rows of one snapshot, written in order to a
// new file, so that nothing that was deleted is in it. The writers go on; only
// their log is not shortened meanwhile.
//
// The backup is one file with mode 0600. It is written under another name in
// the target's directory, made durable, opened again and compared row by row
// with the snapshot, and named then: when Backup fails, or the machine does,
// nothing has the target's name. A file that is there is not replaced unless
// that is asked for (ErrConflict).
func Backup(ctx context.Context, from, to string, o BackupOptions) (BackupInfo, error) {
	info, err := backUp(ctx, from, to, o)
	if err != nil {
		return BackupInfo{}, fmt.Errorf("sqlstore: backup: %w", unlessEnded(ctx, err))
	}
	return info, nil
}

// unlessEnded classifies an error of SQLite's; when the context has ended it
// says that instead.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	return sqliteError(err)
}

func backUp(ctx context.Context, from, to string, o BackupOptions) (BackupInfo, error) {
	if err := free(ctx, from, to, o.Replace); err != nil {
		return BackupInfo{}, err
	}
	src, err := openShared(ctx, from)
	if err != nil {
		return BackupInfo{}, err
	}
	defer src.close()
	tmp, err := temporary(to + ".part-")
	if err != nil {
		return BackupInfo{}, err
	}
	defer discard(tmp)
	info, r := &BackupInfo{Format: backupFormat, Program: o.Program}, newReporter(o.Progress)
	if err := src.copyTo(ctx, tmp, info, r); err != nil {
		return BackupInfo{}, damage(from, err)
	}
	if err := o.fault("verify"); err != nil {
		return BackupInfo{}, err
	}
	if err := syncFile(tmp); err != nil {
		return BackupInfo{}, err
	}
	made, err := verify(ctx, tmp, r)
	if err != nil {
		return BackupInfo{}, fmt.Errorf("the copy is not as its snapshot: %w", err)
	}
	if err := o.fault("name"); err != nil {
		return BackupInfo{}, err
	}
	return made, place(tmp, to, o.Replace)
}

func (o BackupOptions) fault(step string) error {
	if o.at == nil {
		return nil
	}
	return o.at(step)
}

// free: the target may be written. It is none of the store's own files, and what
// it replaces is a backup, whatever somebody says.
func free(ctx context.Context, from, to string, replace bool) error {
	if err := notOf(from, to); err != nil {
		return err
	}
	there, err := os.Stat(to)
	if err == nil {
		if !there.Mode().IsRegular() {
			return fmt.Errorf("%w: %s is not a file", dhruva.ErrInvalid, to)
		}
		if !replace {
			return taken(to)
		}
		if err := replaceable(ctx, to, there.Size()); err != nil {
			return err
		}
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if _, err := os.Stat(to + suffix); err == nil {
			return fmt.Errorf("%w: %s exists: a store is in use under this name", dhruva.ErrConflict, to+suffix)
		}
	}
	return nil
}

// notOf refuses a store's file and those that SQLite keeps beside it, whether they
// are there at the moment or not.
func notOf(store, name string) error {
	at, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	own, err := filepath.Abs(store)
	if err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		mine, err := os.Stat(own + suffix)
		if there, other := os.Stat(at); at == own+suffix || err == nil && other == nil && os.SameFile(mine, there) {
			return fmt.Errorf("%w: %s is a file of the store itself", dhruva.ErrInvalid, name)
		}
	}
	return nil
}

// replaceable is a file that Backup has made, or an empty one.
func replaceable(ctx context.Context, path string, size int64) error {
	if size == 0 {
		return nil
	}
	refused := fmt.Errorf("%w: %s is no backup, and is not replaced", dhruva.ErrConflict, path)
	f, err := openSealed(ctx, path)
	if err != nil {
		return refused
	}
	defer f.close()
	n, err := number(sqlQuerier{ctx, f.c}, "SELECT count(*) FROM main.sqlite_schema WHERE name = 'backup_manifest'")
	if err != nil || n == 0 {
		return refused
	}
	return nil
}

// temporary makes an empty file with mode 0600 whose name begins so.
func temporary(prefix string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(prefix), filepath.Base(prefix)+"*")
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		discard(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// copyTo writes all rows of one snapshot into an empty file, and fills in the
// manifest of what it read; it is put into the file if info has a format. The
// file is not durable yet.
func (f *rawFile) copyTo(ctx context.Context, to string, info *BackupInfo, r *reporter) error {
	abs, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	if err := f.exec(ctx, "ATTACH DATABASE $1 AS copy", fileURI(abs)+"?mode=rw"); err != nil {
		return err
	}
	defer f.exec(context.Background(), "DETACH copy") // after the rollback
	// The file is worth nothing until it is whole, so nothing is logged for it and
	// nothing waits for the disk.
	for _, setting := range []string{"PRAGMA copy.journal_mode = MEMORY", "PRAGMA copy.synchronous = OFF"} {
		if err := f.exec(ctx, setting); err != nil {
			return err
		}
	}
	if err := f.begin(ctx); err != nil {
		return err
	}
	defer f.rollback()
	info.MadeAt = time.Now().UTC().Truncate(time.Second)
	if err := f.fill(ctx, info, r); err != nil {
		return err
	}
	return f.exec(ctx, "COMMIT")
}

// fill copies within the transaction.
func (f *rawFile) fill(ctx context.Context, info *BackupInfo, r *reporter) error {
	from := f.under(ctx, r)
	if _, err := recognized(ctx, from); err != nil {
		return err
	}
	tables, err := introspected(from.d, from)
	if err != nil {
		return err
	}
	if info.Manifest, err = from.manifest(tables); err != nil {
		return err
	}
	made, err := objects(from)
	if err != nil {
		return err
	}
	for _, o := range made { // indexes are filled with their tables: in order, and without a sorter
		text, err := o.in("copy")
		if err != nil {
			return err
		}
		if err := f.exec(ctx, text); err != nil {
			return err
		}
	}
	r.step("copy", info.Rows())
	if err := f.copyMigrations(ctx); err != nil {
		return err
	}
	for _, t := range info.Tables {
		r.table(t.Table)
		if err := f.exec(ctx, copyRows(t.Table)); err != nil {
			return fmt.Errorf("table %s: %w", t.Table, err)
		}
		r.Done += t.Rows
	}
	r.table("")
	return f.keepManifest(ctx, *info)
}

// copyMigrations copies the table of migrations, whose form is not one of them.
func (f *rawFile) copyMigrations(ctx context.Context) error {
	if err := f.exec(ctx, "CREATE TABLE copy.migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)"); err != nil {
		return err
	}
	return f.exec(ctx, "INSERT INTO copy.migrations (number, name, applied_at) SELECT number, name, applied_at FROM main.migrations")
}

// copyRows copies a table as it is; with nothing between the two names SQLite
// moves rows without taking them apart.
func copyRows(table string) string {
	name := quoted(table)
	return "INSERT INTO copy." + name + " SELECT * FROM main." + name
}

func (f *rawFile) keepManifest(ctx context.Context, info BackupInfo) error {
	if info.Format == "" {
		return nil
	}
	doc, err := json.Marshal(info)
	if err != nil {
		return err
	}
	if err := f.exec(ctx, "CREATE TABLE copy.backup_manifest (format TEXT NOT NULL PRIMARY KEY, document TEXT NOT NULL) STRICT, WITHOUT ROWID"); err != nil {
		return err
	}
	return f.exec(ctx, "INSERT INTO copy.backup_manifest (format, document) VALUES ($1, $2)", info.Format, string(doc))
}

// VerifyBackup checks a backup, and any other file of a store that nobody uses:
// that it is whole, a store of this program or an older version of it, sound
// page by page, and that its rows are those that its manifest says. A file that
// is not is ErrInvalid, in a sentence. The file is not changed.
func VerifyBackup(ctx context.Context, path string, progress func(Progress)) (BackupInfo, error) {
	info, err := verify(ctx, path, newReporter(progress))
	if err != nil {
		return BackupInfo{}, fmt.Errorf("sqlstore: verify backup: %w", unlessEnded(ctx, err))
	}
	return info, nil
}

func verify(ctx context.Context, path string, r *reporter) (BackupInfo, error) {
	f, err := openSealed(ctx, path)
	if err != nil {
		return BackupInfo{}, damage(path, err)
	}
	defer f.close()
	info, err := f.verify(ctx, r)
	if err != nil {
		return info, damage(path, err)
	}
	stat, err := os.Stat(path)
	if err != nil {
		return info, err
	}
	info.Size = stat.Size()
	return info, nil
}

// damage says which file it is that SQLite can make nothing of.
func damage(path string, err error) error {
	if !broken(err) || errors.Is(err, dhruva.ErrInvalid) {
		return err
	}
	return fmt.Errorf("%w: %s is damaged, or no store: %w", dhruva.ErrInvalid, path, err)
}

// broken: a file is not what SQLite needs it to be.
func broken(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT:
		return true
	}
	return e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ
}

func (f *rawFile) verify(ctx context.Context, r *reporter) (info BackupInfo, err error) {
	if err := f.begin(ctx); err != nil {
		return info, err
	}
	defer f.rollback()
	from := f.under(ctx, r)
	if _, err := recognized(ctx, from); err != nil {
		return info, fmt.Errorf("%s is refused: %w", f.path, err)
	}
	r.step("check", 0)
	if err := f.sound(ctx); err != nil {
		return info, err
	}
	tables, err := introspected(from.d, from)
	if err != nil {
		return info, err
	}
	if info, err = f.manifest(from); err != nil {
		return info, err
	}
	said := info.Manifest
	if info.Manifest, err = from.manifest(tables); err != nil {
		return info, err
	}
	if diff := info.Diff(said); info.Format != "" && len(diff) > 0 {
		return info, fmt.Errorf("%w: the rows of %s are not those of its manifest: %s", dhruva.ErrInvalid, f.path, diff[0])
	}
	return info, nil
}

// sound: the pages and the foreign keys of a database hold together.
func (f *rawFile) sound(ctx context.Context) error {
	for _, query := range []string{"PRAGMA main.integrity_check(20)", "SELECT 'foreign key of ' || \"table\" FROM pragma_foreign_key_check LIMIT 20"} {
		found, err := texts(sqlQuerier{ctx, f.c}, query)
		if err != nil {
			return err
		}
		for _, line := range found {
			if line != "ok" {
				return fmt.Errorf("%w: %s is damaged: %s", dhruva.ErrInvalid, f.path, line)
			}
		}
	}
	return nil
}

// manifest is the one that stands in a backup; a zero one when there is none.
func (f *rawFile) manifest(c querier) (info BackupInfo, err error) {
	n, err := number(c, "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = 'backup_manifest'")
	if err != nil || n == 0 {
		return info, err
	}
	docs, err := texts(c, "SELECT document FROM main.backup_manifest WHERE format = $1", backupFormat)
	if err != nil {
		return info, err
	}
	if len(docs) != 1 || json.Unmarshal([]byte(docs[0]), &info) != nil || info.Format != backupFormat {
		return info, fmt.Errorf("%w: the manifest of %s is not one of ours: it was made by a newer version, or changed", dhruva.ErrInvalid, f.path)
	}
	return info, nil
}
