package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// TestStoresAnswerAlike is the differential campaign: one random sequence of
// operations on a store in memory, on SQLite and on Postgres, every answer and
// everything that is kept compared.
func TestStoresAnswerAlike(t *testing.T) {
	seed, operations := testkit.Seed(t), testkit.Count(5_000, 100_000, 2_000_000)
	done := storetest.Campaign(t, operations, seed, func(t *testing.T) []dhruva.Store {
		return []dhruva.Store{memstore.New(), open(t, filepath.Join(t.TempDir(), "dhruva.db"), sqlstore.Options{}), open(t, pgtest.URL(t), sqlstore.Options{})}
	})
	testkit.Figure(t, "%d operations on three stores from seed %d on, without a difference", done, seed)
}
