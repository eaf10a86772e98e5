package sqlstore

import (
	"github.com/dhruva-memory/dhruva"
)

const (
	replayColumns = "tenant, space, id, dialect, generation, session, keys, evidence, checkpoint, renderer, rendered, removed, receipt, created_at"
	selectReplay  = "SELECT " + replayColumns + " FROM replays WHERE tenant = $1 AND space = $2 AND id = $3"
	replaysOfKey  = `SELECT replay FROM replay_keys WHERE tenant = $1 AND space = $2 AND dialect = $3 AND hash = $4
		ORDER BY created_at DESC, replay DESC LIMIT $5`
	replaysOfSource = "SELECT replay FROM replay_sources WHERE tenant = $1 AND space = $2 AND source = $3 AND replay > $4 ORDER BY replay LIMIT $5"
	upsertReplay    = "INSERT INTO replays (" + replayColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (tenant, space, id) DO UPDATE SET dialect = excluded.dialect, generation = excluded.generation,
		session = excluded.session, keys = excluded.keys, evidence = excluded.evidence, checkpoint = excluded.checkpoint,
		renderer = excluded.renderer, rendered = excluded.rendered, removed = excluded.removed, receipt = excluded.receipt,
		created_at = excluded.created_at`
	insertReplayKey     = "INSERT INTO replay_keys (tenant, space, dialect, hash, created_at, replay) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING"
	insertReplaySource  = "INSERT INTO replay_sources (tenant, space, source, replay) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
	deleteReplay        = "DELETE FROM replays WHERE tenant = $1 AND space = $2 AND id = $3"
	deleteReplayKeys    = "DELETE FROM replay_keys WHERE tenant = $1 AND space = $2 AND replay = $3"
	deleteReplaySources = "DELETE FROM replay_sources WHERE tenant = $1 AND space = $2 AND replay = $3"
)

func scanReplay(r scanner) (row dhruva.Replay, err error) {
	return row, r.Scan(&row.Tenant, &row.Space, &row.ID, &row.Dialect, &row.Generation, &row.Session, document{&row.Keys},
		document{&row.Evidence}, hash{&row.Checkpoint}, &row.Renderer, hash{&row.Rendered}, document{&row.Removed}, &row.Receipt,
		micros{&row.CreatedAt})
}

func scanReplayID(r scanner) (id dhruva.ReplayID, err error) { return id, r.Scan(&id) }

func (t *tx) Replay(s dhruva.SpaceID, id dhruva.ReplayID) (dhruva.Replay, error) {
	if !t.reach.Holds(s) {
		return absent[dhruva.Replay]("replay")
	}
	return one(t, "replay", scanReplay, selectReplay, string(t.reach.Tenant), string(s), string(id))
}

func (t *tx) Replays(s dhruva.SpaceID, d dhruva.Dialect, key dhruva.Hash, limit int) ([]dhruva.Replay, error) {
	if !t.reach.Holds(s) || limit <= 0 {
		return nil, nil
	}
	ids, err := collect(t, "replays", scanReplayID, replaysOfKey, string(t.reach.Tenant), string(s), string(d), digest(key), limit)
	if err != nil {
		return nil, err
	}
	var out []dhruva.Replay
	for _, id := range ids {
		row, err := t.Replay(s, id)
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

func (t *tx) ReplaysOf(s dhruva.SpaceID, id dhruva.SourceID, p dhruva.Page) ([]dhruva.ReplayID, error) {
	if !t.reach.Holds(s) {
		return nil, nil
	}
	return collect(t, "replays", scanReplayID, replaysOfSource, string(t.reach.Tenant), string(s), string(id), p.After, p.Size())
}

func (t *tx) PutReplay(row dhruva.Replay) error {
	if err := row.Validate(); err != nil {
		return invalid("replay", err)
	}
	row = row.Canonical()
	if err := t.allow("replay", t.reach.Covers(row.Tenant, row.Space), row.Rows()); err != nil {
		return err
	}
	if err := t.forgetWays(row.Space, row.ID); err != nil {
		return err
	}
	err := t.send("put replay", upsertReplay, string(row.Tenant), string(row.Space), string(row.ID), string(row.Dialect), row.Generation,
		string(row.Session), asJSON(row.Keys), asJSON(row.Evidence), digest(row.Checkpoint), row.Renderer, digest(row.Rendered),
		asJSON(row.Removed), string(row.Receipt), row.CreatedAt.UnixMicro())
	if err != nil {
		return err
	}
	return t.putWays(row)
}

// putWays writes the rows by which an entry is found.
func (t *tx) putWays(row dhruva.Replay) error {
	tenant, space, id := string(row.Tenant), string(row.Space), string(row.ID)
	for _, k := range row.Keys {
		if err := t.send("put replay key", insertReplayKey, tenant, space, string(row.Dialect), digest(k), row.CreatedAt.UnixMicro(), id); err != nil {
			return err
		}
	}
	for _, e := range row.Evidence {
		if err := t.send("put replay source", insertReplaySource, tenant, space, string(e.Source), id); err != nil {
			return err
		}
	}
	return nil
}

// forgetWays removes them.
func (t *tx) forgetWays(s dhruva.SpaceID, id dhruva.ReplayID) error {
	for _, query := range []string{deleteReplayKeys, deleteReplaySources} {
		if err := t.drop("replay", query, string(t.reach.Tenant), string(s), string(id)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) DropReplay(s dhruva.SpaceID, id dhruva.ReplayID) error {
	if err := t.allow("replay", t.reach.Holds(s), 1); err != nil {
		return err
	}
	if err := t.forgetWays(s, id); err != nil {
		return err
	}
	return t.drop("replay", deleteReplay, string(t.reach.Tenant), string(s), string(id))
}
