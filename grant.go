package dhruva

import "time"

// MemberRole is what a principal is in a tenant, or may do in a space.
type MemberRole string

// The roles, strongest first.
const (
	MemberOwner  MemberRole = "owner"
	MemberAdmin  MemberRole = "admin"
	MemberPlain  MemberRole = "member"
	MemberViewer MemberRole = "viewer"
)

// Grant is a principal's role in the tenant (Space empty) or in one space.
type Grant struct {
	Tenant    TenantID
	Space     SpaceID
	Principal PrincipalID
	Role      MemberRole
	// By is who gave it.
	By        PrincipalID
	CreatedAt time.Time
}

// GrantRows are the grants of the scope: those of a space are read where the
// space is covered, those of the tenant in Tenant scope. All are written in
// Tenant scope.
type GrantRows interface {
	Grant(SpaceID, PrincipalID) (Grant, error)
	// PutGrant inserts or replaces.
	PutGrant(Grant) error
	// ListGrants lists those of a space (or of the tenant) by principal.
	ListGrants(SpaceID, Page) ([]Grant, error)
	// GrantsOf lists the grants of a principal that the scope covers, by space.
	GrantsOf(PrincipalID) ([]Grant, error)
	// DropGrant removes a grant. What is absent is left alone.
	DropGrant(SpaceID, PrincipalID) error
}

// Validate is as said in row.go.
func (g Grant) Validate() error {
	return firstError(validKey("grant", string(g.Tenant), string(g.Principal), string(g.Role)),
		validRef("grant", string(g.Space)), ValidText("grant", string(g.By)), validTime("grant", g.CreatedAt))
}

// Canonical is as said in row.go.
func (g Grant) Canonical() Grant {
	g.CreatedAt = Micros(g.CreatedAt)
	return g
}
