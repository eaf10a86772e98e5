package sqlstore

import (
	"context"
	"io/fs"
)

// dialect is all that differs between databases.
type dialect struct {
	// driver and the two data source names make connections.
	driver string
	write  string
	read   string
	// single: there is one connection, for writing and reading.
	single bool
	// schema holds the migrations.
	schema fs.FS
	// ready checks a new connection: version, and settings read back.
	ready func(context.Context, *conn) error
	// begin opens a write transaction and takes its locks; beginRead opens a
	// snapshot.
	begin, beginRead string
	// lockRows ends a SELECT whose rows are then written, so that another
	// transaction passes over them; "" where writers are alone.
	lockRows string
	// classify maps a driver's error to ours, or returns it as it is.
	classify func(error) error
	// busy: the error says that another process holds a lock.
	busy func(error) bool
	// check lists what is wrong with the database.
	check []string
}
