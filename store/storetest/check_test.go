package storetest_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

var (
	ctx   = context.Background()
	scope = dhruva.SpaceScope("t", "s")
	whole = dhruva.TenantScope("t")
)

// good fills a store so that no invariant is broken.
func good(tx dhruva.Tx) error {
	c := sealed(dhruva.Checkpoint{ID: "c", Items: []dhruva.Item{{ID: "i", Kind: dhruva.KindTitle, Text: "title"}}})
	d := sealed(dhruva.Checkpoint{ID: "d", Parents: []dhruva.Hash{c.Hash}})
	_, change := tx.AppendChange("s", dhruva.Change{Kind: dhruva.ChangeSource, Ref: "x"})
	return errors.Join(change,
		tx.PutSpace(dhruva.Space{Tenant: "t", ID: "s"}),
		tx.PutSession(dhruva.Session{Tenant: "t", Space: "s", ID: "a", LastSeq: 2}),
		tx.AppendTurn(dhruva.Turn{Tenant: "t", Space: "s", Session: "a", Seq: 1}),
		tx.AppendTurn(dhruva.Turn{Tenant: "t", Space: "s", Session: "a", Seq: 2, Parent: 1, BeganAfter: 1}),
		tx.PutCheckpoint(c), tx.PutCheckpoint(d),
		tx.SwapBranch(dhruva.Branch{Space: "s", Name: "main", Head: d.Hash}, dhruva.Hash{}),
		goodPlane(tx, c.Hash),
		tx.PutSource(dhruva.Source{Tenant: "t", Space: "s", Generation: 1, ID: "x", State: dhruva.SourceReady}),
		tx.AddReference(dhruva.Reference{Space: "s", Generation: 1, Source: "x", Session: "a", Seq: 1}),
		tx.AddReference(dhruva.Reference{Space: "s", Generation: 1, Source: "x", Checkpoint: c.Hash, Item: "i"}),
		goodWork(tx))
}

// goodPlane is what stands around checkpoints: one more that is hidden, and in
// another space one more.
func goodPlane(tx dhruva.Tx, of dhruva.Hash) error {
	hidden := sealed(dhruva.Checkpoint{ID: "h", Author: "me", Parents: []dhruva.Hash{of}})
	foreign := dhruva.Checkpoint{Tenant: "t", Space: "other", ID: "foreign"}
	foreign.Hash = dhruva.HashCheckpoint(&foreign)
	return errors.Join(tx.PutCheckpoint(hidden), tx.HideCheckpoint(hidden.Hash, now), tx.PutCheckpoint(foreign),
		tx.AppendHeadMove(headMove(1, 0)), tx.AppendHeadMove(headMove(2, 1)),
		tx.PutNote(note("n", of)), tx.PutNote(note("of nothing", dhruva.Hash{})), tx.PutNote(note("of what is not there", dhruva.Hash{9})),
		tx.PutClaim(claim("l", hidden.Hash)), tx.PutWorktree(worktree("w")),
		tx.PutDocument(dhruva.Document{Tenant: "t", Space: "s", ID: "d", Kind: "k"}))
}

func headMove(seq, undoes int64) dhruva.HeadMove {
	return dhruva.HeadMove{Tenant: "t", Space: "s", Branch: "main", Seq: seq, Act: "commit", Undoes: undoes}
}

func note(id string, of dhruva.Hash) dhruva.Note {
	return dhruva.Note{Tenant: "t", Space: "s", ID: dhruva.NoteID(id), Kind: "note", Checkpoint: of, Text: "text"}
}

func claim(id string, base dhruva.Hash) dhruva.Claim {
	return dhruva.Claim{Tenant: "t", Space: "s", ID: dhruva.ClaimID(id), Status: dhruva.ClaimActive, Base: base}
}

func worktree(id string) dhruva.Worktree {
	return dhruva.Worktree{Tenant: "t", Space: "s", ID: dhruva.WorktreeID(id), Status: dhruva.WorktreeOpen}
}

// foreign is the checkpoint of the other space.
func foreign(tx dhruva.Tx) dhruva.Hash {
	c, _ := tx.CheckpointByID("foreign")
	return c.Hash
}

// goodWork is what is derived from the source, and background work.
func goodWork(tx dhruva.Tx) error {
	leased := job("leased", dhruva.JobLeased)
	leased.Owner, leased.LeaseUntil, leased.Fence, leased.Attempts = "n", now, 2, 1
	_, change := tx.AppendChange("s", dhruva.Change{Kind: dhruva.ChangeSource, Ref: "x"})
	return errors.Join(change,
		tx.PutRecord(record("x", 1)), tx.PutVector(vector("x", 1)), tx.PutReplay(replay("x", 1)),
		tx.PutTombstone(dhruva.Tombstone{Space: "s", Generation: 1, Source: "gone", State: "completed"}),
		dhruva.Attest(tx, receipt("final")), tx.PutReceipt(dhruva.Receipt{Tenant: "t", Space: "s", ID: "old", State: "final"}),
		tx.PutJob(job("queued", dhruva.JobQueued)), tx.PutJob(leased), tx.CompactChanges("s", 1),
		tx.PutCursor(cursor(1)), tx.PutLeaf(leaf("l1")), tx.PutLeaf(leaf("l2")), tx.PutLeaf(leaf("pending")),
		tx.PlaceLeaf("l2", 1), tx.PlaceLeaf("l1", 2), tx.PutAuditHead(dhruva.AuditHead{Tenant: "t", Size: 2}))
}

var now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func record(source string, g int64) dhruva.Record {
	return dhruva.Record{Tenant: "t", Space: "s", Generation: g, ID: dhruva.RecordID("r" + source), Source: dhruva.SourceID(source)}
}

func vector(source string, g int64) dhruva.Vector {
	return dhruva.Vector{Tenant: "t", Space: "s", Generation: g, Source: dhruva.SourceID(source), Model: "m"}
}

func replay(source string, g int64) dhruva.Replay {
	return dhruva.Replay{Tenant: "t", Space: "s", ID: "p", Generation: g, Keys: []dhruva.Hash{{1}}, Evidence: []dhruva.Span{{Source: "x"}, {Source: dhruva.SourceID(source)}}}
}

func job(id string, state dhruva.JobState) dhruva.Job {
	return dhruva.Job{Tenant: "t", Space: "s", ID: dhruva.JobID(id), Kind: "k", Subject: id, State: state}
}

func receipt(state string) dhruva.Receipt {
	return dhruva.Receipt{Tenant: "t", Space: "s", ID: "q", Kind: "send", State: state, FinishedAt: now}
}

func cursor(seq int64) dhruva.Cursor {
	return dhruva.Cursor{Tenant: "t", Space: "s", Node: "n", Seq: seq}
}

func leaf(id string) dhruva.Leaf {
	return dhruva.Leaf{Tenant: "t", Space: "s", ID: dhruva.LeafID(id), Kind: "k"}
}

func sealed(c dhruva.Checkpoint) dhruva.Checkpoint {
	c.Tenant, c.Space, c.Generation = "t", "s", 1
	for n := range c.Items {
		c.Items[n].Digest = dhruva.DigestItem(c.Items[n])
	}
	c.Hash = dhruva.HashCheckpoint(&c)
	return c
}

func session(last int64) dhruva.Session {
	return dhruva.Session{Tenant: "t", Space: "s", ID: "b", LastSeq: last}
}

func turn(seq, parent, began int64) dhruva.Turn {
	return dhruva.Turn{Tenant: "t", Space: "s", Session: "b", Seq: seq, Parent: parent, BeganAfter: began}
}

// TestCheckFinds breaks one invariant at a time.
func TestCheckFinds(t *testing.T) {
	forged := sealed(dhruva.Checkpoint{ID: "e", Author: "before"})
	forged.Author = "after"
	with := func(j dhruva.Job, change func(*dhruva.Job)) func(tx dhruva.Tx) error {
		change(&j)
		return func(tx dhruva.Tx) error { return tx.PutJob(j) }
	}
	for name, c := range map[string]struct {
		want string
		bad  func(dhruva.Tx) error
	}{
		"nothing": {"", func(dhruva.Tx) error { return nil }},
		"a gap": {"turn 3 stands where 2", func(tx dhruva.Tx) error {
			return errors.Join(tx.PutSession(session(2)), tx.AppendTurn(turn(1, 0, 0)), tx.AppendTurn(turn(3, 1, 1)))
		}},
		"LastSeq": {"1 turns, LastSeq 2", func(tx dhruva.Tx) error { return errors.Join(tx.PutSession(session(2)), tx.AppendTurn(turn(1, 0, 0))) }},
		"parent":  {"has parent 1", func(tx dhruva.Tx) error { return errors.Join(tx.PutSession(session(1)), tx.AppendTurn(turn(1, 1, 0))) }},
		"began":   {"began after 1", func(tx dhruva.Tx) error { return errors.Join(tx.PutSession(session(1)), tx.AppendTurn(turn(1, 0, 1))) }},
		"forged":  {"does not match its hash", func(tx dhruva.Tx) error { return tx.PutCheckpoint(forged) }},
		"parent missing": {"parent ", func(tx dhruva.Tx) error {
			return tx.PutCheckpoint(sealed(dhruva.Checkpoint{ID: "e", Parents: []dhruva.Hash{{1}}}))
		}},
		"head missing": {`branch "x"`, func(tx dhruva.Tx) error {
			return tx.SwapBranch(dhruva.Branch{Space: "s", Name: "x", Head: dhruva.Hash{1}}, dhruva.Hash{})
		}},
		"head hidden": {`branch "x": head `, func(tx dhruva.Tx) error {
			c, _ := tx.CheckpointByID("h")
			return tx.SwapBranch(dhruva.Branch{Space: "s", Name: "x", Head: c.Hash}, dhruva.Hash{})
		}},
		"hidden and forged": {"does not match its hash", func(tx dhruva.Tx) error {
			return errors.Join(tx.PutCheckpoint(forged), tx.HideCheckpoint(forged.Hash, now))
		}},
		"tip": {"the tip is 3, LastSeq 1", func(tx dhruva.Tx) error {
			s := session(1)
			s.Tip = 3
			return errors.Join(tx.PutSession(s), tx.AppendTurn(turn(1, 0, 0)))
		}},
		"a move is missing":         {"head move 2 is followed by 4", func(tx dhruva.Tx) error { return tx.AppendHeadMove(headMove(4, 0)) }},
		"a move takes itself back":  {"head move 3 takes back 3", func(tx dhruva.Tx) error { return tx.AppendHeadMove(headMove(3, 3)) }},
		"a move takes nothing back": {"head move 3 takes back -1", func(tx dhruva.Tx) error { return tx.AppendHeadMove(headMove(3, -1)) }},
		"text that was taken away": {"note x: its text was taken away", func(tx dhruva.Tx) error {
			n := note("x", dhruva.Hash{})
			n.Redacted = true
			return tx.PutNote(n)
		}},
		"note of another space":  {"note x of space s names checkpoint ", func(tx dhruva.Tx) error { return tx.PutNote(note("x", foreign(tx))) }},
		"claim of another space": {"claim x of space s names checkpoint ", func(tx dhruva.Tx) error { return tx.PutClaim(claim("x", foreign(tx))) }},
		"claim in no state": {`claim x: status "x"`, func(tx dhruva.Tx) error {
			c := claim("x", dhruva.Hash{})
			c.Status = "x"
			return tx.PutClaim(c)
		}},
		"worktree in no state": {`worktree x: status "x"`, func(tx dhruva.Tx) error {
			w := worktree("x")
			w.Status = "x"
			return tx.PutWorktree(w)
		}},
		"worktree open and closed": {"worktree x: open, and closed at", func(tx dhruva.Tx) error {
			w := worktree("x")
			w.ClosedAt = now
			return tx.PutWorktree(w)
		}},
		"turn missing": {"refers to session a, turn 9", func(tx dhruva.Tx) error {
			return tx.AddReference(dhruva.Reference{Space: "s", Generation: 1, Source: "x", Session: "a", Seq: 9})
		}},
		"source missing": {"referred to by source y", func(tx dhruva.Tx) error {
			return tx.AddReference(dhruva.Reference{Space: "s", Generation: 1, Source: "y", Session: "a", Seq: 1})
		}},
		"item missing": {`item "z": none`, func(tx dhruva.Tx) error {
			c, _ := tx.CheckpointByID("c")
			return tx.AddReference(dhruva.Reference{Space: "s", Generation: 1, Source: "x", Checkpoint: c.Hash, Item: "z"})
		}},
		"tombstone": {"ready beside a tombstone", func(tx dhruva.Tx) error {
			return tx.PutTombstone(dhruva.Tombstone{Space: "s", Generation: 1, Source: "x"})
		}},
		"below the fence":   {"generation 1: 1 sources, fence 1", func(tx dhruva.Tx) error { return tx.PutEpoch(dhruva.Epoch{Space: "s", Generation: 2, Fence: 1}) }},
		"text below it":     {"has text below the fence 1", func(tx dhruva.Tx) error { return tx.PutEpoch(dhruva.Epoch{Space: "s", Generation: 2, Fence: 1}) }},
		"record of nothing": {"record ry: its source y: ", func(tx dhruva.Tx) error { return tx.PutRecord(record("y", 1)) }},
		"record of a buried source": {"record rx: its source x has a tombstone", func(tx dhruva.Tx) error {
			return tx.PutTombstone(dhruva.Tombstone{Space: "s", Generation: 1, Source: "x", State: "completed"})
		}},
		"record below the fence": {"record rx: generation 1, fence 1", func(tx dhruva.Tx) error { return tx.PutEpoch(dhruva.Epoch{Space: "s", Generation: 2, Fence: 1}) }},
		"record too new":         {"record ry: generation 2, fence 0", func(tx dhruva.Tx) error { return tx.PutRecord(record("y", 2)) }},
		"vector of nothing":      {"vector y/m/0: its source y: ", func(tx dhruva.Tx) error { return tx.PutVector(vector("y", 1)) }},
		"vector of a buried source": {"vector x/m/0: its source x has a tombstone", func(tx dhruva.Tx) error {
			return tx.PutTombstone(dhruva.Tombstone{Space: "s", Generation: 1, Source: "x", State: "not_found"})
		}},
		"vector below the fence": {"vector x/m/0: generation 1, fence 1", func(tx dhruva.Tx) error { return tx.PutEpoch(dhruva.Epoch{Space: "s", Generation: 2, Fence: 1}) }},
		"replay of nothing":      {"replay p: its source y: ", func(tx dhruva.Tx) error { return tx.PutReplay(replay("y", 1)) }},
		"replay of a buried source": {"replay p: its source gone has a tombstone", func(tx dhruva.Tx) error {
			return tx.PutReplay(replay("gone", 1))
		}},
		"replay below the fence": {"replay p: generation 1, fence 1", func(tx dhruva.Tx) error { return tx.PutEpoch(dhruva.Epoch{Space: "s", Generation: 2, Fence: 1}) }},
		"leased to nobody": {`job x: leased to ""`, with(job("x", dhruva.JobLeased), func(j *dhruva.Job) {
			j.LeaseUntil, j.Fence, j.Attempts = now, 1, 1
		})},
		"leased for no time": {`job x: leased to "n"`, with(job("x", dhruva.JobLeased), func(j *dhruva.Job) { j.Owner, j.Fence, j.Attempts = "n", 1, 1 })},
		"leased without a claim": {`claim 0`, with(job("x", dhruva.JobLeased), func(j *dhruva.Job) {
			j.Owner, j.LeaseUntil, j.Attempts = "n", now, 1
		})},
		"leased without an attempt": {`attempt 0`, with(job("x", dhruva.JobLeased), func(j *dhruva.Job) {
			j.Owner, j.LeaseUntil, j.Fence = "n", now, 1
		})},
		"queued and leased":         {"job x: queued, and leased", with(job("x", dhruva.JobQueued), func(j *dhruva.Job) { j.LeaseUntil = now })},
		"in no state":               {`job x: state "x"`, with(job("x", "x"), func(*dhruva.Job) {})},
		"more attempts than claims": {"job x: 3 attempts, claim 2", with(job("x", dhruva.JobDead), func(j *dhruva.Job) { j.Fence, j.Attempts = 2, 3 })},
		"less attempts than none":   {"job x: -1 attempts", with(job("x", dhruva.JobDead), func(j *dhruva.Job) { j.Attempts = -1 })},
		"cursor beyond the head":    {"cursor of n: 3, the feed is 1 to 2", func(tx dhruva.Tx) error { return tx.PutCursor(cursor(3)) }},
		"cursor before the tail":    {"cursor of n: 0, the feed is 1 to 2", func(tx dhruva.Tx) error { return tx.PutCursor(cursor(0)) }},
		"receipt that changed after its end": {"receipt q, final: its leaf does not attest it", func(tx dhruva.Tx) error {
			r := receipt("final")
			r.SourcesSeen++
			return tx.PutReceipt(r)
		}},
		"receipt that has a leaf and not ended": {"receipt q, open: its leaf does not", func(tx dhruva.Tx) error { return tx.PutReceipt(receipt("open")) }},
		"tenant: a gap in the log":              {"leaf pending stands at 4 where 3", func(tx dhruva.Tx) error { return tx.PlaceLeaf("pending", 4) }},
		"tenant: more than the head":            {"3 leaves have a place, the head's size is 2", func(tx dhruva.Tx) error { return tx.PlaceLeaf("pending", 3) }},
		"tenant: less than the head": {"2 leaves have a place, the head's size is 3", func(tx dhruva.Tx) error {
			return tx.PutAuditHead(dhruva.AuditHead{Tenant: "t", Size: 3})
		}},
		"too new": {"generation 2: 1 sources", func(tx dhruva.Tx) error {
			return tx.PutSource(dhruva.Source{Tenant: "t", Space: "s", Generation: 2, ID: "n"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New()
			err := s.Update(ctx, []dhruva.Scope{whole}, func(tx dhruva.Tx) error { return errors.Join(good(tx), c.bad(tx)) })
			if err != nil {
				t.Fatal(err)
			}
			scopes := []dhruva.Scope{whole, scope}
			if strings.HasPrefix(name, "tenant: ") {
				scopes = scopes[:1]
			}
			for _, sc := range scopes {
				switch err := storetest.Check(ctx, s, sc); {
				case c.want == "" && err != nil:
					t.Error(err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("check of %s: %v, want %q", sc, err, c.want)
				}
			}
		})
	}
}

// liar is a store whose answers are bent on their way out.
type liar struct {
	dhruva.Store
	bend func(dhruva.Tx) dhruva.Tx
	skip int64 // the change that the feed lacks
}

func (s liar) View(ctx context.Context, sc dhruva.Scope, fn func(dhruva.Tx) error) error {
	return s.Store.View(ctx, sc, func(tx dhruva.Tx) error {
		if s.bend != nil {
			tx = s.bend(tx)
		}
		return fn(tx)
	})
}

func (s liar) Changes(ctx context.Context, sc dhruva.Scope, after int64) iter.Seq2[dhruva.Change, error] {
	return func(yield func(dhruva.Change, error) bool) {
		for c, err := range s.Store.Changes(ctx, sc, after) {
			if (s.skip == 0 || c.Seq != s.skip) && !yield(c, err) {
				return
			}
		}
	}
}

// The lies.
type (
	miscounts  struct{ dhruva.Tx }
	highHead   struct{ dhruva.Tx }
	lowTail    struct{ dhruva.Tx }
	endless    struct{ dhruva.Tx }
	forgetful  struct{ dhruva.Tx } // of an entry of the conversation ledger, by its key
	absentJobs struct{ dhruva.Tx }
	twoPlaces  struct{ dhruva.Tx }
	seamless   struct{ dhruva.Tx }
	untitled   struct{ dhruva.Tx }
	showsAll   struct{ dhruva.Tx }
	showsLess  struct{ dhruva.Tx }
	walksOne   struct{ dhruva.Tx }
	unbranched struct{ dhruva.Tx }
	unnoted    struct{ dhruva.Tx }
)

func (t seamless) Seams(dhruva.SessionID, int64, int64) ([]dhruva.Seam, error) { return nil, nil }
func (t untitled) ListOutlines(q dhruva.OutlineQuery) ([]dhruva.Outline, error) {
	rows, err := t.Tx.ListOutlines(q)
	for n := range rows {
		rows[n].Title = ""
	}
	return rows, err
}
func (t showsAll) ListCheckpoints(q dhruva.CheckpointQuery) (out []dhruva.Checkpoint, err error) {
	rows, err := t.Tx.ListOutlines(dhruva.OutlineQuery{Space: q.Space, Page: q.Page})
	for _, o := range rows {
		c, _ := t.Tx.Checkpoint(o.Hash)
		out = append(out, c)
	}
	return out, err
}
func (t showsLess) ListCheckpoints(q dhruva.CheckpointQuery) ([]dhruva.Checkpoint, error) {
	q.Branch = "none"
	return t.Tx.ListCheckpoints(q)
}
func (t walksOne) Ancestry(h dhruva.Hash, limit int) ([]dhruva.Outline, error) {
	return t.Tx.Ancestry(h, min(limit, 1))
}
func (t unbranched) HeadMoves(q dhruva.HeadMoveQuery) ([]dhruva.HeadMove, error) {
	if q.Branch != "" {
		return nil, nil
	}
	return t.Tx.HeadMoves(q)
}
func (t unnoted) ListNotes(q dhruva.NoteQuery) ([]dhruva.Note, error) {
	if !q.Checkpoint.IsZero() {
		return nil, nil
	}
	return t.Tx.ListNotes(q)
}

func (t miscounts) CountSources(s dhruva.SpaceID, g int64) (int, error) {
	n, err := t.Tx.CountSources(s, g)
	return n + 1, err
}
func (t highHead) Epoch(s dhruva.SpaceID) (dhruva.Epoch, error) {
	e, err := t.Tx.Epoch(s)
	e.Head++
	return e, err
}
func (t lowTail) Epoch(s dhruva.SpaceID) (dhruva.Epoch, error) {
	e, err := t.Tx.Epoch(s)
	e.Tail = 2
	return e, err
}
func (t endless) ListJobs(q dhruva.JobQuery) ([]dhruva.Job, error) {
	q.After = ""
	return t.Tx.ListJobs(q)
}
func (t forgetful) Replays(dhruva.SpaceID, dhruva.Dialect, dhruva.Hash, int) ([]dhruva.Replay, error) {
	return nil, nil
}
func (t absentJobs) Job(dhruva.JobID) (dhruva.Job, error) { return dhruva.Job{}, dhruva.ErrNotFound }
func (t twoPlaces) PendingLeaves(int) ([]dhruva.Leaf, error) {
	return t.Tx.ListLeaves(0, 1)
}

// TestCheckFindsALie: what a store promises is checked too.
func TestCheckFindsALie(t *testing.T) {
	for want, bend := range map[string]func(dhruva.Tx) dhruva.Tx{
		"1 sources listed, 2 counted":        func(tx dhruva.Tx) dhruva.Tx { return miscounts{tx} },
		"feed ends at 2, the head is 3":      func(tx dhruva.Tx) dhruva.Tx { return highHead{tx} },
		"feed: after 1 there is more than":   func(tx dhruva.Tx) dhruva.Tx { return lowTail{tx} },
		`the page after "queued" ends with`:  func(tx dhruva.Tx) dhruva.Tx { return endless{tx} },
		"replay p: by its key":               func(tx dhruva.Tx) dhruva.Tx { return forgetful{tx} },
		"job leased: listed as":              func(tx dhruva.Tx) dhruva.Tx { return absentJobs{tx} },
		"leaf l2 is pending and has place 1": func(tx dhruva.Tx) dhruva.Tx { return twoPlaces{tx} },
		"session a: seams []":                func(tx dhruva.Tx) dhruva.Tx { return seamless{tx} },
		"its outline is ":                    func(tx dhruva.Tx) dhruva.Tx { return untitled{tx} },
		"UTC, listed true":                   func(tx dhruva.Tx) dhruva.Tx { return showsAll{tx} },
		"UTC, listed false":                  func(tx dhruva.Tx) dhruva.Tx { return showsLess{tx} },
		"the walk from it is ":               func(tx dhruva.Tx) dhruva.Tx { return walksOne{tx} },
		`branch "main": 2 head moves, 0 by`:  func(tx dhruva.Tx) dhruva.Tx { return unbranched{tx} },
		"note n: by its checkpoint ":         func(tx dhruva.Tx) dhruva.Tx { return unnoted{tx} },
	} {
		s := memstore.New()
		if err := s.Update(ctx, []dhruva.Scope{whole}, good); err != nil {
			t.Fatal(err)
		}
		if err := storetest.Check(ctx, liar{Store: s, bend: bend}, whole); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check: %v, want %q", err, want)
		}
	}
}

func TestCheckFindsAGapInTheFeed(t *testing.T) {
	for changes, want := range map[int]string{2: "feed ends at 1, the head is 2", 3: "change 3 follows 1"} {
		s := liar{Store: memstore.New(), skip: 2}
		err := s.Update(ctx, []dhruva.Scope{scope}, func(tx dhruva.Tx) (err error) {
			for range changes {
				_, change := tx.AppendChange("s", dhruva.Change{})
				err = errors.Join(err, change)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := storetest.Check(ctx, s, scope); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check: %v, want %q", err, want)
		}
	}
}
