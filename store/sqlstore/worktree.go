package sqlstore

import (
	"github.com/dhruva-memory/dhruva"
)

const (
	worktreeColumns   = "tenant, id, space, agent, branch, base, root, path, status, created_at, closed_at"
	selectWorktrees   = "SELECT " + worktreeColumns + " FROM worktrees WHERE tenant = $1"
	selectWorktree    = selectWorktrees + " AND id = $2"
	newestWorktrees   = " AND (created_at, id) < ($4, $5) ORDER BY created_at DESC, id DESC LIMIT $6"
	worktreesOfSpace  = selectWorktrees + " AND space = $2 AND CAST($3 AS TEXT) = ''" + newestWorktrees
	worktreesOfStatus = selectWorktrees + " AND space = $2 AND status = $3" + newestWorktrees
	worktreeSpot      = "SELECT space, created_at FROM worktrees WHERE tenant = $1 AND id = $2"
	upsertWorktree    = "INSERT INTO worktrees (" + worktreeColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (tenant, id) DO UPDATE SET agent = excluded.agent, branch = excluded.branch, base = excluded.base,
		root = excluded.root, path = excluded.path, status = excluded.status, created_at = excluded.created_at,
		closed_at = excluded.closed_at WHERE worktrees.space = excluded.space`
)

func scanWorktree(r scanner) (row dhruva.Worktree, err error) {
	return row, r.Scan(&row.Tenant, &row.ID, &row.Space, &row.Agent, &row.Branch, &row.Base, &row.Root, &row.Path, &row.Status,
		micros{&row.CreatedAt}, micros{&row.ClosedAt})
}

func (t *tx) Worktree(id dhruva.WorktreeID) (dhruva.Worktree, error) {
	row, err := one(t, "worktree", scanWorktree, selectWorktree, string(t.reach.Tenant), string(id))
	if err == nil && !t.reach.Holds(row.Space) {
		return absent[dhruva.Worktree]("worktree")
	}
	return row, err
}

func (t *tx) PutWorktree(row dhruva.Worktree) error {
	if err := row.Validate(); err != nil {
		return invalid("worktree", err)
	}
	if err := t.allow("worktree", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	n, err := t.exec("put worktree", upsertWorktree, string(row.Tenant), string(row.ID), string(row.Space), row.Agent, row.Branch, row.Base,
		row.Root, row.Path, string(row.Status), row.CreatedAt.UnixMicro(), optional(row.ClosedAt))
	if err == nil && n == 0 {
		return conflict("worktree")
	}
	return err
}

func (t *tx) ListWorktrees(q dhruva.WorktreeQuery) ([]dhruva.Worktree, error) {
	if !t.reach.Holds(q.Space) {
		return nil, nil
	}
	at, ok, err := t.before(worktreeSpot, q.After)
	if !ok {
		return nil, err
	}
	query := worktreesOfSpace
	if q.Status != "" {
		query = worktreesOfStatus
	}
	return collect(t, "worktrees", scanWorktree, query, string(t.reach.Tenant), string(q.Space), string(q.Status), at, q.After, q.Size())
}
