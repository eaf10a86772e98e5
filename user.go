package dhruva

import (
	"fmt"
	"time"
)

// User is a person of a tenant.
type User struct {
	Tenant TenantID
	ID     PrincipalID
	Name   string
	Email  string
	// Password is the encoded hash of a password; "" when there is none.
	Password string
	// Issuer and Subject name the person at an identity provider; both or none.
	Issuer     string
	Subject    string
	CreatedAt  time.Time
	UpdatedAt  time.Time
	DisabledAt time.Time // zero: may sign in
}

// UserRows are the users of the tenant, in Tenant scope; the two ways from what
// a person signs in with are in System scope only.
type UserRows interface {
	User(PrincipalID) (User, error)
	// UsersByEmail lists users of all tenants with exactly this address, by
	// (Tenant, ID). An empty address is nobody's.
	UsersByEmail(string) ([]User, error)
	// UserBySubject finds the one that signs in at an issuer as a subject; empty
	// ones are nobody's.
	UserBySubject(issuer, subject string) (User, error)
	// PutUser inserts or replaces. An issuer and subject that are another user's,
	// of whatever tenant, are ErrConflict.
	PutUser(User) error
	// ListUsers lists by id.
	ListUsers(Page) ([]User, error)
	// DropUser removes a user. What is absent is left alone.
	DropUser(PrincipalID) error
}

// Validate is as said in row.go; an issuer without a subject, or the reverse,
// is refused.
func (u User) Validate() error {
	if (u.Issuer == "") != (u.Subject == "") {
		return fmt.Errorf("%w: user: issuer without subject, or the reverse", ErrInvalid)
	}
	return firstError(validKey("user", string(u.Tenant), string(u.ID)),
		validRef("user", u.Email, u.Issuer, u.Subject), ValidText("user", u.Name, u.Password), validTime("user", u.CreatedAt, u.UpdatedAt, u.DisabledAt))
}

// Canonical is as said in row.go.
func (u User) Canonical() User {
	u.CreatedAt, u.UpdatedAt, u.DisabledAt = Micros(u.CreatedAt), Micros(u.UpdatedAt), Micros(u.DisabledAt)
	return u
}
