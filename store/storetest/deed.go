package storetest

import (
	"errors"

	"github.com/dhruva-memory/dhruva"
)

// extent says which scopes reach a row.
type extent int

const (
	ofSpace   extent = iota // its space's and its tenant's
	ofTenant                // its tenant's
	ofAny                   // every one of its tenant
	ofSystem                // the system's
	ofTenants               // the system's and its tenant's: a row of tenants
)

func (e extent) within(r dhruva.Reach, t dhruva.TenantID, s dhruva.SpaceID) bool {
	switch e {
	case ofSpace:
		return r.Covers(t, s)
	case ofTenant:
		return r.Covers(t, "")
	case ofAny:
		return t != "" && t == r.Tenant
	case ofSystem:
		return r.System
	}
	return r.System || r.Covers(t, "")
}

// deed is one way to write. Every writing method of Tx has one at least; a test
// holds this.
type deed struct {
	method string
	extent extent
	// own: the call names no tenant, and is about that of the transaction.
	own bool
	// before puts what the deed needs, through every scope.
	before func(dhruva.Tx, place) error
	run    func(dhruva.Tx, place) error
	// rows is how many it counts; 0 stands for 1.
	rows int
}

func (d deed) allowed(r dhruva.Reach, p place) bool {
	t := p.tenant
	if d.own {
		t = r.Tenant
	}
	return d.extent.within(r, t, p.space)
}

// prepared makes a deed that needs others before it.
func (d deed) prepared(before ...func(dhruva.Tx, place) error) deed {
	d.before = func(tx dhruva.Tx, p place) error {
		var errs []error
		for _, f := range before {
			errs = append(errs, f(tx, p))
		}
		return errors.Join(errs...)
	}
	return d
}

// The ways to write one row at a place.
func putTenant(tx dhruva.Tx, p place) error { return tx.PutTenant(p.tenantRow()) }
func putSpace(tx dhruva.Tx, p place) error  { return tx.PutSpace(p.spaceRow()) }
func putEpoch(tx dhruva.Tx, p place) error {
	return tx.PutEpoch(dhruva.Epoch{Space: p.space, Generation: p.n + 1, Fence: 2, ACLVersion: 5})
}
func appendChange(tx dhruva.Tx, p place) error {
	_, err := tx.AppendChange(p.space, fullChange())
	return err
}
func putSession(tx dhruva.Tx, p place) error { return tx.PutSession(p.session()) }
func putChain(tx dhruva.Tx, p place) error   { return tx.PutChain(p.chain()) }
func bindHint(tx dhruva.Tx, p place) error {
	return tx.BindHint(p.space, p.hash(), dhruva.SessionID(p.id()))
}
func putTurn(tx dhruva.Tx, p place) error       { return tx.AppendTurn(p.turn()) }
func putCheckpoint(tx dhruva.Tx, p place) error { return tx.PutCheckpoint(p.checkpoint()) }
func putBranch(tx dhruva.Tx, p place) error     { return tx.SwapBranch(p.branch(), dhruva.Hash{}) }
func putHeadMove(tx dhruva.Tx, p place) error   { return tx.AppendHeadMove(p.headMove()) }
func putNote(tx dhruva.Tx, p place) error       { return tx.PutNote(p.note()) }
func putClaim(tx dhruva.Tx, p place) error      { return tx.PutClaim(p.claim()) }
func putWorktree(tx dhruva.Tx, p place) error   { return tx.PutWorktree(p.worktree()) }
func putDocument(tx dhruva.Tx, p place) error   { return tx.PutDocument(p.document()) }
func putSource(tx dhruva.Tx, p place) error     { return tx.PutSource(p.source()) }
func putReference(tx dhruva.Tx, p place) error  { return tx.AddReference(p.reference()) }
func putTombstone(tx dhruva.Tx, p place) error  { return tx.PutTombstone(p.tombstone()) }
func putRecord(tx dhruva.Tx, p place) error     { return tx.PutRecord(p.record()) }
func putVector(tx dhruva.Tx, p place) error     { return tx.PutVector(p.vector()) }
func putReplay(tx dhruva.Tx, p place) error     { return tx.PutReplay(p.replay()) }
func putReceipt(tx dhruva.Tx, p place) error    { return tx.PutReceipt(p.receipt()) }
func putLeaf(tx dhruva.Tx, p place) error       { return tx.PutLeaf(p.leaf()) }
func placeLeaf(tx dhruva.Tx, p place) error     { return tx.PlaceLeaf(p.leaf().ID, p.n) }
func putAuditHead(tx dhruva.Tx, p place) error  { return tx.PutAuditHead(p.head()) }
func putJob(tx dhruva.Tx, p place) error        { return tx.PutJob(p.job()) }
func putCursor(tx dhruva.Tx, p place) error     { return tx.PutCursor(p.cursor()) }
func putCall(tx dhruva.Tx, p place) error       { return tx.PutIdempotency(p.call()) }
func putKey(tx dhruva.Tx, p place) error        { return tx.PutKey(p.key()) }
func putUser(tx dhruva.Tx, p place) error       { return tx.PutUser(p.user()) }
func putGrant(tx dhruva.Tx, p place) error      { return tx.PutGrant(p.grant()) }
func putProvider(tx dhruva.Tx, p place) error   { return tx.PutProvider(p.provider()) }
func putNode(tx dhruva.Tx, p place) error       { return tx.PutNode(p.node()) }
func putLease(tx dhruva.Tx, p place) error      { return tx.PutLease(p.lease()) }
func putInstalled(tx dhruva.Tx, p place) error  { return tx.PutLease(p.installed()) }

// deeds are the ways to write.
func deeds() []deed {
	d := func(method string, e extent, run func(dhruva.Tx, place) error) deed {
		return deed{method: method, extent: e, run: run}
	}
	own := func(method string, e extent, run func(dhruva.Tx, place) error) deed {
		return deed{method: method, extent: e, own: true, run: run}
	}
	long := func(d deed, rows int) deed {
		d.rows = rows
		return d
	}
	return []deed{
		d("PutTenant", ofTenants, putTenant), d("PutSpace", ofSpace, putSpace), own("PutEpoch", ofSpace, putEpoch),
		own("AppendChange", ofSpace, appendChange),
		own("CompactChanges", ofSpace, func(tx dhruva.Tx, p place) error {
			e, _ := tx.Epoch(p.space)
			return tx.CompactChanges(p.space, e.Tail+1)
		}).prepared(appendChange),
		d("PutSession", ofSpace, putSession), own("PutChain", ofSpace, putChain), own("BindHint", ofSpace, bindHint),
		d("AppendTurn", ofSpace, putTurn),
		own("RedactTurn", ofSpace, func(tx dhruva.Tx, p place) error { return tx.RedactTurn(p.turn().Session, 1) }).prepared(putTurn),
		long(d("PutCheckpoint", ofSpace, putCheckpoint), 4),
		own("RedactItem", ofSpace, func(tx dhruva.Tx, p place) error {
			return tx.RedactItem(p.checkpoint().Hash, "i2")
		}).prepared(putCheckpoint),
		own("HideCheckpoint", ofSpace, func(tx dhruva.Tx, p place) error {
			return tx.HideCheckpoint(p.checkpoint().Hash, at(7))
		}).prepared(putCheckpoint),
		own("SwapBranch", ofSpace, putBranch),
		own("DropBranch", ofSpace, func(tx dhruva.Tx, p place) error {
			return tx.DropBranch(p.space, p.id(), p.branch().Head)
		}).prepared(putBranch),
		d("AppendHeadMove", ofSpace, putHeadMove), d("PutNote", ofSpace, putNote),
		own("RedactNote", ofSpace, func(tx dhruva.Tx, p place) error { return tx.RedactNote(p.space, p.note().ID) }).prepared(putNote),
		d("PutClaim", ofSpace, putClaim), d("PutWorktree", ofSpace, putWorktree), d("PutDocument", ofSpace, putDocument),
		own("DropDocument", ofSpace, func(tx dhruva.Tx, p place) error { return tx.DropDocument(p.document().ID) }).prepared(putDocument),
		d("PutSource", ofSpace, putSource), own("AddReference", ofSpace, putReference),
		own("DropReference", ofSpace, func(tx dhruva.Tx, p place) error { return tx.DropReference(p.reference()) }).prepared(putReference),
		own("DropSource", ofSpace, func(tx dhruva.Tx, p place) error {
			return tx.DropSource(p.space, 2, p.source().ID)
		}).prepared(putSource, putReference),
		own("PutTombstone", ofSpace, putTombstone), d("PutRecord", ofSpace, putRecord),
		own("DropRecords", ofSpace, func(tx dhruva.Tx, p place) error { return tx.DropRecords(p.space, 2, p.source().ID) }).prepared(putRecord),
		d("PutVector", ofSpace, putVector),
		own("DropVectors", ofSpace, func(tx dhruva.Tx, p place) error { return tx.DropVectors(p.space, 2, p.source().ID) }).prepared(putVector),
		long(d("PutReplay", ofSpace, putReplay), 5),
		own("DropReplay", ofSpace, func(tx dhruva.Tx, p place) error { return tx.DropReplay(p.space, p.replay().ID) }).prepared(putReplay),
		d("PutReceipt", ofSpace, putReceipt), d("PutLeaf", ofSpace, putLeaf), own("PlaceLeaf", ofTenant, placeLeaf).prepared(putLeaf),
		d("PutAuditHead", ofTenant, putAuditHead), d("PutJob", ofSpace, putJob),
		own("ClaimJobs", ofAny, func(tx dhruva.Tx, p place) error { _, err := tx.ClaimJobs(p.jobClaim()); return err }).prepared(putJob),
		d("SwapJob", ofSpace, func(tx dhruva.Tx, p place) error {
			row := p.job()
			row.State, row.Fence, row.Owner, row.Error = dhruva.JobDead, row.Fence+3, "", "another"
			return tx.SwapJob(row, p.job().Fence)
		}).prepared(putJob),
		own("DropJob", ofSpace, func(tx dhruva.Tx, p place) error { return tx.DropJob(p.job().ID) }).prepared(putJob),
		d("PutCursor", ofSpace, putCursor),
		own("DropCursor", ofSpace, func(tx dhruva.Tx, p place) error { return tx.DropCursor(p.space, p.cursor().Node) }).prepared(putCursor),
		d("PutIdempotency", ofAny, putCall),
		d("SwapIdempotency", ofAny, func(tx dhruva.Tx, p place) error {
			row := p.call()
			row.State, row.Fence = dhruva.CallDone, row.Fence+1
			return tx.SwapIdempotency(row, p.call().Fence)
		}).prepared(putCall),
		own("ExpireIdempotency", ofAny, func(tx dhruva.Tx, p place) error {
			_, err := tx.ExpireIdempotency(at(4), 1)
			return err
		}).prepared(func(tx dhruva.Tx, p place) error { return tx.PutIdempotency(p.expired()) }),
		d("PutKey", ofTenant, putKey), d("PutUser", ofTenant, putUser),
		own("DropUser", ofTenant, func(tx dhruva.Tx, p place) error { return tx.DropUser(p.user().ID) }).prepared(putUser),
		d("PutGrant", ofTenant, putGrant),
		own("DropGrant", ofTenant, func(tx dhruva.Tx, p place) error { return tx.DropGrant(p.space, p.grant().Principal) }).prepared(putGrant),
		d("PutProvider", ofTenant, putProvider),
		own("DropProvider", ofTenant, func(tx dhruva.Tx, p place) error { return tx.DropProvider(p.provider().Name) }).prepared(putProvider),
		d("PutNode", ofSystem, putNode),
		d("DropNode", ofSystem, func(tx dhruva.Tx, p place) error { return tx.DropNode(p.node().ID) }).prepared(putNode),
		d("PutLease", ofTenant, putLease), d("PutLease", ofSystem, putInstalled),
	}
}

// fill puts one row of each kind at a place, through every scope.
func fill(tx dhruva.Tx, p place) error {
	var errs []error
	for _, put := range []func(dhruva.Tx, place) error{putTenant, putSpace, putEpoch, appendChange, putSession, putChain, bindHint, putTurn,
		putCheckpoint, putBranch, putHeadMove, putNote, putClaim, putWorktree, putDocument, putSource, putReference, putTombstone, putRecord, putVector, putReplay, putReceipt, putLeaf, placeLeaf,
		putAuditHead, putJob, putCursor, putCall, putKey, putUser, putGrant, putProvider, putNode, putLease, putInstalled} {
		errs = append(errs, put(tx, p))
	}
	return errors.Join(errs...)
}
