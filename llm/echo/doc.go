// Package echo is the built-in provider: it needs no key and no network, and
// answers every request with what it was told, so that a person can see which
// memory was put before a model. The reply is "Echo: " and the text of the last
// user message as received, injected blocks included. When JSON is asked for,
// the reply is a JSON value that fits the schema and holds that text.
//
// It speaks Chat Completions, Responses and Messages, whole and streamed, with
// the official event sequences, and lists its model in both shapes.
//
// Invariants:
//  1. The answer is a function of the request: ids are hashes of it, times are
//     constant, token counts are estimates of a quarter of the runes.
//  2. Any model id is accepted and answered under.
//  3. A malformed body is refused in the dialect's own error shape.
//  4. A length limit is checked but not applied: the point of echo is to show
//     everything it was told.
//  5. Nothing is kept between requests: previous_response_id is repeated, not
//     looked up, and a response cannot be fetched later.
//
// The package stores nothing. A Provider may be used from many goroutines.
package echo
