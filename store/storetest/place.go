package storetest

import (
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// place is where rows stand, and a number that makes their ids their own.
type place struct {
	tenant dhruva.TenantID
	space  dhruva.SpaceID
	n      int64
}

// at1a is the place of the nth rows of space a.
func at1a(n int64) place { return place{"t1", "a", n} }

func (p place) id() string        { return fmt.Sprint("id", p.n) }
func (p place) hash() dhruva.Hash { return digest(p.id()) }

func (p place) session() dhruva.Session {
	r := fullSession()
	r.Tenant, r.Space, r.ID, r.DeletedAt = p.tenant, p.space, dhruva.SessionID(p.id()), time.Time{}
	return r
}

func (p place) turn() dhruva.Turn {
	r := fullTurn()
	r.Tenant, r.Space, r.Session, r.Seq, r.Redacted = p.tenant, p.space, dhruva.SessionID(p.id()), 1, false
	return r
}

func (p place) chain() dhruva.Chain {
	return dhruva.Chain{Space: p.space, Hash: p.hash(), Session: dhruva.SessionID(p.id()), Seq: 1}
}

func (p place) checkpoint() dhruva.Checkpoint {
	r := fullCheckpoint()
	r.Tenant, r.Space, r.ID, r.Author, r.HiddenAt = p.tenant, p.space, dhruva.CheckpointID(p.id()), p.id(), time.Time{}
	return sealed(r)
}

func (p place) branch() dhruva.Branch {
	r := fullBranch()
	r.Space, r.Name = p.space, p.id()
	return r
}

func (p place) headMove() dhruva.HeadMove {
	r := fullHeadMove()
	r.Tenant, r.Space, r.Seq = p.tenant, p.space, p.n
	return r
}

func (p place) note() dhruva.Note {
	r := fullNote()
	r.Tenant, r.Space, r.ID, r.Redacted = p.tenant, p.space, dhruva.NoteID(p.id()), false
	return r
}

func (p place) claim() dhruva.Claim {
	r := fullClaim()
	r.Tenant, r.Space, r.ID = p.tenant, p.space, dhruva.ClaimID(p.id())
	return r
}

func (p place) worktree() dhruva.Worktree {
	r := fullWorktree()
	r.Tenant, r.Space, r.ID = p.tenant, p.space, dhruva.WorktreeID(p.id())
	return r
}

func (p place) document() dhruva.Document {
	r := fullDocument()
	r.Tenant, r.Space, r.ID = p.tenant, p.space, dhruva.DocumentID(p.id())
	return r
}

func (p place) source() dhruva.Source {
	r := fullSource()
	r.Tenant, r.Space, r.ID = p.tenant, p.space, dhruva.SourceID(p.id())
	return r
}

func (p place) reference() dhruva.Reference {
	return dhruva.Reference{Space: p.space, Generation: 2, Source: dhruva.SourceID(p.id()), Session: dhruva.SessionID(p.id()), Seq: 1}
}

func (p place) tombstone() dhruva.Tombstone {
	r := fullTombstone()
	r.Space, r.Source = p.space, dhruva.SourceID(p.id())
	return r
}

func (p place) record() dhruva.Record {
	r := fullRecord()
	r.Tenant, r.Space, r.ID, r.Source = p.tenant, p.space, dhruva.RecordID(p.id()), dhruva.SourceID(p.id())
	return r
}

func (p place) vector() dhruva.Vector {
	r := fullVector()
	r.Tenant, r.Space, r.Source = p.tenant, p.space, dhruva.SourceID(p.id())
	return r
}

func (p place) replay() dhruva.Replay {
	r := fullReplay()
	r.Tenant, r.Space, r.ID, r.Keys = p.tenant, p.space, dhruva.ReplayID(p.id()), []dhruva.Hash{p.hash()}
	r.Evidence[0].Source = dhruva.SourceID(p.id())
	return r
}

func (p place) receipt() dhruva.Receipt {
	r := fullReceipt()
	r.Tenant, r.Space, r.ID = p.tenant, p.space, dhruva.ReceiptID(p.id())
	return r
}

func (p place) leaf() dhruva.Leaf {
	r := fullLeaf()
	r.Tenant, r.Space, r.ID = p.tenant, p.space, dhruva.LeafID(p.id())
	return r
}

func (p place) head() dhruva.AuditHead {
	r := fullAuditHead()
	r.Tenant, r.Size = p.tenant, p.n
	return r
}

func (p place) job() dhruva.Job {
	r := fullJob()
	r.Tenant, r.Space, r.ID, r.Kind = p.tenant, p.space, dhruva.JobID(p.id()), p.id()
	return r
}

// jobClaim is of the one job of this place.
func (p place) jobClaim() dhruva.JobClaim {
	return dhruva.JobClaim{Kinds: []string{p.id()}, Owner: "claimer", Now: at(9), Until: at(19), Limit: 1}
}

func (p place) cursor() dhruva.Cursor {
	r := fullCursor()
	r.Tenant, r.Space, r.Node = p.tenant, p.space, dhruva.NodeID(p.id())
	return r
}

func (p place) call() dhruva.Idempotency {
	r := fullIdempotency()
	r.Tenant, r.Key, r.ExpiresAt = p.tenant, p.hash(), at(1000)
	return r
}

// expired is the one that expires first.
func (p place) expired() dhruva.Idempotency {
	r := p.call()
	r.ExpiresAt = at(3)
	return r
}

// key: a hash is the installation's.
func (p place) key() dhruva.Key {
	r := fullKey()
	r.Tenant, r.ID, r.Hash = p.tenant, dhruva.KeyID(p.id()), []byte(string(p.tenant)+p.id())
	return r
}

// user: an address and a subject are the installation's.
func (p place) user() dhruva.User {
	r := fullUser()
	r.Tenant, r.ID, r.Email, r.Subject = p.tenant, dhruva.PrincipalID(p.id()), string(p.tenant)+p.id(), string(p.tenant)+p.id()
	return r
}

func (p place) grant() dhruva.Grant {
	r := fullGrant()
	r.Tenant, r.Space, r.Principal = p.tenant, p.space, dhruva.PrincipalID(p.id())
	return r
}

func (p place) provider() dhruva.ProviderConfig {
	r := fullProvider()
	r.Tenant, r.Name = p.tenant, p.id()
	return r
}

func (p place) node() dhruva.Node {
	r := fullNode()
	r.ID = dhruva.NodeID(p.id())
	return r
}

// lease is the tenant's, installed the installation's.
func (p place) lease() dhruva.Lease {
	r := fullLease()
	r.Tenant, r.Name = p.tenant, p.id()
	return r
}

func (p place) installed() dhruva.Lease {
	r := p.lease()
	r.Tenant = ""
	return r
}

func (p place) tenantRow() dhruva.Tenant {
	r := fullTenant()
	r.ID = p.tenant
	return r
}

func (p place) spaceRow() dhruva.Space {
	r := fullSpace()
	r.Tenant, r.ID, r.DeletedAt = p.tenant, p.space, time.Time{}
	return r
}
