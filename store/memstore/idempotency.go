package memstore

import (
	"cmp"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// A call is of the tenant, and reached through every scope of it.

func callOf(row dhruva.Idempotency) callKey {
	return callKey{row.Tenant, row.Principal, row.Route, row.Key}
}

func (t *tx) reachesCalls(id dhruva.TenantID) bool { return id != "" && id == t.reach.Tenant }

func (t *tx) Idempotency(p dhruva.PrincipalID, route string, key dhruva.Hash) (dhruva.Idempotency, error) {
	row, ok := t.calls[callKey{t.reach.Tenant, p, route, key}]
	if !ok {
		return absent[dhruva.Idempotency]("call")
	}
	return row.Canonical(), nil
}

func (t *tx) PutIdempotency(row dhruva.Idempotency) error {
	if err := row.Validate(); err != nil {
		return invalid("call", err)
	}
	if err := t.write("call", t.reachesCalls(row.Tenant), 1); err != nil {
		return err
	}
	if _, exists := t.calls[callOf(row)]; exists {
		return conflict("call")
	}
	put(t, t.calls, callOf(row), row.Canonical())
	return nil
}

func (t *tx) SwapIdempotency(row dhruva.Idempotency, fence int64) error {
	if err := row.Validate(); err != nil {
		return invalid("call", err)
	}
	if err := t.write("call", t.reachesCalls(row.Tenant), 1); err != nil {
		return err
	}
	if old, ok := t.calls[callOf(row)]; !ok || old.Fence != fence || old.State == dhruva.CallDone {
		return conflict("call")
	}
	put(t, t.calls, callOf(row), row.Canonical())
	return nil
}

// longestExpired orders by (ExpiresAt, principal, route, key).
func longestExpired(a, b dhruva.Idempotency) int {
	return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Route, b.Route), a.Key.Compare(b.Key))
}

func (t *tx) ExpireIdempotency(before time.Time, limit int) (int, error) {
	if limit <= 0 {
		return 0, invalid("call", fmt.Errorf("%w: %d calls to expire", dhruva.ErrInvalid, limit))
	}
	if err := t.write("call", t.reach.Tenant != "", limit); err != nil {
		return 0, err
	}
	var out []dhruva.Idempotency
	for _, row := range t.calls {
		if row.Tenant == t.reach.Tenant && !row.ExpiresAt.IsZero() && row.ExpiresAt.Before(dhruva.Micros(before)) {
			out = append(out, row)
		}
	}
	out = page(out, longestExpired, limit)
	for _, row := range out {
		remove(t, t.calls, callOf(row))
	}
	return len(out), nil
}
