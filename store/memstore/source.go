package memstore

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Source(s dhruva.SpaceID, g int64, id dhruva.SourceID) (dhruva.Source, error) {
	row, ok := t.sources[t.generation(s, g)][id]
	if !ok || !t.reach.Holds(s) {
		return absent[dhruva.Source]("source")
	}
	return row.Canonical(), nil
}

func (t *tx) PutSource(row dhruva.Source) error {
	if err := row.Validate(); err != nil {
		return invalid("source", err)
	}
	if err := t.write("source", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	put(t, within(t, t.sources, t.generation(row.Space, row.Generation)), row.ID, row.Canonical())
	return nil
}

func (t *tx) ListSources(q dhruva.SourceQuery) ([]dhruva.Source, error) {
	var out []dhruva.Source
	for _, row := range t.sources[t.generation(q.Space, q.Generation)] {
		if t.reach.Covers(row.Tenant, row.Space) && beyond(q.After, row.ID) &&
			(q.State == "" || row.State == q.State) && (q.Class == "" || row.Class == q.Class) {
			out = append(out, row.Canonical())
		}
	}
	return page(out, func(a, b dhruva.Source) int { return cmp.Compare(a.ID, b.ID) }, q.Size()), nil
}

func (t *tx) CountSources(s dhruva.SpaceID, g int64) (int, error) {
	if !t.reach.Holds(s) {
		return 0, nil
	}
	return len(t.sources[t.generation(s, g)]), nil
}

func (t *tx) AddReference(row dhruva.Reference) error {
	if err := row.Validate(); err != nil {
		return invalid("reference", err)
	}
	if err := t.write("reference", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	key := t.source(row.Space, row.Generation, row.Source)
	if slices.Contains(t.references[key], row) {
		return nil
	}
	put(t, t.references, key, append(t.references[key], row))
	if row.Session != "" {
		turn := turnRefKey{key.generationKey, row.Session, row.Seq}
		put(t, t.referrers, turn, append(t.referrers[turn], row.Source))
	}
	return nil
}

func (t *tx) References(s dhruva.SpaceID, g int64, id dhruva.SourceID) ([]dhruva.Reference, error) {
	rows := t.references[t.source(s, g, id)]
	if !t.reach.Holds(s) || len(rows) == 0 {
		return nil, nil
	}
	return slices.Clone(rows), nil
}

func (t *tx) SourcesOfTurn(s dhruva.SpaceID, g int64, session dhruva.SessionID, seq int64) ([]dhruva.SourceID, error) {
	if !t.reach.Holds(s) {
		return nil, nil
	}
	set := map[dhruva.SourceID]bool{}
	for _, id := range t.referrers[turnRefKey{t.generation(s, g), session, seq}] {
		set[id] = true
	}
	return slices.Sorted(maps.Keys(set)), nil
}

func (t *tx) Tombstone(s dhruva.SpaceID, g int64, id dhruva.SourceID) (dhruva.Tombstone, error) {
	row, ok := t.tombstones[t.source(s, g, id)]
	if !ok || !t.reach.Holds(s) {
		return absent[dhruva.Tombstone]("tombstone")
	}
	return row, nil
}

func (t *tx) ListTombstones(s dhruva.SpaceID, g int64, p dhruva.Page) ([]dhruva.Tombstone, error) {
	var out []dhruva.Tombstone
	for key, row := range t.tombstones {
		if key.generationKey == t.generation(s, g) && t.reach.Holds(s) && beyond(p.After, row.Source) {
			out = append(out, row)
		}
	}
	return page(out, func(a, b dhruva.Tombstone) int { return cmp.Compare(a.Source, b.Source) }, p.Size()), nil
}

func (t *tx) PutTombstone(row dhruva.Tombstone) error {
	if err := row.Validate(); err != nil {
		return invalid("tombstone", err)
	}
	if err := t.write("tombstone", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	put(t, t.tombstones, t.source(row.Space, row.Generation, row.Source), row.Canonical())
	return nil
}
