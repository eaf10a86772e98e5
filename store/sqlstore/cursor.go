package sqlstore

import "github.com/dhruva-memory/dhruva"

const (
	selectCursors = "SELECT tenant, space, node, seq, at FROM cursors WHERE tenant = $1 AND space = $2 ORDER BY node"
	upsertCursor  = `INSERT INTO cursors (tenant, space, node, seq, at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant, space, node) DO UPDATE SET seq = excluded.seq, at = excluded.at`
	deleteCursor = "DELETE FROM cursors WHERE tenant = $1 AND space = $2 AND node = $3"
)

func (t *tx) PutCursor(row dhruva.Cursor) error {
	if err := row.Validate(); err != nil {
		return invalid("cursor", err)
	}
	if err := t.allow("cursor", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	err := t.send("put cursor", upsertCursor, string(row.Tenant), string(row.Space), string(row.Node), row.Seq, row.At.UnixMicro())
	return err
}

func (t *tx) Cursors(s dhruva.SpaceID) ([]dhruva.Cursor, error) {
	if !t.reach.Holds(s) {
		return nil, nil
	}
	return collect(t, "cursors", func(r scanner) (row dhruva.Cursor, err error) {
		return row, r.Scan(&row.Tenant, &row.Space, &row.Node, &row.Seq, micros{&row.At})
	}, selectCursors, string(t.reach.Tenant), string(s))
}

func (t *tx) DropCursor(s dhruva.SpaceID, n dhruva.NodeID) error {
	if err := t.allow("cursor", t.reach.Holds(s), 1); err != nil {
		return err
	}
	return t.drop("cursor", deleteCursor, string(t.reach.Tenant), string(s), string(n))
}
