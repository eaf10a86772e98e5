package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/dhruva-memory/dhruva/internal/pgtest"
)

// engine is a kind of database that processes can share.
type engine struct {
	name   string
	create func(*testing.T) database
	// processes is how many work on one store together.
	processes int
}

// database is an empty store that processes share.
type database struct {
	url string
	// crash kills the database's own processes and starts it again; nil: it has
	// none.
	crash func()
}

func engines() []engine {
	return []engine{{"sqlite", sqliteFile, 2}, {"postgres", postgresServer, 3}}
}

func sqliteFile(t *testing.T) database {
	return database{url: filepath.Join(t.TempDir(), "dhruva.db")}
}

// postgresServer is a server of the test's own, durable as in production.
func postgresServer(t *testing.T) database {
	s := pgtest.Start(t, pgtest.Options{Durable: true})
	return database{url: s.URL(t), crash: func() { s.Kill(); s.Start(t) }}
}
