package dhruva

import (
	"fmt"
	"time"
)

// IdempotencyState is where a call with an idempotency key stands.
type IdempotencyState string

// The states.
const (
	CallBegun IdempotencyState = "begun"
	CallDone  IdempotencyState = "done"
)

// Idempotency is the memory of one call that its caller may repeat: the same
// principal, route and key with the same request is the same call. It keeps
// references to the result, never a body.
type Idempotency struct {
	Tenant    TenantID
	Principal PrincipalID
	Route     string
	// Key is a keyed hash of the caller's own, Request one of what was asked.
	Key     Hash
	Request Hash
	State   IdempotencyState
	// Fence rises with every attempt; Until is when an attempt that has not ended
	// may be taken for dead.
	Fence int64
	Until time.Time
	// Results name what the call made ("session:…", "checkpoint:…").
	Results   []string
	CreatedAt time.Time
	// ExpiresAt is when it may be forgotten; zero: never.
	ExpiresAt time.Time
}

// IdempotencyRows are the calls of the tenant. They are reached through every
// scope of the tenant, so that a call can be marked done in the Update that
// did it.
type IdempotencyRows interface {
	Idempotency(PrincipalID, string, Hash) (Idempotency, error)
	// PutIdempotency inserts; an existing (principal, route, key) is ErrConflict.
	PutIdempotency(Idempotency) error
	// SwapIdempotency replaces a call whose Fence still is the given one and that
	// is not done, and is ErrConflict otherwise, also when there is none.
	SwapIdempotency(row Idempotency, fence int64) error
	// ExpireIdempotency removes calls that expired before a time (to the
	// microsecond), at most limit, the longest expired first (ExpiresAt, then
	// principal, route, key), and tells how many it did. It counts limit rows,
	// which must be positive.
	ExpireIdempotency(before time.Time, limit int) (int, error)
}

// Validate is as said in row.go.
func (i Idempotency) Validate() error {
	if i.Key.IsZero() {
		return fmt.Errorf("%w: idempotency: empty key", ErrInvalid)
	}
	return firstError(validKey("idempotency", string(i.Tenant), string(i.Principal), i.Route, string(i.State)),
		validTexts("idempotency", i.Results), validTime("idempotency", i.Until, i.CreatedAt, i.ExpiresAt))
}

// Canonical is as said in row.go.
func (i Idempotency) Canonical() Idempotency {
	i.Until, i.CreatedAt, i.ExpiresAt, i.Results = Micros(i.Until), Micros(i.CreatedAt), Micros(i.ExpiresAt), list(i.Results)
	return i
}
