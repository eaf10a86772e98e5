// Package testkit holds what the tests of every layer share: a scripted model
// provider on a loopback socket that records each request byte, well-formed
// replies of the three dialects, and a clock that a test moves by hand.
//
// Invariants:
//  1. A Provider answers queued replies in the order they were queued, one per
//     request; with an empty queue its default responder answers.
//  2. What Requests returns is what arrived: method, request target and header
//     as parsed, body bytes before any decoding of a content coding.
//  3. Nothing here sleeps. A delay is a channel the test closes.
//  4. Nothing here imports a layer of the product, so any layer may use it.
//
// It stores nothing outside memory. Provider and Clock may be used from many
// goroutines at once.
package testkit
