package sqlstore

import "github.com/dhruva-memory/dhruva"

const (
	grantColumns = "tenant, space, principal, role, granted_by, created_at"
	selectGrants = "SELECT " + grantColumns + " FROM grants WHERE tenant = $1"
	selectGrant  = selectGrants + " AND space = $2 AND principal = $3"
	listGrants   = selectGrants + " AND space = $2 AND principal > $3 ORDER BY principal LIMIT $4"
	grantsOf     = selectGrants + " AND principal = $2 ORDER BY space"
	upsertGrant  = "INSERT INTO grants (" + grantColumns + `) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (tenant, space, principal) DO UPDATE SET role = excluded.role, granted_by = excluded.granted_by,
		created_at = excluded.created_at`
	deleteGrant = "DELETE FROM grants WHERE tenant = $1 AND space = $2 AND principal = $3"
)

func scanGrant(r scanner) (row dhruva.Grant, err error) {
	return row, r.Scan(&row.Tenant, &row.Space, &row.Principal, &row.Role, &row.By, micros{&row.CreatedAt})
}

func (t *tx) Grant(s dhruva.SpaceID, p dhruva.PrincipalID) (dhruva.Grant, error) {
	if !t.reach.Holds(s) {
		return absent[dhruva.Grant]("grant")
	}
	return one(t, "grant", scanGrant, selectGrant, string(t.reach.Tenant), string(s), string(p))
}

func (t *tx) PutGrant(row dhruva.Grant) error {
	if err := row.Validate(); err != nil {
		return invalid("grant", err)
	}
	if err := t.allow("grant", t.reach.Covers(row.Tenant, ""), 1); err != nil {
		return err
	}
	err := t.send("put grant", upsertGrant, string(row.Tenant), string(row.Space), string(row.Principal), string(row.Role),
		string(row.By), row.CreatedAt.UnixMicro())
	return err
}

func (t *tx) ListGrants(s dhruva.SpaceID, p dhruva.Page) ([]dhruva.Grant, error) {
	if !t.reach.Holds(s) {
		return nil, nil
	}
	return collect(t, "grants", scanGrant, listGrants, string(t.reach.Tenant), string(s), p.After, p.Size())
}

func (t *tx) GrantsOf(p dhruva.PrincipalID) ([]dhruva.Grant, error) {
	rows, err := collect(t, "grants", scanGrant, grantsOf, string(t.reach.Tenant), string(p))
	var out []dhruva.Grant
	for _, row := range rows {
		if t.reach.Holds(row.Space) {
			out = append(out, row)
		}
	}
	return out, err
}

func (t *tx) DropGrant(s dhruva.SpaceID, p dhruva.PrincipalID) error {
	if err := t.allow("grant", t.reach.Whole, 1); err != nil {
		return err
	}
	return t.drop("grant", deleteGrant, string(t.reach.Tenant), string(s), string(p))
}
