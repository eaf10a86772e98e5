// Package mcpserver gives agents the memory plane as MCP tools: recall, read
// and remember, over streamable HTTP and over stdio, on the official Go SDK.
// It translates; every rule is memory's.
//
// Invariants:
//
//  1. Each HTTP request is authenticated by its own credential. The transport
//     is stateless: there is no session whose right a later request inherits.
//  2. A tool fails as a tool error with a sentence that says what to do next,
//     so that the model can act on it. A failure of memory never reads as
//     "nothing is known".
//  3. Recalled text is rendered as quoted reference data, one line a piece.
//  4. The tool list stays small (a test measures it): clients put it into every
//     prompt.
//
// It stores nothing. For as long as the process lives it remembers, within
// bounds, which tokens the short refs of a recall's text stand for.
//
// Concurrency: a Server is safe for concurrent use.
package mcpserver
