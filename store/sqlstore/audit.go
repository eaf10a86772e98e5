package sqlstore

import (
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

const (
	leafColumns   = "tenant, id, space, seq, kind, digest, at"
	selectLeaves  = "SELECT " + leafColumns + " FROM audit_leaves WHERE tenant = $1"
	selectLeaf    = selectLeaves + " AND id = $2"
	pendingLeaves = selectLeaves + " AND seq = 0 ORDER BY at, id LIMIT $2"
	placedLeaves  = selectLeaves + " AND seq > 0 AND seq > $2 ORDER BY seq LIMIT $3"
	insertLeaf    = "INSERT INTO audit_leaves (" + leafColumns + ") VALUES ($1, $2, $3, 0, $4, $5, $6) ON CONFLICT DO NOTHING"
	placeLeaf     = `UPDATE audit_leaves SET seq = $1 WHERE tenant = $2 AND id = $3 AND seq = 0
		AND NOT EXISTS (SELECT 1 FROM audit_leaves AS taken WHERE taken.tenant = $2 AND taken.seq > 0 AND taken.seq = $1)`

	selectAuditHead = "SELECT tenant, size, fence, at FROM audit_heads WHERE tenant = $1"
	upsertAuditHead = `INSERT INTO audit_heads (tenant, size, fence, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant) DO UPDATE SET size = excluded.size, fence = excluded.fence, at = excluded.at`
)

func scanLeaf(r scanner) (row dhruva.Leaf, err error) {
	return row, r.Scan(&row.Tenant, &row.ID, &row.Space, &row.Seq, &row.Kind, hash{&row.Digest}, micros{&row.At})
}

func (t *tx) Leaf(id dhruva.LeafID) (dhruva.Leaf, error) {
	row, err := one(t, "leaf", scanLeaf, selectLeaf, string(t.reach.Tenant), string(id))
	if err == nil && !t.reach.Covers(row.Tenant, row.Space) {
		return absent[dhruva.Leaf]("leaf")
	}
	return row, err
}

func (t *tx) PutLeaf(row dhruva.Leaf) error {
	if err := row.Validate(); err != nil {
		return invalid("leaf", err)
	}
	if err := t.allow("leaf", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	n, err := t.exec("put leaf", insertLeaf, string(row.Tenant), string(row.ID), string(row.Space), row.Kind, digest(row.Digest), row.At.UnixMicro())
	if err == nil && n == 0 {
		return conflict("leaf")
	}
	return err
}

func (t *tx) PendingLeaves(limit int) ([]dhruva.Leaf, error) {
	if !t.reach.Whole || limit <= 0 {
		return nil, nil
	}
	return collect(t, "leaves", scanLeaf, pendingLeaves, string(t.reach.Tenant), limit)
}

func (t *tx) PlaceLeaf(id dhruva.LeafID, seq int64) error {
	if seq < 1 {
		return invalid("leaf", fmt.Errorf("%w: place %d", dhruva.ErrInvalid, seq))
	}
	if err := t.allow("leaf", t.reach.Whole, 1); err != nil {
		return err
	}
	if !findable([]any{string(id)}) {
		_, err := absent[dhruva.Leaf]("leaf")
		return err
	}
	n, err := t.exec("put leaf", placeLeaf, seq, string(t.reach.Tenant), string(id))
	if err != nil || n > 0 {
		return err
	}
	if _, err := t.Leaf(id); err != nil {
		return err
	}
	return conflict("leaf")
}

func (t *tx) ListLeaves(after int64, limit int) ([]dhruva.Leaf, error) {
	if !t.reach.Whole || limit <= 0 {
		return nil, nil
	}
	return collect(t, "leaves", scanLeaf, placedLeaves, string(t.reach.Tenant), after, limit)
}

func (t *tx) AuditHead() (dhruva.AuditHead, error) {
	if !t.reach.Whole {
		return absent[dhruva.AuditHead]("audit head")
	}
	rows, err := collect(t, "audit head", func(r scanner) (row dhruva.AuditHead, err error) {
		return row, r.Scan(&row.Tenant, &row.Size, &row.Fence, micros{&row.At})
	}, selectAuditHead, string(t.reach.Tenant))
	if err != nil || len(rows) == 1 {
		return append(rows, dhruva.AuditHead{})[0], err
	}
	return dhruva.AuditHead{Tenant: t.reach.Tenant}, nil
}

func (t *tx) PutAuditHead(row dhruva.AuditHead) error {
	if err := row.Validate(); err != nil {
		return invalid("audit head", err)
	}
	if err := t.allow("audit head", t.reach.Covers(row.Tenant, ""), 1); err != nil {
		return err
	}
	err := t.send("put audit head", upsertAuditHead, string(row.Tenant), row.Size, row.Fence, row.At.UnixMicro())
	return err
}
