package sqlstore

import (
	"context"
	"iter"

	"github.com/dhruva-memory/dhruva"
)

// Hints is being written.
func (s *Store) Hints(context.Context) iter.Seq[dhruva.Scope] {
	panic("sqlstore: hints are being written")
}
