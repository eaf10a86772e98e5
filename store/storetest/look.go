package storetest

import (
	"reflect"

	"github.com/dhruva-memory/dhruva"
)

// look is one way to read what fill put at a place. Every reading method of Tx
// has one at least; a test holds this.
type look struct {
	method string
	extent extent
	run    func(dhruva.Tx, place) (any, error)
	// nothing is what is answered where there is nothing, if not a zero value.
	nothing func(dhruva.Reach, place) any
}

// seeing wraps a read, so that looks are of one type.
func seeing[T any](read func(dhruva.Tx, place) (T, error)) func(dhruva.Tx, place) (any, error) {
	return func(tx dhruva.Tx, p place) (any, error) { return read(tx, p) }
}

// finds runs a look; what it answers besides an error counts as nothing when it
// is zero, an empty list, or what the look says.
func (l look) finds(tx dhruva.Tx, r dhruva.Reach, p place) (found bool, v any, err error) {
	v, err = l.run(tx, p)
	got := reflect.ValueOf(v)
	empty := got.IsZero() || got.Kind() == reflect.Slice && got.Len() == 0
	if !empty && l.nothing != nil {
		empty = reflect.DeepEqual(v, l.nothing(r, p))
	}
	return !empty, v, err
}

// looks are the ways to read.
func looks() []look {
	l := func(method string, e extent, run func(dhruva.Tx, place) (any, error)) look {
		return look{method: method, extent: e, run: run}
	}
	all := dhruva.Page{Limit: 1000}
	return []look{
		l("Tenant", ofTenants, seeing(func(tx dhruva.Tx, p place) (dhruva.Tenant, error) { return tx.Tenant(p.tenant) })),
		l("ListTenants", ofSystem, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Tenant, error) { return tx.ListTenants(all) })),
		l("Space", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Space, error) { return tx.Space(p.space) })),
		l("SpacesNamed", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Space, error) { return tx.SpacesNamed("name") })),
		l("ListSpaces", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Space, error) { return tx.ListSpaces(all) })),
		{"Epoch", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Epoch, error) { return tx.Epoch(p.space) }),
			func(_ dhruva.Reach, p place) any { return dhruva.Epoch{Space: p.space, Generation: 1} }},
		l("Session", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Session, error) { return tx.Session(p.session().ID) })),
		l("ListSessions", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Session, error) {
			return tx.ListSessions(dhruva.SessionQuery{Space: p.space, Page: all})
		})),
		l("ListSessions", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Session, error) {
			return tx.ListSessions(dhruva.SessionQuery{Page: all})
		})),
		l("Chain", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Chain, error) { return tx.Chain(p.space, p.hash()) })),
		l("SessionHint", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.SessionID, error) { return tx.SessionHint(p.space, p.hash()) })),
		l("Turn", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Turn, error) { return tx.Turn(p.turn().Session, 1) })),
		l("ListTurns", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Turn, error) {
			return tx.ListTurns(dhruva.TurnQuery{Session: p.turn().Session})
		})),
		l("Checkpoint", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Checkpoint, error) { return tx.Checkpoint(p.checkpoint().Hash) })),
		l("CheckpointByID", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Checkpoint, error) { return tx.CheckpointByID(p.checkpoint().ID) })),
		l("CheckpointsByPrefix", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Checkpoint, error) { return tx.CheckpointsByPrefix("", 1000) })),
		l("ListCheckpoints", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Checkpoint, error) {
			return tx.ListCheckpoints(dhruva.CheckpointQuery{Space: p.space, Page: all})
		})),
		l("ListCheckpoints", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Checkpoint, error) {
			return tx.ListCheckpoints(dhruva.CheckpointQuery{Page: all})
		})),
		l("Branch", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Branch, error) { return tx.Branch(p.space, p.id()) })),
		l("ListBranches", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Branch, error) { return tx.ListBranches(p.space) })),
		l("Seams", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Seam, error) { return tx.Seams(p.turn().Session, 0, 0) })),
		l("ListOutlines", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Outline, error) {
			return tx.ListOutlines(dhruva.OutlineQuery{Space: p.space, Page: all})
		})),
		l("Ancestry", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Outline, error) { return tx.Ancestry(p.checkpoint().Hash, 9) })),
		l("HeadMoves", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.HeadMove, error) {
			return tx.HeadMoves(dhruva.HeadMoveQuery{Space: p.space, Limit: 1000})
		})),
		l("ListNotes", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Note, error) {
			return tx.ListNotes(dhruva.NoteQuery{Space: p.space, Page: all})
		})),
		l("Claim", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Claim, error) { return tx.Claim(p.claim().ID) })),
		l("ListClaims", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Claim, error) {
			return tx.ListClaims(dhruva.ClaimQuery{Space: p.space, Page: all})
		})),
		l("Worktree", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Worktree, error) { return tx.Worktree(p.worktree().ID) })),
		l("ListWorktrees", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Worktree, error) {
			return tx.ListWorktrees(dhruva.WorktreeQuery{Space: p.space, Page: all})
		})),
		l("Document", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Document, error) { return tx.Document(p.document().ID) })),
		l("ListDocuments", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Document, error) {
			return tx.ListDocuments(dhruva.DocumentQuery{Space: p.space, Page: all})
		})),
		l("Source", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Source, error) { return tx.Source(p.space, 2, p.source().ID) })),
		l("ListSources", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Source, error) {
			return tx.ListSources(dhruva.SourceQuery{Space: p.space, Generation: 2, Page: all})
		})),
		l("CountSources", ofSpace, seeing(func(tx dhruva.Tx, p place) (int, error) { return tx.CountSources(p.space, 2) })),
		l("References", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Reference, error) {
			return tx.References(p.space, 2, p.source().ID)
		})),
		l("SourcesOfTurn", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.SourceID, error) {
			return tx.SourcesOfTurn(p.space, 2, p.turn().Session, 1)
		})),
		l("Tombstone", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Tombstone, error) { return tx.Tombstone(p.space, 2, p.source().ID) })),
		l("ListTombstones", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Tombstone, error) { return tx.ListTombstones(p.space, 2, all) })),
		l("Record", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Record, error) { return tx.Record(p.space, 2, p.record().ID) })),
		l("ListRecords", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Record, error) {
			return tx.ListRecords(dhruva.RecordQuery{Space: p.space, Generation: 2, Page: all})
		})),
		l("ListVectors", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Vector, error) {
			return tx.ListVectors(dhruva.VectorQuery{Space: p.space, Generation: 2, Page: all})
		})),
		l("Replay", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Replay, error) { return tx.Replay(p.space, p.replay().ID) })),
		l("Replays", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Replay, error) {
			return tx.Replays(p.space, p.replay().Dialect, p.hash(), 100)
		})),
		l("ReplaysOf", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.ReplayID, error) {
			return tx.ReplaysOf(p.space, p.source().ID, all)
		})),
		l("Receipt", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Receipt, error) { return tx.Receipt(p.receipt().ID) })),
		l("ListReceipts", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Receipt, error) {
			return tx.ListReceipts(dhruva.ReceiptQuery{Space: p.space, Page: all})
		})),
		l("ListReceipts", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Receipt, error) {
			return tx.ListReceipts(dhruva.ReceiptQuery{Page: all})
		})),
		l("Leaf", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Leaf, error) { return tx.Leaf(p.leaf().ID) })),
		l("ListLeaves", ofTenant, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Leaf, error) { return tx.ListLeaves(0, 1000) })),
		{"AuditHead", ofTenant, seeing(func(tx dhruva.Tx, p place) (dhruva.AuditHead, error) { return tx.AuditHead() }),
			func(r dhruva.Reach, _ place) any { return dhruva.AuditHead{Tenant: r.Tenant} }},
		l("Job", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Job, error) { return tx.Job(p.job().ID) })),
		l("ListJobs", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Job, error) {
			return tx.ListJobs(dhruva.JobQuery{Space: p.space, Page: all})
		})),
		l("ListJobs", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Job, error) { return tx.ListJobs(dhruva.JobQuery{Page: all}) })),
		l("Cursors", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Cursor, error) { return tx.Cursors(p.space) })),
		l("Idempotency", ofAny, seeing(func(tx dhruva.Tx, p place) (dhruva.Idempotency, error) {
			return tx.Idempotency(p.call().Principal, p.call().Route, p.hash())
		})),
		l("KeyByHash", ofSystem, seeing(func(tx dhruva.Tx, p place) (dhruva.Key, error) { return tx.KeyByHash(p.key().Hash) })),
		l("Key", ofTenant, seeing(func(tx dhruva.Tx, p place) (dhruva.Key, error) { return tx.Key(p.key().ID) })),
		l("ListKeys", ofTenant, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Key, error) { return tx.ListKeys(all) })),
		l("User", ofTenant, seeing(func(tx dhruva.Tx, p place) (dhruva.User, error) { return tx.User(p.user().ID) })),
		l("UsersByEmail", ofSystem, seeing(func(tx dhruva.Tx, p place) ([]dhruva.User, error) { return tx.UsersByEmail(p.user().Email) })),
		l("UserBySubject", ofSystem, seeing(func(tx dhruva.Tx, p place) (dhruva.User, error) {
			return tx.UserBySubject(p.user().Issuer, p.user().Subject)
		})),
		l("ListUsers", ofTenant, seeing(func(tx dhruva.Tx, p place) ([]dhruva.User, error) { return tx.ListUsers(all) })),
		l("Grant", ofSpace, seeing(func(tx dhruva.Tx, p place) (dhruva.Grant, error) { return tx.Grant(p.space, p.grant().Principal) })),
		l("ListGrants", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Grant, error) { return tx.ListGrants(p.space, all) })),
		l("GrantsOf", ofSpace, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Grant, error) { return tx.GrantsOf(p.grant().Principal) })),
		l("Provider", ofTenant, seeing(func(tx dhruva.Tx, p place) (dhruva.ProviderConfig, error) { return tx.Provider(p.id()) })),
		l("ListProviders", ofTenant, seeing(func(tx dhruva.Tx, p place) ([]dhruva.ProviderConfig, error) { return tx.ListProviders() })),
		l("Node", ofSystem, seeing(func(tx dhruva.Tx, p place) (dhruva.Node, error) { return tx.Node(p.node().ID) })),
		l("ListNodes", ofSystem, seeing(func(tx dhruva.Tx, p place) ([]dhruva.Node, error) { return tx.ListNodes(all) })),
		l("Lease", ofTenant, seeing(func(tx dhruva.Tx, p place) (dhruva.Lease, error) { return tx.Lease(p.tenant, p.id()) })),
		l("Lease", ofSystem, seeing(func(tx dhruva.Tx, p place) (dhruva.Lease, error) { return tx.Lease("", p.id()) })),
	}
}

// elsewhere are the reads that find nothing of what fill puts: a home, and
// leaves that wait for a place. They have tests of their own.
var elsewhere = []string{"HomeSpace", "PendingLeaves"}
