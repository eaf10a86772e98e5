package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

func items(texts ...string) []ledger.ItemInput {
	var out []ledger.ItemInput
	for _, t := range texts {
		out = append(out, ledger.ItemInput{Text: t})
	}
	return out
}

func full(s dhruva.SessionID) ledger.CommitInput {
	return ledger.CommitInput{
		Session: s, Title: "A title", Objective: "Ship the spine", Summary: "We have a store and a ledger",
		Decisions: items("Use SQLite in WAL mode", "Name things once"), Assumptions: items("One writer at a time"),
		Tasks:         []ledger.ItemInput{{Text: "Write the proxy", Attrs: []dhruva.Attr{{Name: "status", Value: "open"}, {Name: "id", Value: "t1"}, {Name: "blocked_by", Value: ""}}}},
		OpenQuestions: items("Which codec for bodies?", "  "), Entities: items("Postgres"),
		Artifacts: []ledger.ItemInput{{Text: "  code\n", Attrs: []dhruva.Attr{{Name: "label", Value: "snippet"}}}},
	}
}

func texts(items []dhruva.Item) []string {
	out := []string{}
	for _, i := range items {
		out = append(out, i.Text)
	}
	return out
}

// S2, S3, S14 to S17, state-plane 7.16.
func TestS3CheckpointFields(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		r.talk(s.ID, "topic", 2)
		c := r.commit(full(s.ID))
		if c.Text(dhruva.KindTitle) != "A title" || c.Text(dhruva.KindObjective) != "Ship the spine" || c.Author != "Ana" || c.Branch != "main" || len(c.Parents) != 0 || c.Generation != 1 {
			r.Errorf("%+v", c)
		}
		if diff := cmp.Diff(dhruva.Window{Session: s.ID, Base: 0, Through: 4}, c.Window); diff != "" {
			r.Error(diff)
		}
		if got := texts(c.Of(dhruva.KindQuestion)); !cmp.Equal(got, []string{"Which codec for bodies?"}) {
			r.Errorf("blank items are left out: %q", got)
		}
		if got := c.Of(dhruva.KindTask)[0].Attrs; !cmp.Equal(got, []dhruva.Attr{{Name: "id", Value: "t1"}, {Name: "status", Value: "open"}}) {
			r.Errorf("attributes %v", got)
		}
		if got := c.Of(dhruva.KindArtifact)[0].Text; got != "  code\n" {
			r.Errorf("an artifact is kept byte for byte: %q", got)
		}
		kinds := []dhruva.ItemKind{}
		for _, i := range c.Items {
			kinds = append(kinds, i.Kind)
		}
		if !slices.IsSortedFunc(kinds, func(a, b dhruva.ItemKind) int {
			return slices.Index(dhruva.ItemKinds(), a) - slices.Index(dhruva.ItemKinds(), b)
		}) {
			r.Errorf("order %v", kinds)
		}
		for _, ref := range []string{c.Hash.String(), c.Hash.Short(), strings.ToUpper(c.Hash.String()[:20]), string(c.ID)} {
			if got := must[dhruva.Checkpoint](r)(r.l.Checkpoint(r.ctx(), ref)); !cmp.Equal(got, c) {
				r.Errorf("%s: %s", ref, cmp.Diff(c, got))
			}
		}
		r.must(dhruva.VerifyCheckpoint(&c))
		turns := must[[]dhruva.Turn](r)(r.l.CheckpointTurns(r.ctx(), c.Hash.String()))
		if diff := cmp.Diff(span(1, 4), seqs(turns)); diff != "" {
			r.Error(diff)
		}
	})
}

// S16: equal titles in one microsecond are different checkpoints.
func TestS16HashesDiffer(t *testing.T) {
	each(t, func(r *rig) {
		r.still = true
		sp, other := r.space("work"), r.space("other")
		seen := map[dhruva.Hash]bool{}
		for _, id := range []dhruva.SpaceID{sp.ID, other.ID} {
			for range 3 {
				seen[r.commit(ledger.CommitInput{Space: id, Title: "same"}).Hash] = true
			}
		}
		if len(seen) != 6 {
			r.Errorf("%d hashes", len(seen))
		}
	})
}

func TestCommitInput(t *testing.T) {
	each(t, func(r *rig) {
		sp, other := r.space("work"), r.space("other")
		s := r.session(sp.ID)
		r.talk(s.ID, "topic", 2)
		r.save(s.ID, "first")
		r.talk(s.ID, "next", 1)
		cite := func(from, through int64) []ledger.ItemInput {
			return []ledger.ItemInput{{Text: "a decision", Cites: []dhruva.Cite{{From: from, Through: through}}}}
		}
		for name, probe := range map[string]struct {
			in   ledger.CommitInput
			want error
		}{
			"no title":            {ledger.CommitInput{Session: s.ID, Title: " "}, dhruva.ErrInvalid},
			"255":                 {ledger.CommitInput{Session: s.ID, Title: strings.Repeat("é", 255)}, nil},
			"256":                 {ledger.CommitInput{Session: s.ID, Title: strings.Repeat("é", 256)}, dhruva.ErrTooLarge}, // D23
			"NUL":                 {ledger.CommitInput{Session: s.ID, Title: "x", Summary: "a\x00"}, dhruva.ErrInvalid},
			"too many":            {ledger.CommitInput{Session: s.ID, Title: "x", Decisions: make201()}, dhruva.ErrTooLarge},
			"too long":            {ledger.CommitInput{Session: s.ID, Title: "x", Summary: strings.Repeat("x", 256<<10+1)}, dhruva.ErrTooLarge},
			"attribute twice":     {ledger.CommitInput{Session: s.ID, Title: "x", Tasks: []ledger.ItemInput{{Text: "y", Attrs: []dhruva.Attr{{Name: "a", Value: "1"}, {Name: "a", Value: "2"}}}}}, dhruva.ErrInvalid},
			"branch of two lines": {ledger.CommitInput{Session: s.ID, Title: "x", Branch: "a\nb"}, dhruva.ErrInvalid},
			"other space":         {ledger.CommitInput{Session: s.ID, Space: other.ID, Title: "x"}, dhruva.ErrNotFound},
			"nowhere":             {ledger.CommitInput{Title: "x"}, dhruva.ErrInvalid},
			"no such session":     {ledger.CommitInput{Session: "gone", Title: "x"}, dhruva.ErrNotFound},
			"cite before":         {ledger.CommitInput{Session: s.ID, Title: "x", Decisions: cite(4, 5)}, dhruva.ErrInvalid},
			"cite beyond":         {ledger.CommitInput{Session: s.ID, Title: "x", Decisions: cite(5, 7)}, dhruva.ErrInvalid},
			"cite backwards":      {ledger.CommitInput{Session: s.ID, Title: "x", Decisions: cite(6, 5)}, dhruva.ErrInvalid},
			"cite nothing":        {ledger.CommitInput{Space: sp.ID, Title: "x", Decisions: cite(1, 1)}, dhruva.ErrInvalid},
		} {
			_, err := r.l.Commit(r.ctx(), probe.in)
			if probe.want == nil {
				r.must(err)
				r.talk(s.ID, name, 1)
			} else {
				r.is(err, probe.want)
			}
		}
		c := r.commit(ledger.CommitInput{Session: s.ID, Title: "x", Decisions: cite(7, 8)})
		if got := c.Of(dhruva.KindDecision)[0].Cites; !cmp.Equal(got, []dhruva.Cite{{From: 7, Through: 8}}) {
			r.Errorf("%v", got)
		}
		r.commit(ledger.CommitInput{Session: s.ID, Title: "x", Decisions: items(many(199)...)})
	})
}

func make201() []ledger.ItemInput { return items(many(201)...) }

func many(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("decision number %d of many", i))
	}
	return out
}

// S5: a refused commit leaves nothing, not even sources.
func TestS5OnlyASaveSaves(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		a := r.commit(ledger.CommitInput{Space: sp.ID, Title: "a"})
		r.commit(ledger.CommitInput{Space: sp.ID, Title: "b"})
		_, err := r.l.Commit(r.ctx(), ledger.CommitInput{Space: sp.ID, Title: "stale", Summary: "a summary of the stale", Parents: []string{a.Hash.String()}})
		r.is(err, dhruva.ErrConflict)
		if n := count(r.l.ListCheckpoints(r.ctx(), dhruva.CheckpointQuery{Space: sp.ID})); n != 2 {
			r.Errorf("%d checkpoints", n)
		}
		if n := count(r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID})); n != 0 {
			r.Errorf("%d sources", n)
		}
	})
}

// Items keep their ids down the lineage.
func TestItemIDsAreStable(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		in := ledger.CommitInput{Space: sp.ID, Title: "a", Summary: "one summary", Decisions: items("Use SQLite", "Use Go", "twice", "twice"), Tasks: items("Use Go")}
		a := r.commit(in)
		ids := map[dhruva.ItemID]bool{}
		for _, i := range a.Items {
			ids[i.ID] = true
		}
		if len(ids) != len(a.Items) {
			r.Fatalf("ids repeat: %+v", a.Items)
		}
		d := a.Of(dhruva.KindDecision)
		edited := ledger.ItemInput{ID: d[1].ID, Text: "Use Go 1.26"} // the caller knows what it edits
		made := ledger.ItemInput{ID: "made-up", Text: "A new one"}
		b := r.commit(ledger.CommitInput{Space: sp.ID, Title: "b", Summary: "another summary", Decisions: []ledger.ItemInput{made, edited, {Text: " Use   SQLite "}, {Text: "twice"}, {Text: "twice"}, {Text: "twice"}}})
		e := b.Of(dhruva.KindDecision)
		if e[1].ID != d[1].ID || e[2].ID != d[0].ID || e[3].ID != d[2].ID || e[4].ID != d[3].ID {
			r.Errorf("ids moved: %+v\n%+v", d, e)
		}
		if e[0].ID == "made-up" || ids[e[0].ID] || ids[e[5].ID] {
			r.Errorf("new items have new ids: %+v", e)
		}
		if a.Of(dhruva.KindSummary)[0].ID != b.Of(dhruva.KindSummary)[0].ID {
			r.Error("the summary is one slot down the lineage")
		}
	})
}

// An item that is called by its own id is the same item: it gets no other name by
// that, and keeps the one that it had.
func TestAnItemIsCalledByItsID(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		slug := []dhruva.Attr{{Name: dhruva.AttrSlug, Value: "pack"}}
		a := r.commit(ledger.CommitInput{Space: sp.ID, Title: "a", Decisions: items("Use SQLite"), Tasks: []ledger.ItemInput{{Text: "Pack", Attrs: slug}}})
		again := func(k dhruva.ItemKind) []ledger.ItemInput {
			i := a.Of(k)[0]
			return []ledger.ItemInput{{ID: i.ID, Text: i.Text, Attrs: []dhruva.Attr{{Name: dhruva.AttrSlug, Value: string(i.ID)}}}}
		}
		b := r.commit(ledger.CommitInput{Space: sp.ID, Title: "b", Decisions: again(dhruva.KindDecision), Tasks: again(dhruva.KindTask)})
		c, err := r.l.Compare(r.ctx(), a.Hash.String(), b.Hash.String())
		if err != nil || !c.Same() {
			r.Errorf("what was left alone is changed (%v): %+v", err, b.Items)
		}
		if got := b.Of(dhruva.KindTask)[0].Attr(dhruva.AttrSlug); got != "pack" {
			r.Errorf("the task is called %q", got)
		}
	})
}

// S16, D7, state-plane 7.11, contracts 19: parents.
func TestCommitParents(t *testing.T) {
	each(t, func(r *rig) {
		sp, other := r.space("work"), r.space("other")
		a := r.commit(ledger.CommitInput{Space: sp.ID, Title: "a"})
		b := r.commit(ledger.CommitInput{Space: sp.ID, Title: "b"})
		if b.Parent() != a.Hash {
			r.Errorf("parent %s", b.Parent())
		}
		c := r.commit(ledger.CommitInput{Space: sp.ID, Title: "c", Parents: []string{b.Hash.Short()}})
		if c.Parent() != b.Hash {
			r.Errorf("parent %s", c.Parent())
		}
		foreign := r.commit(ledger.CommitInput{Space: other.ID, Title: "x"})
		for _, probe := range []struct {
			in   ledger.CommitInput
			want error
		}{
			{ledger.CommitInput{Parents: []string{a.Hash.String()}}, dhruva.ErrConflict},
			{ledger.CommitInput{Parents: []string{foreign.Hash.String()}}, dhruva.ErrNotFound},
			{ledger.CommitInput{Parents: []string{strings.Repeat("0", 63) + "1"}}, dhruva.ErrNotFound},
			{ledger.CommitInput{Parents: []string{"?"}}, dhruva.ErrInvalid},
			{ledger.CommitInput{Parents: []string{c.Hash.String(), c.Hash.String()}}, dhruva.ErrInvalid},
			{ledger.CommitInput{Branch: "main", NewBranch: true}, dhruva.ErrConflict},
		} {
			probe.in.Space, probe.in.Title = sp.ID, "x"
			_, err := r.l.Commit(r.ctx(), probe.in)
			r.is(err, probe.want)
		}
		side := r.commit(ledger.CommitInput{Space: sp.ID, Title: "side", Branch: "side", Parents: []string{a.Hash.String()}})
		root := r.commit(ledger.CommitInput{Space: sp.ID, Title: "root", Branch: "elsewhere"})
		if side.Parent() != a.Hash || len(root.Parents) != 0 {
			r.Errorf("%v %v", side.Parents, root.Parents)
		}
		merge := r.commit(ledger.CommitInput{Space: sp.ID, Title: "merge", Parents: []string{c.Hash.String(), side.Hash.String()}})
		if !cmp.Equal(merge.Parents, []dhruva.Hash{c.Hash, side.Hash}) {
			r.Errorf("%v", merge.Parents)
		}
		heads := map[string]dhruva.Hash{}
		for _, br := range must[[]dhruva.Branch](r)(r.l.Branches(r.ctx(), sp.ID)) {
			heads[br.Name] = br.Head
		}
		if diff := cmp.Diff(map[string]dhruva.Hash{"main": merge.Hash, "side": side.Hash, "elsewhere": root.Hash}, heads); diff != "" {
			r.Error(diff)
		}
	})
}

// D7: saving while mounted grows from the mounted checkpoint, on a branch of
// its own when that is not the head.
func TestCommitWhileMounted(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "one", 1)
		c1 := r.save(s.ID, "one")
		r.talk(s.ID, "two", 1)
		c2 := r.save(s.ID, "two")
		r.must(second(r.l.Mount(r.ctx(), s.ID, c1.Hash.String(), 3)))
		r.talk(s.ID, "off c1", 1)
		d1 := r.save(s.ID, "off one")
		if d1.Parent() != c1.Hash || d1.Branch != "mounted-"+c1.Hash.Short() || d1.Window != (dhruva.Window{Session: s.ID, Base: 4, Through: 6}) {
			r.Errorf("%v on %s, window %+v", d1.Parents, d1.Branch, d1.Window)
		}
		d2 := r.save(s.ID, "off one again")
		if d2.Parent() != c1.Hash || d2.Branch != "mounted-"+c1.Hash.Short()+"-2" {
			r.Errorf("%v on %s", d2.Parents, d2.Branch)
		}
		d3 := r.commit(ledger.CommitInput{Session: s.ID, Title: "named", Branch: "named"})
		if d3.Parent() != c1.Hash || d3.Branch != "named" {
			r.Errorf("%v on %s", d3.Parents, d3.Branch)
		}
		_, err := r.l.Commit(r.ctx(), ledger.CommitInput{Session: s.ID, Title: "x", Branch: "main"})
		r.is(err, dhruva.ErrConflict)
		r.must(second(r.l.Mount(r.ctx(), s.ID, c2.Hash.String(), 1)))
		d4 := r.save(s.ID, "at the head")
		if d4.Parent() != c2.Hash || d4.Branch != "main" {
			r.Errorf("%v on %s", d4.Parents, d4.Branch)
		}
		// The mount stays; the live thread is what it was, plus what main got.
		r.must(second(r.l.Unmount(r.ctx(), s.ID)))
		if got := r.resolve(s.ID, ledger.ContextRequest{}); got.Checkpoints[0].Hash != d4.Hash {
			r.Errorf("%+v", got.Checkpoints)
		}
	})
}

// State-plane 7.11: simultaneous saves never share a parent.
func TestParallelCommits(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		root := r.commit(ledger.CommitInput{Space: sp.ID, Title: "root"})
		var wg sync.WaitGroup
		var mu sync.Mutex
		stale := 0
		for i := range 16 {
			wg.Go(func() {
				in := ledger.CommitInput{Space: sp.ID, Title: fmt.Sprint("c", i)}
				if i%2 == 0 {
					in.Parents = []string{root.Hash.String()}
				}
				if _, err := r.l.Commit(r.ctx(), in); err != nil {
					r.Helper()
					mu.Lock()
					stale++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		rows, _, err := r.l.ListCheckpoints(r.ctx(), dhruva.CheckpointQuery{Space: sp.ID})
		r.must(err)
		parents := map[dhruva.Hash]bool{}
		for _, c := range rows {
			if parents[c.Parent()] {
				r.Errorf("two children of %s", c.Parent().Short())
			}
			parents[c.Parent()] = true
		}
		if stale < 7 || len(rows) != 17-stale {
			r.Errorf("%d stale, %d checkpoints", stale, len(rows))
		}
	})
}

// D2, D6, D15, state-plane 7.12 and 7.13.
func TestS30_B12_D2_D6_D15_D32_Fork(t *testing.T) {
	each(t, func(r *rig) {
		sp, other := r.space("work"), r.space("other")
		s := r.session(sp.ID)
		r.talk(s.ID, "main", 2)
		c1 := r.save(s.ID, "one")
		r.talk(s.ID, "later", 1)
		f := must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c1.Hash.Short(), Provider: "echo"}))
		g := must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: string(c1.ID), Title: "Mine"}))
		day := f.CreatedAt.Format("branch-2006-01-02")
		if f.Branch != day || g.Branch != day+"-2" || f.Title != "Fork from "+c1.Hash.Short() || g.Title != "Mine" || f.Space != sp.ID || f.LastSeq != 0 || f.ForkedFrom != c1.Hash {
			r.Errorf("%+v\n%+v", f, g)
		}
		r.say(f.ID, "the first message of a fork", "is never dropped")
		r.wantContext(r.resolve(f.ID, ledger.ContextRequest{}), dhruva.ModeForked, "FORKED · "+c1.Hash.Short(), span(1, 2), c1)
		f1 := r.save(f.ID, "on the fork")
		if f1.Parent() != c1.Hash || f1.Branch != f.Branch {
			r.Errorf("%v on %s", f1.Parents, f1.Branch)
		}
		r.say(f.ID, "after the fork's save", "goes on here")
		r.wantContext(r.resolve(f.ID, ledger.ContextRequest{Depth: 3}), dhruva.ModeForked, "FORKED · "+f1.Hash.Short(), span(3, 4), c1, f1)
		r.wantContext(r.resolve(g.ID, ledger.ContextRequest{Depth: 3}), dhruva.ModeForked, "FORKED · "+c1.Hash.Short(), []int64{}, c1)
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{Depth: 3}), dhruva.ModeHead, "HEAD · "+c1.Hash.Short(), span(5, 6), c1)
		for _, probe := range []struct {
			in   ledger.ForkInput
			want error
		}{
			{ledger.ForkInput{Checkpoint: c1.Hash.String(), Branch: "main"}, dhruva.ErrInvalid},
			{ledger.ForkInput{Checkpoint: c1.Hash.String(), Branch: f.Branch}, dhruva.ErrConflict},
			{ledger.ForkInput{Checkpoint: c1.Hash.String(), Branch: "a\nb"}, dhruva.ErrInvalid},
			{ledger.ForkInput{Checkpoint: "zzz"}, dhruva.ErrInvalid},
			{ledger.ForkInput{Checkpoint: strings.Repeat("a", 40)}, dhruva.ErrNotFound},
			{ledger.ForkInput{Session: s.ID, Seq: 2, Checkpoint: c1.Hash.String()}, dhruva.ErrInvalid},
			{ledger.ForkInput{Seq: 2}, dhruva.ErrInvalid},
		} {
			_, err := r.l.Fork(r.ctx(), probe.in)
			r.is(err, probe.want)
		}
		_, err := r.l.Attach(r.ctx(), g.ID, other.ID) // D32
		r.is(err, dhruva.ErrConflict)
	})
}

// D16: a fork whose source is gone stays a fork.
func TestD16_ForkOfAMissingSource(t *testing.T) {
	r := newRig(t, openers["memory"](t))
	s := r.session(r.space("work").ID)
	s.ForkedFrom, s.Branch = dhruva.Hash{7}, "lost"
	r.update(s.Space, func(tx dhruva.Tx) error { return tx.PutSession(s) })
	r.wantContext(r.resolve(s.ID, ledger.ContextRequest{}), dhruva.ModeForked, "FORKED · none", []int64{})
	_, err := r.l.Commit(r.ctx(), ledger.CommitInput{Session: s.ID, Title: "x"})
	r.is(err, dhruva.ErrNotFound) // never a child of latest main
}

func TestAmbiguousPrefix(t *testing.T) {
	r := newRig(t, openers["memory"](t))
	sp, other := r.space("work"), r.space("other")
	for i, id := range []dhruva.SpaceID{sp.ID, sp.ID, other.ID} {
		c := dhruva.Checkpoint{Tenant: tenant, Space: id, ID: dhruva.CheckpointID(fmt.Sprint("c", i)), Hash: dhruva.Hash{0xab, 0xcd, 0xef, 0x12, byte(i)}, CreatedAt: r.now}
		r.update(id, func(tx dhruva.Tx) error { return tx.PutCheckpoint(c) })
	}
	_, err := r.l.Checkpoint(r.ctx(), "abcdef1")
	r.is(err, dhruva.ErrConflict)
	s := r.session(other.ID) // within one space it is unique
	m := must[dhruva.Session](r)(r.l.Mount(r.ctx(), s.ID, "abcdef1", 1))
	if m.Mount.Checkpoint[4] != 2 {
		r.Errorf("%s", m.Mount.Checkpoint)
	}
}

// Checkpoints are sources of the highest class, by a person who may attest.
func TestCommitMakesSources(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		r.say(s.ID, "Use SQLite in WAL mode", "Agreed, that is settled")
		classOf := func(role dhruva.Role, text string) dhruva.SourceClass {
			r.Helper()
			v := must[ledger.SourceView](r)(r.l.Source(r.ctx(), sp.ID, dhruva.ContentID(r.keys, tenant, sp.ID, role, text)))
			if v.Text == "" || v.State != dhruva.SourceReady {
				r.Errorf("%+v", v)
			}
			return v.Class
		}
		if c := classOf(dhruva.RoleUser, "Use SQLite in WAL mode"); c != dhruva.ClassUserTyped {
			r.Errorf("class %s", c)
		}
		r.commit(full(s.ID))
		for _, text := range []string{"Use SQLite in WAL mode", "Ship the spine", "We have a store and a ledger", "Which codec for bodies?"} {
			if c := classOf(dhruva.RoleUser, text); c != dhruva.ClassUserCommitted {
				r.Errorf("%s: class %s", text, c)
			}
		}
		_, err := r.l.Source(r.ctx(), sp.ID, dhruva.ContentID(r.keys, tenant, sp.ID, dhruva.RoleUser, "A title"))
		r.is(err, dhruva.ErrNotFound)
		byModel := ledger.CommitInput{Session: s.ID, Title: "x", Summary: "a summary by a model", ByModel: true}
		r.commit(byModel)
		_, err = r.l.Commit(r.with(dhruva.StateWrite, dhruva.MemoryWrite), ledger.CommitInput{Session: s.ID, Title: "x", Summary: "a summary by a plain key"})
		r.must(err)
		for _, text := range []string{"a summary by a model", "a summary by a plain key"} {
			if c := classOf(dhruva.RoleAssistant, text); c != dhruva.ClassAssistantVisible {
				r.Errorf("%s: class %s", text, c)
			}
		}
	})
}

// An item is the same down the lineage under the id that its author gave it,
// whatever becomes of its text.
func TestItemsGoOnByTheirOwnIDs(t *testing.T) {
	r := newRig(t, memstore.New())
	s := r.session(r.space("work").ID)
	task := func(text, id string) ledger.ItemInput {
		return ledger.ItemInput{Text: text, Attrs: []dhruva.Attr{{Name: dhruva.AttrSlug, Value: id}}}
	}
	one := r.commit(ledger.CommitInput{Session: s.ID, Title: "one", Tasks: []ledger.ItemInput{task("do it", "t1"), task("and this", "t2")}})
	two := r.commit(ledger.CommitInput{Session: s.ID, Title: "two", Tasks: []ledger.ItemInput{task("this, too", "t2"), task("do it now", "t1"), task("new", "t3")}})
	was, now := one.Of(dhruva.KindTask), two.Of(dhruva.KindTask)
	if now[0].ID != was[1].ID || now[1].ID != was[0].ID || now[2].ID == was[0].ID || now[2].ID == was[1].ID {
		t.Errorf("%v, then %v", was, now)
	}
}
