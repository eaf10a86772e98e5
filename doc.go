// Package dhruva is the vocabulary of steady memory for AI work: what a space,
// session, turn, checkpoint, source, evidence and receipt are, how a checkpoint
// is hashed, and what a store must promise. It imports no other package of the
// module, so every layer can speak it.
//
// Two kinds of data, never mixed:
//
//   - the event stream: a Turn is what was said; turns are append-only;
//   - the state: a Checkpoint is what was concluded; checkpoints are immutable
//     and hash-linked.
//
// Between them stand Sources: content-stable names of texts that turns and
// checkpoint items said. A Source owns no text; evidence is read through its
// References, under the gate.
//
// Invariants that the types carry:
//
//  1. Turn numbers start at 1 and have no gaps within a session.
//  2. A turn belongs to a Window only if it comes after the base and its
//     request began at or after the base.
//  3. A checkpoint's Hash covers version, space, ordered parents, creation
//     time, author, window and a salted digest of every text, byte by byte as
//     docs/format.md says; VerifyCheckpoint recomputes it, also after an erasure.
//  4. Every row is keyed by tenant first; a Scope says what may be touched.
//  5. A Plan without edits leaves a request's bytes as they are.
package dhruva
