package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

// reachesTenant: tenant rows are reached by System, and one's own by a Tenant
// scope.
func (t *tx) reachesTenant(id dhruva.TenantID) bool {
	return t.reach.System || t.reach.Covers(id, "")
}

func (t *tx) Tenant(id dhruva.TenantID) (dhruva.Tenant, error) {
	if !t.reachesTenant(id) {
		return absent[dhruva.Tenant]("tenant")
	}
	row, ok := t.tenants[id]
	if !ok {
		return absent[dhruva.Tenant]("tenant")
	}
	return row, nil
}

func (t *tx) PutTenant(row dhruva.Tenant) error {
	if err := row.Validate(); err != nil {
		return invalid("tenant", err)
	}
	if err := t.write("tenant", t.reachesTenant(row.ID), 1); err != nil {
		return err
	}
	put(t, t.tenants, row.ID, row.Canonical())
	return nil
}

// ListTenants is for the installation only.
func (t *tx) ListTenants(p dhruva.Page) ([]dhruva.Tenant, error) {
	var out []dhruva.Tenant
	for _, row := range t.tenants {
		if t.reach.System && beyond(p.After, row.ID) {
			out = append(out, row)
		}
	}
	return page(out, func(a, b dhruva.Tenant) int { return cmp.Compare(a.ID, b.ID) }, p.Size()), nil
}

func (t *tx) Space(id dhruva.SpaceID) (dhruva.Space, error) {
	row, ok := t.spaces[t.in(id)]
	if !ok || !t.reach.Holds(id) {
		return absent[dhruva.Space]("space")
	}
	return row, nil
}

// liveSpaces are those covered, not deleted, that match.
func (t *tx) liveSpaces(match func(dhruva.Space) bool) []dhruva.Space {
	var out []dhruva.Space
	for _, row := range t.spaces {
		if t.reach.Covers(row.Tenant, row.ID) && row.DeletedAt.IsZero() && match(row) {
			out = append(out, row)
		}
	}
	return out
}

func byID(a, b dhruva.Space) int { return cmp.Compare(a.ID, b.ID) }

func (t *tx) SpacesNamed(name string) ([]dhruva.Space, error) {
	rows := t.liveSpaces(func(s dhruva.Space) bool { return !s.Home && s.Name == name })
	return page(rows, func(a, b dhruva.Space) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), byID(a, b))
	}, len(rows)), nil
}

func (t *tx) HomeSpace(p dhruva.PrincipalID) (dhruva.Space, error) {
	rows := page(t.liveSpaces(func(s dhruva.Space) bool { return s.Home && s.Owner == p }), byID, 1)
	if len(rows) == 0 {
		return absent[dhruva.Space]("home space")
	}
	return rows[0], nil
}

func (t *tx) ListSpaces(p dhruva.Page) ([]dhruva.Space, error) {
	rows := t.liveSpaces(func(s dhruva.Space) bool { return !s.Home && beyond(p.After, s.ID) })
	return page(rows, byID, p.Size()), nil
}

func (t *tx) PutSpace(row dhruva.Space) error {
	if err := row.Validate(); err != nil {
		return invalid("space", err)
	}
	if err := t.write("space", t.reach.Covers(row.Tenant, row.ID), 1); err != nil {
		return err
	}
	put(t, t.spaces, t.in(row.ID), row.Canonical())
	return nil
}
