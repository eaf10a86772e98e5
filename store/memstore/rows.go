package memstore

import "github.com/dhruva-memory/dhruva"

// Keys. The tenant comes first in each of them.
type (
	spaceKey struct {
		tenant dhruva.TenantID
		space  dhruva.SpaceID
	}
	sessionKey struct {
		tenant dhruva.TenantID
		id     dhruva.SessionID
	}
	chainKey struct {
		spaceKey
		hash dhruva.Hash
	}
	hashKey struct {
		tenant dhruva.TenantID
		hash   dhruva.Hash
	}
	branchKey struct {
		spaceKey
		name string
	}
	generationKey struct {
		spaceKey
		generation int64
	}
	sourceKey struct {
		generationKey
		id dhruva.SourceID
	}
	turnRefKey struct {
		generationKey
		session dhruva.SessionID
		seq     int64
	}
	receiptKey struct {
		tenant dhruva.TenantID
		id     dhruva.ReceiptID
	}
	keyKey struct {
		tenant dhruva.TenantID
		id     dhruva.KeyID
	}
	vectorKey struct { // within a generation
		source dhruva.SourceID
		model  string
		part   int
	}
	jobKey struct {
		tenant dhruva.TenantID
		id     dhruva.JobID
	}
	subjectKey struct {
		generationKey
		kind, subject string
	}
	leafKey struct {
		tenant dhruva.TenantID
		id     dhruva.LeafID
	}
	placeKey struct {
		tenant dhruva.TenantID
		seq    int64
	}
	callKey struct {
		tenant    dhruva.TenantID
		principal dhruva.PrincipalID
		route     string
		key       dhruva.Hash
	}
	userKey struct {
		tenant dhruva.TenantID
		id     dhruva.PrincipalID
	}
	grantKey struct {
		spaceKey
		principal dhruva.PrincipalID
	}
	providerKey struct {
		tenant dhruva.TenantID
		name   string
	}
	noteKey struct {
		tenant dhruva.TenantID
		id     dhruva.NoteID
	}
	claimKey struct {
		tenant dhruva.TenantID
		id     dhruva.ClaimID
	}
	worktreeKey struct {
		tenant dhruva.TenantID
		id     dhruva.WorktreeID
	}
	documentKey struct {
		tenant dhruva.TenantID
		id     dhruva.DocumentID
	}
	leaseKey struct { // no tenant: the installation's
		tenant dhruva.TenantID
		name   string
	}
)

// rows are the tables. Lists within a map are kept in the order that the
// contract speaks of and are replaced, never changed in place.
type rows struct {
	tenants     map[dhruva.TenantID]dhruva.Tenant
	spaces      map[spaceKey]dhruva.Space
	epochs      map[spaceKey]dhruva.Epoch
	changes     map[spaceKey][]dhruva.Change
	sessions    map[sessionKey]dhruva.Session
	chains      map[chainKey][]dhruva.Chain
	hints       map[chainKey]dhruva.SessionID
	turns       map[sessionKey][]dhruva.Turn // ascending Seq
	checkpoints map[hashKey]dhruva.Checkpoint
	branches    map[branchKey]dhruva.Branch
	sources     map[generationKey]map[dhruva.SourceID]dhruva.Source
	references  map[sourceKey][]dhruva.Reference // in the order they were added
	referrers   map[turnRefKey][]dhruva.SourceID
	tombstones  map[sourceKey]dhruva.Tombstone
	receipts    map[receiptKey]dhruva.Receipt
	keys        map[keyKey]dhruva.Key
	keyHashes   map[string]keyKey
	records     map[generationKey]map[dhruva.RecordID]dhruva.Record
	vectors     map[generationKey]map[vectorKey]dhruva.Vector
	replays     map[spaceKey]map[dhruva.ReplayID]dhruva.Replay
	jobs        map[jobKey]dhruva.Job
	subjects    map[subjectKey]dhruva.JobID
	cursors     map[spaceKey]map[dhruva.NodeID]dhruva.Cursor
	leaves      map[leafKey]dhruva.Leaf
	places      map[placeKey]dhruva.LeafID
	heads       map[dhruva.TenantID]dhruva.AuditHead
	calls       map[callKey]dhruva.Idempotency
	users       map[userKey]dhruva.User
	grants      map[grantKey]dhruva.Grant
	providers   map[providerKey]dhruva.ProviderConfig
	nodes       map[dhruva.NodeID]dhruva.Node
	leases      map[leaseKey]dhruva.Lease
	notes       map[noteKey]dhruva.Note
	claims      map[claimKey]dhruva.Claim
	worktrees   map[worktreeKey]dhruva.Worktree
	documents   map[documentKey]dhruva.Document
	moves       map[spaceKey]map[int64]dhruva.HeadMove
}

func newRows() rows {
	return rows{
		tenants:     map[dhruva.TenantID]dhruva.Tenant{},
		spaces:      map[spaceKey]dhruva.Space{},
		epochs:      map[spaceKey]dhruva.Epoch{},
		changes:     map[spaceKey][]dhruva.Change{},
		sessions:    map[sessionKey]dhruva.Session{},
		chains:      map[chainKey][]dhruva.Chain{},
		hints:       map[chainKey]dhruva.SessionID{},
		turns:       map[sessionKey][]dhruva.Turn{},
		checkpoints: map[hashKey]dhruva.Checkpoint{},
		branches:    map[branchKey]dhruva.Branch{},
		sources:     map[generationKey]map[dhruva.SourceID]dhruva.Source{},
		references:  map[sourceKey][]dhruva.Reference{},
		referrers:   map[turnRefKey][]dhruva.SourceID{},
		tombstones:  map[sourceKey]dhruva.Tombstone{},
		receipts:    map[receiptKey]dhruva.Receipt{},
		keys:        map[keyKey]dhruva.Key{},
		keyHashes:   map[string]keyKey{},
		records:     map[generationKey]map[dhruva.RecordID]dhruva.Record{},
		vectors:     map[generationKey]map[vectorKey]dhruva.Vector{},
		replays:     map[spaceKey]map[dhruva.ReplayID]dhruva.Replay{},
		jobs:        map[jobKey]dhruva.Job{},
		subjects:    map[subjectKey]dhruva.JobID{},
		cursors:     map[spaceKey]map[dhruva.NodeID]dhruva.Cursor{},
		leaves:      map[leafKey]dhruva.Leaf{},
		places:      map[placeKey]dhruva.LeafID{},
		heads:       map[dhruva.TenantID]dhruva.AuditHead{},
		calls:       map[callKey]dhruva.Idempotency{},
		users:       map[userKey]dhruva.User{},
		grants:      map[grantKey]dhruva.Grant{},
		providers:   map[providerKey]dhruva.ProviderConfig{},
		nodes:       map[dhruva.NodeID]dhruva.Node{},
		leases:      map[leaseKey]dhruva.Lease{},
		notes:       map[noteKey]dhruva.Note{},
		claims:      map[claimKey]dhruva.Claim{},
		worktrees:   map[worktreeKey]dhruva.Worktree{},
		documents:   map[documentKey]dhruva.Document{},
		moves:       map[spaceKey]map[int64]dhruva.HeadMove{},
	}
}

func (t *tx) in(s dhruva.SpaceID) spaceKey { return spaceKey{t.reach.Tenant, s} }

func (t *tx) generation(s dhruva.SpaceID, g int64) generationKey {
	return generationKey{t.in(s), g}
}

func (t *tx) source(s dhruva.SpaceID, g int64, id dhruva.SourceID) sourceKey {
	return sourceKey{t.generation(s, g), id}
}
