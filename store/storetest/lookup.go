package storetest

import (
	"errors"
	"reflect"

	"github.com/dhruva-memory/dhruva"
)

// lookupCases are about asking for what cannot be.
var lookupCases = []testCase{
	{"NothingIsFoundByBadText", testBadLookups},
}

// lookups ask by a text wherever a method takes one.
func lookups(text string) map[string]func(dhruva.Tx) (any, error) {
	space, source, session, principal := dhruva.SpaceID(text), dhruva.SourceID(text), dhruva.SessionID(text), dhruva.PrincipalID(text)
	page := dhruva.Page{After: text}
	h := digest("h")
	return map[string]func(dhruva.Tx) (any, error){
		"Tenant":       func(tx dhruva.Tx) (any, error) { return tx.Tenant(dhruva.TenantID(text)) },
		"ListTenants":  func(tx dhruva.Tx) (any, error) { return tx.ListTenants(page) },
		"Space":        func(tx dhruva.Tx) (any, error) { return tx.Space(space) },
		"SpacesNamed":  func(tx dhruva.Tx) (any, error) { return tx.SpacesNamed(text) },
		"HomeSpace":    func(tx dhruva.Tx) (any, error) { return tx.HomeSpace(principal) },
		"ListSpaces":   func(tx dhruva.Tx) (any, error) { return tx.ListSpaces(page) },
		"Session":      func(tx dhruva.Tx) (any, error) { return tx.Session(session) },
		"ListSessions": func(tx dhruva.Tx) (any, error) { return tx.ListSessions(dhruva.SessionQuery{Space: space}) },
		"sessions kind": func(tx dhruva.Tx) (any, error) {
			return tx.ListSessions(dhruva.SessionQuery{Kind: dhruva.SessionKind(text)})
		},
		"sessions after": func(tx dhruva.Tx) (any, error) { return tx.ListSessions(dhruva.SessionQuery{Page: page}) },
		"Chain":          func(tx dhruva.Tx) (any, error) { return tx.Chain(space, h) },
		"SessionHint":    func(tx dhruva.Tx) (any, error) { return tx.SessionHint(space, h) },
		"Turn":           func(tx dhruva.Tx) (any, error) { return tx.Turn(session, 1) },
		"ListTurns":      func(tx dhruva.Tx) (any, error) { return tx.ListTurns(dhruva.TurnQuery{Session: session}) },
		"RedactTurn":     func(tx dhruva.Tx) (any, error) { return nil, tx.RedactTurn(session, 1) },
		"CheckpointByID": func(tx dhruva.Tx) (any, error) { return tx.CheckpointByID(dhruva.CheckpointID(text)) },
		"prefix":         func(tx dhruva.Tx) (any, error) { return tx.CheckpointsByPrefix(text, 9) },
		"checkpoints":    func(tx dhruva.Tx) (any, error) { return tx.ListCheckpoints(dhruva.CheckpointQuery{Space: space}) },
		"branch of":      func(tx dhruva.Tx) (any, error) { return tx.ListCheckpoints(dhruva.CheckpointQuery{Branch: text}) },
		"window of":      func(tx dhruva.Tx) (any, error) { return tx.ListCheckpoints(dhruva.CheckpointQuery{Session: session}) },
		"RedactItem": func(tx dhruva.Tx) (any, error) {
			return nil, tx.RedactItem(at1a(1).checkpoint().Hash, dhruva.ItemID(text))
		},
		"Branch":         func(tx dhruva.Tx) (any, error) { return tx.Branch("a", text) },
		"branch's space": func(tx dhruva.Tx) (any, error) { return tx.Branch(space, "b") },
		"ListBranches":   func(tx dhruva.Tx) (any, error) { return tx.ListBranches(space) },
		"DropBranch":     func(tx dhruva.Tx) (any, error) { return nil, tx.DropBranch("a", text, at1a(1).branch().Head) },
		"Seams":          func(tx dhruva.Tx) (any, error) { return tx.Seams(session, 0, 0) },
		"item of": func(tx dhruva.Tx) (any, error) {
			return tx.ListCheckpoints(dhruva.CheckpointQuery{Item: dhruva.ItemID(text)})
		},
		"ListOutlines":    func(tx dhruva.Tx) (any, error) { return tx.ListOutlines(dhruva.OutlineQuery{Space: space}) },
		"outlines branch": func(tx dhruva.Tx) (any, error) { return tx.ListOutlines(dhruva.OutlineQuery{Space: "a", Branch: text}) },
		"HeadMoves":       func(tx dhruva.Tx) (any, error) { return tx.HeadMoves(dhruva.HeadMoveQuery{Space: space}) },
		"moves of":        func(tx dhruva.Tx) (any, error) { return tx.HeadMoves(dhruva.HeadMoveQuery{Space: "a", Branch: text}) },
		"ListNotes":       func(tx dhruva.Tx) (any, error) { return tx.ListNotes(dhruva.NoteQuery{Space: space}) },
		"notes after":     func(tx dhruva.Tx) (any, error) { return tx.ListNotes(dhruva.NoteQuery{Space: "a", Page: page}) },
		"RedactNote":      func(tx dhruva.Tx) (any, error) { return nil, tx.RedactNote("a", dhruva.NoteID(text)) },
		"Claim":           func(tx dhruva.Tx) (any, error) { return tx.Claim(dhruva.ClaimID(text)) },
		"ListClaims":      func(tx dhruva.Tx) (any, error) { return tx.ListClaims(dhruva.ClaimQuery{Space: space}) },
		"claims status": func(tx dhruva.Tx) (any, error) {
			return tx.ListClaims(dhruva.ClaimQuery{Space: "a", Status: dhruva.ClaimStatus(text)})
		},
		"claims live": func(tx dhruva.Tx) (any, error) {
			return tx.ListClaims(dhruva.ClaimQuery{Space: "a", Status: dhruva.ClaimStatus(text), Live: at(0)})
		},
		"claims after":  func(tx dhruva.Tx) (any, error) { return tx.ListClaims(dhruva.ClaimQuery{Space: "a", Page: page}) },
		"Worktree":      func(tx dhruva.Tx) (any, error) { return tx.Worktree(dhruva.WorktreeID(text)) },
		"ListWorktrees": func(tx dhruva.Tx) (any, error) { return tx.ListWorktrees(dhruva.WorktreeQuery{Space: space}) },
		"worktrees status": func(tx dhruva.Tx) (any, error) {
			return tx.ListWorktrees(dhruva.WorktreeQuery{Space: "a", Status: dhruva.WorktreeStatus(text)})
		},
		"worktrees after": func(tx dhruva.Tx) (any, error) { return tx.ListWorktrees(dhruva.WorktreeQuery{Space: "a", Page: page}) },
		"Document":        func(tx dhruva.Tx) (any, error) { return tx.Document(dhruva.DocumentID(text)) },
		"ListDocuments":   func(tx dhruva.Tx) (any, error) { return tx.ListDocuments(dhruva.DocumentQuery{Space: space}) },
		"documents kind":  func(tx dhruva.Tx) (any, error) { return tx.ListDocuments(dhruva.DocumentQuery{Space: "a", Kind: text}) },
		"documents session": func(tx dhruva.Tx) (any, error) {
			return tx.ListDocuments(dhruva.DocumentQuery{Space: "a", Session: session})
		},
		"documents after": func(tx dhruva.Tx) (any, error) { return tx.ListDocuments(dhruva.DocumentQuery{Space: "a", Page: page}) },
		"DropDocument":    func(tx dhruva.Tx) (any, error) { return nil, tx.DropDocument(dhruva.DocumentID(text)) },
		"Source":          func(tx dhruva.Tx) (any, error) { return tx.Source("a", 2, source) },
		"ListSources": func(tx dhruva.Tx) (any, error) {
			return tx.ListSources(dhruva.SourceQuery{Space: "a", Generation: 2, State: dhruva.SourceState(text)})
		},
		"sources class": func(tx dhruva.Tx) (any, error) {
			return tx.ListSources(dhruva.SourceQuery{Space: "a", Generation: 2, Class: dhruva.SourceClass(text)})
		},
		"CountSources":   func(tx dhruva.Tx) (any, error) { return tx.CountSources(space, 2) },
		"References":     func(tx dhruva.Tx) (any, error) { return tx.References("a", 2, source) },
		"SourcesOfTurn":  func(tx dhruva.Tx) (any, error) { return tx.SourcesOfTurn("a", 2, session, 1) },
		"DropSource":     func(tx dhruva.Tx) (any, error) { return nil, tx.DropSource("a", 2, source) },
		"Tombstone":      func(tx dhruva.Tx) (any, error) { return tx.Tombstone("a", 2, source) },
		"ListTombstones": func(tx dhruva.Tx) (any, error) { return tx.ListTombstones(space, 2, dhruva.Page{}) },
		"Record":         func(tx dhruva.Tx) (any, error) { return tx.Record("a", 2, dhruva.RecordID(text)) },
		"ListRecords": func(tx dhruva.Tx) (any, error) {
			return tx.ListRecords(dhruva.RecordQuery{Space: "a", Generation: 2, Source: source})
		},
		"records kind": func(tx dhruva.Tx) (any, error) {
			return tx.ListRecords(dhruva.RecordQuery{Space: "a", Generation: 2, Kind: text})
		},
		"DropRecords": func(tx dhruva.Tx) (any, error) { return nil, tx.DropRecords("a", 2, source) },
		"ListVectors": func(tx dhruva.Tx) (any, error) {
			return tx.ListVectors(dhruva.VectorQuery{Space: "a", Generation: 2, Model: text})
		},
		"vectors source": func(tx dhruva.Tx) (any, error) {
			return tx.ListVectors(dhruva.VectorQuery{Space: "a", Generation: 2, Source: source})
		},
		"vectors after": func(tx dhruva.Tx) (any, error) {
			return tx.ListVectors(dhruva.VectorQuery{Space: "a", Generation: 2, Source: at1a(1).source().ID, Page: page})
		},
		"records after": func(tx dhruva.Tx) (any, error) {
			return tx.ListRecords(dhruva.RecordQuery{Space: "a", Generation: 2, Page: page})
		},
		"jobs after":     func(tx dhruva.Tx) (any, error) { return tx.ListJobs(dhruva.JobQuery{Page: page}) },
		"DropVectors":    func(tx dhruva.Tx) (any, error) { return nil, tx.DropVectors("a", 2, source) },
		"Replay":         func(tx dhruva.Tx) (any, error) { return tx.Replay("a", dhruva.ReplayID(text)) },
		"Replays":        func(tx dhruva.Tx) (any, error) { return tx.Replays("a", dhruva.Dialect(text), h, 9) },
		"ReplaysOf":      func(tx dhruva.Tx) (any, error) { return tx.ReplaysOf("a", source, dhruva.Page{}) },
		"DropReplay":     func(tx dhruva.Tx) (any, error) { return nil, tx.DropReplay("a", dhruva.ReplayID(text)) },
		"Receipt":        func(tx dhruva.Tx) (any, error) { return tx.Receipt(dhruva.ReceiptID(text)) },
		"ListReceipts":   func(tx dhruva.Tx) (any, error) { return tx.ListReceipts(dhruva.ReceiptQuery{Session: session}) },
		"receipts kind":  func(tx dhruva.Tx) (any, error) { return tx.ListReceipts(dhruva.ReceiptQuery{Kind: text}) },
		"receipts state": func(tx dhruva.Tx) (any, error) { return tx.ListReceipts(dhruva.ReceiptQuery{State: text}) },
		"receipts after": func(tx dhruva.Tx) (any, error) { return tx.ListReceipts(dhruva.ReceiptQuery{Page: page}) },
		"Leaf":           func(tx dhruva.Tx) (any, error) { return tx.Leaf(dhruva.LeafID(text)) },
		"PlaceLeaf":      func(tx dhruva.Tx) (any, error) { return nil, tx.PlaceLeaf(dhruva.LeafID(text), 7) },
		"Job":            func(tx dhruva.Tx) (any, error) { return tx.Job(dhruva.JobID(text)) },
		"ListJobs":       func(tx dhruva.Tx) (any, error) { return tx.ListJobs(dhruva.JobQuery{Kind: text}) },
		"jobs state":     func(tx dhruva.Tx) (any, error) { return tx.ListJobs(dhruva.JobQuery{State: dhruva.JobState(text)}) },
		"DropJob":        func(tx dhruva.Tx) (any, error) { return nil, tx.DropJob(dhruva.JobID(text)) },
		"Cursors":        func(tx dhruva.Tx) (any, error) { return tx.Cursors(space) },
		"DropCursor":     func(tx dhruva.Tx) (any, error) { return nil, tx.DropCursor("a", dhruva.NodeID(text)) },
		"Idempotency":    func(tx dhruva.Tx) (any, error) { return tx.Idempotency(principal, "r", h) },
		"call's route":   func(tx dhruva.Tx) (any, error) { return tx.Idempotency("p", text, h) },
		"Key":            func(tx dhruva.Tx) (any, error) { return tx.Key(dhruva.KeyID(text)) },
		"ListKeys":       func(tx dhruva.Tx) (any, error) { return tx.ListKeys(page) },
		"User":           func(tx dhruva.Tx) (any, error) { return tx.User(principal) },
		"UsersByEmail":   func(tx dhruva.Tx) (any, error) { return tx.UsersByEmail(text) },
		"UserBySubject":  func(tx dhruva.Tx) (any, error) { return tx.UserBySubject(text, text) },
		"DropUser":       func(tx dhruva.Tx) (any, error) { return nil, tx.DropUser(principal) },
		"Grant":          func(tx dhruva.Tx) (any, error) { return tx.Grant("a", principal) },
		"ListGrants":     func(tx dhruva.Tx) (any, error) { return tx.ListGrants(space, dhruva.Page{}) },
		"GrantsOf":       func(tx dhruva.Tx) (any, error) { return tx.GrantsOf(principal) },
		"DropGrant":      func(tx dhruva.Tx) (any, error) { return nil, tx.DropGrant("a", principal) },
		"Provider":       func(tx dhruva.Tx) (any, error) { return tx.Provider(text) },
		"DropProvider":   func(tx dhruva.Tx) (any, error) { return nil, tx.DropProvider(text) },
		"Node":           func(tx dhruva.Tx) (any, error) { return tx.Node(dhruva.NodeID(text)) },
		"DropNode":       func(tx dhruva.Tx) (any, error) { return nil, tx.DropNode(dhruva.NodeID(text)) },
		"Lease":          func(tx dhruva.Tx) (any, error) { return tx.Lease("", text) },
	}
}

// testBadLookups: what no row can hold is absent, everywhere, and asking for it
// spoils nothing.
func testBadLookups(f *fixture) {
	f.everywhere(func(tx dhruva.Tx) { f.must(fill(tx, at1a(1))) })
	before := f.all(at1a(1))
	for _, text := range badTexts {
		for _, scopes := range [][]dhruva.Scope{{system, tenant}, {spaceA, spaceB}, {spaceA}} {
			f.must(f.Update(f.ctx, scopes, func(tx dhruva.Tx) error {
				for name, ask := range lookups(text) {
					f.findsNothing(name, text, ask, tx)
				}
				return nil
			}))
		}
		f.everywhere(func(tx dhruva.Tx) {
			f.is(tx.RedactTurn(dhruva.SessionID(text), 1), dhruva.ErrNotFound)
			f.is(tx.PlaceLeaf(dhruva.LeafID(text), 9), dhruva.ErrNotFound)
		})
	}
	f.unchanged(at1a(1), "asking for bad text", before)
}

func (f *fixture) findsNothing(name, text string, ask func(dhruva.Tx) (any, error), tx dhruva.Tx) {
	f.Helper()
	v, err := ask(tx)
	if name == "DropBranch" && errors.Is(err, dhruva.ErrConflict) { // as of any other that is absent
		return
	}
	if err != nil && !errors.Is(err, dhruva.ErrNotFound) && !errors.Is(err, dhruva.ErrDenied) {
		f.Errorf("%s of %q: %v", name, text, err)
	}
	if got := reflect.ValueOf(v); v != nil && !got.IsZero() && (got.Kind() != reflect.Slice || got.Len() > 0) {
		f.Errorf("%s of %q: %v", name, text, v)
	}
}
