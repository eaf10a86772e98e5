package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Leaf(id dhruva.LeafID) (dhruva.Leaf, error) {
	row, ok := t.leaves[leafKey{t.reach.Tenant, id}]
	if !ok || !t.reach.Covers(row.Tenant, row.Space) {
		return absent[dhruva.Leaf]("leaf")
	}
	return row, nil
}

func (t *tx) PutLeaf(row dhruva.Leaf) error {
	if err := row.Validate(); err != nil {
		return invalid("leaf", err)
	}
	if err := t.write("leaf", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	key := leafKey{row.Tenant, row.ID}
	if _, exists := t.leaves[key]; exists {
		return conflict("leaf")
	}
	put(t, t.leaves, key, row.Canonical())
	return nil
}

// leavesOf are the tenant's leaves that match, in Tenant scope.
func (t *tx) leavesOf(match func(dhruva.Leaf) bool) []dhruva.Leaf {
	var out []dhruva.Leaf
	for _, row := range t.leaves {
		if t.reach.Covers(row.Tenant, "") && match(row) {
			out = append(out, row)
		}
	}
	return out
}

func (t *tx) PendingLeaves(limit int) ([]dhruva.Leaf, error) {
	rows := t.leavesOf(func(l dhruva.Leaf) bool { return l.Seq == 0 })
	return page(rows, func(a, b dhruva.Leaf) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) }, max(limit, 0)), nil
}

func (t *tx) ListLeaves(after int64, limit int) ([]dhruva.Leaf, error) {
	rows := t.leavesOf(func(l dhruva.Leaf) bool { return l.Seq > 0 && l.Seq > after })
	return page(rows, func(a, b dhruva.Leaf) int { return cmp.Compare(a.Seq, b.Seq) }, max(limit, 0)), nil
}

func (t *tx) PlaceLeaf(id dhruva.LeafID, seq int64) error {
	if seq < 1 {
		return invalid("leaf", dhruva.ErrInvalid)
	}
	if err := t.write("leaf", t.reach.Whole, 1); err != nil {
		return err
	}
	key, place := leafKey{t.reach.Tenant, id}, placeKey{t.reach.Tenant, seq}
	row, ok := t.leaves[key]
	if !ok {
		_, err := absent[dhruva.Leaf]("leaf")
		return err
	}
	if _, taken := t.places[place]; taken || row.Seq != 0 {
		return conflict("leaf")
	}
	row.Seq = seq
	put(t, t.leaves, key, row)
	put(t, t.places, place, id)
	return nil
}

func (t *tx) AuditHead() (dhruva.AuditHead, error) {
	if !t.reach.Whole {
		return absent[dhruva.AuditHead]("audit head")
	}
	if row, ok := t.heads[t.reach.Tenant]; ok {
		return row, nil
	}
	return dhruva.AuditHead{Tenant: t.reach.Tenant}, nil
}

func (t *tx) PutAuditHead(row dhruva.AuditHead) error {
	if err := row.Validate(); err != nil {
		return invalid("audit head", err)
	}
	if err := t.write("audit head", t.reach.Covers(row.Tenant, ""), 1); err != nil {
		return err
	}
	put(t, t.heads, row.Tenant, row.Canonical())
	return nil
}
