package dhruva

import "time"

// Lease is the right to be the only one who does a thing, for a while. Fence
// rises with every change of hands; what its holder writes carries the number.
type Lease struct {
	// Tenant is empty for a lease of the installation.
	Tenant TenantID
	Name   string
	Owner  NodeID
	Fence  int64
	Until  time.Time
}

// LeaseRows are the leases of the tenant (in Tenant scope) or of the
// installation (in System scope, with an empty tenant).
type LeaseRows interface {
	Lease(TenantID, string) (Lease, error)
	// PutLease inserts or replaces.
	PutLease(Lease) error
}

// Validate is as said in row.go.
func (l Lease) Validate() error {
	return firstError(validKey("lease", l.Name), validRef("lease", string(l.Tenant)), ValidText("lease", string(l.Owner)), validTime("lease", l.Until))
}

// Canonical is as said in row.go.
func (l Lease) Canonical() Lease {
	l.Until = Micros(l.Until)
	return l
}
