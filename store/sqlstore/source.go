package sqlstore

import "github.com/dhruva-memory/dhruva"

const (
	sourceColumns = "tenant, space, generation, id, class, state, held_for, role, digest, size, event_time, created_at, mac, kid"
	selectSources = "SELECT " + sourceColumns + " FROM sources WHERE tenant = $1 AND space = $2 AND generation = $3"
	selectSource  = selectSources + " AND id = $4"
	sourcesByID   = " AND (CAST($6 AS TEXT) = '' OR class = $6) ORDER BY id LIMIT $7"
	listSources   = selectSources + " AND id > $4 AND (CAST($5 AS TEXT) = '' OR state = $5)" + sourcesByID
	// Those that are not ready are few, and have an index of their own.
	notReadySources = selectSources + ` AND id IN (SELECT id FROM sources WHERE tenant = $1 AND space = $2 AND generation = $3
		AND id > $4 AND state = $5 AND state <> 'ready')` + sourcesByID
	countSources = "SELECT count(*) FROM sources WHERE tenant = $1 AND space = $2 AND generation = $3"
	upsertSource = "INSERT INTO sources (" + sourceColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (tenant, space, generation, id) DO UPDATE SET class = excluded.class, state = excluded.state,
		held_for = excluded.held_for, role = excluded.role, digest = excluded.digest, size = excluded.size,
		event_time = excluded.event_time, created_at = excluded.created_at, mac = excluded.mac, kid = excluded.kid`

	referenceColumns = "space, generation, source, session, seq, checkpoint, item"
	ofSource         = " FROM source_references WHERE tenant = $1 AND space = $2 AND generation = $3 AND source = $4"
	selectReferences = "SELECT " + referenceColumns + ofSource + " ORDER BY ord"
	insertReference  = "INSERT INTO source_references (tenant, " + referenceColumns + `, ord)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, (SELECT coalesce(max(ord), 0) + 1` + ofSource + ")) ON CONFLICT DO NOTHING"
	sourcesOfTurn = "SELECT DISTINCT source FROM source_references WHERE tenant = $1 AND space = $2 AND generation = $3 AND session = $4 AND seq = $5 ORDER BY source"

	selectTombstones = "SELECT space, generation, source, state, created_at FROM tombstones WHERE tenant = $1 AND space = $2 AND generation = $3"
	selectTombstone  = selectTombstones + " AND source = $4"
	listTombstones   = selectTombstones + " AND source > $4 ORDER BY source LIMIT $5"
	upsertTombstone  = `INSERT INTO tombstones (tenant, space, generation, source, state, created_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (tenant, space, generation, source) DO UPDATE SET state = excluded.state, created_at = excluded.created_at`
)

func scanSource(r scanner) (row dhruva.Source, err error) {
	err = r.Scan(&row.Tenant, &row.Space, &row.Generation, &row.ID, &row.Class, &row.State, &row.HeldFor, &row.Role,
		hash{&row.Digest}, &row.Size, micros{&row.EventTime}, micros{&row.CreatedAt}, &row.MAC, &row.KID)
	if len(row.MAC) == 0 {
		row.MAC = nil
	}
	return row, err
}

func (t *tx) Source(s dhruva.SpaceID, g int64, id dhruva.SourceID) (dhruva.Source, error) {
	if !t.reach.Holds(s) {
		return absent[dhruva.Source]("source")
	}
	t.bothAhead(selectSource, selectTombstone, s, g, id)
	return one(t, "source", scanSource, selectSource, string(t.reach.Tenant), string(s), g, string(id))
}

// bothAhead: an update that asks for a source, or for its tombstone, asks for
// both.
func (t *tx) bothAhead(query, other string, s dhruva.SpaceID, g int64, id dhruva.SourceID) {
	args := []any{string(t.reach.Tenant), string(s), g, string(id)}
	if !t.readOnly && t.usable("source") == nil && findable(args) && !t.c.knows(query, args...) {
		t.c.ahead(other, args...)
	}
}

func (t *tx) PutSource(row dhruva.Source) error {
	if err := row.Validate(); err != nil {
		return invalid("source", err)
	}
	if err := t.allow("source", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	err := t.send("put source", upsertSource, string(row.Tenant), string(row.Space), row.Generation, string(row.ID),
		string(row.Class), string(row.State), row.HeldFor, string(row.Role), digest(row.Digest), row.Size,
		row.EventTime.UnixMicro(), row.CreatedAt.UnixMicro(), blob(row.MAC), row.KID)
	return err
}

func (t *tx) ListSources(q dhruva.SourceQuery) ([]dhruva.Source, error) {
	if !t.reach.Holds(q.Space) {
		return nil, nil
	}
	query := listSources
	if q.State != "" && q.State != dhruva.SourceReady {
		query = notReadySources
	}
	return collect(t, "sources", scanSource, query, string(t.reach.Tenant), string(q.Space), q.Generation, q.After,
		string(q.State), string(q.Class), q.Size())
}

func (t *tx) CountSources(s dhruva.SpaceID, g int64) (int, error) {
	if !t.reach.Holds(s) {
		return 0, nil
	}
	return one(t, "sources", func(r scanner) (n int, err error) { return n, r.Scan(&n) },
		countSources, string(t.reach.Tenant), string(s), g)
}

func (t *tx) AddReference(row dhruva.Reference) error {
	if err := row.Validate(); err != nil {
		return invalid("reference", err)
	}
	if err := t.allow("reference", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	err := t.send("put reference", insertReference, string(t.reach.Tenant), string(row.Space), row.Generation, string(row.Source),
		string(row.Session), row.Seq, digest(row.Checkpoint), string(row.Item))
	return err
}

func scanReference(r scanner) (row dhruva.Reference, err error) {
	return row, r.Scan(&row.Space, &row.Generation, &row.Source, &row.Session, &row.Seq, hash{&row.Checkpoint}, &row.Item)
}

func (t *tx) References(s dhruva.SpaceID, g int64, id dhruva.SourceID) ([]dhruva.Reference, error) {
	if !t.reach.Holds(s) {
		return nil, nil
	}
	return collect(t, "references", scanReference, selectReferences, string(t.reach.Tenant), string(s), g, string(id))
}

func (t *tx) SourcesOfTurn(s dhruva.SpaceID, g int64, session dhruva.SessionID, seq int64) ([]dhruva.SourceID, error) {
	if !t.reach.Holds(s) || session == "" {
		return nil, nil
	}
	return collect(t, "sources of turn", func(r scanner) (id dhruva.SourceID, err error) { return id, r.Scan(&id) },
		sourcesOfTurn, string(t.reach.Tenant), string(s), g, string(session), seq)
}

func (t *tx) Tombstone(s dhruva.SpaceID, g int64, id dhruva.SourceID) (dhruva.Tombstone, error) {
	if !t.reach.Holds(s) {
		return absent[dhruva.Tombstone]("tombstone")
	}
	t.bothAhead(selectTombstone, selectSource, s, g, id)
	return one(t, "tombstone", scanTombstone, selectTombstone, string(t.reach.Tenant), string(s), g, string(id))
}

func scanTombstone(r scanner) (row dhruva.Tombstone, err error) {
	return row, r.Scan(&row.Space, &row.Generation, &row.Source, &row.State, micros{&row.CreatedAt})
}

func (t *tx) ListTombstones(s dhruva.SpaceID, g int64, p dhruva.Page) ([]dhruva.Tombstone, error) {
	if !t.reach.Holds(s) {
		return nil, nil
	}
	return collect(t, "tombstones", scanTombstone, listTombstones, string(t.reach.Tenant), string(s), g, p.After, p.Size())
}

func (t *tx) PutTombstone(row dhruva.Tombstone) error {
	if err := row.Validate(); err != nil {
		return invalid("tombstone", err)
	}
	if err := t.allow("tombstone", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	err := t.send("put tombstone", upsertTombstone, string(t.reach.Tenant), string(row.Space), row.Generation, string(row.Source),
		row.State, row.CreatedAt.UnixMicro())
	return err
}
