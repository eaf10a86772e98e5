// Package storetest holds what every dhruva.Store must pass.
//
//   - Run is the conformance suite: every method and every promise of
//     store.go, on an empty store for each case.
//   - Check looks at what a store holds and reports each broken invariant of the
//     whole program that can be seen through the Store interface.
//   - Same drives two stores with one random sequence of operations and compares
//     every answer; memstore is the measure.
//   - Faulty wraps a Store so that the n-th update fails, before or after it is
//     kept; Rerun wraps one so that every fn runs twice.
//
// It stores nothing. It may import only the root, so that it can be used by
// every layer's tests.
package storetest
