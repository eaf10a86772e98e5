package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

func (r *rig) forkAt(id dhruva.SessionID, seq int64, scope ledger.ForkScope) dhruva.Session {
	r.Helper()
	return must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Session: id, Seq: seq, Scope: scope}))
}

// lines are a session's turns as number, parent and text.
func (r *rig) lines(id dhruva.SessionID) (out []string) {
	r.Helper()
	for _, t := range must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), id, 0, 1000)) {
		out = append(out, fmt.Sprintf("%d <%d %s", t.Seq, t.Parent, t.Content))
	}
	return out
}

// Contracts 23: what each scope copies, and where the conversation then stands.
func TestB12_ForkScopes(t *testing.T) {
	each(t, func(r *rig) {
		s := r.branched(r.space("work").ID) // see there
		old := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), s.ID, 0, 0))
		text := func(seq int64) string { return old[seq-1].Content }
		copies := func(pairs ...int64) (out []string) { // parent and original of each
			for n := 0; n < len(pairs); n += 2 {
				out = append(out, fmt.Sprintf("%d <%d %s", n/2+1, pairs[n], text(pairs[n+1])))
			}
			return out
		}
		all := copies(0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 2, 7, 7, 8, 7, 9)
		for _, probe := range []struct {
			seq   int64
			scope ledger.ForkScope
			lines []string
			tip   int64
			shown []int64
		}{
			{8, "", copies(0, 1, 1, 2, 2, 7, 3, 8), 0, span(1, 4)},
			{4, ledger.ForkPath, copies(0, 1, 1, 2, 2, 3, 3, 4), 0, span(1, 4)},
			{5, ledger.ForkPath, copies(0, 1, 1, 2, 2, 3, 3, 4), 0, span(1, 4)}, // a message: to be said anew
			{1, ledger.ForkPath, nil, 0, []int64{}},
			{8, ledger.ForkRelated, all, 8, []int64{1, 2, 7, 8}},
			{4, ledger.ForkRelated, copies(0, 1, 1, 2, 2, 3, 3, 4, 2, 7, 5, 8, 5, 9), 4, span(1, 4)},
			{2, ledger.ForkRelated, copies(0, 1, 1, 2), 0, span(1, 2)},
			{4, ledger.ForkAll, all, 4, span(1, 4)},
			{9, ledger.ForkAll, all, 0, []int64{1, 2, 7, 9}},
		} {
			f := r.forkAt(s.ID, probe.seq, probe.scope)
			if diff := cmp.Diff(probe.lines, r.lines(f.ID)); diff != "" || f.Tip != probe.tip || f.ForkedSession != s.ID || f.ForkedSeq != probe.seq {
				r.Errorf("%q at %d: tip %d, %s", probe.scope, probe.seq, f.Tip, diff)
			}
			r.wantWindow(f.ID, dhruva.ModeForked, probe.shown...)
			for n, t := range must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), f.ID, 0, 0)) {
				if probe.scope == ledger.ForkAll && (t.CreatedAt != old[n].CreatedAt || t.ID == old[n].ID || t.BeganAfter != old[n].BeganAfter) {
					r.Errorf("%+v of %+v", t, old[n])
				}
			}
		}
	})
}

// State-plane 7.12, D6: a fork from a turn has a branch of its own at its source's
// head, sees what its source saw there, and then follows its own checkpoints.
func TestB12_D6_ForkFromATurnSeesWhatItsSourceSaw(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("trip")
		s := r.session(sp.ID)
		r.talk(s.ID, "australia", 1)
		c1 := r.save(s.ID, "Trip to Australia")
		r.talk(s.ID, "new zealand", 1)
		c2 := r.save(s.ID, "Trip to New Zealand")
		r.talk(s.ID, "fiji", 1)
		head := r.forkAt(s.ID, 6, "")
		r.wantContext(r.resolve(head.ID, ledger.ContextRequest{}), dhruva.ModeForked, "FORKED · "+c2.Hash.Short(), span(5, 6), c2)
		if got := r.lines(head.ID); len(got) != 6 || head.Branch == dhruva.MainBranch || head.Title != "Fork of "+s.Title || head.ForkedFrom != c2.Hash || head.Provider != "echo" {
			r.Errorf("%v %+v", got, head)
		}
		r.must(second(r.l.Mount(r.ctx(), s.ID, c1.Hash.String(), 1)))
		late := r.begin(s.ID)
		r.talk(s.ID, "sydney", 1) // 7, 8
		r.must(second(r.l.Mount(r.ctx(), s.ID, c1.Hash.String(), 1)))
		r.must(second(r.l.AppendExchange(r.ctx(), late, exchange("a late question", "a late answer")))) // 9, 10
		r.talk(s.ID, "perth", 1)                                                                        // 11, 12
		for scope, want := range map[ledger.ForkScope][]int64{ledger.ForkPath: span(9, 10), ledger.ForkRelated: span(9, 10), ledger.ForkAll: span(11, 12)} {
			f := r.forkAt(s.ID, 12, scope)
			got := r.resolve(f.ID, ledger.ContextRequest{Depth: 3})
			r.wantContext(got, dhruva.ModeForked, "FORKED · "+c1.Hash.Short(), want, c1)
			for _, t := range got.Turns {
				if !strings.Contains(t.Content, "perth") {
					r.Errorf("leaked: %s", t.Content)
				}
			}
			if got := strings.Join(r.lines(f.ID), "\n"); strings.Contains(got, "late") != (scope == ledger.ForkAll) {
				r.Errorf("%s: %s", scope, got)
			}
			r.say(f.ID, "the first message of a fork", "is kept")
			c3 := r.save(f.ID, "on the fork")
			r.say(f.ID, "after that", "goes on")
			after := r.resolve(f.ID, ledger.ContextRequest{Depth: 3})
			last := after.Session.LastSeq
			r.wantContext(after, dhruva.ModeForked, "FORKED · "+c3.Hash.Short(), span(last-1, last), c1, c3)
			if c3.Branch != f.Branch || c3.Parent() != c1.Hash {
				r.Errorf("%s on %s", c3.Parent().Short(), c3.Branch)
			}
		}
	})
}

// Copies say what their originals say: no source is made, and each has one more
// place, so that it stays when the source of the fork is deleted.
func TestForkCopiesKeepTheirSources(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		r.talk(s.ID, "kept", 2)
		before := count(r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID}))
		f := must[dhruva.Session](r)(r.l.Fork(r.with(dhruva.StateWrite), ledger.ForkInput{Session: s.ID, Seq: 4}))
		r.must(r.l.DeleteSession(r.ctx(), s.ID))
		views, _, err := r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID})
		r.must(err)
		if len(views) != before || before == 0 {
			r.Errorf("%d sources, were %d", len(views), before)
		}
		for _, v := range views {
			if v.State != dhruva.SourceReady || v.Text == "" || len(v.References) != 2 {
				r.Errorf("%+v", v)
			}
		}
		r.wantWindow(f.ID, dhruva.ModeForked, 1, 2, 3, 4) // D16: it stays a fork
	})
}

// M60: a fork brings nothing back that was purged, and nothing that is being purged.
func TestForkBringsNothingBack(t *testing.T) {
	r := newRig(t, openers["memory"](t))
	sp := r.space("work")
	s := r.session(sp.ID)
	r.talk(s.ID, "kept", 2)
	r.update(sp.ID, func(tx dhruva.Tx) error { return tx.RedactTurn(s.ID, 1) })
	r.tombstone(sp.ID, 1, dhruva.ContentID(r.keys, tenant, sp.ID, dhruva.RoleAssistant, "kept answer number 1"))
	f := r.forkAt(s.ID, 4, "")
	turns := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), f.ID, 0, 0))
	for n, want := range []string{"", "", "kept question number 2", "kept answer number 2"} {
		if turns[n].Content != want || turns[n].Redacted != (want == "") {
			r.Errorf("%+v", turns[n])
		}
	}
	r.wantWindow(f.ID, dhruva.ModeForked, 3, 4)
}

// A FRESH session's fork is FRESH, and can be attached like any other.
func TestD32_ForkOfAFreshSession(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session("")
		r.talk(s.ID, "private", 2)
		f := r.forkAt(s.ID, 2, "")
		if !f.Fresh || f.Space != s.Space || f.Branch != dhruva.MainBranch {
			r.Errorf("%+v", f)
		}
		r.wantWindow(f.ID, dhruva.ModeFresh, 1, 2)
		_, err := r.l.Fork(r.ctx(), ledger.ForkInput{Session: s.ID, Seq: 2, Branch: "aside"})
		r.is(err, dhruva.ErrInvalid)
		at := must[dhruva.Session](r)(r.l.Attach(r.ctx(), f.ID, r.space("work").ID))
		if at.ForkedSession != "" || at.ForkedSeq != 0 || at.Branch != dhruva.MainBranch {
			r.Errorf("%+v", at)
		}
		r.wantWindow(f.ID, dhruva.ModeHead, 1, 2)
	})
}

func TestForkFromATurnInput(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		r.talk(s.ID, "first", 3)
		stranger := r.owner
		stranger.Spaces, stranger.Scopes = []dhruva.SpaceID{"elsewhere"}, []dhruva.KeyScope{dhruva.StateWrite}
		_, err := r.l.Fork(r.as(stranger), ledger.ForkInput{Session: s.ID, Seq: 2})
		r.is(err, dhruva.ErrNotFound)
		_, err = r.l.Fork(r.with(dhruva.StateRead), ledger.ForkInput{Session: s.ID, Seq: 2})
		r.is(err, dhruva.ErrDenied)
		for _, probe := range []struct {
			in   ledger.ForkInput
			want error
		}{
			{ledger.ForkInput{Session: s.ID}, dhruva.ErrNotFound},
			{ledger.ForkInput{Session: s.ID, Seq: -1}, dhruva.ErrNotFound},
			{ledger.ForkInput{Session: s.ID, Seq: 7}, dhruva.ErrNotFound},
			{ledger.ForkInput{Session: "none", Seq: 1}, dhruva.ErrNotFound},
			{ledger.ForkInput{Session: s.ID, Seq: 2, Scope: "some"}, dhruva.ErrInvalid},
			{ledger.ForkInput{Session: s.ID, Seq: 1, Scope: ledger.ForkAll}, dhruva.ErrInvalid},
			{ledger.ForkInput{Scope: ledger.ForkPath, Checkpoint: "abcdef1"}, dhruva.ErrInvalid},
			{ledger.ForkInput{Session: s.ID, Seq: 2, Branch: "main"}, dhruva.ErrInvalid},
		} {
			_, err := r.l.Fork(r.ctx(), probe.in)
			r.is(err, probe.want)
		}
		// Without a checkpoint there is nothing that a branch could be at.
		a, b := r.forkAt(s.ID, 2, ""), r.forkAt(s.ID, 2, "")
		if a.Branch == b.Branch || a.Branch == dhruva.MainBranch || !a.ForkedFrom.IsZero() {
			r.Errorf("%s %s", a.Branch, b.Branch)
		}
		r.wantContext(r.resolve(a.ID, ledger.ContextRequest{}), dhruva.ModeForked, "FORKED · none", span(1, 2))
		if c := r.save(a.ID, "its first"); c.Branch != a.Branch || len(c.Parents) != 0 {
			r.Errorf("%s %v", c.Branch, c.Parents)
		}
		r.l.Limits.ForkTurns = 4
		_, err = r.l.Fork(r.ctx(), ledger.ForkInput{Session: s.ID, Seq: 6})
		r.is(err, dhruva.ErrTooLarge)
		if !strings.Contains(err.Error(), "would copy 6 turns, the limit is 4") {
			r.Errorf("%v", err)
		}
		if f := r.forkAt(s.ID, 4, ""); f.LastSeq != 4 {
			r.Errorf("%+v", f)
		}
	})
}

// The most that a fork copies fits one Update.
func TestForkOfAsManyTurnsAsOneMay(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "kept", 200)
		r.save(s.ID, "one")
		r.talk(s.ID, "over", 1)
		f := r.forkAt(s.ID, 400, "")
		if f.LastSeq != 400 {
			r.Errorf("%d", f.LastSeq)
		}
		got := r.resolve(f.ID, ledger.ContextRequest{MaxTurns: 20})
		if len(got.Turns) != 0 || got.Base != 400 { // the checkpoint holds them
			r.Errorf("%v after %d", seqs(got.Turns), got.Base)
		}
		_, err := r.l.Fork(r.ctx(), ledger.ForkInput{Session: s.ID, Seq: 402})
		r.is(err, dhruva.ErrTooLarge)
	})
}
