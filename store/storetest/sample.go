package storetest

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Full rows: every field has a value of its own, so that a field that a store
// forgets or swaps shows.

func digest(s string) dhruva.Hash {
	return dhruva.DigestItem(dhruva.Item{Text: s})
}

func fullTenant() dhruva.Tenant {
	return dhruva.Tenant{ID: "t1", Name: "Tenant ünö", KID: "kid", CreatedAt: at(1)}
}

func fullSpace() dhruva.Space {
	return dhruva.Space{Tenant: "t1", ID: "a", Name: "name", Description: "description", ProjectRoot: "/root", Owner: "owner",
		CreatedAt: at(1), UpdatedAt: at(2), DeletedAt: at(3)}
}

func fullSession() dhruva.Session {
	return dhruva.Session{Tenant: "t1", Space: "a", ID: "s", Kind: dhruva.SessionProxy, Fresh: true, Title: "title",
		Provider: "provider", Model: "model", Branch: "branch", Seeded: digest("seeded"), ForkedFrom: digest("forked"),
		ForkedSession: "other", ForkedSeq: 7, Mount: &dhruva.Mount{Checkpoint: digest("mount"), Depth: 3, Base: 11, At: at(4)},
		LastSeq: 12, Tip: 9, Owner: "owner", CreatedAt: at(1), UpdatedAt: at(2), DeletedAt: at(3)}
}

func fullTurn() dhruva.Turn {
	return dhruva.Turn{Tenant: "t1", Space: "a", Session: "s", Seq: 5, ID: "turn", Parent: 3, BeganAfter: 4,
		Role: dhruva.RoleAssistant, Speaker: "speaker", Content: "content \U0001F300\n\t'\"\\ % _ $1", Provider: "provider", Model: "model",
		Interim: true, Truncated: true, Backfill: true, Redacted: true, CreatedAt: at(1)}
}

func fullCheckpoint() dhruva.Checkpoint {
	c := dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: "checkpoint", Parents: []dhruva.Hash{digest("p1"), digest("p2")},
		Branch: "branch", CreatedAt: at(1), Author: "author", Window: dhruva.Window{Session: "s", Base: 2, Through: 9},
		HiddenAt: at(2), Generation: 4, Items: []dhruva.Item{
			{ID: "i1", Kind: dhruva.KindTitle, Text: "title"},
			{ID: "i2", Kind: dhruva.KindTask, Text: "task <&> \u2028", Salt: [16]byte{1, 0, 255},
				Attrs: []dhruva.Attr{{Name: dhruva.AttrSlug, Value: "slug"}, {Name: dhruva.AttrStatus, Value: "open"}},
				Cites: []dhruva.Cite{{From: 3, Through: 4}, {From: 6, Through: 6}}},
			{ID: "i3", Kind: dhruva.KindArtifact, Digest: digest("gone"), Redacted: true},
		}}
	return sealed(c)
}

// sealed computes digests and hash.
func sealed(c dhruva.Checkpoint) dhruva.Checkpoint {
	for n := range c.Items {
		if !c.Items[n].Redacted {
			c.Items[n].Digest = dhruva.DigestItem(c.Items[n])
		}
	}
	c.Hash = dhruva.HashCheckpoint(&c)
	return c
}

func fullBranch() dhruva.Branch {
	return dhruva.Branch{Space: "a", Name: "branch", Head: digest("head"), Disposition: "integrated", UpdatedAt: at(1)}
}

func fullHeadMove() dhruva.HeadMove {
	return dhruva.HeadMove{Tenant: "t1", Space: "a", Branch: "branch", Seq: 3, From: digest("from"), To: digest("to"), Act: "undo", Undoes: 2,
		By: "by", At: at(1)}
}

func fullNote() dhruva.Note {
	return dhruva.Note{Tenant: "t1", Space: "a", Checkpoint: digest("c"), ID: "note", Kind: dhruva.NoteMilestone, Author: "author", Text: "text",
		Redacted: true, CreatedAt: at(1)}
}

func fullClaim() dhruva.Claim {
	return dhruva.Claim{Tenant: "t1", Space: "a", ID: "claim", Agent: "agent", Scope: "scope", Intent: "review", Branch: "branch", Base: digest("base"),
		Session: "s", Task: "task", Worktree: "worktree", Status: dhruva.ClaimDone, ClaimedAt: at(1), ExpiresAt: at(2), UpdatedAt: at(3)}
}

func fullWorktree() dhruva.Worktree {
	return dhruva.Worktree{Tenant: "t1", Space: "a", ID: "worktree", Agent: "agent", Branch: "branch", Base: "base", Root: "/root", Path: "/path",
		Status: dhruva.WorktreeClosed, CreatedAt: at(1), ClosedAt: at(2)}
}

func fullDocument() dhruva.Document {
	return dhruva.Document{Tenant: "t1", Space: "a", ID: "document", Kind: "kind", Session: "s", Title: "title", Text: "text", CreatedAt: at(1),
		UpdatedAt: at(2)}
}

func fullSource() dhruva.Source {
	return dhruva.Source{Tenant: "t1", Space: "a", Generation: 2, ID: "source", Class: dhruva.ClassImported, State: dhruva.SourceHeld,
		HeldFor: "why", Role: dhruva.RoleUser, Digest: digest("text"), Size: 42, EventTime: at(1), CreatedAt: at(2),
		MAC: []byte{0, 1, 255}, KID: "kid"}
}

func fullReference() dhruva.Reference {
	return dhruva.Reference{Space: "a", Generation: 2, Source: "source", Session: "s", Seq: 5, Checkpoint: digest("c"), Item: "item"}
}

func fullTombstone() dhruva.Tombstone {
	return dhruva.Tombstone{Space: "a", Generation: 2, Source: "source", State: "pending", CreatedAt: at(1)}
}

func fullReceipt() dhruva.Receipt {
	return dhruva.Receipt{Tenant: "t1", Space: "a", ID: "receipt", RequestID: "request", Principal: "principal", Key: "key", Node: "node", Subject: "subject",
		Kind: "send", State: "final", Path: "api", Dialect: dhruva.DialectMessages, Provider: "provider", Model: "model",
		Stream: true, Session: "s", ModeRequested: "HEAD", ModeEffective: "FRESH", Memory: dhruva.MemoryRecalled,
		Continuity: dhruva.ContinuityCommitted,
		Recall: dhruva.RecallAccount{Status: dhruva.RecallRecalled, Reason: dhruva.GatePassed, Evidence: 2, LatencyUs: 3,
			Sources: []dhruva.SourceID{"x", "y"}, Note: "note"},
		Ingest: "stored",
		Tokens: dhruva.TokenAccount{Original: 1, Forwarded: 2, Recalled: 3, Replayed: 4, Removed: 5, Input: 6, Output: 7, UsageSource: "provider"},
		Bytes:  dhruva.ByteAccount{In: 1, Forwarded: 2, Out: 3, ClientBody: "c", ForwardedBody: "f"},
		Edits:  []dhruva.Splice{{Kind: dhruva.EditInject, Offset: 1, Len: 2, Cut: 3}},
		Context: &dhruva.ContextUsed{Mode: dhruva.ModeMounted, Checkpoints: []dhruva.Hash{digest("c")}, Base: 1,
			Turns: []int64{2, 3}, Cut: 1, Evidence: []dhruva.SourceID{"x"}, Tokens: 9},
		Checkpoint: digest("k"),
		Upstream:   dhruva.Upstream{Status: 200, RequestID: "u", TTFBUs: 1, TotalUs: 2, Terminal: dhruva.TerminalCompleted, Error: "e"},
		Generation: 2, CreatedAt: at(1), FinishedAt: at(2), TurnIDs: []dhruva.TurnID{"a", "b"}, SourcesSeen: 5, Redactions: 6}
}

func fullKey() dhruva.Key {
	return dhruva.Key{Tenant: "t1", ID: "key", Hash: []byte{0, 1, 2}, Name: "name", Label: "label", Test: true,
		Scopes: []dhruva.KeyScope{dhruva.MemoryRead, dhruva.ProxyUse}, Space: "a", Spaces: []dhruva.SpaceID{"a", "b"},
		Provider: "provider", Owner: "owner", Maker: "maker", CreatedAt: at(1), ExpiresAt: at(2), RevokedAt: at(3)}
}

func fullRecord() dhruva.Record {
	return dhruva.Record{Tenant: "t1", Space: "a", Generation: 2, ID: "record", Source: "source", Start: 3, End: 9, Kind: "decision",
		Extractor: "rule/1", Digest: digest("span"), EventTime: at(1), CreatedAt: at(2), MAC: []byte{0, 1, 255}, KID: "kid"}
}

func fullVector() dhruva.Vector {
	return dhruva.Vector{Tenant: "t1", Space: "a", Generation: 2, Source: "source", Model: "model", Part: 1, Start: 3, End: 9,
		Values: []float32{0.1, -2.5, 3e-42, 1e38}, CreatedAt: at(1)}
}

func fullReplay() dhruva.Replay {
	keys := []dhruva.Hash{digest("k1"), digest("k2")}
	slices.SortFunc(keys, dhruva.Hash.Compare)
	return dhruva.Replay{Tenant: "t1", Space: "a", ID: "replay", Dialect: dhruva.DialectChat, Generation: 2, Session: "s", Keys: keys,
		Evidence: []dhruva.Span{{Source: "y", Start: 1, End: 2, Digest: digest("span")}, {Source: "x", Start: 3, End: 4, Digest: digest("other")},
			{Source: "y", Start: 5, End: 6, Digest: digest("third")}},
		Checkpoint: digest("c"), Renderer: 3, Rendered: digest("rendered"), Removed: []dhruva.Hash{digest("r2"), digest("r1")},
		Receipt: "receipt", CreatedAt: at(1)}
}

func fullLeaf() dhruva.Leaf {
	return dhruva.Leaf{Tenant: "t1", Space: "a", ID: "leaf", Kind: "receipt", Digest: digest("account"), At: at(1)}
}

func fullAuditHead() dhruva.AuditHead {
	return dhruva.AuditHead{Tenant: "t1", Size: 7, Fence: 3, At: at(1)}
}

func fullJob() dhruva.Job {
	return dhruva.Job{Tenant: "t1", Space: "a", ID: "job", Kind: "purge", Subject: "subject", Generation: 2, Payload: "payload",
		State: dhruva.JobQueued, Attempts: 4, NotBefore: at(1), Owner: "node", Fence: 5, LeaseUntil: at(2), Error: "error",
		CreatedAt: at(3), UpdatedAt: at(4)}
}

func fullCursor() dhruva.Cursor {
	return dhruva.Cursor{Tenant: "t1", Space: "a", Node: "node", Seq: 7, At: at(1)}
}

func fullIdempotency() dhruva.Idempotency {
	return dhruva.Idempotency{Tenant: "t1", Principal: "principal", Route: "route", Key: digest("key"), Request: digest("request"),
		State: dhruva.CallBegun, Fence: 2, Until: at(1), Results: []string{"session:y", "checkpoint:x"}, CreatedAt: at(2), ExpiresAt: at(3)}
}

func fullUser() dhruva.User {
	return dhruva.User{Tenant: "t1", ID: "user", Name: "name", Email: "name@example", Password: "hash", Issuer: "issuer", Subject: "subject",
		CreatedAt: at(1), UpdatedAt: at(2), DisabledAt: at(3)}
}

func fullGrant() dhruva.Grant {
	return dhruva.Grant{Tenant: "t1", Space: "a", Principal: "principal", Role: dhruva.MemberViewer, By: "by", CreatedAt: at(1)}
}

func fullProvider() dhruva.ProviderConfig {
	return dhruva.ProviderConfig{Tenant: "t1", Name: "provider", Dialect: dhruva.DialectMessages, BaseURL: "https://example", DefaultModel: "model",
		Enabled: true, AllowPrivate: true, Sealed: []byte{0, 1, 255}, Label: "label", Version: 3, CreatedAt: at(1), UpdatedAt: at(2)}
}

func fullNode() dhruva.Node {
	return dhruva.Node{ID: "node", Name: "name", Version: "version", StartedAt: at(1), Until: at(2)}
}

func fullLease() dhruva.Lease {
	return dhruva.Lease{Tenant: "t1", Name: "lease", Owner: "node", Fence: 4, Until: at(1)}
}

func fullEpoch() dhruva.Epoch {
	return dhruva.Epoch{Space: "a", Generation: 3, Fence: 2, ACLVersion: 5}
}

func fullChain() dhruva.Chain {
	return dhruva.Chain{Space: "a", Hash: digest("h"), Session: "s", Seq: 3}
}

func fullChange() dhruva.Change {
	return dhruva.Change{Seq: 1, Kind: dhruva.ChangeSource, Ref: "ref", At: at(1)}
}

// session and turn are small rows of a space.
func session(s dhruva.Scope, id string, updated time.Time) dhruva.Session {
	return dhruva.Session{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.SessionID(id), Kind: dhruva.SessionChat, UpdatedAt: updated}
}

func turn(s dhruva.Scope, session string, seq int64) dhruva.Turn {
	return dhruva.Turn{Tenant: s.Tenant(), Space: s.Space(), Session: dhruva.SessionID(session), Seq: seq, Parent: seq - 1,
		BeganAfter: seq - 1, Role: dhruva.RoleUser, Content: "hello", CreatedAt: at(int(seq))}
}

func source(s dhruva.Scope, id string) dhruva.Source {
	return dhruva.Source{Tenant: s.Tenant(), Space: s.Space(), Generation: 1, ID: dhruva.SourceID(id),
		Class: dhruva.ClassUserTyped, State: dhruva.SourceReady}
}

func receipt(s dhruva.Scope, id string) dhruva.Receipt {
	return dhruva.Receipt{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.ReceiptID(id), Kind: "send"}
}

// awkward are names that a careless collation takes for one another. Lists are
// in the order of their bytes.
func awkward() []string {
	return slices.Sorted(slices.Values([]string{" ", "%", "A", "B", "_", "a", "a ", "a%", "a\u0301", "aa", "ab", "a|", "b",
		"\u00e1", "\u00df", "ss", "\u4e2d", "\ufb03", "ffi", "\U0001F300", "\uffff", "10", "9", "09"}))
}

// noise is a text of n letters and digits that does not compress, another one
// for each seed.
func noise(n int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, seed))
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"[r.IntN(64)]
	}
	return string(b)
}
