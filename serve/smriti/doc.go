// Package smriti is the compatible HTTP API: /api/v1, /api/v2, /api/v4 and
// /api/v5, with the paths, fields, codes and error bodies that clients of Smriti
// rely on. It is a translation of JSON to the verbs of ledger, memory and agents.
//
// Invariants:
//
//  1. What may be done, and what a model is given, is decided below; this package
//     has no rule of its own. A foreign id and a missing one get the same answer.
//  2. Every refusal is {"detail": …} by one table (errors.go); a value of another
//     type than the schema's is 422 with a list of {loc, msg, type}. An id that is
//     no UUID is 422 and never reaches a store.
//  3. Fields and query parameters that are not known are ignored.
//  4. A success is sent only after its commit. POST routes that make something
//     take an Idempotency-Key.
//  5. Without a key nobody is served, unless Config.Local says so: then requests
//     whose Host and Origin are of this machine act as the local owner. Routes of
//     worktrees want a key always. There is no CORS.
//  6. A provider that answers nothing real ("mock") is asked only when a request
//     says use_mock or names it.
//
// It stores documents through the ledger, as JSON: of the kind smriti_session a
// transcript that was pasted with what was drawn from it, smriti_pack a context
// pack, smriti_memory a memory of the old API, smriti_commit what a commit says
// beyond its checkpoint.
//
// Concurrency: the handler serves any number of requests at once.
package smriti
