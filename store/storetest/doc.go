// Package storetest holds what every dhruva.Store must pass.
//
//   - Run is the conformance suite: every method and every promise of
//     store.go, on an empty store for each case. Traits say what is particular
//     about a store.
//   - Check looks at what a store holds and reports each broken invariant of the
//     whole program that can be seen through the Store interface.
//   - Same drives any number of stores with one random sequence of operations and
//     compares every answer, and shrinks what it finds; Campaign does so by the
//     hundred thousand, from a seed. memstore is the measure.
//   - Faulty wraps a Store so that one thing goes wrong: an update is lost or
//     kept without a word, or a row is refused; Rerun wraps one so that every fn
//     runs twice.
//
// Invariants, which tests hold:
//
//  1. Every method of dhruva.Tx is among the deeds (ways to write) or the looks
//     (ways to read) by which scopes, rollbacks, counts and dead transactions are
//     tested, and is drawn by Same and Campaign.
//  2. Every row that a method takes is among the kinds, whose every field is
//     tested: full, empty, bad, long, large, copied. Full rows have a value in
//     every field.
//  3. Faulty counts and refuses every writing method.
//  4. Each finding of Check is found when its invariant is broken; planted
//     faults are found by Same and Campaign, and again from the seed they name.
//
// It stores nothing. It may import only the root, so that it can be used by
// every layer's tests.
//
// Concurrency: Faulty and Rerun are as safe for it as the store within.
package storetest
