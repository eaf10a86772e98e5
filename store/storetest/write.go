package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// isWriting tells the methods of Tx that write by their names.
func isWriting(method string) bool {
	for _, verb := range []string{"Put", "Append", "Swap", "Add", "Drop", "Bind", "Claim", "Place", "Compact", "Redact", "Expire", "Hide"} {
		if strings.HasPrefix(method, verb) && method != verb { // a claim is a row, too
			return true
		}
	}
	return false
}

// writeTx counts the writes of a Faulty's transaction, and refuses the one whose
// turn it is and all that follow in that transaction. A test holds that it has
// every writing method.
type writeTx struct {
	dhruva.Tx
	faulty  *Faulty
	refused error
}

// count counts a write, and says why it may not be.
func (t *writeTx) count() error {
	n := t.faulty.writes.Add(1)
	if t.refused == nil && t.faulty.fault == Refused && n == t.faulty.at {
		t.refused = fmt.Errorf("storetest: write %d: %w: no space left", n, dhruva.ErrUnavailable)
	}
	return t.refused
}

// write is a counted write without an answer.
func (t *writeTx) write(run func() error) error {
	if err := t.count(); err != nil {
		return err
	}
	return run()
}

func (t *writeTx) AddReference(a dhruva.Reference) error {
	return t.write(func() error { return t.Tx.AddReference(a) })
}

func (t *writeTx) AppendChange(a dhruva.SpaceID, b dhruva.Change) (int64, error) {
	if err := t.count(); err != nil {
		return 0, err
	}
	return t.Tx.AppendChange(a, b)
}

func (t *writeTx) AppendHeadMove(a dhruva.HeadMove) error {
	return t.write(func() error { return t.Tx.AppendHeadMove(a) })
}

func (t *writeTx) AppendTurn(a dhruva.Turn) error {
	return t.write(func() error { return t.Tx.AppendTurn(a) })
}

func (t *writeTx) BindHint(a dhruva.SpaceID, b dhruva.Hash, c dhruva.SessionID) error {
	return t.write(func() error { return t.Tx.BindHint(a, b, c) })
}

func (t *writeTx) ClaimJobs(a dhruva.JobClaim) ([]dhruva.Job, error) {
	if err := t.count(); err != nil {
		return nil, err
	}
	return t.Tx.ClaimJobs(a)
}

func (t *writeTx) CompactChanges(a dhruva.SpaceID, b int64) error {
	return t.write(func() error { return t.Tx.CompactChanges(a, b) })
}

func (t *writeTx) DropBranch(a dhruva.SpaceID, b string, c dhruva.Hash) error {
	return t.write(func() error { return t.Tx.DropBranch(a, b, c) })
}

func (t *writeTx) DropCursor(a dhruva.SpaceID, b dhruva.NodeID) error {
	return t.write(func() error { return t.Tx.DropCursor(a, b) })
}

func (t *writeTx) DropDocument(a dhruva.DocumentID) error {
	return t.write(func() error { return t.Tx.DropDocument(a) })
}

func (t *writeTx) DropGrant(a dhruva.SpaceID, b dhruva.PrincipalID) error {
	return t.write(func() error { return t.Tx.DropGrant(a, b) })
}

func (t *writeTx) DropJob(a dhruva.JobID) error {
	return t.write(func() error { return t.Tx.DropJob(a) })
}

func (t *writeTx) DropNode(a dhruva.NodeID) error {
	return t.write(func() error { return t.Tx.DropNode(a) })
}

func (t *writeTx) DropProvider(a string) error {
	return t.write(func() error { return t.Tx.DropProvider(a) })
}

func (t *writeTx) DropRecords(a dhruva.SpaceID, b int64, c dhruva.SourceID) error {
	return t.write(func() error { return t.Tx.DropRecords(a, b, c) })
}

func (t *writeTx) DropReference(a dhruva.Reference) error {
	return t.write(func() error { return t.Tx.DropReference(a) })
}

func (t *writeTx) DropReplay(a dhruva.SpaceID, b dhruva.ReplayID) error {
	return t.write(func() error { return t.Tx.DropReplay(a, b) })
}

func (t *writeTx) DropSource(a dhruva.SpaceID, b int64, c dhruva.SourceID) error {
	return t.write(func() error { return t.Tx.DropSource(a, b, c) })
}

func (t *writeTx) DropUser(a dhruva.PrincipalID) error {
	return t.write(func() error { return t.Tx.DropUser(a) })
}

func (t *writeTx) DropVectors(a dhruva.SpaceID, b int64, c dhruva.SourceID) error {
	return t.write(func() error { return t.Tx.DropVectors(a, b, c) })
}

func (t *writeTx) ExpireIdempotency(a time.Time, b int) (int, error) {
	if err := t.count(); err != nil {
		return 0, err
	}
	return t.Tx.ExpireIdempotency(a, b)
}

func (t *writeTx) HideCheckpoint(a dhruva.Hash, b time.Time) error {
	return t.write(func() error { return t.Tx.HideCheckpoint(a, b) })
}

func (t *writeTx) PlaceLeaf(a dhruva.LeafID, b int64) error {
	return t.write(func() error { return t.Tx.PlaceLeaf(a, b) })
}

func (t *writeTx) PutAuditHead(a dhruva.AuditHead) error {
	return t.write(func() error { return t.Tx.PutAuditHead(a) })
}

func (t *writeTx) PutChain(a dhruva.Chain) error {
	return t.write(func() error { return t.Tx.PutChain(a) })
}

func (t *writeTx) PutCheckpoint(a dhruva.Checkpoint) error {
	return t.write(func() error { return t.Tx.PutCheckpoint(a) })
}

func (t *writeTx) PutClaim(a dhruva.Claim) error {
	return t.write(func() error { return t.Tx.PutClaim(a) })
}

func (t *writeTx) PutCursor(a dhruva.Cursor) error {
	return t.write(func() error { return t.Tx.PutCursor(a) })
}

func (t *writeTx) PutDocument(a dhruva.Document) error {
	return t.write(func() error { return t.Tx.PutDocument(a) })
}

func (t *writeTx) PutEpoch(a dhruva.Epoch) error {
	return t.write(func() error { return t.Tx.PutEpoch(a) })
}

func (t *writeTx) PutGrant(a dhruva.Grant) error {
	return t.write(func() error { return t.Tx.PutGrant(a) })
}

func (t *writeTx) PutIdempotency(a dhruva.Idempotency) error {
	return t.write(func() error { return t.Tx.PutIdempotency(a) })
}

func (t *writeTx) PutJob(a dhruva.Job) error {
	return t.write(func() error { return t.Tx.PutJob(a) })
}

func (t *writeTx) PutKey(a dhruva.Key) error {
	return t.write(func() error { return t.Tx.PutKey(a) })
}

func (t *writeTx) PutLeaf(a dhruva.Leaf) error {
	return t.write(func() error { return t.Tx.PutLeaf(a) })
}

func (t *writeTx) PutLease(a dhruva.Lease) error {
	return t.write(func() error { return t.Tx.PutLease(a) })
}

func (t *writeTx) PutNode(a dhruva.Node) error {
	return t.write(func() error { return t.Tx.PutNode(a) })
}

func (t *writeTx) PutNote(a dhruva.Note) error {
	return t.write(func() error { return t.Tx.PutNote(a) })
}

func (t *writeTx) PutProvider(a dhruva.ProviderConfig) error {
	return t.write(func() error { return t.Tx.PutProvider(a) })
}

func (t *writeTx) PutReceipt(a dhruva.Receipt) error {
	return t.write(func() error { return t.Tx.PutReceipt(a) })
}

func (t *writeTx) PutRecord(a dhruva.Record) error {
	return t.write(func() error { return t.Tx.PutRecord(a) })
}

func (t *writeTx) PutReplay(a dhruva.Replay) error {
	return t.write(func() error { return t.Tx.PutReplay(a) })
}

func (t *writeTx) PutSession(a dhruva.Session) error {
	return t.write(func() error { return t.Tx.PutSession(a) })
}

func (t *writeTx) PutSource(a dhruva.Source) error {
	return t.write(func() error { return t.Tx.PutSource(a) })
}

func (t *writeTx) PutSpace(a dhruva.Space) error {
	return t.write(func() error { return t.Tx.PutSpace(a) })
}

func (t *writeTx) PutTenant(a dhruva.Tenant) error {
	return t.write(func() error { return t.Tx.PutTenant(a) })
}

func (t *writeTx) PutTombstone(a dhruva.Tombstone) error {
	return t.write(func() error { return t.Tx.PutTombstone(a) })
}

func (t *writeTx) PutUser(a dhruva.User) error {
	return t.write(func() error { return t.Tx.PutUser(a) })
}

func (t *writeTx) PutVector(a dhruva.Vector) error {
	return t.write(func() error { return t.Tx.PutVector(a) })
}

func (t *writeTx) PutWorktree(a dhruva.Worktree) error {
	return t.write(func() error { return t.Tx.PutWorktree(a) })
}

func (t *writeTx) RedactItem(a dhruva.Hash, b dhruva.ItemID) error {
	return t.write(func() error { return t.Tx.RedactItem(a, b) })
}

func (t *writeTx) RedactNote(a dhruva.SpaceID, b dhruva.NoteID) error {
	return t.write(func() error { return t.Tx.RedactNote(a, b) })
}

func (t *writeTx) RedactTurn(a dhruva.SessionID, b int64) error {
	return t.write(func() error { return t.Tx.RedactTurn(a, b) })
}

func (t *writeTx) SwapBranch(a dhruva.Branch, b dhruva.Hash) error {
	return t.write(func() error { return t.Tx.SwapBranch(a, b) })
}

func (t *writeTx) SwapIdempotency(a dhruva.Idempotency, b int64) error {
	return t.write(func() error { return t.Tx.SwapIdempotency(a, b) })
}

func (t *writeTx) SwapJob(a dhruva.Job, b int64) error {
	return t.write(func() error { return t.Tx.SwapJob(a, b) })
}
