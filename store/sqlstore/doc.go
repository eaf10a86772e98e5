// Package sqlstore is the durable dhruva.Store, on SQLite and on PostgreSQL (15
// or newer, no extension). The statements are constants in the SQL that both
// share. What differs is a dialect (where the schema is, which settings, what
// an error means) and a conn (how a transaction begins, holds the locks of its
// scopes and ends).
//
// Invariants:
//
//  1. An Update that returned nil is on disk: on SQLite WAL with
//     synchronous=FULL, read back on every connection; on Postgres COMMIT was
//     answered by COMMIT, without a warning.
//  2. A lane is a goroutine that commits updates of the same scopes; on SQLite
//     there is one, for all. It takes the updates that wait, gives each the
//     connection in turn, and commits them together. fn runs in its caller's
//     goroutine, so that a panic is the caller's own.
//  3. An fn that fails does not hurt its mates: what it wrote goes back to its
//     savepoint, or the transaction is rolled back and its mates run again.
//     Everything of a transaction runs again after a deadlock, a serialization
//     failure, or a guess that was wrong (that a turn behind its session's last
//     one is new, that nobody else raises the head of a feed).
//  4. A commit that fails is ErrUnavailable to every update in it, of unknown
//     outcome. A connection that is lost before leaves nothing: the update that
//     met it is ErrUnavailable, its mates run again.
//  5. Whatever is waited for ends by the deadline of the update or the view that
//     waits. A server that is gone is noticed then, and used again when it is
//     back.
//  6. A View is one read transaction, which sees one snapshot.
//  7. The head of a space's feed is raised in the transaction that appends the
//     changes; whoever does so second, runs again: numbers are gapless and in
//     commit order.
//  8. The tenant is first in every primary key, and every statement binds it
//     from the scope. On Postgres row-level security holds the same beneath the
//     statements, for the owner of the tables too.
//  9. A schema that is newer than the program, one whose migrations have other
//     names, and one with tables of another program are refused.
//  10. Hints between processes are never a part of a transaction that writes, and
//     what they miss is noticed by polling.
//  11. What is done to whole stores (Manifest, Backup, Restore, Copy) takes every
//     table that the database says it has, and is compared row by row by sums that
//     are equal on both engines. A file gets its name last.
//
// It stores the tables of migrations/, one for each kind of row; a checkpoint's
// items are rows of their own, a receipt is a JSON document. The text of a
// checkpoint's title stands twice, as an item and beside its hash, and goes twice.
//
// Numbers in statements ($1, $2, ...) appear in ascending order of first use,
// since SQLite numbers named parameters by appearance and Postgres by name; a
// test holds this. On Postgres statements are pipelined: see pgConn.
//
// Concurrency: all methods of Store are safe for concurrent use, and several
// processes may open one file, or one schema of a database. A Tx is for one
// goroutine and is dead when its fn has returned.
package sqlstore
