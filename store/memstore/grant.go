package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Grant(s dhruva.SpaceID, p dhruva.PrincipalID) (dhruva.Grant, error) {
	row, ok := t.grants[grantKey{t.in(s), p}]
	if !ok || !t.reach.Holds(s) {
		return absent[dhruva.Grant]("grant")
	}
	return row, nil
}

// PutGrant: the tenant gives all grants, those of its spaces too.
func (t *tx) PutGrant(row dhruva.Grant) error {
	if err := row.Validate(); err != nil {
		return invalid("grant", err)
	}
	if err := t.write("grant", t.reach.Covers(row.Tenant, ""), 1); err != nil {
		return err
	}
	put(t, t.grants, grantKey{t.in(row.Space), row.Principal}, row.Canonical())
	return nil
}

// grantsOf are those that the scopes cover and that match.
func (t *tx) grantsOf(match func(dhruva.Grant) bool) []dhruva.Grant {
	var out []dhruva.Grant
	for _, row := range t.grants {
		if t.reach.Covers(row.Tenant, row.Space) && match(row) {
			out = append(out, row)
		}
	}
	return out
}

func (t *tx) ListGrants(s dhruva.SpaceID, p dhruva.Page) ([]dhruva.Grant, error) {
	rows := t.grantsOf(func(g dhruva.Grant) bool { return g.Space == s && beyond(p.After, g.Principal) })
	return page(rows, func(a, b dhruva.Grant) int { return cmp.Compare(a.Principal, b.Principal) }, p.Size()), nil
}

func (t *tx) GrantsOf(p dhruva.PrincipalID) ([]dhruva.Grant, error) {
	rows := t.grantsOf(func(g dhruva.Grant) bool { return g.Principal == p })
	return page(rows, func(a, b dhruva.Grant) int { return cmp.Compare(a.Space, b.Space) }, len(rows)), nil
}

func (t *tx) DropGrant(s dhruva.SpaceID, p dhruva.PrincipalID) error {
	if err := t.write("grant", t.reach.Whole, 1); err != nil {
		return err
	}
	remove(t, t.grants, grantKey{t.in(s), p})
	return nil
}
