package sqlstore_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

func open(t *testing.T, path string, o sqlstore.Options) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestConformanceFile(t *testing.T) {
	storetest.Run(t, func(t *testing.T) dhruva.Store {
		return open(t, filepath.Join(t.TempDir(), "dhruva.db"), sqlstore.Options{})
	}, storetest.Traits{Serial: true})
}

func TestConformanceMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) dhruva.Store { return open(t, ":memory:", sqlstore.Options{}) }, storetest.Traits{Serial: true})
}

func TestConformancePostgres(t *testing.T) {
	storetest.Run(t, func(t *testing.T) dhruva.Store { return open(t, pgtest.Reused(t), sqlstore.Options{}) })
}
