// Package ledger is the write model: spaces, sessions, turns, checkpoints,
// sources and receipts, with every rule about them written once. It is
// deterministic, uses no network and no model, and is the only package that
// writes through a dhruva.Store besides auth (keys, tenants).
//
// Invariants:
//
//  1. Turn numbers start at 1 and have no gaps within a session; the two turns
//     of an exchange stand side by side. No lock is held while a model is called.
//  2. A write that belongs to a generation that has ended since its request
//     began is ErrFenced and leaves nothing.
//  3. A branch head moves in one function, which writes the reflog: to a checkpoint
//     whose first parent it was, back or forth along the reflog (Undo, Redo), or
//     away from a checkpoint that is deleted.
//  4. What a model is given (Resolve), what a draft reads and what a checkpoint
//     records as its window are one function: resolve in window.go.
//  5. A session's context never holds turns of another session, checkpoints of
//     another space, or turns whose request began before the boundary.
//  6. A source is named by what it says; it is made in the Update that stored
//     the text, signed, and announced as a Change. A tombstoned id makes none.
//  7. A source's class is set by the path that captured it and only ever rises.
//  8. A final receipt is never changed.
//  9. Whoever may not see a thing is told that it does not exist. The one
//     exception is the name of a space, which is taken or free for all.
//  10. Sources are of the memory plane: nothing that a principal without
//     memory:write says or saves becomes one. AppendExchange and Commit then store
//     turns and checkpoints alone.
//  11. A call with an idempotency key has one effect, whatever became of its
//     replies and commits, and however many run at once (Once).
//  12. A receipt that ends commits with its audit leaf, which is of it to the byte.
//     Places in the log are gapless, and each leaf has one.
//  13. What is written of a job is written by the number of its last claim, and
//     what is written under a lease by the number of the lease; a clock that is
//     wrong costs time, never order.
//  14. What is erased goes with everything that says it or was drawn from it;
//     hashes, numbers and places stay. An erasure that was interrupted is finished
//     by doing it again (Erase, End).
//  15. A session's turns are a tree that only grows, and its conversation is the
//     path from the tip to the root. What is said follows the tip of the moment
//     when it is stored; only an edit, a regeneration and a client's own history
//     make siblings. A window is what of the path lies after its base, and is found
//     without reading what it does not give (path.go).
//  16. A fork from a turn shows what its source showed there, and never more of it.
//  17. A mounted checkpoint that was deleted is an error until it is unmounted; no
//     other context takes its place.
//  18. A checkpoint is never changed. One that was deleted is missing for everybody
//     but Verify and erasures; no checkpoint that is shown has a first parent that
//     is not, and no branch is at one.
//  19. A merge writes nothing while a conflict is open, and loses nothing that one
//     side did and the other left alone (MergeItems).
//
// It stores nothing of its own. Identifiers, salts and times are made before
// an Update begins, so that the store may run its function again.
//
// Concurrency: a Ledger is safe for concurrent use.
package ledger
