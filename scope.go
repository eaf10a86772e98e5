package dhruva

import (
	"cmp"
	"strings"
)

// Scope is the part of the store that a transaction may touch. The zero Scope
// is System. System scopes are minted only by cmd and auth (an import test
// holds this); the others come from a Principal.
type Scope struct {
	tenant TenantID
	space  SpaceID
}

// SystemScope is the installation: tenants, key lookup, leases, nodes.
func SystemScope() Scope { return Scope{} }

// TenantScope is one tenant: users, keys, spaces, usage. Reading through it
// sees all spaces of the tenant.
func TenantScope(t TenantID) Scope { return Scope{tenant: t} }

// SpaceScope is one space of a tenant.
func SpaceScope(t TenantID, s SpaceID) Scope { return Scope{tenant: t, space: s} }

// Level is the height of a Scope.
type Level int

// The levels, widest first. A lock on one level never blocks another.
const (
	LevelSystem Level = iota
	LevelTenant
	LevelSpace
)

// Level tells how wide the scope is.
func (s Scope) Level() Level {
	switch {
	case s.tenant == "":
		return LevelSystem
	case s.space == "":
		return LevelTenant
	}
	return LevelSpace
}

// Tenant is empty for System.
func (s Scope) Tenant() TenantID { return s.tenant }

// Space is empty for System and Tenant.
func (s Scope) Space() SpaceID { return s.space }

// Compare orders scopes: by tenant, then by space. Updates over several scopes
// take their locks in this order.
func (s Scope) Compare(o Scope) int {
	return cmp.Or(strings.Compare(string(s.tenant), string(o.tenant)), strings.Compare(string(s.space), string(o.space)))
}

// Covers reports whether a row of the given tenant and space may be touched
// through s. A row that belongs to a tenant as a whole has an empty space.
func (s Scope) Covers(t TenantID, sp SpaceID) bool {
	switch s.Level() {
	case LevelSystem:
		return true
	case LevelTenant:
		return s.tenant == t
	}
	return s.tenant == t && s.space == sp
}

// String is for logs; it holds ids only.
func (s Scope) String() string {
	if s.Level() == LevelSystem {
		return "system"
	}
	return strings.TrimSuffix(string(s.tenant)+"/"+string(s.space), "/")
}
