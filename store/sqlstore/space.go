package sqlstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

const (
	selectTenant = "SELECT id, name, kid, created_at FROM tenants WHERE id = $1"
	listTenants  = "SELECT id, name, kid, created_at FROM tenants WHERE id > $1 ORDER BY id LIMIT $2"
	upsertTenant = `INSERT INTO tenants (id, name, kid, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, kid = excluded.kid, created_at = excluded.created_at`

	spaceColumns      = "tenant, id, name, description, project_root, owner, home, created_at, updated_at, deleted_at"
	selectSpaces      = "SELECT " + spaceColumns + " FROM spaces WHERE tenant = $1"
	selectSpace       = selectSpaces + " AND id = $2"
	selectSpacesNamed = selectSpaces + " AND name = $2 AND home = 0 AND deleted_at IS NULL ORDER BY created_at, id"
	selectHomes       = selectSpaces + " AND id IN (SELECT id FROM spaces WHERE tenant = $1 AND owner = $2 AND home = 1) AND deleted_at IS NULL ORDER BY id"
	selectLiveSpaces  = selectSpaces + " AND id > $2 AND home = 0 AND deleted_at IS NULL ORDER BY id LIMIT $3"
	upsertSpace       = "INSERT INTO spaces (" + spaceColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (tenant, id) DO UPDATE SET name = excluded.name, description = excluded.description,
		project_root = excluded.project_root, owner = excluded.owner, home = excluded.home,
		created_at = excluded.created_at, updated_at = excluded.updated_at, deleted_at = excluded.deleted_at`
)

// reachesTenant: tenant rows are reached by System, and one's own by a Tenant
// scope.
func (t *tx) reachesTenant(id dhruva.TenantID) bool { return t.reach.System || t.reach.Covers(id, "") }

func (t *tx) Tenant(id dhruva.TenantID) (dhruva.Tenant, error) {
	if !t.reachesTenant(id) {
		return absent[dhruva.Tenant]("tenant")
	}
	return one(t, "tenant", scanTenant, selectTenant, string(id))
}

func scanTenant(r scanner) (row dhruva.Tenant, err error) {
	return row, r.Scan(&row.ID, &row.Name, &row.KID, micros{&row.CreatedAt})
}

func (t *tx) ListTenants(p dhruva.Page) ([]dhruva.Tenant, error) {
	if !t.reach.System {
		return nil, nil
	}
	return collect(t, "tenants", scanTenant, listTenants, p.After, p.Size())
}

func (t *tx) PutTenant(row dhruva.Tenant) error {
	if err := row.Validate(); err != nil {
		return invalid("tenant", err)
	}
	if err := t.allow("tenant", t.reachesTenant(row.ID), 1); err != nil {
		return err
	}
	err := t.send("put tenant", upsertTenant, string(row.ID), row.Name, row.KID, row.CreatedAt.UnixMicro())
	return err
}

func scanSpace(r scanner) (row dhruva.Space, err error) {
	return row, r.Scan(&row.Tenant, &row.ID, &row.Name, &row.Description, &row.ProjectRoot, &row.Owner, boolean{&row.Home},
		micros{&row.CreatedAt}, micros{&row.UpdatedAt}, micros{&row.DeletedAt})
}

func (t *tx) Space(id dhruva.SpaceID) (dhruva.Space, error) {
	if !t.reach.Holds(id) {
		return absent[dhruva.Space]("space")
	}
	if row, ok := t.spaces[id]; ok {
		return row, t.usable("space")
	}
	row, err := one(t, "space", scanSpace, selectSpace, string(t.reach.Tenant), string(id))
	if err == nil {
		t.spaces[id] = row
	}
	return row, err
}

// coveredSpaces drops the spaces that the scopes do not cover.
func (t *tx) coveredSpaces(rows []dhruva.Space, err error) ([]dhruva.Space, error) {
	var out []dhruva.Space
	for _, row := range rows {
		if t.reach.Holds(row.ID) {
			out = append(out, row)
		}
	}
	return out, err
}

func (t *tx) SpacesNamed(name string) ([]dhruva.Space, error) {
	return t.coveredSpaces(collect(t, "spaces", scanSpace, selectSpacesNamed, string(t.reach.Tenant), name))
}

func (t *tx) HomeSpace(p dhruva.PrincipalID) (dhruva.Space, error) {
	rows, err := t.coveredSpaces(collect(t, "home space", scanSpace, selectHomes, string(t.reach.Tenant), string(p)))
	if err != nil {
		return dhruva.Space{}, err
	}
	if len(rows) == 0 {
		return absent[dhruva.Space]("home space")
	}
	return rows[0], nil
}

func (t *tx) ListSpaces(p dhruva.Page) ([]dhruva.Space, error) {
	if t.reach.Whole {
		return collect(t, "spaces", scanSpace, selectLiveSpaces, string(t.reach.Tenant), p.After, p.Size())
	}
	if !findable([]any{p.After}) {
		return nil, nil
	}
	return gather(t, "", p.Size(), func(a, b dhruva.Space) int { return cmp.Compare(a.ID, b.ID) },
		func(id dhruva.SpaceID) ([]dhruva.Space, error) {
			row, err := collect(t, "spaces", scanSpace, selectSpace, string(t.reach.Tenant), string(id))
			if err != nil || len(row) == 0 || row[0].Home || !row[0].DeletedAt.IsZero() || string(id) <= p.After {
				return nil, err
			}
			return row, nil
		})
}

func (t *tx) PutSpace(row dhruva.Space) error {
	if err := row.Validate(); err != nil {
		return invalid("space", err)
	}
	if err := t.allow("space", t.reach.Covers(row.Tenant, row.ID), 1); err != nil {
		return err
	}
	delete(t.spaces, row.ID)
	err := t.send("put space", upsertSpace, string(row.Tenant), string(row.ID), row.Name, row.Description,
		row.ProjectRoot, string(row.Owner), flag(row.Home), row.CreatedAt.UnixMicro(), row.UpdatedAt.UnixMicro(),
		optional(row.DeletedAt))
	return err
}
