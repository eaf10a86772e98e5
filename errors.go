package dhruva

import "errors"

// The sentinel errors of the whole program. A package wraps one of them once
// at its boundary ("ledger: mount: %w"); an edge maps them to its own codes by
// one table and treats everything else as internal.
var (
	// ErrNotFound: the thing does not exist, or is not visible to the caller.
	// A foreign id and a missing id are the same error on purpose.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the state moved on (stale branch head, duplicate, ambiguous
	// name). Reading again and retrying may help.
	ErrConflict = errors.New("conflict")
	// ErrInvalid: the input can never be accepted as it is.
	ErrInvalid = errors.New("invalid")
	// ErrDenied: the caller is known but lacks the right.
	ErrDenied = errors.New("denied")
	// ErrUnauthenticated: no credential, or one that does not stand.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrFenced: the write belongs to a generation or a sequence that has been
	// closed by a clear or a purge.
	ErrFenced = errors.New("fenced")
	// ErrUnavailable: a dependency failed or a deadline passed. The outcome of
	// a write that returns it is unknown until an idempotency key settles it.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooLarge: the input exceeds a named limit.
	ErrTooLarge = errors.New("too large")
	// ErrCompacted: the changes after that number are no longer kept. The follower
	// rebuilds from rows and goes on from the head it read with them.
	ErrCompacted = errors.New("compacted")
)
