package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) PutVector(row dhruva.Vector) error {
	if err := row.Validate(); err != nil {
		return invalid("vector", err)
	}
	if err := t.write("vector", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	put(t, within(t, t.vectors, t.generation(row.Space, row.Generation)), vectorKey{row.Source, row.Model, row.Part}, row.Canonical())
	return nil
}

// bySource orders by (Source, Model, Part).
func bySource(a, b dhruva.Vector) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Part, b.Part))
}

// ListVectors does not tear a source.
func (t *tx) ListVectors(q dhruva.VectorQuery) ([]dhruva.Vector, error) {
	var out []dhruva.Vector
	for key, row := range t.vectors[t.generation(q.Space, q.Generation)] {
		if t.reach.Covers(row.Tenant, row.Space) && beyond(q.After, key.source) &&
			(q.Source == "" || key.source == q.Source) && (q.Model == "" || key.model == q.Model) {
			out = append(out, row.Canonical())
		}
	}
	size, out := q.Size(), page(out, bySource, len(out))
	for size < len(out) && out[size].Source == out[size-1].Source {
		size++
	}
	return page(out, bySource, size), nil
}

func (t *tx) DropVectors(s dhruva.SpaceID, g int64, id dhruva.SourceID) error {
	if err := t.write("vector", t.reach.Holds(s), 1); err != nil {
		return err
	}
	rows := t.vectors[t.generation(s, g)]
	for key := range rows {
		if key.source == id {
			remove(t, rows, key)
		}
	}
	return nil
}
