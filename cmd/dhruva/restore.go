package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// restoreFlags are the flags of restore.
type restoreFlags struct {
	store   string
	later   []string
	without bool
}

func (p *program) restoreCommand() *cobra.Command {
	var f restoreFlags
	c := &cobra.Command{Use: "restore FILE", Short: "Put a backup in the store's place", Args: cobra.ExactArgs(1),
		Example: `  dhruva restore /var/backups/dhruva-2027-01-31.db
  dhruva restore old.db --tombstones newer.db          the store is lost, and a later backup is there
  dhruva restore old.db --data ./elsewhere --without-tombstones`,
		Long: `Checks the backup first, prepares everything beside the store, and then puts it in place by one rename;
interrupted anywhere, the old store or the restored one is there. The old one is kept under another name.

What was deleted after the backup was made stays deleted: the store that is there is asked for it, and every
later backup that is given with --tombstones. So is what was revoked. Where neither can be asked, the command
refuses, and goes on with --without-tombstones: what was deleted since is then back.`,
		RunE: func(c *cobra.Command, args []string) error { return p.restore(c.Context(), args[0], f) },
	}
	c.Flags().StringVar(&f.store, "store", "", "store: sqlite:///file.db (DHRUVA_STORE; default SQLite in the data directory)")
	c.Flags().StringArrayVar(&f.later, "tombstones", nil, "a later backup that knows what was deleted since (may be repeated)")
	c.Flags().BoolVar(&f.without, "without-tombstones", false, "go on although nothing knows what was deleted since")
	return c
}

// restoredAs is what restore prints.
type restoredAs struct {
	File   string    `json:"file"`
	Store  string    `json:"store"`
	MadeAt time.Time `json:"made_at,omitzero"`
	Rows   int64     `json:"rows"`
	// Anew are the rows of the backup's feeds and their cursors, which are not
	// restored: feeds begin anew, and indexes are built again.
	Anew    int64               `json:"feed_rows_begun_anew"`
	Tables  []sqlstore.TableSum `json:"tables"`
	Aside   string              `json:"replaced,omitempty"`
	Asked   []string            `json:"asked"`
	Heeded  heeded              `json:"taken_away_again"`
	Unknown string              `json:"unknown,omitempty"`
}

func (p *program) restore(ctx context.Context, file string, f restoreFlags) error {
	dir, path, err := p.localStore(f.store)
	if err != nil {
		return err
	}
	if s, err := running(ctx, dir, func(s string) { p.warn("%s", s) }); err == nil {
		return withFix(fmt.Errorf("%w: %s is served, at %s by process %d", dhruva.ErrConflict, dir, s.URL, s.PID), "end the server first, and start it again afterwards")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return withFix(fmt.Errorf("data directory: %w", err), "%s", makeFix(dir, err))
	}
	keyring, err := auth.ReadKeyring(dir)
	if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
		g, _ := masterCheck(dir)
		return withFix(err, "%s", or(g.Fix, fixOf(err)))
	}
	h := &heeding{program: p, dir: dir, file: file, without: f.without, later: f.later}
	if keyring != nil {
		h.keyring = keyring
	}
	m := p.meter()
	done, err := sqlstore.Restore(ctx, file, path, sqlstore.RestoreOptions{Later: f.later, Heed: h.heed, Progress: m.show})
	m.end()
	if err != nil {
		return withFix(refusedStore(err), "%s", restoreFix(path, err))
	}
	return p.printRestored(dir, restoredAs{
		File: file, Store: path, MadeAt: done.Backup.MadeAt, Rows: done.Manifest.Rows(), Anew: feedRows(done.Backup.Tables), Tables: done.Manifest.Tables, Aside: done.Aside,
		Asked: h.asked, Heeded: h.heeded, Unknown: h.unknown,
	})
}

func (p *program) printRestored(dir string, out restoredAs) error {
	if out.Asked == nil {
		out.Asked = []string{}
	}
	return p.printBare(out, func(w io.Writer) {
		fmt.Fprintf(w, "restored %s from %s: %s rows\n", out.Store, out.File, thousands(out.Rows))
		if out.Anew > 0 {
			fmt.Fprintf(w, "not counted: %s of feeds and their cursors, which begin anew; nothing said is in them\n", countedRows(out.Anew, "row", "rows"))
		}
		if words := out.Heeded.words(); words != "" {
			fmt.Fprintf(w, "deleted or revoked since, and so again: %s\n", words)
		}
		if out.Aside != "" {
			fmt.Fprintf(w, "the store that was there is %s\n", out.Aside)
			p.say("Remove it when you do not need it any more: it holds what the restored one has not.")
		}
		if out.Unknown != "" {
			p.warn("%s", out.Unknown)
		}
		if _, err := os.Stat(filepath.Join(dir, auth.MasterKeyFile)); err != nil {
			p.warn("there is no %s in %s: put the one that belongs to this store there before you start it", auth.MasterKeyFile, dir)
		}
		p.say("next: dhruva doctor, then dhruva serve")
	}, func(w io.Writer) { fmt.Fprintln(w, out.Store) })
}

// feedRows are the rows of feeds and of who follows them.
func feedRows(tables []sqlstore.TableSum) (n int64) {
	for _, t := range tables {
		if t.Table == "changes" || t.Table == "cursors" {
			n += t.Rows
		}
	}
	return n
}

func countedRows(n int64, one, many string) string {
	return thousands(n) + " " + plural(int(min(n, 2)), one, many)
}

// restoreFix is what to do about a restore that was not done.
func restoreFix(store string, err error) string {
	var f *fixed
	text := err.Error()
	switch {
	case errors.As(err, &f):
		return f.fix
	case noRoom(err):
		return "free space where " + store + " is: the backup is written there twice, and the store that is there once, before anything changes"
	case strings.Contains(text, "another process has"):
		return "end every dhruva process that uses " + store + ", and try again"
	case errors.Is(err, dhruva.ErrUnavailable):
		return storeFix(store, err)
	}
	return notABackupFix(err)
}
