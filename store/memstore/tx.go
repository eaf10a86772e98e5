package memstore

import (
	"fmt"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// tx is one transaction. It is for one goroutine.
type tx struct {
	*rows
	reach    dhruva.Reach
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
	t.dead, t.rows, t.reach = true, &none, dhruva.Reach{}
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

// within is the inner table of a key, which is made when there is none.
func within[K, I comparable, V any](t *tx, table map[K]map[I]V, k K) map[I]V {
	if table[k] == nil {
		put(t, table, k, map[I]V{})
	}
	return table[k]
}

func absent[V any](what string) (V, error) {
	var zero V
	return zero, fmt.Errorf("memstore: %s: %w", what, dhruva.ErrNotFound)
}

func invalid(what string, err error) error { return fmt.Errorf("memstore: put %s: %w", what, err) }

func conflict(what string) error {
	return fmt.Errorf("memstore: put %s: %w", what, dhruva.ErrConflict)
}

// beyond reports whether an id comes after a cursor. Nothing comes after what
// no id can be.
func beyond[ID ~string](after string, id ID) bool {
	return string(id) > after && dhruva.ValidText("cursor", after) == nil
}

// page sorts what was selected and cuts it to a page.
func page[V any](rows []V, compare func(a, b V) int, size int) []V {
	slices.SortFunc(rows, compare)
	return rows[:min(size, len(rows)):min(size, len(rows))]
}
