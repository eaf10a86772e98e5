package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

func outlines(rows []dhruva.Outline) []dhruva.Hash {
	out := []dhruva.Hash{}
	for _, o := range rows {
		out = append(out, o.Hash)
	}
	return out
}

func (r *rig) head(space dhruva.SpaceID, branch string) dhruva.Hash {
	r.Helper()
	for _, b := range must[[]dhruva.Branch](r)(r.l.Branches(r.ctx(), space)) {
		if b.Name == branch {
			return b.Head
		}
	}
	return dhruva.Hash{}
}

func (r *rig) reach(id dhruva.SessionID) []dhruva.Hash {
	r.Helper()
	rows, _, err := r.l.Reachable(r.ctx(), id, dhruva.Page{})
	r.must(err)
	return outlines(rows)
}

func (r *rig) delete(c dhruva.Checkpoint, cascade bool) ledger.Dependents {
	r.Helper()
	return must[ledger.Dependents](r)(r.l.DeleteCheckpoint(r.ctx(), c.Hash.String(), cascade))
}

func (r *rig) merge(in ledger.MergeInput) ledger.Merged {
	r.Helper()
	return must[ledger.Merged](r)(r.l.Merge(r.ctx(), in))
}

// S2, S16, S17: nothing that is done beside a checkpoint or after it changes it.
func TestS2_NoRouteChangesACheckpoint(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		saved := []dhruva.Checkpoint{f.root, f.tip, f.side}
		same := func(after string) {
			r.Helper()
			for _, c := range saved {
				got := must[dhruva.Checkpoint](r)(r.l.Checkpoint(r.ctx(), c.Hash.String()))
				if diff := cmp.Diff(c, got); diff != "" {
					r.Fatalf("%s changed %s: %s", after, c.Text(dhruva.KindTitle), diff)
				}
			}
		}
		for _, act := range []struct {
			name string
			do   func() error
		}{
			{"a remark", func() error {
				return second(r.l.AddRemark(r.ctx(), ledger.RemarkInput{Checkpoint: f.root.Hash.String(), Text: "noise", Kind: dhruva.NoteNoise}))
			}},
			{"a mount", func() error { return second(r.l.Mount(r.ctx(), f.main.ID, f.root.Hash.String(), 3)) }},
			{"an unmount", func() error { return second(r.l.Unmount(r.ctx(), f.main.ID)) }},
			{"a disposition", func() error { return second(r.l.SetDisposition(r.ctx(), f.space, "aside", ledger.BranchAbandoned)) }},
			{"a merge", func() error { return second(r.l.Merge(r.ctx(), ledger.MergeInput{Space: f.space, From: "aside"})) }},
			{"a revert", func() error {
				return second(r.l.Revert(r.ctx(), ledger.RevertInput{Space: f.space, To: f.root.Hash.String()}))
			}},
			{"an undo", func() error { return second(r.l.Undo(r.ctx(), f.space, "")) }},
			{"a redo", func() error { return second(r.l.Redo(r.ctx(), f.space, "")) }},
			{"a fork", func() error { return second(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: f.tip.Hash.String()})) }},
			{"a commit", func() error {
				return second(r.l.Commit(r.ctx(), ledger.CommitInput{Session: f.main.ID, Title: "later", Decisions: items("we write it in Rust")}))
			}},
			{"more turns", func() error { r.talk(f.main.ID, "later", 1); return nil }},
			{"the session's end", func() error { return r.l.DeleteSession(r.ctx(), f.main.ID) }},
		} {
			r.must(act.do())
			same(act.name)
		}
	})
}

// S2, as a property of the code: nothing exported by the ledger takes a checkpoint's
// state fields but what makes a new one.
func TestS2_OnlySavesTakeState(t *testing.T) {
	takes := []string{}
	kind := reflect.TypeFor[*ledger.Ledger]()
	for i := range kind.NumMethod() {
		m := kind.Method(i)
		for n := range m.Type.NumIn() {
			in := m.Type.In(n)
			if in.Kind() != reflect.Struct {
				continue
			}
			for f := range in.NumField() {
				if name := in.Field(f).Name; name == "Objective" || name == "Decisions" || name == "Items" && in.Name() != "Call" {
					takes = append(takes, m.Name)
					break
				}
			}
		}
	}
	takes = slices.Compact(takes)
	if diff := cmp.Diff([]string{"Commit"}, takes); diff != "" {
		t.Error(diff)
	}
}

// S4: a checkpoint says what its author says; no turn is copied into it.
func TestS4_NoTurnIsCopied(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "sentinel", 3)
		c := r.commit(ledger.CommitInput{Session: s.ID, Title: "what it was about"})
		if len(c.Items) != 1 || strings.Contains(fmt.Sprint(c.Items), "sentinel") {
			r.Errorf("%+v", c.Items)
		}
	})
}

// S5: asking, comparing, previewing save nothing.
func TestS5_ReadingSavesNothing(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		before := append(r.effect(), lineageRows(r))
		refs := []string{f.root.Hash.String(), f.side.Hash.String()}
		r.must(second(r.l.Compare(r.ctx(), refs[0], refs[1])))
		r.must(second(r.l.Blame(r.ctx(), refs[1], "")))
		r.must(second(r.l.Dependents(r.ctx(), refs[0])))
		r.must(second(r.l.Lineage(r.ctx(), f.space, ledger.LineageQuery{})))
		r.must(second(r.l.Verify(r.ctx(), f.space)))
		r.must(second(r.l.TurnCheckpoints(r.ctx(), f.main.ID, 1)))
		if m := r.merge(ledger.MergeInput{Space: f.space, From: "aside", DryRun: true}); m.Status != ledger.MergeDone || m.Checkpoint != nil || len(m.Items) == 0 {
			r.Errorf("%+v", m)
		}
		if diff := cmp.Diff(before, append(r.effect(), lineageRows(r))); diff != "" {
			r.Error(diff)
		}
	})
}

// S15 and contracts 16: the hash is 64 digits of SHA-256, of which people see 7, and
// is the same when it is read again.
func TestS15_Hash(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		again := must[dhruva.Checkpoint](r)(r.l.Checkpoint(r.ctx(), f.tip.Hash.Short()))
		if h := f.tip.Hash.String(); len(h) != 64 || h[:7] != f.tip.Hash.Short() || dhruva.HashCheckpoint(&again) != f.tip.Hash {
			r.Errorf("%s", h)
		}
	})
}

// S16: every way to save links to what was there before.
func TestS16_ParentChain(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		if !f.root.Parent().IsZero() || f.tip.Parent() != f.root.Hash || f.side.Parent() != f.root.Hash {
			r.Error("a commit does not follow the head of its branch")
		}
		m := r.merge(ledger.MergeInput{Space: f.space, From: "aside"})
		if diff := cmp.Diff([]dhruva.Hash{f.tip.Hash, f.side.Hash}, m.Checkpoint.Parents); diff != "" {
			r.Error(diff)
		}
		back := must[dhruva.Checkpoint](r)(r.l.Revert(r.ctx(), ledger.RevertInput{Space: f.space, To: f.root.Hash.String()}))
		if diff := cmp.Diff([]dhruva.Hash{m.Checkpoint.Hash}, back.Parents); diff != "" {
			r.Error(diff)
		}
		walk := must[[]dhruva.Checkpoint](r)(r.l.Ancestors(r.ctx(), back.Hash.String(), 0))
		if diff := cmp.Diff([]dhruva.Hash{f.root.Hash, f.tip.Hash, m.Checkpoint.Hash, back.Hash}, hashes(walk)); diff != "" {
			r.Error(diff)
		}
	})
}

// S17, S57: the window it was drawn from, both ways round.
func TestS17_Window(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "first", 1)
		a := r.commit(ledger.CommitInput{Session: s.ID, Title: "a", Decisions: []ledger.ItemInput{{Text: "decided at once", Cites: []dhruva.Cite{{From: 2, Through: 2}}}}})
		r.talk(s.ID, "second", 1)
		b := r.commit(ledger.CommitInput{Session: s.ID, Title: "b", Decisions: items("decided at once")})
		if a.Window != (dhruva.Window{Session: s.ID, Base: 0, Through: 2}) || b.Window != (dhruva.Window{Session: s.ID, Base: 2, Through: 4}) {
			r.Errorf("%+v %+v", a.Window, b.Window)
		}
		for seq, want := range map[int64]dhruva.Checkpoint{1: a, 2: a, 3: b, 4: b} {
			uses := must[[]ledger.TurnUse](r)(r.l.TurnCheckpoints(r.ctx(), s.ID, seq))
			if len(uses) != 1 || uses[0].Checkpoint.Hash != want.Hash || (len(uses[0].Items) == 1) != (seq == 2) {
				r.Errorf("turn %d: %+v", seq, uses)
			}
		}
		_, err := r.l.TurnCheckpoints(r.ctx(), s.ID, 5)
		r.is(err, dhruva.ErrNotFound)
		o := must[[]ledger.Origin](r)(r.l.Blame(r.ctx(), b.Hash.String(), b.Of(dhruva.KindDecision)[0].ID))
		if len(o) != 1 || o[0].First.Hash != a.Hash || o[0].Since.Hash != a.Hash || o[0].Cited.Hash != a.Hash || !cmp.Equal(seqs(o[0].Turns), []int64{2}) {
			r.Errorf("%+v", o)
		}
	})
}

// state-plane 7.10: ancestors cross names of branches, and end at the root, at N, at
// a parent that was deleted and where they would turn in a circle.
func TestB10_Ancestors(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		r.commit(ledger.CommitInput{Session: f.main.ID, Title: "newest", Summary: "newest of all by time"})
		walk := func(c dhruva.Checkpoint, n int) []dhruva.Hash {
			return hashes(must[[]dhruva.Checkpoint](r)(r.l.Ancestors(r.ctx(), c.Hash.String(), n)))
		}
		if diff := cmp.Diff([]dhruva.Hash{f.root.Hash, f.side.Hash}, walk(f.side, 3)); diff != "" {
			r.Error(diff)
		}
		if diff := cmp.Diff([]dhruva.Hash{f.side.Hash}, walk(f.side, 1)); diff != "" {
			r.Error(diff)
		}
		r.update(f.space, func(tx dhruva.Tx) error { return tx.HideCheckpoint(f.root.Hash, r.now) }) // behind the ledger's back
		if diff := cmp.Diff([]dhruva.Hash{f.side.Hash}, walk(f.side, 3)); diff != "" {
			r.Error(diff)
		}
	})
}

// state-plane 7.11, D7: saving while mounted follows what is mounted.
func TestD7_MountedSaveFollowsTheMount(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		r.must(second(r.l.Mount(r.ctx(), f.main.ID, f.root.Hash.String(), 1)))
		c := r.commit(ledger.CommitInput{Session: f.main.ID, Title: "from the mount"})
		if c.Parent() != f.root.Hash || c.Branch == "main" || r.head(f.space, "main") != f.tip.Hash {
			r.Errorf("parent %s, branch %s", c.Parent().Short(), c.Branch)
		}
	})
}

// state-plane 7.11: two simultaneous saves do not both claim one parent unnoticed.
func TestB11_SimultaneousSaves(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for n := range errs {
			wg.Go(func() {
				errs[n] = second(r.l.Commit(r.ctx(), ledger.CommitInput{Space: f.space, Title: fmt.Sprint("save ", n), Parents: []string{f.tip.Hash.String()}}))
			})
		}
		wg.Wait()
		kept := 0
		for _, err := range errs {
			if err == nil {
				kept++
			} else {
				r.is(err, dhruva.ErrConflict)
			}
		}
		if kept != 1 {
			r.Errorf("%d saves on one parent", kept)
		}
	})
}

// D6: what is saved on a fork enters its context.
func TestD6_ForkFollowsItsOwn(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		got := r.resolve(f.fork.ID, ledger.ContextRequest{Depth: 3})
		if diff := cmp.Diff([]dhruva.Hash{f.root.Hash, f.side.Hash}, hashes(got.Checkpoints)); diff != "" || got.Mode != dhruva.ModeForked {
			r.Errorf("%s %s", got.Mode, diff)
		}
	})
}

// D15: two unnamed forks of one day have two branches.
func TestD15_ForksShareNoBranch(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		names := map[string]bool{}
		for range 3 {
			names[must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: f.root.Hash.String()})).Branch] = true
		}
		_, err := r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: f.root.Hash.String(), Branch: "main"})
		if r.is(err, dhruva.ErrInvalid); len(names) != 3 || names["main"] {
			r.Errorf("%v", names)
		}
	})
}

// D16: a fork whose source is gone behind our back stays a fork, and does not get
// main's context.
func TestD16_ForkStaysAFork(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		alone := must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: f.tip.Hash.String()}))
		r.update(f.space, func(tx dhruva.Tx) error {
			return errors.Join(tx.DropBranch(f.space, alone.Branch, f.tip.Hash), tx.DropBranch(f.space, "main", f.tip.Hash), tx.HideCheckpoint(f.tip.Hash, r.now))
		})
		got := r.resolve(alone.ID, ledger.ContextRequest{Depth: 3})
		if got.Mode != dhruva.ModeForked || len(got.Checkpoints) != 0 || got.LeftOut == "" {
			r.Errorf("%s %v %q", got.Mode, hashes(got.Checkpoints), got.LeftOut)
		}
		_, err := r.l.Commit(r.ctx(), ledger.CommitInput{Session: alone.ID, Title: "after a ghost"})
		r.is(err, dhruva.ErrNotFound)
	})
}

// state-plane 7.13: the reachable set.
func TestB13_Reachable(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		other := must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: f.root.Hash.String()}))
		r.talk(other.ID, "other", 1)
		sibling := r.save(other.ID, "sibling")
		if diff := cmp.Diff([]dhruva.Hash{f.side.Hash, f.root.Hash}, r.reach(f.fork.ID)); diff != "" {
			r.Errorf("a fork: %s", diff)
		}
		if diff := cmp.Diff([]dhruva.Hash{f.tip.Hash, f.root.Hash}, r.reach(f.main.ID)); diff != "" {
			r.Errorf("main: %s", diff)
		}
		if got := r.reach(r.session("").ID); len(got) != 0 {
			r.Errorf("FRESH: %v", got)
		}
		if slices.Contains(r.reach(f.main.ID), sibling.Hash) {
			r.Error("main reaches a fork's")
		}
		m := r.merge(ledger.MergeInput{Space: f.space, From: "aside"})
		if diff := cmp.Diff([]dhruva.Hash{m.Checkpoint.Hash, f.side.Hash, f.tip.Hash, f.root.Hash}, r.reach(f.main.ID)); diff != "" {
			r.Errorf("after a merge: %s", diff)
		}
		page, next, err := r.l.Reachable(r.ctx(), f.main.ID, dhruva.Page{Limit: 3})
		r.must(err)
		rest, end, err := r.l.Reachable(r.ctx(), f.main.ID, dhruva.Page{After: next})
		r.must(err)
		if len(page) != 3 || len(rest) != 1 || end != "" {
			r.Errorf("%d and %d, %q", len(page), len(rest), end)
		}
	})
}

// state-plane 7.18, D17: dependents, cascade, and what stays.
func TestB18_Delete(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		seeded := must[dhruva.Session](r)(r.l.CreateSession(r.ctx(), ledger.SessionInput{Space: f.space, Seeded: f.root.Hash}))
		r.must(second(r.l.Mount(r.ctx(), seeded.ID, f.root.Hash.String(), 1)))
		grand := must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: f.side.Hash.String(), Branch: "deeper"}))
		claim := must[ledger.ClaimView](r)(r.l.Claim(r.ctx(), ledger.ClaimInput{Space: f.space, Agent: "ana", Scope: "work", Base: f.side.Hash.String()}))
		_, err := r.l.DeleteCheckpoint(r.ctx(), f.root.Hash.String(), false)
		var blocked *ledger.Blocked
		if r.is(err, dhruva.ErrConflict); !errors.As(err, &blocked) {
			r.Fatalf("%v", err)
		}
		d := blocked.Dependents
		if diff := cmp.Diff([]dhruva.Hash{f.side.Hash, f.tip.Hash}, outlines(d.Children)); diff != "" || d.Blocking() != 3 {
			r.Errorf("%d %s", d.Blocking(), diff)
		}
		ids := func(rows []dhruva.Session) (out []dhruva.SessionID) {
			for _, s := range rows {
				out = append(out, s.ID)
			}
			return out
		}
		if diff := cmp.Diff([][]dhruva.SessionID{{f.fork.ID}, {seeded.ID}, {seeded.ID}}, [][]dhruva.SessionID{ids(d.Forked), ids(d.Seeded), ids(d.Mounted)}); diff != "" {
			r.Error(diff)
		}
		r.delete(f.root, true)
		for _, c := range []dhruva.Checkpoint{f.root, f.tip, f.side} {
			_, err := r.l.Checkpoint(r.ctx(), c.Hash.String())
			r.is(err, dhruva.ErrNotFound)
		}
		for _, id := range []dhruva.SessionID{f.fork.ID, grand.ID} {
			_, err := r.l.Session(r.ctx(), id)
			r.is(err, dhruva.ErrNotFound)
		}
		_, err = r.l.DeleteCheckpoint(r.ctx(), f.root.Hash.String(), true)
		r.is(err, dhruva.ErrNotFound)
		if n := len(must[[]dhruva.Branch](r)(r.l.Branches(r.ctx(), f.space))); n != 0 {
			r.Errorf("%d branches", n)
		}
		if got := must[ledger.ClaimView](r)(r.l.ClaimByID(r.ctx(), claim.ID)); !got.Base.IsZero() || got.From != nil {
			r.Errorf("a claim kept its base: %+v", got)
		}
		_, err = r.l.Resolve(r.ctx(), seeded.ID, ledger.ContextRequest{}) // never a silent HEAD
		if r.is(err, dhruva.ErrNotFound); !strings.Contains(err.Error(), "unmount") {
			r.Error(err)
		}
		_, err = r.l.Undo(r.ctx(), f.space, "main")
		r.is(err, dhruva.ErrConflict)
		if rep := must[ledger.VerifyReport](r)(r.l.Verify(r.ctx(), f.space)); rep.Hidden != 3 || rep.Checked != 3 || len(rep.Failures) != 0 {
			r.Errorf("%+v", rep)
		}
		if page := must[ledger.Lineage](r)(r.l.Lineage(r.ctx(), f.space, ledger.LineageQuery{})); len(page.Nodes) != 0 {
			r.Errorf("%+v", page.Nodes)
		}
		c := r.commit(ledger.CommitInput{Session: f.main.ID, Title: "a new beginning"})
		if !c.Parent().IsZero() {
			r.Errorf("it follows %s", c.Parent().Short())
		}
	})
}

// What only a deleted checkpoint says is held; what something else says is not. Said
// again, it is back.
func TestB18_DeletedTextsAreNotRecalled(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		ids := map[string]dhruva.SourceID{}
		for _, text := range []string{"one binary is shipped", "we write it in Go"} {
			ids[text] = r.sourceOf(f.space, text)
		}
		state := func(text string) dhruva.SourceState {
			r.Helper()
			v, err := r.l.Source(r.ctx(), f.space, ids[text])
			r.must(err)
			if shown := v.Text == text; shown != (v.State == dhruva.SourceReady) {
				r.Errorf("%s, and its text is %q", v.State, v.Text)
			}
			return v.State
		}
		r.delete(f.tip, false)
		if got := r.head(f.space, "main"); got != f.root.Hash {
			r.Errorf("main is at %s", got.Short())
		}
		if a, b := state("one binary is shipped"), state("we write it in Go"); a != dhruva.SourceHeld || b != dhruva.SourceReady {
			r.Errorf("%s, %s", a, b)
		}
		_, err := r.l.Release(r.ctx(), f.space, ids["one binary is shipped"])
		r.is(err, dhruva.ErrConflict)
		r.commit(ledger.CommitInput{Session: f.main.ID, Title: "again", Decisions: items("one binary is shipped")})
		if got := state("one binary is shipped"); got != dhruva.SourceReady {
			r.Errorf("said again: %s", got)
		}
	})
}

func (r *rig) sourceOf(space dhruva.SpaceID, text string) dhruva.SourceID {
	return dhruva.ContentID(r.keys, r.owner.Tenant, space, dhruva.RoleUser, text)
}

// A purge reaches what was deleted before.
func TestB18_EraseReachesTheDeleted(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		r.delete(f.tip, false)
		id := r.sourceOf(f.space, "one binary is shipped")
		gone := ledger.Gone{Source: &dhruva.Tombstone{Space: f.space, Generation: 1, Source: id, State: "pending", CreatedAt: r.now}}
		r.must(second(r.l.Erase(context.Background(), r.owner.In(f.space), []ledger.Gone{gone})))
		r.view(func(tx dhruva.Tx) error {
			c, err := tx.Checkpoint(f.tip.Hash)
			if strings.Contains(fmt.Sprint(c.Items), "binary") {
				r.Errorf("%+v", c.Items)
			}
			return err
		})
	})
}

// state-plane 7.18: a cascade that ends early anywhere leaves a whole store, and
// doing it again finishes it.
func TestB18_CascadeInterrupted(t *testing.T) {
	faults := 0
	for _, fault := range []storetest.Fault{storetest.Lost, storetest.Kept} {
		for at := 1; ; at++ {
			r := newRig(t, memstore.New())
			space := r.space("work").ID
			var first dhruva.Checkpoint
			for n := range 9 { // more than one Update hides
				c := r.commit(ledger.CommitInput{Space: space, Title: fmt.Sprint("step ", n), Decisions: items(many(120)...)})
				if n == 0 {
					first = c
				}
				if n%3 == 1 {
					fork := must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String()}))
					r.talk(fork.ID, "fork", 1)
					r.save(fork.ID, "on a fork")
				}
			}
			broken := storetest.NewFaulty(r.store, fault, at)
			whole := *r.l
			r.l.Store = broken
			_, err := r.l.DeleteCheckpoint(r.ctx(), first.Hash.String(), true)
			*r.l = whole
			r.check() // whole in between: heads are shown, ready sources are said
			if broken.Updates() < at {
				r.must(err)
				break
			}
			r.is(err, dhruva.ErrUnavailable)
			faults++
			if _, err := r.l.DeleteCheckpoint(r.ctx(), first.Hash.String(), true); err != nil && !errors.Is(err, dhruva.ErrNotFound) {
				r.Fatal(err)
			}
			rows, _, err := r.l.ListCheckpoints(r.ctx(), dhruva.CheckpointQuery{Space: space})
			sessions, _, err2 := r.l.ListSessions(r.ctx(), dhruva.SessionQuery{Space: space})
			r.must(errors.Join(err, err2))
			if len(rows)+len(sessions)+len(must[[]dhruva.Branch](r)(r.l.Branches(r.ctx(), space))) != 0 {
				r.Fatalf("%v at %d: %d checkpoints and %d sessions are left", fault, at, len(rows), len(sessions))
			}
			r.check()
		}
	}
	testkit.Figure(t, "%d interruptions of a cascade", faults)
}

// D18: the graph says where branches stand.
func TestD18_LineageFillsDispositions(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		r.must(second(r.l.SetDisposition(r.ctx(), f.space, "aside", ledger.BranchIntegrated)))
		_, err := r.l.SetDisposition(r.ctx(), f.space, "nowhere", ledger.BranchIntegrated)
		r.is(err, dhruva.ErrNotFound)
		_, err = r.l.SetDisposition(r.ctx(), f.space, "aside", "gone")
		r.is(err, dhruva.ErrInvalid)
		r.must(second(r.l.AddRemark(r.ctx(), ledger.RemarkInput{Checkpoint: f.root.Hash.String(), Text: "here it began", Kind: dhruva.NoteMilestone})))
		got := must[ledger.Lineage](r)(r.l.Lineage(r.ctx(), f.space, ledger.LineageQuery{}))
		standing := map[string]string{}
		for _, b := range got.Branches {
			standing[b.Name] = b.Disposition
		}
		if diff := cmp.Diff(map[string]string{"main": "active", "aside": "integrated"}, standing); diff != "" {
			r.Error(diff)
		}
		root := got.Nodes[2]
		if root.Hash != f.root.Hash || root.Remarks.Total() != 1 || root.Remarks[dhruva.NoteMilestone] != 1 || len(root.Forks) != 1 || root.Title != "root" {
			r.Errorf("%+v", root)
		}
		if n := got.Nodes[0]; n.Hash != f.side.Hash || !cmp.Equal(n.Heads, []string{"aside"}) {
			r.Errorf("%+v", n)
		}
		page := must[ledger.Lineage](r)(r.l.Lineage(r.ctx(), f.space, ledger.LineageQuery{Page: dhruva.Page{Limit: 2}}))
		rest := must[ledger.Lineage](r)(r.l.Lineage(r.ctx(), f.space, ledger.LineageQuery{Page: dhruva.Page{After: page.Next}}))
		if len(page.Nodes) != 2 || len(rest.Nodes) != 1 || rest.Next != "" {
			r.Errorf("%d and %d", len(page.Nodes), len(rest.Nodes))
		}
		r.delete(f.side, false)
		r.must(second(r.l.SetDisposition(r.ctx(), f.space, "aside", ledger.BranchActive)))
	})
}

// D24: no remark is lost, however many are made at once.
func TestD24_StormOfRemarks(t *testing.T) {
	n := testkit.Count(200, 1000, 10_000)
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			n := n
			if name != "memory" && !testkit.Campaign() {
				n = 100
			}
			store := open(t)
			r := newRig(t, store)
			f := r.forked()
			var wg sync.WaitGroup
			work := make(chan int)
			for range 16 {
				wg.Go(func() {
					for i := range work {
						if _, err := r.l.AddRemark(r.ctx(), ledger.RemarkInput{Checkpoint: f.root.Hash.String(), Text: fmt.Sprint("remark ", i)}); err != nil {
							r.Error(err)
						}
					}
				})
			}
			for i := range n {
				work <- i
			}
			close(work)
			wg.Wait()
			texts := map[string]bool{}
			for page := (dhruva.Page{Limit: 300}); ; {
				rows, next, err := r.l.Remarks(r.ctx(), f.root.Hash.String(), page)
				r.must(err)
				for _, row := range rows {
					texts[row.Text] = true
				}
				if page.After = next; next == "" {
					break
				}
			}
			if len(texts) != n {
				r.Errorf("%d of %d remarks", len(texts), n)
			}
			leaves := 0
			r.view(func(tx dhruva.Tx) error {
				rows, err := tx.PendingLeaves(20_000)
				for _, leaf := range rows {
					if leaf.Kind == dhruva.ActRemark {
						leaves++
					}
				}
				return err
			})
			if want := min(n, 1000); leaves < want {
				r.Errorf("%d leaves of %d remarks", leaves, n)
			}
			r.must(store.Close())
		})
	}
}

// state-plane 7.16: remarks are checked, append-only, and gone with their checkpoint.
func TestB16_Remarks(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		ref := f.root.Hash.String()
		for text, want := range map[string]error{
			strings.Repeat("é", 2000): nil, strings.Repeat("é", 2001): dhruva.ErrTooLarge, " \n": dhruva.ErrInvalid, "a\x00": dhruva.ErrInvalid, "\xff": dhruva.ErrInvalid,
		} {
			if _, err := r.l.AddRemark(r.ctx(), ledger.RemarkInput{Checkpoint: ref, Text: text}); !errors.Is(err, want) {
				r.Errorf("%q: %v, want %v", text[:1], err, want)
			}
		}
		_, err := r.l.AddRemark(r.ctx(), ledger.RemarkInput{Checkpoint: ref, Text: "x", Kind: "praise"})
		r.is(err, dhruva.ErrInvalid)
		_, err = r.l.AddRemark(r.with(dhruva.StateRead), ledger.RemarkInput{Checkpoint: ref, Text: "x"})
		r.is(err, dhruva.ErrDenied)
		n := must[dhruva.Note](r)(r.l.AddRemark(r.ctx(), ledger.RemarkInput{Checkpoint: ref, Text: "the key is " + patLike}))
		if strings.Contains(n.Text, patLike) || n.Author != "Ana" || n.Kind != dhruva.NotePlain {
			r.Errorf("%+v", n)
		}
		r.delete(f.root, true)
		_, _, err = r.l.Remarks(r.ctx(), ref, dhruva.Page{})
		r.is(err, dhruva.ErrNotFound)
	})
}

// A clear takes the words of remarks too, and of what was deleted before.
func TestClearTakesRemarks(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		r.must(second(r.l.AddRemark(r.ctx(), ledger.RemarkInput{Checkpoint: f.root.Hash.String(), Text: "sentinel of a remark"})))
		r.delete(f.tip, false)
		in := ledger.Ending{Generation: 2, Fence: 1, Sessions: map[dhruva.SessionID]int64{f.main.ID: 100, f.fork.ID: 100}}
		got := must[ledger.Erased](r)(r.l.End(context.Background(), r.owner.In(f.space), in))
		if again := must[ledger.Erased](r)(r.l.End(context.Background(), r.owner.In(f.space), in)); got.Remarks != 1 || again != (ledger.Erased{}) {
			r.Errorf("%+v, again %+v", got, again)
		}
		rows, _, err := r.l.Remarks(r.ctx(), f.root.Hash.String(), dhruva.Page{})
		r.must(err)
		if len(rows) != 1 || !rows[0].Redacted || rows[0].Text != "" {
			r.Errorf("%+v", rows)
		}
		r.view(func(tx dhruva.Tx) error {
			c, err := tx.Checkpoint(f.tip.Hash)
			for _, i := range c.Items {
				if !i.Redacted {
					r.Errorf("%+v", i)
				}
			}
			return err
		})
	})
}

// state-plane 7.19: compare.
func TestB19_Compare(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		c := must[ledger.Comparison](r)(r.l.Compare(r.ctx(), f.tip.Hash.String(), f.side.Hash.String()))
		if c.CommonAncestor == nil || c.CommonAncestor.Hash != f.root.Hash || c.Same() {
			r.Errorf("%+v", c.CommonAncestor)
		}
		for _, k := range c.Kinds {
			if k.Kind == dhruva.KindDecision && (len(k.Shared) != 1 || !cmp.Equal(texts(k.OnlyA), []string{"one binary is shipped"}) || !cmp.Equal(texts(k.OnlyB), []string{"clients are generated"})) {
				r.Errorf("%+v", k)
			}
		}
		self := must[ledger.Comparison](r)(r.l.Compare(r.ctx(), f.tip.Hash.String(), f.tip.Hash.Short()))
		if !self.Same() || self.CommonAncestor.Hash != f.tip.Hash {
			r.Errorf("%+v", self)
		}
		again := must[ledger.Comparison](r)(r.l.Compare(r.ctx(), f.tip.Hash.String(), f.side.Hash.String()))
		if diff := cmp.Diff(c, again); diff != "" {
			r.Error(diff)
		}
		lone := r.commit(ledger.CommitInput{Space: f.space, Branch: "orphan", NewBranch: true, Title: "of no family"})
		if c := must[ledger.Comparison](r)(r.l.Compare(r.ctx(), f.tip.Hash.String(), lone.Hash.String())); c.CommonAncestor != nil {
			r.Errorf("%+v", c.CommonAncestor)
		}
		_, err := r.l.Merge(r.ctx(), ledger.MergeInput{Space: f.space, From: "orphan"})
		r.is(err, dhruva.ErrConflict)
		_, err = r.l.Compare(r.ctx(), f.tip.Hash.String(), strings.Repeat("0", 64))
		r.is(err, dhruva.ErrNotFound)
	})
}
