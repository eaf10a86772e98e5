package sqlstore

import (
	"cmp"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

const (
	outlineColumns = `c.space, c.id, c.hash, c.parents, c.branch, c.created_at, c.author, c.window_session, c.window_base,
		c.window_through, c.hidden_at`
	// outlineTitle is the text of the first title item.
	outlineTitle = `, coalesce((SELECT i.text FROM checkpoint_items AS i WHERE i.tenant = $1 AND i.space = c.space
		AND i.checkpoint = c.hash AND i.kind = 'title' ORDER BY i.ord LIMIT 1), '')`
	listOutlines = "SELECT " + outlineColumns + outlineTitle + ` FROM checkpoints AS c WHERE c.tenant = $1 AND c.space = $2
		AND (CAST($3 AS TEXT) = '' OR c.branch = $3) AND (c.created_at, c.hash) < ($4, $5)
		ORDER BY c.created_at DESC, c.hash DESC LIMIT $6`

	// ancestry walks from one row to the next by the primary key. The join is an
	// outer one, since its order is kept. What it gives is in whatever order: n
	// tells.
	ancestry = "SELECT " + outlineColumns + outlineTitle + ", c.n FROM (WITH RECURSIVE walk AS (SELECT 1 AS n, c.parent, " + outlineColumns + `
		FROM checkpoints AS c WHERE c.tenant = $1 AND c.hash = $2
		UNION ALL SELECT w.n + 1, c.parent, ` + outlineColumns + ` FROM walk AS w
		LEFT JOIN checkpoints AS c ON c.tenant = $1 AND c.space = w.space AND c.hash = w.parent
		WHERE w.n < $3 AND length(w.parent) > 0) SELECT * FROM walk WHERE hash IS NOT NULL) AS c`
)

// outlineInto is where the columns of an outline go.
func outlineInto(row *dhruva.Outline) []any {
	return []any{named[dhruva.SpaceID]{&row.Space}, named[dhruva.CheckpointID]{&row.ID}, hash{&row.Hash}, hashes{&row.Parents}, &row.Branch,
		micros{&row.CreatedAt}, &row.Author, named[dhruva.SessionID]{&row.Window.Session}, &row.Window.Base, &row.Window.Through,
		micros{&row.HiddenAt}, &row.Title}
}

func (t *tx) ListOutlines(q dhruva.OutlineQuery) ([]dhruva.Outline, error) {
	at, h, ok, err := t.beforeHash(checkpointSpot, q.After)
	if !ok || !t.reach.Holds(q.Space) {
		return nil, err
	}
	var row dhruva.Outline
	return list(t, "outlines", &row, outlineInto(&row), listOutlines, string(t.reach.Tenant), string(q.Space), q.Branch, at, digest(h), q.Size())
}

func (t *tx) Ancestry(from dhruva.Hash, limit int) ([]dhruva.Outline, error) {
	if limit <= 0 {
		return nil, nil
	}
	type step struct {
		dhruva.Outline
		n int64
	}
	var row step
	steps, err := list(t, "ancestry", &row, append(outlineInto(&row.Outline), &row.n), ancestry, string(t.reach.Tenant), digest(from), limit)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.n, b.n) })
	if !t.reach.Holds(steps[0].Space) {
		return nil, nil
	}
	out := make([]dhruva.Outline, len(steps))
	for n, s := range steps {
		out[n] = s.Outline
	}
	return out, nil
}
