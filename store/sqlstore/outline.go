package sqlstore

import (
	"cmp"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

const (
	outlineColumns = `c.id, c.hash, c.parents, c.branch, c.created_at, c.author, c.window_session, c.window_base, c.window_through,
		c.hidden_at, c.title`
	listOutlines = "SELECT " + outlineColumns + ` FROM checkpoints AS c WHERE c.tenant = $1 AND c.space = $2
		AND (CAST($3 AS TEXT) = '' OR c.branch = $3) AND (c.created_at, c.hash) < ($4, $5)
		ORDER BY c.created_at DESC, c.hash DESC LIMIT $6`

	// ancestry walks from one row to the next by its hash. The join is an outer one,
	// since its order is kept; the empty text keeps an index away that begins with
	// tenant and space. What it gives is in whatever order: n tells.
	ancestry = "SELECT " + outlineColumns + ", c.n, c.space FROM (WITH RECURSIVE walk AS (SELECT 1 AS n, c.space, c.parent, " + outlineColumns + `
		FROM checkpoints AS c WHERE c.tenant = $1 AND c.hash = $2
		UNION ALL SELECT w.n + 1, c.space, c.parent, ` + outlineColumns + ` FROM walk AS w
		LEFT JOIN checkpoints AS c ON c.tenant = $1 AND c.hash = w.parent AND c.space || '' = w.space
		WHERE w.n < $3 AND length(w.parent) > 0) SELECT * FROM walk WHERE hash IS NOT NULL) AS c`
)

// outlineInto is where the columns of an outline go.
func outlineInto(row *dhruva.Outline) []any {
	return []any{named[dhruva.CheckpointID]{&row.ID}, hash{&row.Hash}, hashes{&row.Parents}, &row.Branch,
		micros{&row.CreatedAt}, &row.Author, named[dhruva.SessionID]{&row.Window.Session}, &row.Window.Base, &row.Window.Through,
		micros{&row.HiddenAt}, &row.Title}
}

func (t *tx) ListOutlines(q dhruva.OutlineQuery) ([]dhruva.Outline, error) {
	at, h, ok, err := t.beforeHash(checkpointSpot, q.After)
	if !ok || !t.reach.Holds(q.Space) {
		return nil, err
	}
	return t.outlines(q.Space, q.Branch, at, h, q.Size())
}

// outlines are those before a time and a hash.
func (t *tx) outlines(s dhruva.SpaceID, branch string, at int64, h dhruva.Hash, size int) ([]dhruva.Outline, error) {
	row := dhruva.Outline{Space: s}
	return list(t, "outlines", &row, outlineInto(&row), listOutlines, string(t.reach.Tenant), string(s), branch, at, digest(h), size)
}

// Steps of a walk. The first ones, and those on which the parent is not among
// what is a little older, are taken one by one: three times the cost of reading
// on in the order of time, which is that of nearly all of a long lineage.
const (
	firstSteps = 64
	moreSteps  = 1000
)

func (t *tx) Ancestry(from dhruva.Hash, limit int) ([]dhruva.Outline, error) {
	out, err := t.walk(from, min(limit, firstSteps))
	if err != nil || len(out) == 0 || !t.reach.Holds(out[0].Space) {
		return nil, err
	}
	for len(out) < limit && len(out) >= firstSteps && !out[len(out)-1].Parent().IsZero() {
		last, n := out[len(out)-1], min(limit-len(out), moreSteps)
		older, err := t.outlines(last.Space, "", last.CreatedAt.UnixMicro(), last.Hash, n)
		if err != nil {
			return nil, err
		}
		done := len(out)
		if out = follow(out, older, limit); len(out)-done > len(older)/2 {
			continue
		}
		more, err := t.walk(out[len(out)-1].Parent(), min(limit-len(out), moreSteps))
		if err != nil {
			return nil, err
		}
		if len(more) == 0 || more[0].Space != last.Space {
			break
		}
		out = append(out, more...)
	}
	return out, nil
}

// follow goes on with a walk as far as some rows lead.
func follow(walk, rows []dhruva.Outline, limit int) []dhruva.Outline {
	places := make(map[dhruva.Hash]int, len(rows))
	for n, row := range rows {
		places[row.Hash] = n
	}
	for len(walk) < limit {
		n, ok := places[walk[len(walk)-1].Parent()]
		if !ok {
			break
		}
		walk = append(walk, rows[n])
	}
	return walk
}

// walk is an ancestry within the space of its first row, wherever that is.
func (t *tx) walk(from dhruva.Hash, limit int) ([]dhruva.Outline, error) {
	if limit <= 0 || from.IsZero() {
		return nil, nil
	}
	type step struct {
		dhruva.Outline
		n int64
	}
	var row step
	steps, err := list(t, "ancestry", &row, append(outlineInto(&row.Outline), &row.n, named[dhruva.SpaceID]{&row.Space}), ancestry,
		string(t.reach.Tenant), digest(from), limit)
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.n, b.n) })
	var out []dhruva.Outline
	for _, s := range steps {
		out = append(out, s.Outline)
	}
	return out, err
}
