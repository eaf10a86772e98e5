package sqlstore

import (
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

const (
	callColumns = "tenant, principal, route, key, request, state, fence, until, results, created_at, expires_at"
	selectCall  = "SELECT " + callColumns + " FROM idempotency WHERE tenant = $1 AND principal = $2 AND route = $3 AND key = $4"
	insertCall  = "INSERT INTO idempotency (" + callColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING"
	updateCall  = `UPDATE idempotency SET request = $1, state = $2, fence = $3, until = $4, results = $5, created_at = $6, expires_at = $7
		WHERE tenant = $8 AND principal = $9 AND route = $10 AND key = $11 AND fence = $12 AND state <> 'done'`
	expireCalls = `DELETE FROM idempotency WHERE tenant = $1 AND (principal, route, key) IN (SELECT principal, route, key FROM idempotency
		WHERE tenant = $1 AND expires_at < $2 ORDER BY expires_at, principal, route, key LIMIT $3)`
)

// reachesCalls: through every scope of the tenant.
func (t *tx) reachesCalls(id dhruva.TenantID) bool { return id != "" && id == t.reach.Tenant }

func (t *tx) Idempotency(p dhruva.PrincipalID, route string, key dhruva.Hash) (dhruva.Idempotency, error) {
	if !t.reachesCalls(t.reach.Tenant) {
		return absent[dhruva.Idempotency]("idempotency")
	}
	return one(t, "idempotency", func(r scanner) (row dhruva.Idempotency, err error) {
		return row, r.Scan(&row.Tenant, &row.Principal, &row.Route, hash{&row.Key}, hash{&row.Request}, &row.State, &row.Fence,
			micros{&row.Until}, document{&row.Results}, micros{&row.CreatedAt}, micros{&row.ExpiresAt})
	}, selectCall, string(t.reach.Tenant), string(p), route, digest(key))
}

func (t *tx) PutIdempotency(row dhruva.Idempotency) error {
	return t.putCall(row, func() (int64, error) {
		return t.exec("put idempotency", insertCall, string(row.Tenant), string(row.Principal), row.Route, digest(row.Key), digest(row.Request),
			string(row.State), row.Fence, row.Until.UnixMicro(), asJSON(row.Canonical().Results), row.CreatedAt.UnixMicro(), optional(row.ExpiresAt))
	})
}

func (t *tx) SwapIdempotency(row dhruva.Idempotency, fence int64) error {
	return t.putCall(row, func() (int64, error) {
		return t.exec("put idempotency", updateCall, digest(row.Request), string(row.State), row.Fence, row.Until.UnixMicro(),
			asJSON(row.Canonical().Results), row.CreatedAt.UnixMicro(), optional(row.ExpiresAt),
			string(row.Tenant), string(row.Principal), row.Route, digest(row.Key), fence)
	})
}

// putCall is a write that conflicts when it touches no row.
func (t *tx) putCall(row dhruva.Idempotency, write func() (int64, error)) error {
	if err := row.Validate(); err != nil {
		return invalid("idempotency", err)
	}
	if err := t.allow("idempotency", t.reachesCalls(row.Tenant), 1); err != nil {
		return err
	}
	n, err := write()
	if err == nil && n == 0 {
		return conflict("idempotency")
	}
	return err
}

func (t *tx) ExpireIdempotency(before time.Time, limit int) (int, error) {
	if limit <= 0 {
		return 0, invalid("idempotency", fmt.Errorf("%w: expiry of %d calls", dhruva.ErrInvalid, limit))
	}
	if err := t.allow("idempotency", t.reachesCalls(t.reach.Tenant), limit); err != nil {
		return 0, err
	}
	n, err := t.exec("expire idempotency", expireCalls, string(t.reach.Tenant), before.UnixMicro(), limit)
	return int(n), err
}
