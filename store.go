package dhruva

import (
	"context"
	"iter"
	"time"
)

// Store keeps rows. It is authoritative and dumb: no method checks a
// permission, a fence or a parent; those rules live in ledger and in the gate.
//
// What every implementation promises:
//
//   - View sees one consistent snapshot and writes nothing.
//   - Updates of one scope are serialized, across processes. A lock on one
//     level (System, Tenant, Space) never blocks another. Several scopes take
//     their locks in Compare order; all of them must be of one tenant, or System.
//     fn may begin before its turn has come; what it reads has waited for that.
//   - Update is durable when it returns nil. When fn fails its error is
//     returned as it is, nothing of it is kept, and other updates that share
//     its commit are not hurt. When the commit fails the error wraps
//     ErrUnavailable and the outcome is unknown.
//   - fn may run more than once and must have no side effects; it must not keep
//     the Tx, and must not call the Store.
//   - A Tx reaches only rows that its scopes cover: another tenant or space is
//     ErrDenied for writes and absent (ErrNotFound, or left out of lists) for
//     reads. A Tenant scope covers all spaces of the tenant. System covers the
//     tenants and the lookup of keys by hash, and no tenant's rows: a write
//     through it would not be serialized with the tenant's own.
//   - Values go in and come out by copy; times are kept to the microsecond, UTC.
//   - A row that its Validate refuses (text that is not UTF-8 or holds NUL, an
//     empty key) is ErrInvalid, before all else; a row comes back as its
//     Canonical. What a store does not look at: whether a kind, state or role is
//     a known one, and whether rows refer to rows that exist.
//   - Nothing is found by text that no row can hold: it is ErrNotFound, a list
//     filtered by it or after it is empty, and dropping it does nothing.
//   - An Update that writes more than MaxUpdateRows rows is ErrTooLarge, also
//     when fn ignores that error. The same holds for a write that fails as
//     ErrUnavailable. Any other refusal spoils nothing: fn may go on.
//   - An Update that waits for a lock gives up when its context ends.
//   - Names are equal, and lists are ordered, by their bytes.
type Store interface {
	View(ctx context.Context, s Scope, fn func(Tx) error) error
	Update(ctx context.Context, scopes []Scope, fn func(Tx) error) error
	// Changes yields the changes of a Space scope with Seq > after, gapless and
	// in commit order, up to the head at the time of the call, then ends. An
	// after beyond the head yields nothing; one below the space's Tail is
	// ErrCompacted, also 0 and less; so is a compaction that overtakes the
	// consumer. A failure is the last thing yielded; another scope is ErrInvalid.
	// Nothing is locked while the consumer works.
	Changes(ctx context.Context, s Scope, after int64) iter.Seq2[Change, error]
	// Hints yields the scopes in which something was committed, by whatever
	// process, from the beginning of the iteration on: some time after the
	// commit, several commits of a scope perhaps as one. The system scope means
	// that hints may have been missed and that everything may have changed; it
	// is the first one yielded. Otherwise they are the scopes that the Updates
	// named: a tenant scope stands for all spaces of the tenant. A slow consumer
	// misses no scope. It ends when ctx ends or the store is closed. A hint is
	// where to look, never what happened.
	Hints(ctx context.Context) iter.Seq[Scope]
	Close() error
}

// ChangeKind says what changed.
type ChangeKind string

// The kinds of change.
const (
	ChangeSource     ChangeKind = "source"      // Ref is a SourceID: put, or its state or references changed
	ChangeSourceGone ChangeKind = "source_gone" // Ref is a SourceID
	ChangeCheckpoint ChangeKind = "checkpoint"  // Ref is a Hash
	ChangeGeneration ChangeKind = "generation"  // Ref is the new generation
)

// Change is one entry of a space's change feed.
type Change struct {
	Seq  int64
	Kind ChangeKind
	Ref  string
	At   time.Time
}

// Tx is a transaction: small roles of one-statement methods. Lookups of what
// is absent answer ErrNotFound; lists of nothing are empty. The tenant is that
// of the transaction's scope; rows of another tenant are ErrDenied. Writes in a
// View are ErrDenied. A Tx is for one goroutine, and reaches nothing when its
// fn has returned.
type Tx interface {
	TenantRows
	SpaceRows
	SessionRows
	TurnRows
	CheckpointRows
	LineageRows
	BranchRows
	HeadMoveRows
	NoteRows
	ClaimRows
	WorktreeRows
	DocumentRows
	SourceRows
	RecordRows
	VectorRows
	ReplayRows
	ReceiptRows
	AuditRows
	JobRows
	CursorRows
	IdempotencyRows
	KeyRows
	UserRows
	GrantRows
	ProviderRows
	NodeRows
	LeaseRows
}

// Page asks for at most Limit rows (0 means 100, at most 1000) after a cursor:
// the id of the last row seen, "" for the first page. A cursor into a list that
// is not ordered by id must name a row that the scope covers, or the page is
// empty.
type Page struct {
	After string
	Limit int
}

// Size is the effective limit of the page.
func (p Page) Size() int {
	switch {
	case p.Limit <= 0:
		return 100
	case p.Limit > 1000:
		return 1000
	}
	return p.Limit
}

// TenantRows are the tenants of the installation.
type TenantRows interface {
	Tenant(TenantID) (Tenant, error)
	// ListTenants lists by id; it works in System scope only (elsewhere the list
	// is empty).
	ListTenants(Page) ([]Tenant, error)
	// PutTenant inserts or replaces.
	PutTenant(Tenant) error
}

// SpaceRows are the spaces of the tenant and their epochs.
type SpaceRows interface {
	Space(SpaceID) (Space, error)
	// SpacesNamed returns the live (not deleted), not home spaces with exactly
	// this name, oldest first.
	SpacesNamed(name string) ([]Space, error)
	// HomeSpace returns the home space of a principal.
	HomeSpace(PrincipalID) (Space, error)
	// ListSpaces lists live spaces that are not homes, by id.
	ListSpaces(Page) ([]Space, error)
	// PutSpace inserts or replaces.
	PutSpace(Space) error
	// Epoch of a space without one is {Generation: 1} with the rest zero.
	Epoch(SpaceID) (Epoch, error)
	// PutEpoch replaces generation, fence and ACL version; Head and Tail are the
	// store's own and are left as they are.
	PutEpoch(Epoch) error
	// AppendChange gives the change the next sequence number of the space
	// (Head + 1) and returns it. The space need not exist, but have an id.
	AppendChange(SpaceID, Change) (int64, error)
	// CompactChanges removes the changes up to and with a number, which becomes
	// the Tail. It counts as many rows as it removes; a number beyond the Head is
	// ErrInvalid, one at or below the Tail does nothing.
	CompactChanges(SpaceID, int64) error
}

// SessionQuery selects sessions by update time, newest first.
type SessionQuery struct {
	Space SpaceID     // "" means every space the scope covers
	Kind  SessionKind // "" means any
	Page
}

// SessionRows are the sessions of the scope's spaces.
type SessionRows interface {
	Session(SessionID) (Session, error)
	// PutSession inserts or replaces. To move a session both its spaces must be
	// covered.
	PutSession(Session) error
	// ListSessions lists live sessions in descending (UpdatedAt, ID).
	ListSessions(SessionQuery) ([]Session, error)
	// Chain returns the newest link with this hash in the space: the greatest
	// Seq, then the greatest session id.
	Chain(SpaceID, Hash) (Chain, error)
	// PutChain inserts; a link that exists is left alone.
	PutChain(Chain) error
	// SessionHint returns the session a client's hint was bound to in the
	// space; BindHint binds it, replacing an earlier binding. The hint is a
	// hash, never the client's own text.
	SessionHint(SpaceID, Hash) (SessionID, error)
	BindHint(SpaceID, Hash, SessionID) error
}

// TurnQuery selects turns of one session with After < Seq <= Through
// (Through 0: no upper bound), ascending, or the last ones first when Newest.
type TurnQuery struct {
	Session SessionID
	After   int64
	Through int64
	Limit   int // 0: no limit
	Newest  bool
}

// TurnRows are the turns of the scope's sessions. A turn is in the space where
// its session is: when the session moves, Space of its turns reads so. (While
// there is no such session it is where it was written.)
type TurnRows interface {
	Turn(SessionID, int64) (Turn, error)
	// AppendTurn inserts; an existing (session, seq) is ErrConflict.
	AppendTurn(Turn) error
	ListTurns(TurnQuery) ([]Turn, error)
	// Seams lists the seams of a session with after < Seq <= through (0: no upper
	// bound), ascending.
	Seams(s SessionID, after, through int64) ([]Seam, error)
	// RedactTurn takes the text of a turn away for good: Content becomes empty
	// and Redacted true, all else stays. An absent turn is ErrNotFound, one in a
	// space that is not covered ErrDenied.
	RedactTurn(SessionID, int64) error
}

// CheckpointQuery selects checkpoints of a space that are not hidden, newest
// first.
type CheckpointQuery struct {
	Space  SpaceID
	Branch string // "" means any
	// Session, when set, selects those whose window is of this session.
	Session SessionID
	// Item, when set, selects those that have an item with this id.
	Item ItemID
	Page // After is a hash in hexadecimal
}

// CheckpointRows are the checkpoints of the scope's spaces. Those that were
// hidden are found by hash, id and prefix like others, and are in no list.
type CheckpointRows interface {
	Checkpoint(Hash) (Checkpoint, error)
	CheckpointByID(CheckpointID) (Checkpoint, error)
	// CheckpointsByPrefix returns up to limit checkpoints whose hexadecimal
	// hash begins with prefix, in hash order.
	CheckpointsByPrefix(prefix string, limit int) ([]Checkpoint, error)
	// PutCheckpoint inserts; an existing hash or id is ErrConflict.
	PutCheckpoint(Checkpoint) error
	// RedactItem takes text, attributes, cites and salt of an item away for good:
	// it keeps id, kind and digest, and Redacted becomes true. An absent item is
	// ErrNotFound, a checkpoint in a space that is not covered ErrDenied. It
	// counts one row, also when several items have that id.
	RedactItem(Hash, ItemID) error
	// HideCheckpoint sets HiddenAt, once: what is hidden already stays as it is. An
	// absent checkpoint is ErrNotFound, one in a space that is not covered
	// ErrDenied, a time that ValidTime refuses ErrInvalid.
	HideCheckpoint(Hash, time.Time) error
	// ListCheckpoints lists in descending (CreatedAt, Hash).
	ListCheckpoints(CheckpointQuery) ([]Checkpoint, error)
}

// BranchRows are the named heads of the scope's spaces.
type BranchRows interface {
	Branch(SpaceID, string) (Branch, error)
	ListBranches(SpaceID) ([]Branch, error)
	// SwapBranch moves a head from old to b.Head and sets the disposition, or
	// answers ErrConflict when the head is not old. A zero old means that the
	// branch must not exist; it is then created.
	SwapBranch(b Branch, old Hash) error
	// DropBranch removes a branch whose head is old, or answers ErrConflict, also
	// when there is no such branch.
	DropBranch(s SpaceID, name string, old Hash) error
}

// SourceQuery selects sources of one generation, by id.
type SourceQuery struct {
	Space      SpaceID
	Generation int64
	State      SourceState // "" means any
	Class      SourceClass // "" means any
	Page
}

// SourceRows are the sources of the scope's spaces, and what is said of them.
type SourceRows interface {
	Source(SpaceID, int64, SourceID) (Source, error)
	// PutSource inserts or replaces.
	PutSource(Source) error
	ListSources(SourceQuery) ([]Source, error)
	CountSources(SpaceID, int64) (int, error)
	// AddReference inserts; a reference that exists is left alone.
	AddReference(Reference) error
	// References lists a source's references, in the order they were added.
	References(SpaceID, int64, SourceID) ([]Reference, error)
	// SourcesOfTurn lists the sources that refer to a turn, by id.
	SourcesOfTurn(SpaceID, int64, SessionID, int64) ([]SourceID, error)
	// DropReference removes one reference, DropSource a source with all of its
	// references. What is absent is left alone.
	DropReference(Reference) error
	DropSource(SpaceID, int64, SourceID) error
	Tombstone(SpaceID, int64, SourceID) (Tombstone, error)
	// ListTombstones lists those of a generation by source id.
	ListTombstones(SpaceID, int64, Page) ([]Tombstone, error)
	// PutTombstone inserts or replaces.
	PutTombstone(Tombstone) error
}

// ReceiptQuery selects receipts, newest first.
type ReceiptQuery struct {
	Space   SpaceID // "" means every space the scope covers
	Session SessionID
	Kind    string
	State   string // "" means any
	// Before, when set, selects those created before it (to the microsecond).
	Before time.Time
	Page
}

// ReceiptRows are the receipts of the scope.
type ReceiptRows interface {
	Receipt(ReceiptID) (Receipt, error)
	// PutReceipt inserts or replaces.
	PutReceipt(Receipt) error
	// ListReceipts lists in descending id (ids are minted in time order).
	ListReceipts(ReceiptQuery) ([]Receipt, error)
}

// KeyRows are the keys of the tenant. KeyByHash works in System scope only;
// the other methods in Tenant scope.
type KeyRows interface {
	KeyByHash([]byte) (Key, error)
	Key(KeyID) (Key, error)
	// PutKey inserts or replaces. A hash that is another key's, of whatever
	// tenant, is ErrConflict.
	PutKey(Key) error
	// ListKeys lists by id.
	ListKeys(Page) ([]Key, error)
}
