package sqlstore_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// beside opens a store next to the executable specification.
func beside(t *testing.T, path string) (dhruva.Store, dhruva.Store, func()) {
	s, err := sqlstore.Open(context.Background(), path, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return memstore.New(), s, func() { s.Close() }
}

func TestSameAsMemstoreInMemory(t *testing.T) {
	storetest.Same(t, func() (dhruva.Store, dhruva.Store, func()) { return beside(t, ":memory:") })
}

func TestSameAsMemstoreOnFile(t *testing.T) {
	storetest.Same(t, func() (dhruva.Store, dhruva.Store, func()) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		return beside(t, filepath.Join(dir, "dhruva.db"))
	})
}

func TestSameAsMemstoreOnPostgres(t *testing.T) {
	storetest.Same(t, func() (dhruva.Store, dhruva.Store, func()) {
		at, back := pgtest.Borrow(t)
		measure, tested, done := beside(t, at)
		return measure, tested, func() {
			done()
			back()
		}
	})
}
