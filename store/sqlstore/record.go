package sqlstore

import "github.com/dhruva-memory/dhruva"

const (
	recordColumns   = "tenant, space, generation, id, source, span_start, span_end, kind, extractor, digest, event_time, created_at, mac, kid"
	selectRecords   = "SELECT " + recordColumns + " FROM records WHERE tenant = $1 AND space = $2 AND generation = $3"
	selectRecord    = selectRecords + " AND id = $4"
	recordsByID     = " AND id > $5 AND (CAST($6 AS TEXT) = '' OR kind = $6) ORDER BY id LIMIT $7"
	recordsOfAll    = selectRecords + " AND CAST($4 AS TEXT) = ''" + recordsByID
	recordsOfSource = selectRecords + " AND source = $4" + recordsByID
	upsertRecord    = "INSERT INTO records (" + recordColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (tenant, space, generation, id) DO UPDATE SET source = excluded.source, span_start = excluded.span_start,
		span_end = excluded.span_end, kind = excluded.kind, extractor = excluded.extractor, digest = excluded.digest,
		event_time = excluded.event_time, created_at = excluded.created_at, mac = excluded.mac, kid = excluded.kid`
	deleteRecords = "DELETE FROM records WHERE tenant = $1 AND space = $2 AND generation = $3 AND source = $4"
)

func scanRecord(r scanner) (row dhruva.Record, err error) {
	err = r.Scan(&row.Tenant, &row.Space, &row.Generation, &row.ID, &row.Source, &row.Start, &row.End, &row.Kind, &row.Extractor,
		hash{&row.Digest}, micros{&row.EventTime}, micros{&row.CreatedAt}, &row.MAC, &row.KID)
	if len(row.MAC) == 0 {
		row.MAC = nil
	}
	return row, err
}

func (t *tx) Record(s dhruva.SpaceID, g int64, id dhruva.RecordID) (dhruva.Record, error) {
	if !t.reach.Holds(s) {
		return absent[dhruva.Record]("record")
	}
	return one(t, "record", scanRecord, selectRecord, string(t.reach.Tenant), string(s), g, string(id))
}

func (t *tx) PutRecord(row dhruva.Record) error {
	if err := row.Validate(); err != nil {
		return invalid("record", err)
	}
	if err := t.allow("record", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	err := t.send("put record", upsertRecord, string(row.Tenant), string(row.Space), row.Generation, string(row.ID), string(row.Source),
		row.Start, row.End, row.Kind, row.Extractor, digest(row.Digest), row.EventTime.UnixMicro(), row.CreatedAt.UnixMicro(),
		blob(row.MAC), row.KID)
	return err
}

func (t *tx) ListRecords(q dhruva.RecordQuery) ([]dhruva.Record, error) {
	if !t.reach.Holds(q.Space) {
		return nil, nil
	}
	query := recordsOfSource
	if q.Source == "" {
		query = recordsOfAll
	}
	return collect(t, "records", scanRecord, query, string(t.reach.Tenant), string(q.Space), q.Generation, string(q.Source),
		q.After, q.Kind, q.Size())
}

func (t *tx) DropRecords(s dhruva.SpaceID, g int64, id dhruva.SourceID) error {
	if err := t.allow("record", t.reach.Holds(s), 1); err != nil {
		return err
	}
	return t.drop("records", deleteRecords, string(t.reach.Tenant), string(s), g, string(id))
}
