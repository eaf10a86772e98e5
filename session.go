package dhruva

import "time"

// SessionKind tells sessions that people hold from those that only carry text.
type SessionKind string

// The kinds. A notes session carries what was remembered outside any
// conversation; there is one for each space, made on first use.
const (
	SessionChat  SessionKind = "chat"
	SessionProxy SessionKind = "proxy"
	SessionNotes SessionKind = "notes"
)

// Session is one conversation: an append-only stream of turns.
type Session struct {
	Tenant TenantID
	// Space is where the session lives. FRESH sessions live in a home space,
	// which is shown as null outside.
	Space SpaceID
	ID    SessionID
	Kind  SessionKind
	Fresh bool
	Title string
	// Provider and Model were used last; any turn may use others.
	Provider string
	Model    string
	// Branch is the branch the session works on; "main" for ordinary sessions.
	Branch string
	// Seeded is informational; it bounds nothing.
	Seeded Hash
	// ForkedFrom is the source of a fork, zero otherwise.
	ForkedFrom Hash
	// ForkedSession and ForkedSeq name the turn a fork was taken from, if any.
	ForkedSession SessionID
	ForkedSeq     int64
	// Mount is nil when nothing is mounted.
	Mount *Mount
	// LastSeq is the number of the last turn; 0 when there is none.
	LastSeq int64
	// Tip is the turn that the next one follows; 0 means the last. The turns on
	// the way from it to the root are what the conversation is; the others are
	// siblings that an edit or a regeneration left aside.
	Tip       int64
	Owner     PrincipalID
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt time.Time
}

// MainBranch is the branch of ordinary sessions.
const MainBranch = "main"

// Mount is a checkpoint held by a session: prompts see it, its nearest
// ancestors, and turns after Base.
type Mount struct {
	Checkpoint Hash
	// Depth is how many checkpoints are shown: 1 or 3.
	Depth int
	// Base is the last sequence number when the mount was made.
	Base int64
	At   time.Time
}

// Chain ties a prefix of human turns to the session that holds it, so that a
// proxied conversation that resends its history is recognised. Hash is
// H(previous, normalised text); the row with the greatest Seq is the newest.
type Chain struct {
	Space   SpaceID
	Hash    Hash
	Session SessionID
	// Seq is the number of the human turn that ends this prefix.
	Seq int64
}
