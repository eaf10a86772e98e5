package memstore

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) PutCursor(row dhruva.Cursor) error {
	if err := row.Validate(); err != nil {
		return invalid("cursor", err)
	}
	if err := t.write("cursor", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	put(t, within(t, t.cursors, t.in(row.Space)), row.Node, row.Canonical())
	return nil
}

func (t *tx) Cursors(s dhruva.SpaceID) ([]dhruva.Cursor, error) {
	if !t.reach.Holds(s) {
		return nil, nil
	}
	rows := slices.Collect(maps.Values(t.cursors[t.in(s)]))
	return page(rows, func(a, b dhruva.Cursor) int { return cmp.Compare(a.Node, b.Node) }, len(rows)), nil
}

func (t *tx) DropCursor(s dhruva.SpaceID, id dhruva.NodeID) error {
	if err := t.write("cursor", t.reach.Holds(s), 1); err != nil {
		return err
	}
	remove(t, t.cursors[t.in(s)], id)
	return nil
}
