package sqlstore

import "github.com/dhruva-memory/dhruva"

const (
	selectLease = "SELECT tenant, name, owner, fence, until FROM leases WHERE tenant = $1 AND name = $2"
	upsertLease = `INSERT INTO leases (tenant, name, owner, fence, until) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant, name) DO UPDATE SET owner = excluded.owner, fence = excluded.fence, until = excluded.until`
)

// reachesLease: those of the installation have no tenant and are System's.
func (t *tx) reachesLease(id dhruva.TenantID) bool {
	return id == "" && t.reach.System || t.reach.Covers(id, "")
}

func (t *tx) Lease(id dhruva.TenantID, name string) (dhruva.Lease, error) {
	if !t.reachesLease(id) {
		return absent[dhruva.Lease]("lease")
	}
	return one(t, "lease", func(r scanner) (row dhruva.Lease, err error) {
		return row, r.Scan(&row.Tenant, &row.Name, &row.Owner, &row.Fence, micros{&row.Until})
	}, selectLease, string(id), name)
}

func (t *tx) PutLease(row dhruva.Lease) error {
	if err := row.Validate(); err != nil {
		return invalid("lease", err)
	}
	if err := t.allow("lease", t.reachesLease(row.Tenant), 1); err != nil {
		return err
	}
	err := t.send("put lease", upsertLease, string(row.Tenant), row.Name, string(row.Owner), row.Fence, row.Until.UnixMicro())
	return err
}
