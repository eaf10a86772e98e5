package dhruva

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// KeyScope is one right that a key or a session may carry.
type KeyScope string

// The closed list of rights.
const (
	MemoryRead   KeyScope = "memory:read"
	MemoryWrite  KeyScope = "memory:write"
	MemoryDelete KeyScope = "memory:delete"
	MemoryAttest KeyScope = "memory:attest"
	StateRead    KeyScope = "state:read"
	StateWrite   KeyScope = "state:write"
	ProxyUse     KeyScope = "proxy"
	ReceiptRead  KeyScope = "receipt:read"
	Admin        KeyScope = "admin"
)

// KeyScopes is the closed list, in a fixed order.
func KeyScopes() []KeyScope {
	return []KeyScope{MemoryRead, MemoryWrite, MemoryDelete, MemoryAttest, StateRead, StateWrite, ProxyUse, ReceiptRead, Admin}
}

// Key is a stored Dhruva key. The key itself is not stored: Hash is a keyed
// hash of it, and the lookup id.
type Key struct {
	Tenant TenantID
	ID     KeyID
	Hash   []byte
	Name   string
	// Label is the prefix and the last four characters, for people.
	Label  string
	Test   bool
	Scopes []KeyScope
	// Space is the key's own space, used where a request names none.
	Space SpaceID
	// Spaces are those the key may touch; empty means all of the tenant.
	Spaces []SpaceID
	// Provider binds proxied calls to one provider; "" follows the route.
	Provider string
	Owner    PrincipalID
	// Maker is the key that made this one; "" when none did. A key stands only
	// while its makers do.
	Maker     KeyID
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: live
}

// Principal is who acts, made by auth from a credential.
type Principal struct {
	Tenant TenantID
	ID     PrincipalID
	Key    KeyID
	Name   string
	Scopes []KeyScope
	// Space is the default space; Spaces limits what may be touched (empty: all).
	Space    SpaceID
	Spaces   []SpaceID
	Provider string
	// Test principals reach only the echo provider.
	Test bool
}

// May reports whether the principal holds a right. Admin holds all of them
// except none: it is the local owner.
func (p Principal) May(s KeyScope) bool {
	return slices.Contains(p.Scopes, s) || slices.Contains(p.Scopes, Admin)
}

// Reaches reports whether the principal may touch a space at all.
func (p Principal) Reaches(s SpaceID) bool {
	return len(p.Spaces) == 0 || slices.Contains(p.Spaces, s)
}

// EchoProvider is the built-in provider, the only one that test keys reach.
const EchoProvider = "echo"

// Bound is the one provider that the principal reaches: echo for test keys,
// else the one its key is bound to; "" when it may name any.
func (p Principal) Bound() string {
	if p.Test {
		return EchoProvider
	}
	return p.Provider
}

// Scope is the tenant's scope.
func (p Principal) Scope() Scope { return TenantScope(p.Tenant) }

// In is the scope of a space of the principal's tenant. Whether the principal
// reaches it is the ledger's and the gate's question.
func (p Principal) In(s SpaceID) Scope { return SpaceScope(p.Tenant, s) }

type principalKey struct{}
type requestKey struct{}

// WithPrincipal puts the acting principal into a context.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns the acting principal, or ErrUnauthenticated.
func PrincipalFrom(ctx context.Context) (Principal, error) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	if !ok {
		return Principal{}, fmt.Errorf("%w: no principal", ErrUnauthenticated)
	}
	return p, nil
}

// WithRequestID puts the request's id into a context.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestIDFrom returns the request's id, "" outside a request.
func RequestIDFrom(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
