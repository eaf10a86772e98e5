package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

func (p *program) migrateCommand() *cobra.Command {
	var from, to string
	c := &cobra.Command{Use: "migrate --to STORE [--from STORE]", Short: "Move to another kind of store", Args: cobra.NoArgs,
		Example: `  PGPASSWORD=… dhruva migrate --to postgres://dhruva@db.example/dhruva
  dhruva migrate --from postgres://dhruva@db.example/dhruva --to sqlite:///srv/dhruva/dhruva.db --json`,
		Long: `Copies every row into an empty store in one transaction, reads both sides back, and keeps the copy only when
the sums of all tables are equal. The source is not changed and must not be in use. STORE is postgres://…,
sqlite:///path/to/file.db or a path; --from is the store of the data directory unless it is given. Leave the
password out of the URL: PGPASSWORD or a password file (PGPASSFILE) keep it from other users of the machine.`,
		RunE: func(c *cobra.Command, _ []string) error { return p.migrate(c.Context(), from, to) },
	}
	c.Flags().StringVar(&from, "from", "", "store to copy (DHRUVA_STORE; default SQLite in the data directory)")
	c.Flags().StringVar(&to, "to", "", "empty store to copy into")
	return c
}

// migrated is what migrate prints.
type migrated struct {
	From   string          `json:"from"`
	To     string          `json:"to"`
	Schema string          `json:"schema"`
	Rows   int64           `json:"rows"`
	Tables []migratedTable `json:"tables"`
}

// migratedTable is a table on both sides.
type migratedTable struct {
	sqlstore.TableSum
	// There is the sum of the copy.
	There dhruva.Hash `json:"sha256_there"`
	Equal bool        `json:"equal"`
}

func (p *program) migrate(ctx context.Context, from, to string) error {
	if p.flags.url != "" {
		return withFix(usage("--url: this is done where the stores are"), "give the stores with --from and --to")
	}
	if to == "" {
		return withFix(usage("no store to copy into"), "give one with --to, such as postgres://dhruva@db.example/dhruva")
	}
	dir, err := p.dataDir()
	if err != nil {
		return err
	}
	if from, err = p.storeURL(dir, from); err != nil {
		return err
	}
	if from, err = storeAt(dir, from); err != nil {
		return err
	}
	if to, err = storeAt(dir, to); err != nil {
		return err
	}
	if err := p.notServed(ctx, from, to); err != nil {
		return err
	}
	for _, at := range []string{from, to} {
		warnExempt(ctx, at, func(s string) { p.warn("%s; %s", s, exemptFix) })
	}
	m := p.meter()
	done, err := sqlstore.Copy(ctx, from, to, sqlstore.CopyOptions{Progress: m.show})
	m.end()
	if err != nil {
		return withFix(refusedStore(err), "%s", migrateFix(from, to, err))
	}
	return p.printMigrated(from, to, done)
}

// storeAt is the form in which a store is opened: a URL of Postgres, or a path.
func storeAt(dir, at string) (string, error) {
	if at != "" && at != inMemory && !strings.Contains(at, "://") {
		return filepath.Abs(at)
	}
	path, err := storePath(dir, at)
	if err == nil && path == inMemory {
		err = withFix(usage("a store in memory is gone with its process"), "give a file or a database")
	}
	return path, err
}

// notServed refuses a store that a running server has: the one in whose data
// directory it is.
func (p *program) notServed(ctx context.Context, stores ...string) error {
	for _, at := range stores {
		if onPostgres(at) {
			continue
		}
		dir := filepath.Dir(at)
		if s, err := running(ctx, dir, func(s string) { p.warn("%s", s) }); err == nil {
			return withFix(fmt.Errorf("%w: %s is served, at %s by process %d", dhruva.ErrConflict, dir, s.URL, s.PID), "end the server first")
		}
	}
	return nil
}

func (p *program) printMigrated(from, to string, done sqlstore.Copied) error {
	out := migrated{From: sqlstore.Name(from), To: sqlstore.Name(to), Schema: done.To.Schema, Rows: done.To.Rows()}
	var rows [][]string
	for n, t := range done.From.Tables {
		there := done.To.Tables[n]
		row := migratedTable{TableSum: t, There: there.Sum, Equal: t == there}
		out.Tables = append(out.Tables, row)
		rows = append(rows, []string{t.Table, thousands(t.Rows), t.Sum.String()[:16], there.Sum.String()[:16], map[bool]string{true: "equal", false: "DIFFERENT"}[row.Equal]})
	}
	return p.printBare(out, func(w io.Writer) {
		table(w, "TABLE ROWS FROM TO SUMS", rows)
		fmt.Fprintf(w, "%s rows of %s are in %s\n", thousands(out.Rows), out.From, out.To)
		p.say("%s is as it was; remove it when the other one serves. The copy needs the same %s.", out.From, auth.MasterKeyFile)
		p.say("next: dhruva serve --store with that store, once: the data directory then knows it")
	}, func(w io.Writer) { fmt.Fprintln(w, out.Rows) })
}

// migrateFix is what to do about a copy that was not made.
func migrateFix(from, to string, err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "not empty"):
		return "give an empty database, or an empty schema of one: …?search_path=NAME"
	case strings.Contains(text, "another process has"), strings.Contains(text, "uses postgres"):
		return "end every dhruva process that uses the source; one that was killed is forgotten after half a minute"
	case !onPostgres(to) && absentDir(to):
		return "make the directory " + filepath.Dir(to) + ", or correct the path"
	case from == to:
		return "give another store with --to"
	case noRoom(err):
		return "free space where " + sqlstore.Name(to) + " is"
	case errors.Is(err, dhruva.ErrNotFound):
		return "give the store with --from, or the data directory with --data"
	case errors.Is(err, dhruva.ErrInvalid):
		return "use the version of dhruva that made the store, and an empty target"
	case onPostgres(from) || onPostgres(to):
		return "see that the database answers (psql with the same URL), and try again: nothing of the copy was kept"
	}
	return "see `dhruva doctor`, and try again: nothing of the copy was kept"
}
