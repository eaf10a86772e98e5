package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// beforeMigration is what is done before a store is migrated. A SQLite file gets
// a snapshot beside it: a migration goes forward only, and the snapshot is the
// way back. A Postgres server undoes what fails, and its backups are its own; a
// line is logged.
func beforeMigration(ctx context.Context, d *dialect, at string, o Options) func(string) (func(error) error, error) {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	switch {
	case at == memory || o.passing:
		return nil
	case isPostgres(at):
		return func(migration string) (func(error) error, error) {
			log.Warn("the schema is brought up to date; a way back is a base backup that was made before", "store", d.name, "migration", migration)
			return func(err error) error { return err }, nil
		}
	}
	return func(migration string) (func(error) error, error) {
		name, err := snapshotBefore(ctx, at, migration)
		if err != nil {
			return nil, fmt.Errorf("no snapshot before migration %s could be made, and the store is as it was: %w", numberOf(migration), err)
		}
		if name == "" { // nothing is in it
			return func(err error) error { return err }, nil
		}
		log.Warn("the schema is brought up to date; a snapshot was made before, remove it when it is not needed", "snapshot", name, "migration", migration)
		return func(err error) error {
			if err == nil {
				return nil
			}
			return fmt.Errorf("%w; the store is as it was, and a snapshot of it is in %s", err, name)
		}, nil
	}
}

func numberOf(migration string) string {
	number, _, _ := strings.Cut(migration, "_")
	return number
}

// snapshotBefore makes a backup beside a store before a migration, unless one is
// there that holds the same rows. It is "" when the store holds none.
func snapshotBefore(ctx context.Context, path, migration string) (string, error) {
	m, err := fileManifest(ctx, path)
	if err != nil || m.Rows() == 0 {
		return "", unlessEnded(ctx, err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	base := abs + ".before-" + numberOf(migration)
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		if known, err := VerifyBackup(ctx, name, nil); err == nil && len(known.Diff(m)) == 0 {
			return name, nil
		}
		_, err := backUp(ctx, path, name, BackupOptions{})
		if !errors.Is(err, dhruva.ErrConflict) {
			return name, unlessEnded(ctx, err)
		}
	}
}

// fileManifest sums up a SQLite store as it is.
func fileManifest(ctx context.Context, path string) (Manifest, error) {
	f, err := openShared(ctx, path)
	if err != nil {
		return Manifest{}, err
	}
	defer f.close()
	if err := f.begin(ctx); err != nil {
		return Manifest{}, err
	}
	defer f.rollback()
	r := f.under(ctx, newReporter(nil))
	tables, err := introspected(r.d, r)
	if err != nil {
		return Manifest{}, err
	}
	return r.manifest(tables)
}
