package memstore

import "github.com/dhruva-memory/dhruva"

// reachesLease: those of the installation in System scope, a tenant's in its
// Tenant scope.
func (t *tx) reachesLease(id dhruva.TenantID) bool {
	if id == "" {
		return t.reach.System
	}
	return t.reach.Covers(id, "")
}

func (t *tx) Lease(id dhruva.TenantID, name string) (dhruva.Lease, error) {
	row, ok := t.leases[leaseKey{id, name}]
	if !ok || !t.reachesLease(id) {
		return absent[dhruva.Lease]("lease")
	}
	return row, nil
}

func (t *tx) PutLease(row dhruva.Lease) error {
	if err := row.Validate(); err != nil {
		return invalid("lease", err)
	}
	if err := t.write("lease", t.reachesLease(row.Tenant), 1); err != nil {
		return err
	}
	put(t, t.leases, leaseKey{row.Tenant, row.Name}, row.Canonical())
	return nil
}
