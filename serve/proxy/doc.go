// Package proxy is the transparent provider proxy: a model call goes to the
// provider as the client wrote it, with at most a block of memory spliced into
// the last human turn, and the answer comes back byte for byte.
//
// Invariants:
//
//  1. Without an edit the body sent upstream is the client's, in the client's
//     own content coding; with one it differs by the splices that the receipt
//     lists. The query string is kept as it was sent.
//  2. Every response byte is relayed as it was read, flushed at once. The only
//     headers added are X-Dhruva-*; only Set-Cookie, hop-by-hop headers and a
//     provider's own X-Dhruva-* are dropped, from informational answers and
//     trailers too. (net/http hides a Connection header that says "close", and
//     with it what else that header names.)
//  3. Memory never fails or delays a model call beyond its budget: a Prepare
//     that errs, hangs or panics means forwarding unchanged. Exceptions are the
//     caller's own: a bad X-Dhruva header, an unknown space or checkpoint, a
//     missing right, X-Dhruva-Require: that one ends in a 503 wherever recall
//     was not tried or did not work.
//  4. The observer works on a bounded copy in its own goroutine. Its panic, its
//     hang or its backlog costs the capture and nothing else.
//  5. Capturing is called before the end of an answer is passed on, so that
//     the client's next request waits for this turn.
//  6. A Dhruva key never leaves the process, and a provider key is never sent
//     to a client. Nothing here logs a body, a query string or a header.
//  7. Errors of our own have the shape of the dialect that was called. What is
//     wrong with a request is said before what is wrong here.
//  8. Nothing is retried here. The transport may resend over a fresh
//     connection what a stale one did not take.
//  9. Request bodies, with what they are decoded and edited into, share one
//     budget of memory, taken as bytes arrive. Nothing from outside goes into a
//     receipt unbounded.
//  10. A call that has a receipt closes it, whatever the relay does.
//
// It stores nothing; receipts and turns are memory's.
//
// Concurrency: a Handler is safe for concurrent use. Each observed answer has
// one goroutine, which lives until its capture is committed; Drain waits for
// all of them.
package proxy
