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

// engineStores are empty stores of every engine, after the executable
// specification.
func engineStores(t *testing.T) []dhruva.Store {
	none := sqlstore.Options{}
	return []dhruva.Store{memstore.New(), open(t, ":memory:", none), open(t, filepath.Join(t.TempDir(), "dhruva.db"), none), open(t, pgtest.URL(t), none)}
}

// TestSameAsMemstore shrinks what it finds.
func TestSameAsMemstore(t *testing.T) { storetest.Same(t, engineStores) }

// TestStoresAnswerAlike is the differential campaign: one random sequence of
// operations on a store in memory, on SQLite (in memory and on a file) and on
// Postgres, every answer and everything that is kept compared.
func TestStoresAnswerAlike(t *testing.T) {
	seed, operations := testkit.Seed(t), testkit.Count(5_000, 100_000, 2_000_000)
	done := storetest.Campaign(t, operations, seed, engineStores)
	if t.Failed() {
		return
	}
	testkit.Figure(t, "%d operations on four stores from seed %d on, without a difference", done, seed)
}
