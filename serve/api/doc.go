// Package api is the native HTTP API, /api/v6: JSON resources over the verbs
// of ledger, memory and auth, with an OpenAPI 3.1 document made from the code.
//
// Invariants:
//
//  1. The shapes on the wire are the types of package client, and no others.
//  2. Every refusal is an RFC 9457 problem with a code and the request's id,
//     also where no route matches. A body or a header value is never repeated
//     in it.
//  3. What may be done is decided below (ledger, memory, auth); this package
//     only says who asks. A foreign id and a missing one get the same answer.
//  4. A body is at most Config.MaxBody bytes of UTF-8 JSON without content
//     coding; a field or a query parameter that is not known is refused.
//  5. A success is sent only after its commit.
//  6. Every route that changes something takes an Idempotency-Key.
//
// It stores nothing.
//
// Concurrency: the handler serves any number of requests at once.
package api
