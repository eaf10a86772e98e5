// Package client is the native API (/api/v6) as Go types and Go calls. The
// server answers with these very types, so the shapes on the wire are written
// down once, here.
//
// Invariants:
//
//  1. Field names are those of docs/design.md's interface table; a field may be
//     added, none is renamed.
//  2. An answer that is not a success becomes a *Problem that unwraps to the
//     sentinel error of the root package; an answer that never came is
//     dhruva.ErrUnavailable.
//  3. A checkpoint's items come back in the form they were sent in: what was a
//     plain string is a plain string.
//  4. The key is sent only to BaseURL, and never follows a redirect.
//
// It stores nothing.
//
// Concurrency: a Client is safe for concurrent use.
package client
