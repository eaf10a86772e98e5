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

// TestDifferential compares the engines over many operations.
func TestDifferential(t *testing.T) {
	seed := testkit.Seed(t)
	done := storetest.Campaign(t, testkit.Count(2_000, 20_000, 1_000_000), seed, engineStores)
	if t.Failed() {
		return
	}
	testkit.Figure(t, "%d operations on memstore, SQLite (memory, file) and Postgres compared from seed %d", done, seed)
}
