package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/dhruva-memory/dhruva"
)

// Consulted are the stores that a restore has open: the one to come, and those
// that may know what was deleted since the backup was made. All are private
// copies; only Restored is kept.
type Consulted struct {
	Restored *Store
	// Present is the store that is replaced; nil when there is none, or when it
	// cannot be read: Unreadable then says why.
	Present    *Store
	Unreadable error
	// Later are the further backups that were named, in their order.
	Later []*Store
}

// RestoreOptions say how a backup is restored.
type RestoreOptions struct {
	// Later names backups that were made after the one that is restored.
	Later []string
	// Heed makes the restored store forget what was deleted since the backup was
	// made, and may refuse to go on. It is called once; nil does nothing.
	Heed func(context.Context, Consulted) error
	// Progress, when not nil, is told how it comes along.
	Progress func(Progress)
	// Now is for the name of what is replaced; nil is time.Now.
	Now func() time.Time
	// at is called before each step with its name, and fails it.
	at func(step string) error
}

// Restored is what a restore did.
type Restored struct {
	// Backup is what the backup said of itself.
	Backup BackupInfo
	// Manifest is of the store that is in place now.
	Manifest Manifest
	// Aside is where the store that was replaced is now; "" when there was none.
	Aside string
}

// Restore puts the content of a backup in the place of the SQLite store at path.
// The backup is checked first (VerifyBackup) and is not changed. A store that
// another process has open is ErrConflict, and stays.
//
// The store that is there is not lost: it is moved to a name of its own beside
// it. Everything is prepared under other names first, and the last step is one
// rename: whenever Restore fails, or the machine does, the store at path is the
// old one or the restored one, whole. What is left of an interrupted one, files
// named path.restoring-… and path.consulted-…, is removed by the next.
//
// The restored store is a newly written file: nothing that Heed erased is in its
// bytes. Its change feeds begin anew, behind every number that they can have
// come to, so that no follower takes its history for another.
func Restore(ctx context.Context, file, path string, o RestoreOptions) (Restored, error) {
	r := &restore{file: file, path: path, o: o, report: newReporter(o.Progress)}
	out, err := r.run(ctx)
	if err = errors.Join(err, r.end()); err != nil {
		return out, fmt.Errorf("sqlstore: restore: %w", unlessEnded(ctx, err))
	}
	return out, nil
}

// restore is one on its way.
type restore struct {
	file, path string
	o          RestoreOptions
	report     *reporter
	backup     BackupInfo
	held       *heldFile
	temps      []string
	stores     []*Store
}

func (r *restore) step(name string) error {
	if r.o.at == nil {
		return nil
	}
	return r.o.at(name)
}

// temp is an empty file beside the store that end removes.
func (r *restore) temp(kind string) (string, error) {
	name, err := temporary(r.path + "." + kind + "-")
	if err == nil {
		r.temps = append(r.temps, name)
	}
	return name, err
}

// end gives everything back, in reverse.
func (r *restore) end() error {
	err := r.closeStores()
	for _, name := range r.temps {
		discard(name)
	}
	if r.held != nil {
		err = errors.Join(err, r.held.close())
	}
	return err
}

func (r *restore) closeStores() (err error) {
	for _, s := range r.stores {
		err = errors.Join(err, s.Close())
	}
	r.stores = nil
	return err
}

func (r *restore) run(ctx context.Context) (out Restored, err error) {
	if err := r.sane(); err != nil {
		return out, err
	}
	if out.Backup, err = verify(ctx, r.file, r.report); err != nil {
		return out, err
	}
	r.backup = out.Backup
	if r.held, err = hold(ctx, r.path); err != nil {
		return out, err
	}
	r.sweep()
	fresh, err := r.prepare(ctx, out.Backup)
	if err != nil {
		return out, err
	}
	final, err := r.rewrite(ctx, fresh)
	if err != nil {
		return out, err
	}
	made, err := verify(ctx, final, r.report)
	if err != nil {
		return out, err
	}
	out.Manifest = made.Manifest
	out.Aside, err = r.swap(final)
	return out, err
}

// sane: the backup is not the store itself.
func (r *restore) sane() error {
	a, err := regular(r.file)
	if err != nil {
		return err
	}
	if b, err := os.Stat(r.path); err == nil && os.SameFile(a, b) {
		return fmt.Errorf("%w: %s is the store itself", dhruva.ErrInvalid, r.file)
	}
	return nil
}

// sweep removes what an interrupted restore has left. A store that is there is
// held, so that nobody else is at it.
func (r *restore) sweep() {
	files, err := os.ReadDir(filepath.Dir(r.path))
	if err != nil {
		return // what is done next says why
	}
	for _, f := range files {
		for _, kind := range []string{"restoring", "consulted"} {
			if strings.HasPrefix(f.Name(), filepath.Base(r.path)+"."+kind+"-") {
				_ = os.Remove(filepath.Join(filepath.Dir(r.path), f.Name())) // it is named as temporary
			}
		}
	}
}

// prepare makes the restored store under another name, has it heed what was
// deleted, and closes it.
func (r *restore) prepare(ctx context.Context, backup BackupInfo) (string, error) {
	if err := r.step("copy"); err != nil {
		return "", err
	}
	fresh, s, err := r.copied(ctx, "restoring", func() (*rawFile, error) { return openSealed(ctx, r.file) }, &backup.Manifest)
	if err != nil {
		return "", err
	}
	c := Consulted{Restored: s}
	if err := r.step("consult"); err != nil {
		return "", err
	}
	if err := r.consult(ctx, &c); err != nil {
		return "", err
	}
	if err := r.step("heed"); err != nil {
		return "", err
	}
	if r.o.Heed != nil {
		if err := r.o.Heed(ctx, c); err != nil {
			return "", err
		}
	}
	return fresh, r.closeStores()
}

// copied is a private copy of a file, opened as a store: brought up to date if
// it is older. Its rows must be those of a manifest, if there is one.
func (r *restore) copied(ctx context.Context, kind string, from func() (*rawFile, error), want *Manifest) (string, *Store, error) {
	name, err := r.temp(kind)
	if err != nil {
		return "", nil, err
	}
	src, err := from()
	if err != nil {
		return "", nil, err
	}
	var info BackupInfo
	err = src.copyTo(ctx, name, &info, r.report)
	if r.held == nil || src != r.held.rawFile {
		err = errors.Join(err, src.close())
	}
	if err != nil {
		return "", nil, err
	}
	if want != nil {
		if diff := want.Diff(info.Manifest); len(diff) > 0 {
			return "", nil, fmt.Errorf("%w: the backup changed while it was read: %s", dhruva.ErrInvalid, diff[0])
		}
	}
	s, err := Open(ctx, name, Options{passing: true})
	if err != nil {
		return "", nil, err
	}
	r.stores = append(r.stores, s)
	return name, s, nil
}

// consult opens what may know of deletions.
func (r *restore) consult(ctx context.Context, c *Consulted) (err error) {
	for _, later := range r.o.Later {
		info, err := verify(ctx, later, r.report)
		if err != nil {
			return err
		}
		if err := r.isLater(later, info); err != nil {
			return err
		}
		_, s, err := r.copied(ctx, "consulted", func() (*rawFile, error) { return openSealed(ctx, later) }, nil)
		if err != nil {
			return err
		}
		c.Later = append(c.Later, s)
	}
	if r.held == nil {
		return nil
	}
	if r.held.damaged != nil {
		c.Unreadable = r.held.damaged
		return nil
	}
	_, c.Present, err = r.copied(ctx, "consulted", func() (*rawFile, error) { return r.held.rawFile, nil }, nil)
	if err == nil || ctx.Err() != nil || full(err) {
		return err
	}
	c.Present, c.Unreadable = nil, err
	return nil
}

// isLater refuses a backup that can know nothing of what was deleted since the one
// that is restored: the same one, or an older.
func (r *restore) isLater(file string, info BackupInfo) error {
	same := info.MadeAt.Equal(r.backup.MadeAt) && len(info.Diff(r.backup.Manifest)) == 0
	if same || !info.MadeAt.IsZero() && info.MadeAt.Before(r.backup.MadeAt) {
		return fmt.Errorf("%w: %s is not later than %s, and knows nothing of what was deleted since", dhruva.ErrInvalid, file, r.file)
	}
	return nil
}

// full: there was no room, which says nothing of what was read.
func full(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_FULL
}

// rewrite begins the feeds of a closed store anew and writes it to a new file,
// in which there is nothing but its rows.
func (r *restore) rewrite(ctx context.Context, name string) (string, error) {
	if err := r.step("rewrite"); err != nil {
		return "", err
	}
	f, err := openShared(ctx, name)
	if err != nil {
		return "", err
	}
	defer f.close()
	if err := f.restartFeeds(ctx); err != nil {
		return "", err
	}
	final, err := r.temp("restoring")
	if err != nil {
		return "", err
	}
	return final, f.copyTo(ctx, final, &BackupInfo{}, r.report)
}

// restartFeeds drops every change and cursor, and lets the numbers of each feed
// go on behind any that it can have come to in another history of this store:
// behind the microseconds since 1970.
func (f *rawFile) restartFeeds(ctx context.Context) error {
	if err := f.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer f.rollback()
	for _, statement := range []string{"DELETE FROM changes", "DELETE FROM cursors"} {
		if err := f.exec(ctx, statement); err != nil {
			return err
		}
	}
	if err := f.exec(ctx, "UPDATE epochs SET head = max(head + 1, $1), tail = max(head + 1, $1)", time.Now().UnixMicro()); err != nil {
		return err
	}
	return f.exec(ctx, "COMMIT")
}
