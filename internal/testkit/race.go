//go:build race

package testkit

// Raced: the test runs under the race detector, which makes the embedded
// database many times slower.
const Raced = true
