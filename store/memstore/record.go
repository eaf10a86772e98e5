package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Record(s dhruva.SpaceID, g int64, id dhruva.RecordID) (dhruva.Record, error) {
	row, ok := t.records[t.generation(s, g)][id]
	if !ok || !t.reach.Holds(s) {
		return absent[dhruva.Record]("record")
	}
	return row.Canonical(), nil
}

func (t *tx) PutRecord(row dhruva.Record) error {
	if err := row.Validate(); err != nil {
		return invalid("record", err)
	}
	if err := t.write("record", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	put(t, within(t, t.records, t.generation(row.Space, row.Generation)), row.ID, row.Canonical())
	return nil
}

func (t *tx) ListRecords(q dhruva.RecordQuery) ([]dhruva.Record, error) {
	var out []dhruva.Record
	for _, row := range t.records[t.generation(q.Space, q.Generation)] {
		if t.reach.Covers(row.Tenant, row.Space) && beyond(q.After, row.ID) &&
			(q.Source == "" || row.Source == q.Source) && (q.Kind == "" || row.Kind == q.Kind) {
			out = append(out, row.Canonical())
		}
	}
	return page(out, func(a, b dhruva.Record) int { return cmp.Compare(a.ID, b.ID) }, q.Size()), nil
}

func (t *tx) DropRecords(s dhruva.SpaceID, g int64, id dhruva.SourceID) error {
	if err := t.write("record", t.reach.Holds(s), 1); err != nil {
		return err
	}
	rows := t.records[t.generation(s, g)]
	for key, row := range rows {
		if row.Source == id {
			remove(t, rows, key)
		}
	}
	return nil
}
