package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// CopyOptions say how a store is copied.
type CopyOptions struct {
	// Progress, when not nil, is told how it comes along.
	Progress func(Progress)
	// Now tells which nodes of a Postgres store are running; nil is time.Now.
	Now func() time.Time
	// at is called with each row's number before it is written, and fails it.
	at func(row int64) error
}

// Copied is what a copy found: the sums of the rows that were read, and of those
// that were then there. They are equal.
type Copied struct {
	From Manifest `json:"from"`
	To   Manifest `json:"to"`
}

// Copy copies every row of one store into another, of whatever engine: paths and
// URLs are those of Open, which brings both up to date first. It is one
// transaction on the other side, and is committed only when the rows read back
// there have the sums of those that were read here: a copy that fails, or whose
// process does, leaves an empty store.
//
// A target that holds a row is ErrConflict. So is a source that others use: a
// SQLite file that another process has open, a Postgres store with a running
// node.
func Copy(ctx context.Context, from, to string, o CopyOptions) (Copied, error) {
	if from == to {
		return Copied{}, fmt.Errorf("sqlstore: copy: %w: %s is both source and target", dhruva.ErrInvalid, Name(from))
	}
	c := &copying{o: o, report: newReporter(o.Progress)}
	err := c.source(ctx, from, func(r reading) error { return c.into(ctx, to, r) })
	if err != nil {
		return Copied{}, fmt.Errorf("sqlstore: copy: %w", unlessEnded(ctx, err))
	}
	return c.Copied, nil
}

// Name is a store for people: its path, or its URL without what is secret.
func Name(at string) string {
	if !isPostgres(at) {
		return at
	}
	p, err := parsePostgres(at)
	if err != nil {
		return "postgres"
	}
	return p.name()
}

// copying is a copy on its way.
type copying struct {
	o      CopyOptions
	report *reporter
	Copied
}

// source runs fn on a snapshot of a store that nobody uses.
func (c *copying) source(ctx context.Context, at string, fn func(reading) error) error {
	if isPostgres(at) {
		return c.database(ctx, at, fn)
	}
	if _, err := regular(at); err != nil {
		return err
	}
	held, err := hold(ctx, at) // before Open, which would change the file under a process that uses it
	if err == nil && held.damaged != nil {
		err = damage(at, held.damaged)
	}
	if err != nil {
		return err
	}
	if err := held.close(); err != nil {
		return err
	}
	if err := upToDate(ctx, at); err != nil {
		return err
	}
	if held, err = hold(ctx, at); err != nil {
		return err
	}
	defer held.close()
	if err := held.begin(ctx); err != nil {
		return err
	}
	defer held.rollback()
	return fn(held.under(ctx, c.report))
}

// upToDate has a store's migrations applied.
func upToDate(ctx context.Context, at string) error {
	s, err := Open(ctx, at, Options{})
	if err != nil {
		return err
	}
	return s.Close()
}

// database is source for Postgres.
func (c *copying) database(ctx context.Context, at string, fn func(reading) error) error {
	s, err := Open(ctx, at, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := c.unused(ctx, s); err != nil {
		return err
	}
	return s.reading(ctx, c.o.Progress, fn)
}

// unused: no node says that it is running.
func (c *copying) unused(ctx context.Context, s *Store) error {
	now := time.Now
	if c.o.Now != nil {
		now = c.o.Now
	}
	return s.View(ctx, dhruva.SystemScope(), func(tx dhruva.Tx) error {
		for page := (dhruva.Page{Limit: 1000}); ; {
			nodes, err := tx.ListNodes(page)
			if err != nil || len(nodes) == 0 {
				return err
			}
			for _, n := range nodes {
				if n.Until.After(now()) {
					return fmt.Errorf("%w: node %s (%s) uses %s until %s", dhruva.ErrConflict, n.ID, n.Name, s.d.name, n.Until.Format(time.RFC3339))
				}
			}
			page.After = string(nodes[len(nodes)-1].ID)
		}
	})
}

// into opens the target and fills it.
func (c *copying) into(ctx context.Context, to string, from reading) error {
	_, before := os.Lstat(to)
	s, err := Open(ctx, to, Options{})
	if err != nil {
		return err
	}
	err = c.fill(ctx, s, from)
	err = errors.Join(err, s.Close())
	if err != nil && !isPostgres(to) && errors.Is(before, fs.ErrNotExist) {
		discard(to)
	}
	return err
}

// fill is the one transaction.
func (c *copying) fill(ctx context.Context, s *Store, from reading) error {
	w, err := s.writers.take(ctx, s.closing)
	if err != nil {
		return err
	}
	defer func() { s.writers.give(w) }()
	w.bound(ctx)
	if err := w.begin(nil); err != nil {
		return err
	}
	if err := c.write(ctx, s.d, w, from); err != nil {
		return errors.Join(err, w.rollback())
	}
	w.bound(ctx)
	return w.commit()
}

func (c *copying) write(ctx context.Context, d *dialect, w conn, from reading) error {
	if d.everything != "" {
		if _, err := texts(w, d.everything); err != nil {
			return err
		}
	}
	to := reading{d, w, func() error {
		w.bound(ctx)
		return ended(ctx)
	}, c.report}
	tables, err := c.alike(from, to)
	if err != nil {
		return err
	}
	total, err := from.counted(tables)
	if err != nil {
		return err
	}
	c.report.step("copy", total)
	if c.From, err = c.rows(from, to, tables); err != nil {
		return err
	}
	if c.To, err = to.manifest(tables); err != nil {
		return err
	}
	if diff := c.From.Diff(c.To); len(diff) > 0 {
		return fmt.Errorf("%w: the copy differs, and nothing of it was kept: %s", dhruva.ErrUnavailable, strings.Join(diff, "; "))
	}
	return nil
}

// alike are the tables, which both sides must have in the same form, and the
// target without a row.
func (c *copying) alike(from, to reading) ([]table, error) {
	tables, err := introspected(from.d, from)
	if err != nil {
		return nil, err
	}
	others, err := introspected(to.d, to)
	if err != nil {
		return nil, err
	}
	if a, b := formOf(tables), formOf(others); a != b {
		return nil, fmt.Errorf("%w: source and target have not the same tables: %s and %s", dhruva.ErrInvalid, a, b)
	}
	n, err := to.counted(others)
	if err == nil && n > 0 {
		err = fmt.Errorf("%w: the target is not empty: it has %d rows", dhruva.ErrConflict, n)
	}
	return tables, err
}

// formOf is what of tables must be alike on two engines.
func formOf(tables []table) string {
	var out strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&out, "%s(%s; %s) ", t.name, quoted(t.columns...), quoted(t.key...))
	}
	return out.String()
}

// rows copies all tables, parents before children, and sums up what was read.
func (c *copying) rows(from, to reading, tables []table) (m Manifest, err error) {
	done, err := texts(from, selectMigrations)
	if err != nil {
		return m, err
	}
	m.Schema = done[len(done)-1]
	for _, t := range tables {
		c.report.table(t.name)
		s, err := c.table(from, to, t)
		if err != nil {
			return m, fmt.Errorf("table %s: %w", t.name, err)
		}
		m.Tables = append(m.Tables, s)
	}
	return m, nil
}

func (c *copying) table(from, to reading, t table) (TableSum, error) {
	out, enc, insert := TableSum{Table: t.name}, newRowEncoder(t), t.insert()
	w := to.querier.(conn)
	pause := func() error { return firstOf(from.pause(), firstOf(to.pause(), w.settle())) }
	err := t.each(from, pause, func(row []any) error {
		if c.o.at != nil {
			if err := c.o.at(c.report.Done); err != nil {
				return err
			}
		}
		out.Rows++
		c.report.row()
		return firstOf(enc.row(row), w.send(insert, row...))
	})
	enc.h.Sum(out.Sum[:0])
	return out, err
}

// insert is the statement that writes a row.
func (t table) insert() string {
	return "INSERT INTO " + quoted(t.name) + " (" + quoted(t.columns...) + ") VALUES (" + numbered(len(t.columns)) + ")"
}
