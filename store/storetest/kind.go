package storetest

import (
	"fmt"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// kind is one kind of row: how it is put, and how it is read back by its key.
type kind struct {
	name   string
	scopes []dhruva.Scope
	// full has a value in every field, bare only in those that it must have; both
	// have the same key.
	full, bare func() any
	put        func(dhruva.Tx, any) error
	get        func(dhruva.Tx, any) (any, error)
	canonical  func(any) any
	valid      func(any) error
	// again is what a second put with the same key answers: nil where it replaces.
	again error
}

// kindOf makes a kind from methods of one row type.
func kindOf[T interface{ Validate() error }](name string, again error, full, bare func() T, put func(dhruva.Tx, T) error, get func(dhruva.Tx, T) (T, error)) kind {
	return kind{
		name: name, scopes: []dhruva.Scope{tenant}, again: again,
		full: func() any { return full() }, bare: func() any { return bare() },
		put: func(tx dhruva.Tx, v any) error { return put(tx, v.(T)) },
		get: func(tx dhruva.Tx, v any) (any, error) { return get(tx, v.(T)) },
		canonical: func(v any) any {
			if c, ok := v.(interface{ Canonical() T }); ok {
				return c.Canonical()
			}
			return v
		},
		valid: func(v any) error { return v.(T).Validate() },
	}
}

// in says which scopes a kind is written in.
func (k kind) in(scopes ...dhruva.Scope) kind {
	k.scopes = scopes
	return k
}

// fixed makes a function of a value.
func fixed[T any](v T) func() T { return func() T { return v } }

// found picks a row of a list.
func found[T any](rows []T, err error, is func(T) bool) (T, error) {
	if n := slices.IndexFunc(rows, is); err == nil && n >= 0 {
		return rows[n], nil
	}
	var zero T
	if err == nil {
		err = fmt.Errorf("%w: not in the list of %d", dhruva.ErrNotFound, len(rows))
	}
	return zero, err
}

// kinds are the kinds of rows.
func kinds() []kind { return slices.Concat(stateKinds(), planeKinds(), memoryKinds(), tenantKinds()) }

// stateKinds are tenants, spaces, sessions, turns, checkpoints and branches.
func stateKinds() []kind {
	checkpoint := dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: fullCheckpoint().ID, Hash: fullCheckpoint().Hash}
	return []kind{
		kindOf("tenant", nil, fullTenant, fixed(dhruva.Tenant{ID: "t1"}), dhruva.Tx.PutTenant,
			func(tx dhruva.Tx, r dhruva.Tenant) (dhruva.Tenant, error) { return tx.Tenant(r.ID) }).in(system),
		kindOf("space", nil, fullSpace, fixed(dhruva.Space{Tenant: "t1", ID: "a"}), dhruva.Tx.PutSpace,
			func(tx dhruva.Tx, r dhruva.Space) (dhruva.Space, error) { return tx.Space(r.ID) }),
		kindOf("epoch", nil, fullEpoch, fixed(dhruva.Epoch{Space: "a"}), dhruva.Tx.PutEpoch,
			func(tx dhruva.Tx, r dhruva.Epoch) (dhruva.Epoch, error) { return tx.Epoch(r.Space) }),
		kindOf("session", nil, fullSession, fixed(dhruva.Session{Tenant: "t1", Space: "a", ID: "s"}), dhruva.Tx.PutSession,
			func(tx dhruva.Tx, r dhruva.Session) (dhruva.Session, error) { return tx.Session(r.ID) }),
		kindOf("chain", nil, fullChain, fullChain, dhruva.Tx.PutChain,
			func(tx dhruva.Tx, r dhruva.Chain) (dhruva.Chain, error) { return tx.Chain(r.Space, r.Hash) }),
		kindOf("turn", dhruva.ErrConflict, fullTurn, fixed(dhruva.Turn{Tenant: "t1", Space: "a", Session: "s", Seq: 5}), dhruva.Tx.AppendTurn,
			func(tx dhruva.Tx, r dhruva.Turn) (dhruva.Turn, error) { return tx.Turn(r.Session, r.Seq) }),
		kindOf("checkpoint", dhruva.ErrConflict, fullCheckpoint, fixed(checkpoint), dhruva.Tx.PutCheckpoint,
			func(tx dhruva.Tx, r dhruva.Checkpoint) (dhruva.Checkpoint, error) { return tx.Checkpoint(r.Hash) }),
		kindOf("branch", dhruva.ErrConflict, fullBranch, fixed(dhruva.Branch{Space: "a", Name: "branch", Head: digest("bare")}),
			func(tx dhruva.Tx, r dhruva.Branch) error { return tx.SwapBranch(r, dhruva.Hash{}) },
			func(tx dhruva.Tx, r dhruva.Branch) (dhruva.Branch, error) { return tx.Branch(r.Space, r.Name) }),
		kindOf("receipt", nil, fullReceipt, fixed(dhruva.Receipt{Tenant: "t1", ID: "receipt"}), dhruva.Tx.PutReceipt,
			func(tx dhruva.Tx, r dhruva.Receipt) (dhruva.Receipt, error) { return tx.Receipt(r.ID) }),
		kindOf("leaf", dhruva.ErrConflict, fullLeaf, fixed(dhruva.Leaf{Tenant: "t1", ID: "leaf", Kind: "k"}), dhruva.Tx.PutLeaf,
			func(tx dhruva.Tx, r dhruva.Leaf) (dhruva.Leaf, error) { return tx.Leaf(r.ID) }),
		kindOf("audit head", nil, fullAuditHead, fixed(dhruva.AuditHead{Tenant: "t1"}), dhruva.Tx.PutAuditHead,
			func(tx dhruva.Tx, r dhruva.AuditHead) (dhruva.AuditHead, error) { return tx.AuditHead() }),
	}
}

// planeKinds are what stands around checkpoints.
func planeKinds() []kind {
	return []kind{
		kindOf("head move", dhruva.ErrConflict, fullHeadMove, fixed(dhruva.HeadMove{Tenant: "t1", Space: "a", Branch: "branch", Seq: 3, Act: "a"}),
			dhruva.Tx.AppendHeadMove, func(tx dhruva.Tx, r dhruva.HeadMove) (dhruva.HeadMove, error) {
				rows, err := tx.HeadMoves(dhruva.HeadMoveQuery{Space: r.Space, Branch: r.Branch})
				return found(rows, err, func(o dhruva.HeadMove) bool { return o.Seq == r.Seq })
			}),
		kindOf("note", dhruva.ErrConflict, fullNote, fixed(dhruva.Note{Tenant: "t1", Space: "a", ID: "note", Kind: "k"}), dhruva.Tx.PutNote,
			func(tx dhruva.Tx, r dhruva.Note) (dhruva.Note, error) {
				rows, err := tx.ListNotes(dhruva.NoteQuery{Space: r.Space})
				return found(rows, err, func(o dhruva.Note) bool { return o.ID == r.ID })
			}),
		kindOf("claim", nil, fullClaim, fixed(dhruva.Claim{Tenant: "t1", Space: "a", ID: "claim", Status: "s"}), dhruva.Tx.PutClaim,
			func(tx dhruva.Tx, r dhruva.Claim) (dhruva.Claim, error) { return tx.Claim(r.ID) }),
		kindOf("worktree", nil, fullWorktree, fixed(dhruva.Worktree{Tenant: "t1", Space: "a", ID: "worktree", Status: "s"}), dhruva.Tx.PutWorktree,
			func(tx dhruva.Tx, r dhruva.Worktree) (dhruva.Worktree, error) { return tx.Worktree(r.ID) }),
		kindOf("document", nil, fullDocument, fixed(dhruva.Document{Tenant: "t1", Space: "a", ID: "document", Kind: "k"}), dhruva.Tx.PutDocument,
			func(tx dhruva.Tx, r dhruva.Document) (dhruva.Document, error) { return tx.Document(r.ID) }),
	}
}

// memoryKinds are sources and what is derived from them, and background work.
func memoryKinds() []kind {
	return []kind{
		kindOf("source", nil, fullSource, fixed(dhruva.Source{Tenant: "t1", Space: "a", Generation: 2, ID: "source"}), dhruva.Tx.PutSource,
			func(tx dhruva.Tx, r dhruva.Source) (dhruva.Source, error) {
				return tx.Source(r.Space, r.Generation, r.ID)
			}),
		kindOf("reference", nil, fullReference, fixed(dhruva.Reference{Space: "a", Generation: 2, Source: "source"}), dhruva.Tx.AddReference,
			func(tx dhruva.Tx, r dhruva.Reference) (dhruva.Reference, error) {
				rows, err := tx.References(r.Space, r.Generation, r.Source)
				return found(rows, err, func(o dhruva.Reference) bool { return o == r })
			}),
		kindOf("tombstone", nil, fullTombstone, fixed(dhruva.Tombstone{Space: "a", Generation: 2, Source: "source"}), dhruva.Tx.PutTombstone,
			func(tx dhruva.Tx, r dhruva.Tombstone) (dhruva.Tombstone, error) {
				return tx.Tombstone(r.Space, r.Generation, r.Source)
			}),
		kindOf("record", nil, fullRecord, fixed(dhruva.Record{Tenant: "t1", Space: "a", Generation: 2, ID: "record", Source: "s"}), dhruva.Tx.PutRecord,
			func(tx dhruva.Tx, r dhruva.Record) (dhruva.Record, error) {
				return tx.Record(r.Space, r.Generation, r.ID)
			}),
		kindOf("vector", nil, fullVector, fixed(dhruva.Vector{Tenant: "t1", Space: "a", Generation: 2, Source: "source", Model: "model", Part: 1}), dhruva.Tx.PutVector,
			func(tx dhruva.Tx, r dhruva.Vector) (dhruva.Vector, error) {
				rows, err := tx.ListVectors(dhruva.VectorQuery{Space: r.Space, Generation: r.Generation, Model: r.Model, Source: r.Source})
				return found(rows, err, func(o dhruva.Vector) bool { return o.Part == r.Part })
			}),
		kindOf("replay", nil, fullReplay, fixed(dhruva.Replay{Tenant: "t1", Space: "a", ID: "replay"}), dhruva.Tx.PutReplay,
			func(tx dhruva.Tx, r dhruva.Replay) (dhruva.Replay, error) { return tx.Replay(r.Space, r.ID) }),
		kindOf("job", dhruva.ErrConflict, fullJob, fixed(dhruva.Job{Tenant: "t1", Space: "a", ID: "job", Kind: "k", State: "s"}), dhruva.Tx.PutJob,
			func(tx dhruva.Tx, r dhruva.Job) (dhruva.Job, error) { return tx.Job(r.ID) }),
		kindOf("cursor", nil, fullCursor, fixed(dhruva.Cursor{Tenant: "t1", Space: "a", Node: "node"}), dhruva.Tx.PutCursor,
			func(tx dhruva.Tx, r dhruva.Cursor) (dhruva.Cursor, error) {
				rows, err := tx.Cursors(r.Space)
				return found(rows, err, func(o dhruva.Cursor) bool { return o.Node == r.Node })
			}),
	}
}

// tenantKinds are what belongs to a tenant as a whole, or to the installation.
func tenantKinds() []kind {
	call := dhruva.Idempotency{Tenant: "t1", Principal: "principal", Route: "route", Key: digest("key"), State: "s"}
	return []kind{
		kindOf("call", dhruva.ErrConflict, fullIdempotency, fixed(call), dhruva.Tx.PutIdempotency,
			func(tx dhruva.Tx, r dhruva.Idempotency) (dhruva.Idempotency, error) {
				return tx.Idempotency(r.Principal, r.Route, r.Key)
			}),
		kindOf("key", nil, fullKey, fixed(dhruva.Key{Tenant: "t1", ID: "key", Hash: []byte{7}}), dhruva.Tx.PutKey,
			func(tx dhruva.Tx, r dhruva.Key) (dhruva.Key, error) { return tx.Key(r.ID) }),
		kindOf("user", nil, fullUser, fixed(dhruva.User{Tenant: "t1", ID: "user"}), dhruva.Tx.PutUser,
			func(tx dhruva.Tx, r dhruva.User) (dhruva.User, error) { return tx.User(r.ID) }),
		kindOf("grant", nil, fullGrant, fixed(dhruva.Grant{Tenant: "t1", Space: "a", Principal: "principal", Role: "r"}), dhruva.Tx.PutGrant,
			func(tx dhruva.Tx, r dhruva.Grant) (dhruva.Grant, error) { return tx.Grant(r.Space, r.Principal) }),
		kindOf("provider", nil, fullProvider, fixed(dhruva.ProviderConfig{Tenant: "t1", Name: "provider"}), dhruva.Tx.PutProvider,
			func(tx dhruva.Tx, r dhruva.ProviderConfig) (dhruva.ProviderConfig, error) { return tx.Provider(r.Name) }),
		kindOf("node", nil, fullNode, fixed(dhruva.Node{ID: "node"}), dhruva.Tx.PutNode,
			func(tx dhruva.Tx, r dhruva.Node) (dhruva.Node, error) { return tx.Node(r.ID) }).in(system),
		kindOf("lease", nil, fullLease, fixed(dhruva.Lease{Tenant: "t1", Name: "lease"}), dhruva.Tx.PutLease,
			func(tx dhruva.Tx, r dhruva.Lease) (dhruva.Lease, error) { return tx.Lease(r.Tenant, r.Name) }),
		kindOf("lease of the installation", nil, func() dhruva.Lease { r := fullLease(); r.Tenant = ""; return r },
			fixed(dhruva.Lease{Name: "lease"}), dhruva.Tx.PutLease,
			func(tx dhruva.Tx, r dhruva.Lease) (dhruva.Lease, error) { return tx.Lease("", r.Name) }).in(system),
	}
}
