// Package memstore is the executable specification of dhruva.Store: maps,
// slices and one lock. It exists to be obviously right, to be the fake of every
// other package's tests, and to be what sqlstore is compared with. It keeps
// everything in memory and forgets it when closed.
//
// Invariants:
//
//  1. A value is copied on its way in and on its way out (Canonical), so that no
//     caller shares memory with a row.
//  2. An Update whose fn fails or panics leaves no trace: every write pushes its
//     reversal, and reversals run newest first.
//  3. Updates are serialized by one lock, which is more than the contract asks;
//     a View holds the same lock for reading, so its snapshot is the present.
//  4. A row is reached only through a scope that covers it; a turn, and what is
//     said of it, is where its session is.
//
// It stores: the rows of every role of dhruva.Tx, and the changes of spaces.
//
// Concurrency: all methods of Store are safe for concurrent use. A Tx is for
// one goroutine and is dead when its fn has returned.
package memstore
