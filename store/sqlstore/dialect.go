package sqlstore

import (
	"context"
	"io/fs"
)

// dialect is all that differs between databases, besides conn.
type dialect struct {
	// name is where the database is, for people: it holds no secret.
	name string
	// schema holds the migrations.
	schema fs.FS
	// write and read make connections for updates and for views. read is nil
	// when the one connection of the database serves both.
	write, read func(context.Context) (conn, error)
	// writers and readers are how many of each there are when the options do not
	// say, and batch how many updates share a commit.
	writers, readers, batch int
	// alone: one update is written at a time, whatever its scopes, and updates
	// of different scopes share a commit.
	alone bool
	// tables lists the tables and views that are there, whoever made them.
	tables string
	// columns lists those of a table, each with its place in the primary key (0:
	// none), parents the tables that its foreign keys refer to.
	columns, parents string
	// everything lifts the limit of a transaction to the rows of its tenant, for
	// what is done to whole tables; "" where there is none.
	everything string
	// before is called when the store is about to be migrated, with the name of
	// the migration, outside of its transaction; nil: nothing is to be done. kept
	// says in an error of the migration what is left.
	before func(migration string) (kept func(error) error, err error)
	// lockSchema has other processes wait that are migrating, too; "" when begin
	// does.
	lockSchema string
	// lockRows ends a SELECT whose rows are then written, so that another
	// transaction passes over them; "" where writers are alone.
	lockRows string
	// wide and narrow lift and restore the limit of a transaction to the rows of
	// its tenant, for a statement that must look at those of all; "" where the
	// statements themselves are the limit.
	wide, narrow string
	// check lists what is wrong with the database.
	check []string
	// start is called once, when the schema is there; nil does nothing.
	start func(*Store, conn) error
	// watch hints what other processes commit, until its context ends; nil where
	// there are none.
	watch func(context.Context, *Store)
	// close ends what the connections share.
	close func() error
}
