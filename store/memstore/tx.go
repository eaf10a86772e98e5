package memstore

import (
	"fmt"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// reach is what a transaction's scopes cover.
type reach struct {
	tenant dhruva.TenantID // of the tenant and space scopes, "" when there are none
	system bool
	whole  bool             // a tenant scope is among them
	within []dhruva.SpaceID // of the space scopes
}

func newReach(scopes []dhruva.Scope) reach {
	var r reach
	for _, s := range scopes {
		switch s.Level() {
		case dhruva.LevelSystem:
			r.system = true
		case dhruva.LevelTenant:
			r.tenant, r.whole = s.Tenant(), true
		case dhruva.LevelSpace:
			r.tenant, r.within = s.Tenant(), append(r.within, s.Space())
		}
	}
	return r
}

// covers reports whether a row of a space is reached; a row of the tenant as a
// whole has no space.
func (r reach) covers(t dhruva.TenantID, s dhruva.SpaceID) bool {
	return t != "" && t == r.tenant && (r.whole || s != "" && slices.Contains(r.within, s))
}

// space is covers for the transaction's own tenant.
func (r reach) space(s dhruva.SpaceID) bool { return r.covers(r.tenant, s) }

// tx is one transaction. It is for one goroutine.
type tx struct {
	*rows
	reach
	readOnly bool
	dead     bool
	written  int
	undo     []func()
	// spoiled is why the update cannot be kept whatever fn returns.
	spoiled error
}

// end makes a Tx that fn kept useless: it reaches nothing.
func (t *tx) end() {
	none := newRows()
	t.dead, t.rows, t.reach = true, &none, reach{}
}

func (t *tx) rollback() {
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
	t.undo = nil
}

// write opens a write of n rows: allowed here, and within the limit.
func (t *tx) write(what string, allowed bool, n int) error {
	if t.dead || t.readOnly || !allowed {
		return fmt.Errorf("memstore: put %s: %w", what, dhruva.ErrDenied)
	}
	if t.written += n; t.written > dhruva.MaxUpdateRows {
		t.spoiled = fmt.Errorf("memstore: put %s: %w: more than %d rows in one update", what, dhruva.ErrTooLarge, dhruva.MaxUpdateRows)
		return t.spoiled
	}
	return nil
}

// put sets a row of a table and remembers how to take it back.
func put[K comparable, V any](t *tx, table map[K]V, k K, v V) {
	old, had := table[k]
	t.undo = append(t.undo, func() {
		if had {
			table[k] = old
		} else {
			delete(table, k)
		}
	})
	table[k] = v
}

func absent[V any](what string) (V, error) {
	var zero V
	return zero, fmt.Errorf("memstore: %s: %w", what, dhruva.ErrNotFound)
}

func invalid(what string, err error) error { return fmt.Errorf("memstore: put %s: %w", what, err) }

func conflict(what string) error {
	return fmt.Errorf("memstore: put %s: %w", what, dhruva.ErrConflict)
}

// page sorts what was selected and cuts it to a page.
func page[V any](rows []V, compare func(a, b V) int, size int) []V {
	slices.SortFunc(rows, compare)
	return rows[:min(size, len(rows)):min(size, len(rows))]
}
