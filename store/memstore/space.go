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
	rows := t.liveSpaces(func(s dhruva.Space) bool { return !s.Home && string(s.ID) > p.After })
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

func (t *tx) Epoch(id dhruva.SpaceID) (dhruva.Epoch, error) {
	if !t.reach.Holds(id) {
		return absent[dhruva.Epoch]("epoch")
	}
	return t.epoch(id), nil
}

func (t *tx) epoch(id dhruva.SpaceID) dhruva.Epoch {
	if row, ok := t.epochs[t.in(id)]; ok {
		return row
	}
	return dhruva.Epoch{Space: id, Generation: 1}
}

func (t *tx) PutEpoch(row dhruva.Epoch) error {
	if err := row.Validate(); err != nil {
		return invalid("epoch", err)
	}
	if err := t.write("epoch", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	row.Head = t.epoch(row.Space).Head
	put(t, t.epochs, t.in(row.Space), row)
	return nil
}

func (t *tx) AppendChange(id dhruva.SpaceID, c dhruva.Change) (int64, error) {
	if err := c.Validate(); err != nil {
		return 0, invalid("change", err)
	}
	if err := t.write("change", t.reach.Holds(id), 1); err != nil {
		return 0, err
	}
	epoch := t.epoch(id)
	epoch.Head++
	c.Seq = epoch.Head
	put(t, t.epochs, t.in(id), epoch)
	put(t, t.changes, t.in(id), append(t.changes[t.in(id)], c.Canonical()))
	return c.Seq, nil
}
