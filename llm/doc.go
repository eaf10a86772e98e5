// Package llm is what Dhruva asks of a model: text for messages, possibly
// under a JSON schema and possibly streamed, and vectors for texts. The two
// interfaces stand beside the fakes that tests use in their place.
//
// Invariants:
//  1. A Generator sends exactly the request it is given: it adds no system
//     text, no tools and no memory of earlier calls.
//  2. A Response's Text is the visible answer only. Reasoning, tool arguments
//     and refusals are never part of it.
//  3. A failure is an Error that is dhruva.ErrUnavailable and whose text holds
//     no secret; there is no fallback to another model or to a made-up answer.
//  4. A Generator does not retry. Whoever calls knows whether a second answer
//     is acceptable.
//
// The package stores nothing. Every implementation may be used from many
// goroutines at once.
package llm
