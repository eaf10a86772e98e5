package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// tx is one transaction. It is for one goroutine.
type tx struct {
	reach    dhruva.Reach
	ctx      context.Context
	d        *dialect
	c        conn
	readOnly bool
	dead     bool
	wrote    bool
	written  int
	// careful: nothing is guessed, since a guess was wrong before, or would save
	// nothing.
	careful bool
	// asked: something was read.
	asked bool
	// spoiled is why the update cannot be kept whatever fn returns.
	spoiled error
	// homes are the spaces of the sessions met in this transaction. In an
	// update nobody else can move them; a view sees one snapshot.
	homes map[dhruva.SessionID]dhruva.SpaceID
	// last are the numbers of the last turns of sessions, as their rows say.
	last map[dhruva.SessionID]int64
	// spaces are those that were read.
	spaces map[dhruva.SpaceID]dhruva.Space
	// feeds are the feeds that were read, and how far they have come here.
	feeds map[dhruva.SpaceID]*feed
}

func newTx(ctx context.Context, d *dialect, c conn, scopes []dhruva.Scope) *tx {
	return &tx{reach: dhruva.ReachOf(scopes), ctx: ctx, d: d, c: c, careful: d.alone, homes: map[dhruva.SessionID]dhruva.SpaceID{},
		last: map[dhruva.SessionID]int64{}, feeds: map[dhruva.SpaceID]*feed{}, spaces: map[dhruva.SpaceID]dhruva.Space{}}
}

// end makes a Tx that fn kept useless: it reaches nothing.
func (t *tx) end() { t.dead, t.c, t.reach = true, nil, dhruva.Reach{} }

// usable: a statement may run now.
func (t *tx) usable(what string) error {
	if t.dead {
		return fmt.Errorf("sqlstore: %s: %w: the transaction has ended", what, dhruva.ErrDenied)
	}
	if t.spoiled != nil {
		return t.spoiled
	}
	if err := ended(t.ctx); err != nil {
		return t.spoil(what, err)
	}
	return nil
}

// spoil wraps a failure of a statement. None is expected (a duplicate is no
// failure: it is a statement that touches no row), so the transaction may be
// half way through a write, and cannot be kept.
func (t *tx) spoil(what string, err error) error {
	if err == nil {
		return nil
	}
	t.spoiled = fmt.Errorf("sqlstore: %s: %w", what, err)
	return t.spoiled
}

// allow opens a write of n rows: covered, and within the limit.
func (t *tx) allow(what string, covered bool, n int) error {
	if t.dead || t.readOnly || !covered {
		return fmt.Errorf("sqlstore: put %s: %w", what, dhruva.ErrDenied)
	}
	t.wrote = true
	if t.written += n; t.written > dhruva.MaxUpdateRows {
		return t.spoil("put "+what, fmt.Errorf("%w: more than %d rows in one update", dhruva.ErrTooLarge, dhruva.MaxUpdateRows))
	}
	return nil
}

// exec runs a statement and says how many rows it touched.
func (t *tx) exec(what, query string, args ...any) (int64, error) {
	if err := t.usable(what); err != nil || misses(query, args) {
		return 0, err
	}
	n, err := t.c.exec(query, args...)
	return n, t.spoil(what, err)
}

// send is exec of a write whose result nobody needs. It may fail later.
func (t *tx) send(what, query string, args ...any) error {
	if err := t.usable(what); err != nil || misses(query, args) {
		return err
	}
	return t.spoil(what, t.c.send(query, args...))
}

// race is send of a write that another transaction may be the first to make.
func (t *tx) race(what, query string, args ...any) error {
	if err := t.usable(what); err != nil {
		return err
	}
	return t.spoil(what, t.c.race(query, args...))
}

// drop deletes rows by key; those that are absent are no matter.
func (t *tx) drop(what, query string, args ...any) error {
	return t.send("drop "+what, query, args...)
}

// findable: no row holds a text that Validate refuses, and Postgres would not
// even compare with it.
func findable(args []any) bool {
	for _, a := range args {
		if s, ok := a.(string); ok && dhruva.ValidText("", s) != nil {
			return false
		}
	}
	return true
}

// misses: a change of rows that exist finds none.
func misses(query string, args []any) bool {
	return !strings.HasPrefix(query, "INSERT") && !findable(args)
}

// one reads a row, or ErrNotFound.
func one[T any](t *tx, what string, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	var zero T
	rows, err := collect(t, what, scan, query, args...)
	if err != nil {
		return zero, err
	}
	if len(rows) == 0 {
		return absent[T](what)
	}
	return rows[0], nil
}

// collect reads all rows.
func collect[T any](t *tx, what string, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	if err := t.usable(what); err != nil || !findable(args) {
		return nil, err
	}
	t.askAhead(query)
	rows, err := t.c.query(query, args...)
	if err != nil {
		return nil, t.spoil(what, err)
	}
	out, err := drain(t, rows, scan)
	return out, t.spoil(what, err)
}

// askAhead: an update of one space asks for its epoch, sooner or later.
func (t *tx) askAhead(query string) {
	if !t.asked && !t.readOnly && len(t.reach.Within) == 1 && query != selectEpoch {
		t.c.ahead(selectEpoch, string(t.reach.Tenant), string(t.reach.Within[0]))
	}
	t.asked = true
}

func drain[T any](t *tx, rows rows, scan func(scanner) (T, error)) (out []T, err error) {
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, row)
		if err := ended(t.ctx); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

// wide runs a statement that must see the rows of all tenants, so that what
// names one thing of the installation is not given twice.
func (t *tx) wide(what string, run func() error) error {
	if t.d.wide == "" || t.reach.System {
		return run()
	}
	if err := t.send(what, t.d.wide); err != nil {
		return err
	}
	if err := run(); err != nil {
		return err
	}
	return t.send(what, t.d.narrow)
}

// gather reads a page of rows of one space, or of all that the scopes cover:
// the whole tenant in one query, else space by space and merged.
func gather[T any](t *tx, space dhruva.SpaceID, size int, compare func(a, b T) int, query func(dhruva.SpaceID) ([]T, error)) ([]T, error) {
	if space != "" && !t.reach.Holds(space) {
		return nil, nil
	}
	if space != "" || t.reach.Whole {
		return query(space)
	}
	var all []T
	for _, s := range t.reach.Within {
		rows, err := query(s)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	slices.SortFunc(all, compare)
	return all[:min(size, len(all)):min(size, len(all))], nil
}

func absent[T any](what string) (T, error) {
	var zero T
	return zero, fmt.Errorf("sqlstore: %s: %w", what, dhruva.ErrNotFound)
}

func invalid(what string, err error) error { return fmt.Errorf("sqlstore: put %s: %w", what, err) }

func conflict(what string) error {
	return fmt.Errorf("sqlstore: put %s: %w", what, dhruva.ErrConflict)
}

// unlessAbsent: a cursor that names no row gives an empty list.
func unlessAbsent(err error) error {
	if errors.Is(err, dhruva.ErrNotFound) {
		return nil
	}
	return err
}
