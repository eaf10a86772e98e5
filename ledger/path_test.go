package ledger_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
)

// edit says something else after a turn, 0 for a new beginning.
func (r *rig) edit(id dhruva.SessionID, parent int64, user, assistant string) []dhruva.Turn {
	r.Helper()
	in := exchange(user, assistant)
	in.Parent = &parent
	return must[[]dhruva.Turn](r)(r.l.AppendExchange(r.ctx(), r.begin(id), in))
}

// again stores another answer beside one.
func (r *rig) again(id dhruva.SessionID, answer int64, text string) dhruva.Turn {
	r.Helper()
	in := exchange("", text)
	in.Regenerate = answer
	turns := must[[]dhruva.Turn](r)(r.l.AppendExchange(r.ctx(), r.begin(id), in))
	if len(turns) != 1 {
		r.Fatalf("%+v", turns)
	}
	return turns[0]
}

func (r *rig) selectTip(id dhruva.SessionID, seq int64) dhruva.Session {
	r.Helper()
	return must[dhruva.Session](r)(r.l.SelectTip(r.ctx(), id, seq))
}

// branched is a session whose second message was edited and whose edited answer
// was made again:
//
//	1 2 ┬ 3 4 5 6
//	    └ 7 ┬ 8
//	        └ 9
func (r *rig) branched(space dhruva.SpaceID) dhruva.Session {
	r.Helper()
	s := r.session(space)
	r.talk(s.ID, "first", 3)
	r.edit(s.ID, 2, "the second message put otherwise", "its answer")
	r.again(s.ID, 8, "another answer to it")
	return must[dhruva.Session](r)(r.l.Session(r.ctx(), s.ID))
}

// Contracts 23: an edit and a regeneration are siblings, and the conversation goes
// through one of them.
func TestPathOfEditsAndRegenerations(t *testing.T) {
	each(t, func(r *rig) {
		s := r.branched(r.space("work").ID)
		if s.Tip != 0 || s.LastSeq != 9 {
			r.Fatalf("%+v", s)
		}
		r.wantWindow(s.ID, dhruva.ModeHead, 1, 2, 7, 9)
		for _, probe := range []struct {
			to, tip int64
			window  []int64
		}{
			{8, 8, []int64{1, 2, 7, 8}},
			{3, 6, []int64{1, 2, 3, 4, 5, 6}},
			{4, 6, []int64{1, 2, 3, 4, 5, 6}},
			{7, 0, []int64{1, 2, 7, 9}}, // the newest of what followed it
			{1, 0, []int64{1, 2, 7, 9}},
		} {
			if got := r.selectTip(s.ID, probe.to); got.Tip != probe.tip {
				r.Errorf("select %d: tip %d, want %d", probe.to, got.Tip, probe.tip)
			}
			r.wantWindow(s.ID, dhruva.ModeHead, probe.window...)
		}
		r.selectTip(s.ID, 6)
		r.say(s.ID, "goes on where it was chosen", "there") // 10, 11
		r.wantWindow(s.ID, dhruva.ModeHead, 1, 2, 3, 4, 5, 6, 10, 11)
		if got := must[dhruva.Session](r)(r.l.Session(r.ctx(), s.ID)); got.Tip != 0 { // an explicit old tip ends
			r.Errorf("tip %d", got.Tip)
		}
		for seq, want := range map[int64][]int64{1: {}, 3: {7}, 7: {3}, 8: {9}, 9: {8}, 4: {}, 10: {}} {
			if diff := cmp.Diff(want, seqs(must[[]dhruva.Turn](r)(r.l.Siblings(r.ctx(), s.ID, seq)))); diff != "" {
				r.Errorf("siblings of %d: %s", seq, diff)
			}
		}
		r.edit(s.ID, 0, "an altogether new beginning", "of it all") // 12, 13
		r.wantWindow(s.ID, dhruva.ModeHead, 12, 13)
		if got := seqs(must[[]dhruva.Turn](r)(r.l.Siblings(r.ctx(), s.ID, 12))); !cmp.Equal(got, []int64{1}) {
			r.Errorf("siblings of the beginning: %v", got)
		}
	})
}

// Path shows the conversation with the versions of each turn, newest pages first.
func TestPathPages(t *testing.T) {
	each(t, func(r *rig) {
		s := r.branched(r.space("work").ID)
		page := func(before int64, limit int) (out []string) {
			for _, t := range must[[]ledger.PathTurn](r)(r.l.Path(r.ctx(), s.ID, before, limit)) {
				out = append(out, fmt.Sprint(t.Seq, t.Versions))
			}
			return out
		}
		for _, probe := range []struct {
			before int64
			limit  int
			want   []string
		}{
			{0, 0, []string{"1 [1]", "2 [2]", "7 [3 7]", "9 [8 9]"}},
			{0, 2, []string{"7 [3 7]", "9 [8 9]"}},
			{7, 1, []string{"2 [2]"}},
			{2, 5, []string{"1 [1]"}},
			{1, 5, nil},
		} {
			if diff := cmp.Diff(probe.want, page(probe.before, probe.limit)); diff != "" {
				r.Errorf("before %d: %s", probe.before, diff)
			}
		}
		_, err := r.l.Path(r.with(dhruva.MemoryRead), s.ID, 0, 0)
		r.is(err, dhruva.ErrDenied)
	})
}

// Nothing follows a turn that is not there, and only an answer is made again.
func TestPathInput(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "first", 2)
		began := r.begin(s.ID)
		for name, probe := range map[string]struct {
			parent *int64
			again  int64
			want   error
		}{
			"negative parent":    {ptr[int64](-1), 0, dhruva.ErrNotFound},
			"parent beyond":      {ptr[int64](5), 0, dhruva.ErrNotFound},
			"both":               {ptr[int64](2), 2, dhruva.ErrInvalid},
			"again of a message": {nil, 3, dhruva.ErrInvalid},
			"again of nothing":   {nil, 5, dhruva.ErrNotFound},
			"again of below":     {nil, -1, dhruva.ErrNotFound},
		} {
			in := exchange("a question here", "an answer here")
			in.Parent, in.Regenerate = probe.parent, probe.again
			if _, err := r.l.AppendExchange(r.ctx(), began, in); err == nil {
				r.Errorf("%s: stored", name)
			} else {
				r.is(err, probe.want)
			}
			_, err := r.l.Resolve(r.ctx(), s.ID, ledger.ContextRequest{At: probe.parent, Regenerate: probe.again})
			r.is(err, probe.want)
		}
		for _, seq := range []int64{-1, 0, 5} {
			_, err := r.l.SelectTip(r.ctx(), s.ID, seq)
			r.is(err, dhruva.ErrNotFound)
			_, err = r.l.Siblings(r.ctx(), s.ID, seq)
			r.is(err, dhruva.ErrNotFound)
		}
		_, err := r.l.SelectTip(r.with(dhruva.StateRead), s.ID, 1)
		r.is(err, dhruva.ErrDenied)
		_, err = r.l.Siblings(r.with(dhruva.StateWrite), s.ID, 1)
		r.is(err, dhruva.ErrDenied)
	})
}

// A context may be asked for at an earlier turn, and for an answer that is to be
// made again: it is what the question followed.
func TestContextAtATurn(t *testing.T) {
	each(t, func(r *rig) {
		s := r.branched(r.space("work").ID)
		got := r.resolve(s.ID, ledger.ContextRequest{At: ptr[int64](4)})
		if !cmp.Equal(seqs(got.Turns), span(1, 4)) || got.Window.Through != 4 || got.Question != nil {
			r.Errorf("%v %+v", seqs(got.Turns), got.Window)
		}
		if got := r.resolve(s.ID, ledger.ContextRequest{At: ptr[int64](0)}); len(got.Turns) != 0 || got.Cut != 0 {
			r.Errorf("%v", seqs(got.Turns))
		}
		got = r.resolve(s.ID, ledger.ContextRequest{Regenerate: 6, MaxTurns: 1})
		if !cmp.Equal(seqs(got.Turns), span(4, 4)) || got.Cut != 3 || got.Question == nil || got.Question.Seq != 5 {
			r.Errorf("%v, cut %d, %+v", seqs(got.Turns), got.Cut, got.Question)
		}
	})
	r := newRig(t, openers["memory"](t))
	s := r.branched(r.space("work").ID)
	r.update(s.Space, func(tx dhruva.Tx) error { return tx.RedactTurn(s.ID, 5) })
	_, err := r.l.Resolve(r.ctx(), s.ID, ledger.ContextRequest{Regenerate: 6})
	r.is(err, dhruva.ErrConflict)
}

// S25: a question that a mount has set aside is not asked again under it.
func TestS25_NothingBeforeTheMountIsAskedAgain(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("trip").ID)
		r.talk(s.ID, "australia", 1)
		c := r.save(s.ID, "Trip to Australia")
		r.talk(s.ID, "new zealand", 1)
		before := r.begin(s.ID)
		r.must(second(r.l.Mount(r.ctx(), s.ID, c.Hash.String(), 1)))
		r.talk(s.ID, "sydney", 1)
		in := exchange("", "an answer about new zealand")
		in.Regenerate = 4
		_, err := r.l.AppendExchange(r.ctx(), r.begin(s.ID), in)
		r.is(err, dhruva.ErrConflict)
		_, err = r.l.Resolve(r.ctx(), s.ID, ledger.ContextRequest{Regenerate: 4})
		r.is(err, dhruva.ErrConflict)
		if !strings.Contains(err.Error(), "unmount") {
			r.Errorf("%v", err)
		}
		r.must(second(r.l.AppendExchange(r.ctx(), before, in))) // was on its way: kept, and outside
		r.selectTip(s.ID, 6)
		r.wantWindow(s.ID, dhruva.ModeMounted, 5, 6)
		r.again(s.ID, 6, "another answer about sydney")
		r.wantWindow(s.ID, dhruva.ModeMounted, 5, 8)
		r.edit(s.ID, 2, "perth then", "perth it is") // follows what is before the boundary, and is after it
		r.wantWindow(s.ID, dhruva.ModeMounted, 9, 10)
	})
}

// A checkpoint is drawn from the path to the tip, and says so.
func TestB2_SavedWindowIsTheChatWindow(t *testing.T) {
	each(t, func(r *rig) {
		s := r.branched(r.space("work").ID)
		r.selectTip(s.ID, 8)
		same := func(what string) dhruva.Checkpoint {
			chat := r.resolve(s.ID, ledger.ContextRequest{})
			c := r.save(s.ID, what)
			drawn := must[[]dhruva.Turn](r)(r.l.CheckpointTurns(r.ctx(), c.Hash.String()))
			if diff := cmp.Diff(seqs(chat.Turns), seqs(drawn)); diff != "" || c.Window != chat.Window {
				r.Errorf("%s: %s", what, diff)
			}
			return c
		}
		c := same("on the edited path")
		if c.Window.Through != 8 {
			r.Errorf("%+v", c.Window)
		}
		r.say(s.ID, "after the checkpoint", "comes this") // 10, 11
		same("after a checkpoint")
		r.must(second(r.l.Mount(r.ctx(), s.ID, c.Hash.String(), 1)))
		r.say(s.ID, "after the mount", "comes that") // 12, 13
		r.edit(s.ID, 11, "after the mount, otherwise", "comes that too")
		same("mounted")
		r.must(second(r.l.Unmount(r.ctx(), s.ID)))
		r.selectTip(s.ID, 6) // never saved
		got := r.resolve(s.ID, ledger.ContextRequest{})
		if len(got.Turns) != 0 || !strings.Contains(got.LeftOut, "4 turns are older than the newest checkpoint and not in it") {
			r.Errorf("%v %q", seqs(got.Turns), got.LeftOut)
		}
	})
}

// State-plane 7.6: edits, regenerations and sends at once leave a tree in which
// every turn is on the path of one that nothing follows.
func TestB6_ParallelEdits(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "first", 2)
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				in := exchange(fmt.Sprintf("question %d of many", i), fmt.Sprintf("answer %d of many", i))
				switch i % 3 {
				case 1:
					in.Parent = ptr[int64](2)
				case 2:
					in.Regenerate = 4
				}
				b, err := r.l.Begin(r.ctx(), s.ID)
				if err == nil {
					_, err = r.l.AppendExchange(r.ctx(), b, in)
				}
				if err != nil {
					r.Error(err)
				}
			})
		}
		wg.Wait()
		turns := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), s.ID, 0, 1000))
		if diff := cmp.Diff(span(1, 24), seqs(turns)); diff != "" {
			r.Fatal(diff)
		}
		edits, answers := 0, 0
		for _, t := range turns[4:] {
			switch {
			case t.Role == dhruva.RoleUser && t.Parent == 2:
				edits++
			case t.Role == dhruva.RoleAssistant && t.Parent == 3:
				answers++
			case t.Role == dhruva.RoleAssistant && (t.Parent != t.Seq-1 || !strings.HasSuffix(t.Content, strings.TrimPrefix(turns[t.Parent-1].Content, "question"))):
				r.Errorf("%+v", t)
			}
		}
		if edits != 4 || answers != 4 {
			r.Errorf("%d edits, %d answers", edits, answers)
		}
	})
}

// S25, point 1: a session that has mounted what was deleted says so in everything
// that needs its context; it is never another mode.
func TestD4_AMountedCheckpointThatWasDeleted(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		r.talk(s.ID, "first", 1)
		c := r.save(s.ID, "one")
		r.talk(s.ID, "second", 1)
		d := r.save(s.ID, "two")
		r.must(second(r.l.Mount(r.ctx(), s.ID, c.Hash.String(), 3)))
		r.update(sp.ID, func(tx dhruva.Tx) error { return tx.HideCheckpoint(c.Hash, r.now) })
		says := func(err error) {
			r.Helper()
			r.is(err, dhruva.ErrNotFound)
			if !strings.Contains(err.Error(), c.Hash.Short()) || !strings.Contains(err.Error(), "unmount") {
				r.Errorf("%v", err)
			}
		}
		_, err := r.l.Resolve(r.ctx(), s.ID, ledger.ContextRequest{})
		says(err)
		_, err = r.l.Commit(r.ctx(), ledger.CommitInput{Session: s.ID, Title: "three"})
		says(err)
		_, err = r.l.Fork(r.ctx(), ledger.ForkInput{Session: s.ID, Seq: 4})
		says(err)
		r.must(second(r.l.Mount(r.ctx(), s.ID, d.Hash.String(), 3)))
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{}), dhruva.ModeMounted, "MOUNTED · "+d.Hash.Short(), []int64{}, d) // the walk ends at c
		r.must(second(r.l.Unmount(r.ctx(), s.ID)))
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{Depth: 3}), dhruva.ModeHead, "HEAD · "+d.Hash.Short(), []int64{}, d)
	})
}

// Imports make a long conversation of one stretch: a window of it needs no seam.
func TestImportsMakeNoSeams(t *testing.T) {
	each(t, func(r *rig) {
		in := ledger.ImportInput{Space: r.space("work").ID, Key: "k"}
		for i := range 250 {
			in.Turns = append(in.Turns, ledger.ImportedTurn{Role: []dhruva.Role{dhruva.RoleUser, dhruva.RoleAssistant}[i%2], Text: fmt.Sprintf("line number %d", i)})
		}
		id := must[ledger.ImportResult](r)(r.l.ImportTurns(r.ctx(), in)).Session
		r.view(func(tx dhruva.Tx) error {
			seams, err := tx.Seams(id, 0, 0)
			if len(seams) > 0 {
				r.Errorf("%d seams", len(seams))
			}
			return err
		})
		got := r.resolve(id, ledger.ContextRequest{MaxTurns: 20})
		if !cmp.Equal(seqs(got.Turns), span(231, 250)) || got.Cut != 230 {
			r.Errorf("%v, cut %d", seqs(got.Turns), got.Cut)
		}
	})
}

// A proxied conversation that is edited or asked again goes through what came last.
func TestPathOfAProxiedConversation(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		id := r.proxied(call(sp.ID, "first thing said", "first answer", "second thing said", "second answer")).Session
		r.proxied(call(sp.ID, "first thing said", "first answer", "second thing said", "second answer again")) // 5
		r.wantWindow(id, dhruva.ModeHead, 1, 2, 3, 5)
		r.proxied(call(sp.ID, "first thing said", "first answer", "second thing otherwise", "its answer")) // 6, 7
		r.wantWindow(id, dhruva.ModeHead, 1, 2, 6, 7)
		if got := r.selectTip(id, 4); got.Tip != 4 {
			r.Errorf("tip %d", got.Tip)
		}
		r.say(id, "goes on here", "by hand") // 8, 9
		r.wantWindow(id, dhruva.ModeHead, 1, 2, 3, 4, 8, 9)
		r.selectTip(id, 5) // and the client goes on with what it has
		r.proxied(call(sp.ID, "first thing said", "first answer", "second thing otherwise", "its answer", "third thing said", "third answer"))
		r.wantWindow(id, dhruva.ModeHead, 1, 2, 6, 7, 10, 11)
	})
}

// The path of a tree of any shape, against one that follows every parent.
func TestPathProperty(t *testing.T) {
	checks(t, testkit.Count(300, 3000, 100_000))
	store := openers["memory"](t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		r := newRig(failing{t, rt}, store)
		r.owner.Tenant = dhruva.TenantID(fmt.Sprint("run-", runs))
		s := r.session(r.space("work").ID)
		parents := []int64{0}
		for n := rapid.Int64Range(1, 40).Draw(rt, "turns"); s.LastSeq < n; {
			s.LastSeq++
			parent := s.LastSeq - 1
			if rapid.IntRange(0, 2).Draw(rt, "breaks") == 0 {
				parent = rapid.Int64Range(0, s.LastSeq-1).Draw(rt, "parent")
			}
			parents = append(parents, parent)
			r.update(s.Space, func(tx dhruva.Tx) error {
				row := dhruva.Turn{Tenant: s.Tenant, Space: s.Space, Session: s.ID, Seq: s.LastSeq, Parent: parent, BeganAfter: s.LastSeq - 1,
					ID: dhruva.TurnID(fmt.Sprint(s.LastSeq)), Role: dhruva.RoleUser, Content: "x"}
				if err := tx.AppendTurn(row); err != nil {
					return err
				}
				return tx.PutSession(s)
			})
		}
		leads := func(from, to int64) bool {
			for ; to > from; to = parents[to] {
			}
			return to == from
		}
		at := rapid.Int64Range(1, s.LastSeq).Draw(rt, "at")
		tip := at
		for n := at; n <= s.LastSeq; n++ {
			if leads(at, n) {
				tip = n
			}
		}
		got := r.selectTip(s.ID, at)
		if got.Tip != tip && (got.Tip != 0 || tip != s.LastSeq) {
			rt.Fatalf("tip %d after %d, want %d of %v", got.Tip, at, tip, parents)
		}
		var path, pathed []int64
		for n := int64(1); n <= tip; n++ {
			if leads(n, tip) {
				path = append(path, n)
			}
		}
		for _, t := range must[[]ledger.PathTurn](r)(r.l.Path(r.ctx(), s.ID, 0, 0)) {
			pathed = append(pathed, t.Seq)
			var versions []int64
			for n := int64(1); n <= s.LastSeq; n++ {
				if parents[n] == parents[t.Seq] {
					versions = append(versions, n)
				}
			}
			if diff := cmp.Diff(versions, t.Versions); diff != "" {
				rt.Fatalf("versions of %d: %s", t.Seq, diff)
			}
		}
		if !cmp.Equal(path, pathed) || !cmp.Equal(path, seqs(r.resolve(s.ID, ledger.ContextRequest{}).Turns)) {
			rt.Fatalf("path %v, want %v of %v", pathed, path, parents)
		}
	})
}
