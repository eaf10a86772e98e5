package dhruva

import (
	"cmp"
	"slices"
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

// Reach is what the scopes of one transaction cover together. Every store asks
// it before it reads or writes a row, so that isolation is decided in one place.
type Reach struct {
	// Tenant is that of the tenant and space scopes, "" when there are none.
	Tenant TenantID
	// System: the system scope is among them; Whole: a tenant scope is.
	System, Whole bool
	// Within are the spaces of the space scopes.
	Within []SpaceID
}

// ReachOf is the reach of scopes of one tenant, as SortScopes gives them.
func ReachOf(scopes []Scope) Reach {
	var r Reach
	for _, s := range scopes {
		switch s.Level() {
		case LevelSystem:
			r.System = true
		case LevelTenant:
			r.Tenant, r.Whole = s.Tenant(), true
		case LevelSpace:
			r.Tenant, r.Within = s.Tenant(), append(r.Within, s.Space())
		}
	}
	return r
}

// Covers reports whether a row of a space is reached; a row of the tenant as a
// whole has no space. System reaches no tenant's rows by itself.
func (r Reach) Covers(t TenantID, s SpaceID) bool {
	return t != "" && t == r.Tenant && (r.Whole || s != "" && slices.Contains(r.Within, s))
}

// Holds is Covers for the transaction's own tenant.
func (r Reach) Holds(s SpaceID) bool { return r.Covers(r.Tenant, s) }

// String is for logs; it holds ids only.
func (s Scope) String() string {
	if s.Level() == LevelSystem {
		return "system"
	}
	return strings.TrimSuffix(string(s.tenant)+"/"+string(s.space), "/")
}
