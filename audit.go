package dhruva

import (
	"fmt"
	"time"
)

// Leaf is one entry of a tenant's audit log. It is committed with the action
// that it attests, and gets its place in the log within a second, from the
// tenant's sequencer.
type Leaf struct {
	Tenant TenantID
	Space  SpaceID // "" for what concerns the tenant
	ID     LeafID
	// Seq is the place in the log, from 1; 0 while it is pending.
	Seq int64
	// Kind is receipt, interrupted, key, grant, purge, ...
	Kind string
	// Digest is what the log attests: SHA-256 of the canonical encoding of the
	// action's account.
	Digest Hash
	At     time.Time
}

// AuditHead is the state of a tenant's audit log.
type AuditHead struct {
	Tenant TenantID
	// Size is how many leaves have a place.
	Size int64
	// Fence is the greatest number of a sequencer's lease that has written.
	Fence int64
	At    time.Time
}

// AuditRows are the audit log. Leaves are of the scope's spaces; places and
// the head are given out in Tenant scope.
type AuditRows interface {
	Leaf(LeafID) (Leaf, error)
	// PutLeaf inserts a pending leaf; an existing id is ErrConflict, a leaf with
	// a place ErrInvalid.
	PutLeaf(Leaf) error
	// PendingLeaves lists leaves without a place, oldest (At, then ID) first, at
	// most limit (none when that is not positive); in Tenant scope only (elsewhere
	// the list is empty).
	PendingLeaves(limit int) ([]Leaf, error)
	// PlaceLeaf gives a pending leaf its place, in Tenant scope only. A leaf that
	// has one, or a place that is taken, is ErrConflict, an absent leaf
	// ErrNotFound, a place below 1 ErrInvalid.
	PlaceLeaf(LeafID, int64) error
	// ListLeaves lists leaves with a place greater than after, in order, at most
	// limit (none when that is not positive); in Tenant scope only (elsewhere the
	// list is empty).
	ListLeaves(after int64, limit int) ([]Leaf, error)
	// AuditHead of a log without one is {Tenant: ...} with the rest zero; in
	// Tenant scope only (elsewhere ErrNotFound).
	AuditHead() (AuditHead, error)
	// PutAuditHead inserts or replaces, in Tenant scope only.
	PutAuditHead(AuditHead) error
}

// Validate is as said in row.go; it must be pending.
func (l Leaf) Validate() error {
	if l.Seq != 0 {
		return fmt.Errorf("%w: leaf %s has place %d", ErrInvalid, l.ID, l.Seq)
	}
	return firstError(validKey("leaf", string(l.Tenant), string(l.ID), l.Kind), validRef("leaf", string(l.Space)), validTime("leaf", l.At))
}

// Canonical is as said in row.go.
func (l Leaf) Canonical() Leaf {
	l.At = Micros(l.At)
	return l
}

// Validate is as said in row.go.
func (h AuditHead) Validate() error {
	return firstError(validKey("audit head", string(h.Tenant)), validTime("audit head", h.At))
}

// Canonical is as said in row.go.
func (h AuditHead) Canonical() AuditHead {
	h.At = Micros(h.At)
	return h
}
