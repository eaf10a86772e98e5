package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

func (p *program) backupCommand() *cobra.Command {
	var store string
	var overwrite bool
	c := &cobra.Command{Use: "backup FILE", Short: "Back up the store, also while it is in use", Args: cobra.ExactArgs(1),
		Example: `  dhruva backup /var/backups/dhruva-$(date +%F).db
  dhruva backup verify /var/backups/dhruva-2027-01-31.db
  dhruva backup latest.db --overwrite --json`,
		Long: `Writes all rows of one moment to a new file, and reads it back: page by page, and row by row against a
sum of each table. A server that runs goes on. What was deleted before is not in it; what is deleted after
stays in it until the file is removed, and comes back by no restore. The keys are not in it: keep ` + auth.MasterKeyFile + `
somewhere else. A store on Postgres is backed up with its own tools (docs/operate.md).`,
		RunE: func(c *cobra.Command, args []string) error { return p.backup(c.Context(), args[0], store, overwrite) },
	}
	c.Flags().StringVar(&store, "store", "", "store: sqlite:///file.db (DHRUVA_STORE; default SQLite in the data directory)")
	c.Flags().BoolVar(&overwrite, "overwrite", false, "replace FILE if it exists")
	c.AddCommand(p.backupVerify())
	return c
}

// backedUp is what backup and backup verify print.
type backedUp struct {
	File string `json:"file"`
	sqlstore.BackupInfo
	Rows int64 `json:"rows"`
	// Without are the files of the data directory that are not in it.
	Without []string `json:"without,omitempty"`
}

func (p *program) backup(ctx context.Context, file, store string, overwrite bool) error {
	dir, path, err := p.localStore(store)
	if err != nil {
		return err
	}
	if err := p.servedFrom(ctx, dir, path); err != nil {
		return err
	}
	if err := notOurs(dir, file); err != nil {
		return err
	}
	m := p.meter()
	info, err := sqlstore.Backup(ctx, path, file, sqlstore.BackupOptions{Replace: overwrite, Program: version(), Progress: m.show})
	m.end()
	if err != nil {
		return withFix(err, "%s", backupFix(path, file, err))
	}
	out := backedUp{File: file, BackupInfo: info, Rows: info.Rows(), Without: beside(dir)}
	return p.printBare(out, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s rows, %s, verified\n", file, thousands(out.Rows), size(info.Size))
		p.say("The keys are not in it. Keep %s where this file is not: without it no key works and no source verifies.\n"+
			"%s is made again when it is missing. Your own %s and %s are not in it either.",
			filepath.Join(dir, auth.MasterKeyFile), auth.AdminKeyFile, providersFile, limitsFile)
		p.say("What is deleted from now on stays in this file until you remove it.")
	}, func(w io.Writer) { fmt.Fprintln(w, file) })
}

// notOurs refuses the name of a file of the data directory.
func notOurs(dir, file string) error {
	abs, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	for _, name := range []string{auth.MasterKeyFile, auth.AdminKeyFile, providersFile, limitsFile, serverFile, elsewhereFile} {
		own, err := os.Stat(filepath.Join(dir, name))
		if there, other := os.Stat(abs); abs == filepath.Join(dir, name) || err == nil && other == nil && os.SameFile(own, there) {
			return withFix(usage("%s is a file of the data directory itself", file), "choose another name")
		}
	}
	return nil
}

// servedFrom refuses a store that is not the one that the running server of the
// data directory has: what it would give is not what people take it for.
func (p *program) servedFrom(ctx context.Context, dir, path string) error {
	s, err := running(ctx, dir, func(s string) { p.warn("%s", s) })
	if err != nil || s.Store == "" || s.Store == bareStore(path) {
		return nil // no server, or one that does not say
	}
	return withFix(fmt.Errorf("%w: the server at %s has another store, %s", dhruva.ErrConflict, s.URL, s.Store),
		"name that store with --store or DHRUVA_STORE, or another data directory with --data")
}

// beside are the files of a data directory that no backup holds.
func beside(dir string) (out []string) {
	for _, name := range []string{auth.MasterKeyFile, auth.AdminKeyFile, providersFile, limitsFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			out = append(out, name)
		}
	}
	return out
}

// copiesCheck tells of copies of the store beside it: they hold what was deleted
// after they were made.
func copiesCheck(dir string) finding {
	const check = "copies"
	var names []string
	files, err := os.ReadDir(dir)
	if err != nil {
		return finding{check, "problem", err.Error(), accessFix(dir)}
	}
	for _, f := range files {
		for _, kind := range []string{"replaced", "before", "restoring", "consulted"} {
			if strings.HasPrefix(f.Name(), storeFile+"."+kind+"-") {
				names = append(names, f.Name())
			}
		}
	}
	if len(names) == 0 {
		return finding{check, "ok", "none beside the store", ""}
	}
	return finding{check, "warning", "beside the store, with what was deleted since they were made: " + strings.Join(names, ", "), "remove those that you do not need any more"}
}

// localStore is the data directory and the path of its SQLite store.
func (p *program) localStore(store string) (dir, path string, err error) {
	if p.flags.url != "" {
		return "", "", withFix(usage("--url: this is done on the machine where the store is"), "run it there, with --data")
	}
	if dir, err = p.dataDir(); err != nil {
		return "", "", err
	}
	if store, err = p.storeURL(dir, store); err != nil {
		return "", "", err
	}
	if onPostgres(store) {
		return "", "", withFix(usage("a store on Postgres is backed up and restored with its own tools"),
			"use pg_dump, or pg_basebackup with an archive of its log; docs/operate.md says how")
	}
	path, err = storePath(dir, store)
	if err == nil && path == inMemory {
		err = withFix(usage("a store in memory has no file"), "give one with --store sqlite:///path/to/file.db, or leave it out")
	}
	return dir, path, err
}

// backupFix is what to do about a backup that was not made.
func backupFix(store, file string, err error) string {
	switch {
	case absentDir(file):
		return "make the directory " + filepath.Dir(file) + ", or correct the path"
	case errors.Is(err, dhruva.ErrConflict):
		return "choose another name, or replace the file with --overwrite"
	case errors.Is(err, dhruva.ErrNotFound):
		return "give the data directory with --data; `dhruva serve` makes a store"
	case noRoom(err):
		return "free space where " + file + " is to be written, or choose another place"
	case errors.Is(err, dhruva.ErrInvalid):
		return "choose another FILE; if it is the store that is refused, see `dhruva doctor`"
	}
	if at, denied := deniedPath(err); denied {
		return accessFix(at)
	}
	return storeFix(store, err)
}

// noRoom: a disk is full, or a quota.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || err != nil && strings.Contains(err.Error(), "is full")
}

func (p *program) backupVerify() *cobra.Command {
	return &cobra.Command{Use: "verify FILE", Short: "Check a backup without restoring it", Args: cobra.ExactArgs(1),
		Example: "  dhruva backup verify /var/backups/dhruva-2027-01-31.db --json",
		RunE:    func(c *cobra.Command, args []string) error { return p.verifyBackup(c.Context(), args[0]) },
	}
}

func (p *program) verifyBackup(ctx context.Context, file string) error {
	m := p.meter()
	info, err := sqlstore.VerifyBackup(ctx, file, m.show)
	m.end()
	if err != nil {
		return withFix(refused(file, err), "%s", notABackupFix(err))
	}
	out := backedUp{File: file, BackupInfo: info, Rows: info.Rows()}
	return p.printBare(out, func(w io.Writer) {
		fmt.Fprintf(w, "%s is sound: %s rows, %s, schema %s%s\n", file, thousands(out.Rows), size(info.Size), strings.TrimSuffix(info.Schema, ".sql"), madeWords(info))
		if info.Format == "" {
			p.say("It holds no sums of its rows, as a file that `dhruva backup` made does: that none is missing is not known.")
		}
	}, func(io.Writer) {})
}

func madeWords(info sqlstore.BackupInfo) string {
	if info.MadeAt.IsZero() {
		return ""
	}
	return ", made " + info.MadeAt.Format(time.RFC3339)
}

// refused is an error of a backup or of a store's file: what is there and is not
// what it must be is damaged, however the command line reads.
func refused(file string, err error) error {
	info, statErr := os.Stat(file)
	if statErr == nil && info.Mode().IsRegular() && (errors.Is(err, dhruva.ErrInvalid) || sqlstore.Damaged(err)) {
		return damagedData{err}
	}
	return err
}

// notABackupFix is what to do about a file that is no backup, or a broken one.
func notABackupFix(err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, dhruva.ErrNotFound):
		return "give an existing file that `dhruva backup` made"
	case strings.Contains(text, "newer than this program"):
		return "use the version of dhruva that made it, or a later one"
	case strings.Contains(text, "has a log beside it"):
		return "put both files into a directory of their own, and make a backup of it: dhruva backup FILE --data DIR"
	case errors.Is(err, dhruva.ErrInvalid):
		return "use another backup; this one cannot be trusted"
	}
	if at, denied := deniedPath(err); denied {
		return accessFix(at)
	}
	return "see that the file can be read, and try again"
}
