package memstore

import (
	"github.com/dhruva-memory/dhruva"
)

func (t *tx) ListOutlines(q dhruva.OutlineQuery) ([]dhruva.Outline, error) {
	after, ok, err := t.afterCheckpoint(q.After)
	if !ok {
		return nil, err
	}
	rows := t.covered(func(c dhruva.Checkpoint) bool {
		return c.Space == q.Space && (q.Branch == "" || c.Branch == q.Branch) && (q.After == "" || newestCheckpoint(after, c) < 0)
	})
	var out []dhruva.Outline
	for _, row := range page(rows, newestCheckpoint, q.Size()) {
		out = append(out, row.Outline())
	}
	return out, nil
}

// Ancestry follows first parents within one space.
func (t *tx) Ancestry(from dhruva.Hash, limit int) ([]dhruva.Outline, error) {
	var out []dhruva.Outline
	for len(out) < limit {
		row, ok := t.checkpoints[hashKey{t.reach.Tenant, from}]
		if !ok || !t.reach.Holds(row.Space) || len(out) > 0 && row.Space != out[0].Space {
			break
		}
		out, from = append(out, row.Outline()), row.Parent()
	}
	return out, nil
}
