// Package sqlstore is the durable dhruva.Store on SQLite. The statements are
// constants in the SQL that SQLite and Postgres share; what differs between
// databases is a dialect: where the schema is, how a connection is made, how a
// transaction begins, how scopes are locked and what an error means.
//
// Invariants:
//
//  1. An Update that returned nil is on disk: WAL with synchronous=FULL, and the
//     pragmas are read back on every connection.
//  2. One goroutine writes. It takes the updates that wait, gives each the
//     connection in turn under a savepoint, and commits them together; a failing
//     fn goes back to its savepoint and does not touch its mates. fn runs in its
//     caller's goroutine, so that a panic is the caller's own.
//  3. A commit that fails is ErrUnavailable to every update in it.
//  4. A View is one read transaction on a read-only connection.
//  5. The head of a space's feed is raised in the transaction that appends the
//     change, under the write lock: numbers are gapless and in commit order.
//  6. The tenant is first in every primary key, and every statement binds it
//     from the scope.
//  7. A schema that is newer than the program, or whose migrations have other
//     names, is refused.
//
// It stores the tables of migrations/, one for each kind of row; a checkpoint's
// items are rows of their own, a receipt is a JSON document.
//
// Numbers in statements ($1, $2, ...) appear in ascending order of first use,
// since SQLite numbers named parameters by appearance and Postgres by name; a
// test holds this.
//
// Concurrency: all methods of Store are safe for concurrent use, and several
// processes may open one file. A Tx is for one goroutine and is dead when its
// fn has returned.
package sqlstore
