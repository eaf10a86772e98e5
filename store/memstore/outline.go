package memstore

import (
	"github.com/dhruva-memory/dhruva"
)

// outline is what a graph needs of a checkpoint.
func outline(c dhruva.Checkpoint) dhruva.Outline {
	c = c.Canonical()
	return dhruva.Outline{Space: c.Space, ID: c.ID, Hash: c.Hash, Parents: c.Parents, Branch: c.Branch, CreatedAt: c.CreatedAt,
		Author: c.Author, Window: c.Window, HiddenAt: c.HiddenAt, Title: c.Text(dhruva.KindTitle)}
}

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
		out = append(out, outline(row))
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
		out, from = append(out, outline(row)), row.Parent()
	}
	return out, nil
}
