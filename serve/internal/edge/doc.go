// Package edge is what every protocol of the program shares at its HTTP border:
// request ids, the access log, panic recovery, credentials to Principal, body
// limits, the guard of a loopback listener, and the one table from errors to
// status codes.
//
// A server is put together from outside in:
//
//	Access.Wrap( Loopback( … routes … ( SecurityHeaders( MaxBytes( Guard.Wrap( handler ))))))
//
// Invariants:
//
//  1. A request has one id, minted here; what the client sends as one is not
//     looked at. It is in the context, in every problem, and in the log.
//  2. Errors become codes by one table (ProblemOf). Whatever is not in it is
//     500 "internal": shown without its text, logged in full with the id.
//  3. 400 is what could not be read as a request (Malformed); 422 is what was
//     read and can never be accepted (dhruva.ErrInvalid).
//  4. The log holds method, route template, key id, sizes, status and time;
//     never a path, a query, a header or a body, nor the text of a 4xx error,
//     which may quote its input.
//  5. Nothing but X-Dhruva-Request-Id is added to an answer, unless a handler
//     asks for SecurityHeaders: a proxied answer stays the provider's.
//
// It stores nothing. Everything is safe for concurrent use.
package edge
