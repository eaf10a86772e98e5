package memstore

import (
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// remove takes a row out of a table and remembers how to put it back.
func remove[K comparable, V any](t *tx, table map[K]V, k K) {
	old, had := table[k]
	if !had {
		return
	}
	t.undo = append(t.undo, func() { table[k] = old })
	delete(table, k)
}

func (t *tx) DropReference(row dhruva.Reference) error {
	if err := row.Validate(); err != nil {
		return invalid("reference", err)
	}
	if err := t.write("reference", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	t.unrefer(row)
	return nil
}

// unrefer removes a reference in both directions. Lists are replaced, never
// changed in place.
func (t *tx) unrefer(row dhruva.Reference) {
	key := t.source(row.Space, row.Generation, row.Source)
	if !slices.Contains(t.references[key], row) {
		return
	}
	put(t, t.references, key, without(t.references[key], row))
	if row.Session != "" {
		turn := turnRefKey{key.generationKey, row.Session, row.Seq}
		put(t, t.referrers, turn, without(t.referrers[turn], row.Source))
	}
}

func without[T comparable](rows []T, one T) []T {
	out := slices.Clone(rows)
	if n := slices.Index(out, one); n >= 0 {
		out = slices.Delete(out, n, n+1)
	}
	return out
}

func (t *tx) DropSource(s dhruva.SpaceID, g int64, id dhruva.SourceID) error {
	if err := t.write("source", t.reach.Holds(s), 1); err != nil {
		return err
	}
	for _, row := range t.references[t.source(s, g, id)] {
		t.unrefer(row)
	}
	remove(t, t.sources[t.generation(s, g)], id)
	return nil
}
