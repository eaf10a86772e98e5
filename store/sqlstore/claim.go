package sqlstore

import (
	"github.com/dhruva-memory/dhruva"
)

const (
	claimColumns = `tenant, id, space, agent, scope, intent, branch, base, session, task, worktree, status, claimed_at,
		expires_at, updated_at`
	selectClaims   = "SELECT " + claimColumns + " FROM claims WHERE tenant = $1"
	selectClaim    = selectClaims + " AND id = $2"
	newestClaims   = " AND (claimed_at, id) < ($4, $5) ORDER BY claimed_at DESC, id DESC LIMIT $6"
	claimsOfSpace  = selectClaims + " AND space = $2 AND CAST($3 AS TEXT) = ''" + newestClaims
	claimsOfStatus = selectClaims + " AND space = $2 AND status = $3" + newestClaims
	// Those that have not expired are few. The sign keeps an index away that gives
	// their order, and all the others.
	liveClaims = selectClaims + ` AND space = $2 AND (CAST($3 AS TEXT) = '' OR status = $3)
		AND (+claimed_at, id) < ($4, $5) AND expires_at > $6 ORDER BY +claimed_at DESC, id DESC LIMIT $7`
	claimSpot   = "SELECT space, claimed_at FROM claims WHERE tenant = $1 AND id = $2"
	upsertClaim = "INSERT INTO claims (" + claimColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (tenant, id) DO UPDATE SET agent = excluded.agent, scope = excluded.scope, intent = excluded.intent,
		branch = excluded.branch, base = excluded.base, session = excluded.session, task = excluded.task,
		worktree = excluded.worktree, status = excluded.status, claimed_at = excluded.claimed_at,
		expires_at = excluded.expires_at, updated_at = excluded.updated_at WHERE claims.space = excluded.space`
)

func scanClaim(r scanner) (row dhruva.Claim, err error) {
	return row, r.Scan(&row.Tenant, &row.ID, &row.Space, &row.Agent, &row.Scope, &row.Intent, &row.Branch, hash{&row.Base}, &row.Session,
		&row.Task, &row.Worktree, &row.Status, micros{&row.ClaimedAt}, micros{&row.ExpiresAt}, micros{&row.UpdatedAt})
}

func (t *tx) Claim(id dhruva.ClaimID) (dhruva.Claim, error) {
	row, err := one(t, "claim", scanClaim, selectClaim, string(t.reach.Tenant), string(id))
	if err == nil && !t.reach.Holds(row.Space) {
		return absent[dhruva.Claim]("claim")
	}
	return row, err
}

func (t *tx) PutClaim(row dhruva.Claim) error {
	if err := row.Validate(); err != nil {
		return invalid("claim", err)
	}
	if err := t.allow("claim", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	n, err := t.exec("put claim", upsertClaim, string(row.Tenant), string(row.ID), string(row.Space), row.Agent, row.Scope, row.Intent,
		row.Branch, digest(row.Base), string(row.Session), row.Task, string(row.Worktree), string(row.Status),
		row.ClaimedAt.UnixMicro(), row.ExpiresAt.UnixMicro(), row.UpdatedAt.UnixMicro())
	if err == nil && n == 0 {
		return conflict("claim")
	}
	return err
}

func (t *tx) ListClaims(q dhruva.ClaimQuery) ([]dhruva.Claim, error) {
	if !t.reach.Holds(q.Space) {
		return nil, nil
	}
	at, ok, err := t.before(claimSpot, q.After)
	if !ok {
		return nil, err
	}
	args := []any{string(t.reach.Tenant), string(q.Space), string(q.Status), at, q.After}
	query := claimsOfSpace
	switch {
	case !q.Live.IsZero():
		query, args = liveClaims, append(args, q.Live.UnixMicro())
	case q.Status != "":
		query = claimsOfStatus
	}
	return collect(t, "claims", scanClaim, query, append(args, q.Size())...)
}
