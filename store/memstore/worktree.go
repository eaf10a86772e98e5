package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Worktree(id dhruva.WorktreeID) (dhruva.Worktree, error) {
	row, ok := t.worktrees[worktreeKey{t.reach.Tenant, id}]
	if !ok || !t.reach.Holds(row.Space) {
		return absent[dhruva.Worktree]("worktree")
	}
	return row, nil
}

func (t *tx) PutWorktree(row dhruva.Worktree) error {
	if err := row.Validate(); err != nil {
		return invalid("worktree", err)
	}
	if err := t.write("worktree", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	key := worktreeKey{row.Tenant, row.ID}
	if old, ok := t.worktrees[key]; ok && old.Space != row.Space {
		return conflict("worktree")
	}
	put(t, t.worktrees, key, row.Canonical())
	return nil
}

// newestWorktree orders by descending (CreatedAt, ID).
func newestWorktree(a, b dhruva.Worktree) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

func (t *tx) ListWorktrees(q dhruva.WorktreeQuery) ([]dhruva.Worktree, error) {
	after, err := t.Worktree(dhruva.WorktreeID(q.After))
	if q.After != "" && err != nil {
		return nil, nil
	}
	var out []dhruva.Worktree
	for _, row := range t.worktrees {
		if t.reach.Covers(row.Tenant, row.Space) && row.Space == q.Space && (q.Status == "" || row.Status == q.Status) &&
			(q.After == "" || newestWorktree(after, row) < 0) {
			out = append(out, row)
		}
	}
	return page(out, newestWorktree, q.Size()), nil
}
