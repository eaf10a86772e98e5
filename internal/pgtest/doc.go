// Package pgtest is a private PostgreSQL server for tests and benchmarks: the
// installed programs, a data directory under the temporary one, a Unix socket.
//
// Invariants:
//
//  1. A machine without PostgreSQL fails the test with a sentence that says
//     what to install. Nothing is skipped.
//  2. When the process ends, however it ends, the server stops and its
//     directory is removed: a keeper process waits for the end of ours.
//  3. Every URL is a schema of its own, empty, owned by a role that is neither
//     superuser nor exempt from row-level security.
//  4. The server cannot be reached by other users of the machine: the socket
//     is in a directory of its own user.
//
// It stores nothing. All functions may be called by tests that run at once.
package pgtest
