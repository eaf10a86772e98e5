package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) User(id dhruva.PrincipalID) (dhruva.User, error) {
	row, ok := t.users[userKey{t.reach.Tenant, id}]
	if !ok || !t.reach.Whole {
		return absent[dhruva.User]("user")
	}
	return row, nil
}

// usersOf are those that match, of every tenant.
func (t *tx) usersOf(match func(dhruva.User) bool) []dhruva.User {
	var out []dhruva.User
	for _, row := range t.users {
		if match(row) {
			out = append(out, row)
		}
	}
	return page(out, func(a, b dhruva.User) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID))
	}, len(out))
}

func (t *tx) UsersByEmail(email string) ([]dhruva.User, error) {
	if email == "" || !t.reach.System {
		return nil, nil
	}
	return t.usersOf(func(u dhruva.User) bool { return u.Email == email }), nil
}

func (t *tx) bySubject(issuer, subject string) []dhruva.User {
	return t.usersOf(func(u dhruva.User) bool { return issuer != "" && u.Issuer == issuer && u.Subject == subject })
}

func (t *tx) UserBySubject(issuer, subject string) (dhruva.User, error) {
	rows := t.bySubject(issuer, subject)
	if len(rows) == 0 || !t.reach.System {
		return absent[dhruva.User]("user")
	}
	return rows[0], nil
}

// PutUser: issuer and subject name one user of the installation.
func (t *tx) PutUser(row dhruva.User) error {
	if err := row.Validate(); err != nil {
		return invalid("user", err)
	}
	if err := t.write("user", t.reach.Covers(row.Tenant, ""), 1); err != nil {
		return err
	}
	for _, other := range t.bySubject(row.Issuer, row.Subject) {
		if other.Tenant != row.Tenant || other.ID != row.ID {
			return conflict("user")
		}
	}
	put(t, t.users, userKey{row.Tenant, row.ID}, row.Canonical())
	return nil
}

func (t *tx) ListUsers(p dhruva.Page) ([]dhruva.User, error) {
	if !t.reach.Whole {
		return nil, nil
	}
	rows := t.usersOf(func(u dhruva.User) bool { return u.Tenant == t.reach.Tenant && beyond(p.After, u.ID) })
	return rows[:min(p.Size(), len(rows)):min(p.Size(), len(rows))], nil
}

func (t *tx) DropUser(id dhruva.PrincipalID) error {
	if err := t.write("user", t.reach.Whole, 1); err != nil {
		return err
	}
	remove(t, t.users, userKey{t.reach.Tenant, id})
	return nil
}
