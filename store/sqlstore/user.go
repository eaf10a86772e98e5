package sqlstore

import "github.com/dhruva-memory/dhruva"

const (
	userColumns         = "tenant, id, name, email, password, issuer, subject, created_at, updated_at, disabled_at"
	selectUsers         = "SELECT " + userColumns + " FROM users WHERE "
	selectUser          = selectUsers + "tenant = $1 AND id = $2"
	selectUsersByEmail  = selectUsers + "email = $1 AND email <> '' ORDER BY tenant, id"
	selectUserBySubject = selectUsers + "issuer = $1 AND subject = $2 AND issuer <> '' AND subject <> ''"
	listUsers           = selectUsers + "tenant = $1 AND id > $2 ORDER BY id LIMIT $3"
	upsertUser          = "INSERT INTO users (" + userColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (tenant, id) DO UPDATE SET name = excluded.name, email = excluded.email, password = excluded.password,
		issuer = excluded.issuer, subject = excluded.subject, created_at = excluded.created_at,
		updated_at = excluded.updated_at, disabled_at = excluded.disabled_at`
	deleteUser = "DELETE FROM users WHERE tenant = $1 AND id = $2"
)

func scanUser(r scanner) (row dhruva.User, err error) {
	return row, r.Scan(&row.Tenant, &row.ID, &row.Name, &row.Email, &row.Password, &row.Issuer, &row.Subject,
		micros{&row.CreatedAt}, micros{&row.UpdatedAt}, micros{&row.DisabledAt})
}

func (t *tx) User(id dhruva.PrincipalID) (dhruva.User, error) {
	if !t.reach.Whole {
		return absent[dhruva.User]("user")
	}
	return one(t, "user", scanUser, selectUser, string(t.reach.Tenant), string(id))
}

func (t *tx) UsersByEmail(email string) ([]dhruva.User, error) {
	if !t.reach.System {
		return nil, nil
	}
	return collect(t, "users", scanUser, selectUsersByEmail, email)
}

func (t *tx) UserBySubject(issuer, subject string) (dhruva.User, error) {
	if !t.reach.System {
		return absent[dhruva.User]("user")
	}
	return one(t, "user", scanUser, selectUserBySubject, issuer, subject)
}

// PutUser: an issuer's subject is one user of the installation. As with keys it
// is looked up first.
func (t *tx) PutUser(row dhruva.User) error {
	if err := row.Validate(); err != nil {
		return invalid("user", err)
	}
	if err := t.allow("user", t.reach.Covers(row.Tenant, ""), 1); err != nil {
		return err
	}
	var taken []dhruva.User
	err := t.wide("put user", func() (err error) {
		taken, err = collect(t, "put user", scanUser, selectUserBySubject, row.Issuer, row.Subject)
		return err
	})
	if err != nil {
		return err
	}
	if len(taken) > 0 && (taken[0].Tenant != row.Tenant || taken[0].ID != row.ID) {
		return conflict("user")
	}
	err = t.send("put user", upsertUser, string(row.Tenant), string(row.ID), row.Name, row.Email, row.Password, row.Issuer, row.Subject,
		row.CreatedAt.UnixMicro(), row.UpdatedAt.UnixMicro(), optional(row.DisabledAt))
	return err
}

func (t *tx) ListUsers(p dhruva.Page) ([]dhruva.User, error) {
	if !t.reach.Whole {
		return nil, nil
	}
	return collect(t, "users", scanUser, listUsers, string(t.reach.Tenant), p.After, p.Size())
}

func (t *tx) DropUser(id dhruva.PrincipalID) error {
	if err := t.allow("user", t.reach.Whole, 1); err != nil {
		return err
	}
	return t.drop("user", deleteUser, string(t.reach.Tenant), string(id))
}
