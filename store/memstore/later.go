package memstore

import (
	"context"
	"iter"

	"github.com/dhruva-memory/dhruva"
)

// later are the roles that are being written.
type later interface {
	dhruva.RecordRows
	dhruva.VectorRows
	dhruva.ReplayRows
	dhruva.AuditRows
	dhruva.JobRows
	dhruva.CursorRows
	dhruva.IdempotencyRows
	dhruva.UserRows
	dhruva.GrantRows
	dhruva.ProviderRows
	dhruva.NodeRows
	dhruva.LeaseRows
	ListTenants(dhruva.Page) ([]dhruva.Tenant, error)
	CompactChanges(dhruva.SpaceID, int64) error
	RedactTurn(dhruva.SessionID, int64) error
	RedactItem(dhruva.Hash, dhruva.ItemID) error
	ListTombstones(dhruva.SpaceID, int64, dhruva.Page) ([]dhruva.Tombstone, error)
}

// Hints is being written.
func (s *Store) Hints(context.Context) iter.Seq[dhruva.Scope] {
	panic("memstore: hints are being written")
}
