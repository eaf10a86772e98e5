package ledger_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// grower grows a lineage with random acts.
type grower struct {
	*rig
	t        *rapid.T
	space    dhruva.SpaceID
	sessions []dhruva.SessionID
	saved    map[dhruva.Hash]dhruva.Checkpoint
	n        int
	done     map[string]int
}

// did counts an act that was done; what is refused is refused for one of the known
// reasons.
func (g *grower) did(act string, err error) bool {
	switch {
	case err == nil:
		g.done[act]++
	case !errors.Is(err, dhruva.ErrConflict) && !errors.Is(err, dhruva.ErrNotFound):
		g.Fatalf("%s: %v", act, err)
	}
	return err == nil
}

func (g *grower) any() (dhruva.Checkpoint, bool) {
	rows, _, err := g.l.ListCheckpoints(g.ctx(), dhruva.CheckpointQuery{Space: g.space, Page: dhruva.Page{Limit: 1000}})
	g.must(err)
	if len(rows) == 0 {
		return dhruva.Checkpoint{}, false
	}
	return rapid.SampledFrom(rows).Draw(g.t, "checkpoint"), true
}

func (g *grower) branch() string {
	names := []string{"main"}
	for _, b := range must[[]dhruva.Branch](g.rig)(g.l.Branches(g.ctx(), g.space)) {
		names = append(names, b.Name)
	}
	return rapid.SampledFrom(names).Draw(g.t, "branch")
}

func (g *grower) session() dhruva.SessionID {
	return rapid.SampledFrom(g.sessions).Draw(g.t, "session")
}

func (g *grower) commits() {
	g.n++
	in := ledger.CommitInput{Session: g.session(), Title: fmt.Sprint("step ", g.n), Summary: fmt.Sprint("summary of step ", g.n)}
	if rapid.Bool().Draw(g.t, "no session") {
		in.Session, in.Space, in.Branch = "", g.space, g.branch()
	}
	for range rapid.IntRange(0, 3).Draw(g.t, "decisions") {
		in.Decisions = append(in.Decisions, ledger.ItemInput{Text: "we decided for number " + fmt.Sprint(rapid.IntRange(0, 8).Draw(g.t, "what"))})
	}
	_, err := g.l.Commit(g.ctx(), in)
	g.did("commit", err)
}

func (g *grower) forks() {
	if c, ok := g.any(); ok {
		s, err := g.l.Fork(g.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String()})
		if g.did("fork", err) {
			g.sessions = append(g.sessions, s.ID)
		}
	}
}

func (g *grower) merges() {
	in := ledger.MergeInput{Space: g.space, From: g.branch(), Into: g.branch()}
	if rapid.Bool().Draw(g.t, "pick") {
		in.Picks = map[dhruva.ItemID]string{ledger.PickAll: rapid.SampledFrom([]string{"ours", "theirs", "both", "neither"}).Draw(g.t, "side")}
	}
	m, err := g.l.Merge(g.ctx(), in)
	if g.did("merge", err) {
		g.done["merge: "+string(m.Status)]++
	}
}

func (g *grower) reverts() {
	if c, ok := g.any(); ok {
		_, err := g.l.Revert(g.ctx(), ledger.RevertInput{Space: g.space, Branch: g.branch(), To: c.Hash.String()})
		g.did("revert", err)
	}
}

func (g *grower) moves(act string, move func(string) error) {
	branch := ""
	if rapid.Bool().Draw(g.t, "of a branch") {
		branch = g.branch()
	}
	g.did(act, move(branch))
}

func (g *grower) deletes() {
	if c, ok := g.any(); ok {
		cascade := rapid.IntRange(0, 3).Draw(g.t, "cascade") == 0
		_, err := g.l.DeleteCheckpoint(g.ctx(), c.Hash.String(), cascade)
		if g.did(fmt.Sprint("delete, cascade ", cascade), err) && cascade {
			g.sessions = slices.DeleteFunc(g.sessions, func(id dhruva.SessionID) bool {
				return second(g.l.Session(g.ctx(), id)) != nil
			})
		}
	}
}

func (g *grower) remarks() {
	if c, ok := g.any(); ok {
		_, err := g.l.AddRemark(g.ctx(), ledger.RemarkInput{Checkpoint: c.Hash.String(), Text: "a remark"})
		g.did("remark", err)
	}
}

// holds is everything that must be true between two acts.
func (g *grower) holds() {
	g.check()
	g.view(func(tx dhruva.Tx) error {
		rows, err := tx.ListOutlines(dhruva.OutlineQuery{Space: g.space, Page: dhruva.Page{Limit: 1000}})
		g.must(err)
		hidden := map[dhruva.Hash]bool{}
		for _, o := range rows {
			hidden[o.Hash] = !o.HiddenAt.IsZero()
		}
		for _, o := range rows {
			g.immutable(tx, o)
			if p := o.Parent(); hidden[p] && !hidden[o.Hash] {
				g.Fatalf("%q is shown and its parent is not", o.Title)
			}
		}
		branches, err := tx.ListBranches(g.space)
		g.must(err)
		g.reflog(tx, branches)
		for _, b := range branches {
			if hidden[b.Head] {
				g.Fatalf("branch %s is at a hidden checkpoint", b.Name)
			}
		}
		g.said(tx, hidden)
		return nil
	})
}

func (g *grower) immutable(tx dhruva.Tx, o dhruva.Outline) {
	c := must[dhruva.Checkpoint](g.rig)(tx.Checkpoint(o.Hash))
	old, known := g.saved[o.Hash]
	if old.HiddenAt.IsZero() {
		old.HiddenAt = c.HiddenAt
	}
	if known && !cmp.Equal(old, c) {
		g.Fatalf("checkpoint changed: %s", cmp.Diff(old, c))
	}
	g.saved[o.Hash] = c
}

// reflog: doing the moves again from the first one leads to the branches as they
// are.
func (g *grower) reflog(tx dhruva.Tx, branches []dhruva.Branch) {
	moves, err := tx.HeadMoves(dhruva.HeadMoveQuery{Space: g.space, Limit: 1000})
	g.must(err)
	heads, now := map[string]dhruva.Hash{}, map[string]dhruva.Hash{}
	for n, m := range slices.Backward(moves) {
		if m.Seq != int64(len(moves)-n) || heads[m.Branch] != m.From {
			g.Fatalf("move %+v where %s was at %s", m, m.Branch, heads[m.Branch].Short())
		}
		heads[m.Branch] = m.To
	}
	maps.DeleteFunc(heads, func(_ string, h dhruva.Hash) bool { return h.IsZero() })
	for _, b := range branches {
		now[b.Name] = b.Head
	}
	if diff := cmp.Diff(heads, now); diff != "" {
		g.Fatalf("(-reflog +branches)\n%s", diff)
	}
}

// said: what is recalled is said by a checkpoint that is shown, and what those say is
// recalled.
func (g *grower) said(tx dhruva.Tx, hidden map[dhruva.Hash]bool) {
	rows, err := tx.ListSources(dhruva.SourceQuery{Space: g.space, Generation: 1, Page: dhruva.Page{Limit: 1000}})
	g.must(err)
	for _, src := range rows {
		refs, err := tx.References(g.space, 1, src.ID)
		g.must(err)
		shown := slices.ContainsFunc(refs, func(r dhruva.Reference) bool { return r.Session == "" && !hidden[r.Checkpoint] })
		if shown != (src.State == dhruva.SourceReady) {
			g.Fatalf("a source is %s (%s), said by a shown checkpoint: %v", src.State, src.HeldFor, shown)
		}
	}
}

// TestLineageProperties: after any commits, forks, merges, reverts, undos and
// deletions all invariants hold, and the lineage verifies.
func TestLineageProperties(t *testing.T) {
	checks(t, testkit.Count(15, 40, 2000))
	done := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		g := &grower{rig: newRig(t, memstore.New()), t: rt, saved: map[dhruva.Hash]dhruva.Checkpoint{}, done: done}
		g.TB, g.still = failing{t, rt}, rapid.Bool().Draw(rt, "still")
		g.space = g.rig.space("one").ID
		g.sessions = []dhruva.SessionID{g.rig.session(g.space).ID}
		act := func(fn func()) func(*rapid.T) { return func(*rapid.T) { fn() } }
		rt.Repeat(map[string]func(*rapid.T){
			"": act(g.holds), "commit": act(g.commits), "commit too": act(g.commits), "commit as well": act(g.commits), "fork": act(g.forks),
			"merge": act(g.merges), "merge too": act(g.merges), "revert": act(g.reverts), "delete": act(g.deletes), "remark": act(g.remarks),
			"undo": act(func() { g.moves("undo", func(b string) error { return second(g.l.Undo(g.ctx(), g.space, b)) }) }),
			"redo": act(func() { g.moves("redo", func(b string) error { return second(g.l.Redo(g.ctx(), g.space, b)) }) }),
		})
	})
	for _, act := range []string{"commit", "fork", "merge: merged", "merge: conflicts", "merge: up_to_date", "revert", "undo", "redo", "delete, cascade true", "delete, cascade false"} {
		if done[act] == 0 {
			t.Errorf("%s was never done: %v", act, done)
		}
	}
	testkit.Figure(t, "acts: %v", done)
}
