package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

func (r *rig) brief(q ledger.BriefQuery) ledger.Brief {
	r.Helper()
	return must[ledger.Brief](r)(r.l.Brief(r.ctx(), q))
}

func decisions(texts ...string) (out []ledger.ItemInput) {
	for _, t := range texts {
		out = append(out, ledger.ItemInput{Text: t})
	}
	return out
}

// branch forks a checkpoint and saves one on the new branch.
func (r *rig) branch(from dhruva.Checkpoint, name string, decided ...string) dhruva.Checkpoint {
	r.Helper()
	s := must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: from.Hash.String(), Branch: name}))
	return r.commit(ledger.CommitInput{Session: s.ID, Title: "on " + name, Summary: "of " + name, Decisions: decisions(decided...)})
}

func branchNames(b ledger.Brief) []string {
	out := []string{}
	for _, row := range b.Branches {
		out = append(out, row.Name)
	}
	return out
}

func TestABriefOfNothing(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		must[dhruva.Source](r)(r.l.Remember(r.ctx(), ledger.RememberInput{Space: sp.ID, Text: "something worth keeping"}))
		b := r.brief(ledger.BriefQuery{Space: sp.ID})
		if b.Head != nil || b.Parent != nil || b.Latest != nil || b.Branches != nil || b.Claims != nil || b.Divergence != nil || b.Freshness != nil || b.Space.ID != sp.ID {
			r.Errorf("%+v", b)
		}
		_, err := r.l.Brief(r.ctx(), ledger.BriefQuery{Space: "nowhere"})
		r.is(err, dhruva.ErrNotFound)
		_, err = r.l.Brief(r.with(dhruva.StateWrite), ledger.BriefQuery{Space: sp.ID})
		r.is(err, dhruva.ErrDenied)
		limited := r.owner
		limited.Spaces = []dhruva.SpaceID{r.space("other").ID}
		_, err = r.l.Brief(r.as(limited), ledger.BriefQuery{Space: sp.ID})
		r.is(err, dhruva.ErrNotFound)
	})
}

func TestABriefHoldsTheNewestOfEachThing(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		first := r.save(s.ID, "first")
		head := r.commit(ledger.CommitInput{Session: s.ID, Title: "second", Decisions: decisions("use SQLite")})
		for i := range 7 {
			r.branch(first, fmt.Sprint("branch-", i))
		}
		must[dhruva.Branch](r)(r.l.SetDisposition(r.ctx(), sp.ID, "branch-5", "abandoned"))
		wt := must[dhruva.Worktree](r)(r.l.OpenWorktree(r.ctx(), tree(sp.ID, "")))
		for i := range 12 {
			must[ledger.ClaimView](r)(r.l.Claim(r.ctx(), ledger.ClaimInput{Space: sp.ID, Agent: "ana", Scope: fmt.Sprint("scope ", i), Base: head.Hash.String(), Worktree: wt.ID}))
		}
		b := r.brief(ledger.BriefQuery{Space: sp.ID})
		if b.Head == nil || b.Head.Hash != head.Hash || b.Parent == nil || b.Parent.Hash != first.Hash {
			r.Errorf("%+v", b.Head)
		}
		if diff := cmp.Diff([]string{"branch-6", "branch-4", "branch-3", "branch-2", "branch-1"}, branchNames(b)); diff != "" {
			r.Error(diff)
		}
		if b.Branches[0].Checkpoint.Text(dhruva.KindSummary) != "of branch-6" {
			r.Errorf("%+v", b.Branches[0])
		}
		if len(b.Claims) != 10 || b.Claims[0].Scope != "scope 11" || b.Claims[0].From.ID != head.ID || b.Claims[0].At.ID != wt.ID {
			r.Errorf("%d claims", len(b.Claims))
		}
		if len(b.Divergence) != 2 || b.Divergence[0].Branch != "branch-6" {
			r.Errorf("%+v", b.Divergence)
		}
		if b.Latest == nil || b.Latest.Branch != "branch-6" {
			r.Errorf("%+v", b.Latest)
		}
		must[dhruva.Branch](r)(r.l.SetDisposition(r.ctx(), sp.ID, "branch-5", "active"))
		if main := r.brief(ledger.BriefQuery{Space: sp.ID, MainOnly: true}); main.Head.Hash != head.Hash || main.Branches != nil || main.Claims != nil || main.Divergence != nil {
			r.Errorf("%+v", main)
		}
	})
}

func TestDivergenceIsOfWordsNotOfStyle(t *testing.T) {
	each(t, func(r *rig) {
		for n, c := range []struct {
			main, branch         []string
			onlyMain, onlyBranch []string
		}{
			{[]string{"Use Pydantic"}, []string{"use  pydantic."}, nil, nil},
			{[]string{"डेटाबेस SQLite होगा।"}, []string{"डेटाबेस SQLite होगा"}, nil, nil},
			{[]string{"使用数据库"}, []string{"不使用数据库"}, []string{"使用数据库"}, []string{"不使用数据库"}},
			{[]string{"write it in C"}, []string{"write it in C++"}, []string{"write it in C"}, []string{"write it in C++"}},
			{[]string{"a one", "a two", "a three", "a four"}, []string{"a four"}, []string{"a one", "a two", "a three"}, nil},
			{[]string{"?"}, []string{"!"}, []string{"?"}, []string{"!"}},
		} {
			sp := r.space(fmt.Sprint("work ", n))
			s := r.session(sp.ID)
			base := r.save(s.ID, "base")
			r.branch(base, "aside", c.branch...)
			r.commit(ledger.CommitInput{Session: s.ID, Title: "on main", Decisions: decisions(c.main...)})
			var want []ledger.Divergence
			b := r.brief(ledger.BriefQuery{Space: sp.ID})
			if c.onlyMain != nil || c.onlyBranch != nil {
				want = []ledger.Divergence{{Branch: "aside", Head: b.Branches[0].Head, OnlyOnMain: c.onlyMain, OnlyOnHere: c.onlyBranch}}
			}
			if diff := cmp.Diff(want, b.Divergence); diff != "" {
				r.Errorf("%d: %s", n, diff)
			}
		}
	})
}

func (r *rig) fresh(space dhruva.SpaceID, ref string) ledger.Freshness {
	r.Helper()
	f := must[ledger.Freshness](r)(r.l.Freshness(r.ctx(), space, ref))
	b := r.brief(ledger.BriefQuery{Space: space, Since: ref})
	if diff := cmp.Diff(f, *b.Freshness); diff != "" {
		r.Errorf("the brief says otherwise: %s", diff)
	}
	return f
}

func titlesOf(rows []dhruva.Outline) []string {
	out := []string{}
	for _, o := range rows {
		out = append(out, o.Title)
	}
	return out
}

func TestB21_FreshnessIsExactAndClear(t *testing.T) {
	each(t, func(r *rig) {
		sp, other := r.space("work"), r.space("other")
		s := r.session(sp.ID)
		var main []dhruva.Checkpoint
		for i := range 60 {
			main = append(main, r.save(s.ID, fmt.Sprint("no. ", i)))
		}
		head := main[59]
		fork := r.branch(main[10], "aside")
		ahead := r.branch(head, "ahead")
		foreign := r.save(r.session(other.ID).ID, "foreign")
		for name, c := range map[string]struct {
			ref     string
			state   ledger.SinceState
			changed bool
			news    int
			newest  []string
		}{
			"the head":               {head.Hash.String(), ledger.SinceCurrent, false, 0, []string{}},
			"the head by its id":     {string(head.ID), ledger.SinceCurrent, false, 0, []string{}},
			"one before":             {main[58].Hash.String()[:10], ledger.SinceBehind, true, 1, []string{"no. 59"}},
			"the root":               {main[0].Hash.String(), ledger.SinceBehind, true, 59, []string{"no. 59", "no. 58", "no. 57", "no. 56", "no. 55"}},
			"on a fork":              {fork.Hash.String(), ledger.SinceAside, true, 49, []string{"no. 59", "no. 58", "no. 57", "no. 56", "no. 55"}},
			"on a fork of the head":  {ahead.Hash.String(), ledger.SinceCurrent, false, 0, []string{}},
			"of another space":       {foreign.Hash.String(), ledger.SinceUnknown, true, 0, []string{}},
			"of another space by id": {string(foreign.ID), ledger.SinceUnknown, true, 0, []string{}},
			"of nobody":              {"0123456789abcdef", ledger.SinceUnknown, true, 0, []string{}},
		} {
			f := r.fresh(sp.ID, c.ref)
			if f.State != c.state || f.Changed() != c.changed || f.New != c.news || f.Head != head.Hash {
				r.Errorf("%s: %+v", name, f)
			}
			if diff := cmp.Diff(c.newest, titlesOf(f.Newest)); diff != "" {
				r.Errorf("%s: %s", name, diff)
			}
			if known := c.state != ledger.SinceUnknown; known == f.Since.IsZero() {
				r.Errorf("%s: since %s", name, f.Since)
			}
		}
		for _, ref := range []string{"main", "abc", " ", "-x"} {
			if _, err := r.l.Freshness(r.ctx(), sp.ID, ref); err == nil {
				r.Errorf("%q passed", ref)
			}
		}
		_, err := r.l.Freshness(r.ctx(), "nowhere", head.Hash.String())
		r.is(err, dhruva.ErrNotFound)
	})
}

func TestB21_FreshnessSinceWhatWasDeleted(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		first, second, third := r.save(s.ID, "first"), r.save(s.ID, "second"), r.save(s.ID, "third")
		must[ledger.ClaimView](r)(r.l.Claim(r.ctx(), ledger.ClaimInput{Space: sp.ID, Agent: "ana", Scope: "on it", Base: third.Hash.String()}))
		must[ledger.Dependents](r)(r.l.DeleteCheckpoint(r.ctx(), third.Hash.String(), false))
		f := r.fresh(sp.ID, third.Hash.String())
		if f.State != ledger.SinceDeleted || !f.Changed() || f.New != 0 || f.Head != second.Hash || f.Since != third.Hash {
			r.Errorf("%+v", f)
		}
		again := r.commit(ledger.CommitInput{Space: sp.ID, Title: "again"})
		f = r.fresh(sp.ID, third.Hash.String())
		if diff := cmp.Diff([]string{"again"}, titlesOf(f.Newest)); diff != "" || f.New != 1 || f.Head != again.Hash {
			r.Errorf("%+v %s", f, diff)
		}
		// B18: the claim stays, and its base is shown as none.
		c := r.claimsOf(sp.ID, false)
		if len(c) != 1 || !c[0].Base.IsZero() || c[0].From != nil {
			r.Errorf("%+v", c)
		}
		must[ledger.Dependents](r)(r.l.DeleteCheckpoint(r.ctx(), first.Hash.String(), true))
		b := r.brief(ledger.BriefQuery{Space: sp.ID, Since: first.Hash.String()})
		if b.Head != nil || b.Freshness.State != ledger.SinceDeleted || !b.Freshness.Head.IsZero() || b.Freshness.New != 0 {
			r.Errorf("%+v", b.Freshness)
		}
	})
}

// TestB21_FreshnessAgainstANaiveCount: in any lineage, from any checkpoint.
func TestB21_FreshnessAgainstANaiveCount(t *testing.T) {
	rapid.Check(t, func(d *rapid.T) {
		r := newRig(t, memstore.New())
		sp := r.space("work")
		all := []dhruva.Checkpoint{r.commit(ledger.CommitInput{Space: sp.ID, Title: "root"})}
		up, head := map[dhruva.Hash]dhruva.Hash{}, all[0].Hash
		for i := range rapid.IntRange(0, 45).Draw(d, "checkpoints") {
			in := ledger.CommitInput{Space: sp.ID, Title: fmt.Sprint(i)}
			onMain := rapid.IntRange(0, 3).Draw(d, "where") > 0
			if !onMain {
				in.Parents = []string{rapid.SampledFrom(all).Draw(d, "parent").Hash.String()}
				in.Branch, in.NewBranch = fmt.Sprint("branch-", i), true
			}
			c := r.commit(in)
			if all, up[c.Hash] = append(all, c), c.Parent(); onMain {
				head = c.Hash
			}
		}
		for _, c := range all {
			known := map[dhruva.Hash]bool{}
			for h := c.Hash; !h.IsZero(); h = up[h] {
				known[h] = true
			}
			want := 0
			for h := head; !h.IsZero() && !known[h]; h = up[h] {
				want++
			}
			if f := r.fresh(sp.ID, c.Hash.String()); f.New != want || len(f.Newest) != min(want, ledger.BriefNew) || f.Changed() != (want > 0) {
				d.Fatalf("%+v, want %d", f, want)
			}
		}
	})
}

func TestMetricsOfNothing(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		m := must[ledger.Metrics](r)(r.l.Metrics(r.ctx(), sp.ID))
		want := ledger.Metrics{Space: m.Space, At: m.At, Authors: map[string]int{}, Branches: map[string]int{}}
		if diff := cmp.Diff(want, m); diff != "" {
			r.Error(diff)
		}
		_, err := r.l.Metrics(r.ctx(), "nowhere")
		r.is(err, dhruva.ErrNotFound)
		_, err = r.l.Metrics(r.with(dhruva.MemoryRead), sp.ID)
		r.is(err, dhruva.ErrDenied)
	})
}

// TestD27_MetricsAgainstANaiveCount: branches are counted and not sessions, and
// claims that nobody ended are seen.
func TestD27_MetricsAgainstANaiveCount(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		other := r.session(r.space("other").ID)
		r.save(other.ID, "elsewhere")
		s := r.session(sp.ID)
		want := ledger.Metrics{Authors: map[string]int{}, Branches: map[string]int{}}
		var last dhruva.Checkpoint
		for i := range 23 {
			author := []string{"ana", "ben", "cleo"}[i*i%3]
			in := ledger.CommitInput{Session: s.ID, Title: fmt.Sprint("no. ", i), Author: author}
			for n := range i % 4 {
				in.Decisions = append(in.Decisions, ledger.ItemInput{Text: fmt.Sprint("decision ", i, n)})
				want.Decisions++
			}
			switch i % 5 {
			case 1:
				in.Tasks = []ledger.ItemInput{{Text: "plain"}}
				want.Tasks++
			case 2:
				in.Tasks = []ledger.ItemInput{{Text: "plain"}, {Text: "more", Attrs: []dhruva.Attr{{Name: dhruva.AttrIntent, Value: "test"}}}}
				want.Tasks, want.Structured = want.Tasks+2, want.Structured+1
			case 3:
				in.Tasks = []ledger.ItemInput{{Text: "named", Attrs: []dhruva.Attr{{Name: dhruva.AttrSlug, Value: "t"}}}}
				want.Tasks, want.Structured, want.Named = want.Tasks+1, want.Structured+1, want.Named+1
			}
			c := r.commit(in)
			if want.Checkpoints > 0 && last.Author != author {
				want.Continued++
			}
			want.Checkpoints, last = want.Checkpoints+1, c
			want.Authors[author]++
			if kind := []dhruva.NoteKind{dhruva.NotePlain, dhruva.NoteMilestone, dhruva.NoteNoise, ""}[i%4]; kind != "" {
				must[dhruva.Note](r)(r.l.AddRemark(r.ctx(), ledger.RemarkInput{Checkpoint: c.Hash.String(), Text: "a remark", Kind: kind}))
			}
			switch i % 4 {
			case 1:
				want.Milestones++
			case 2:
				want.Noise++
			}
		}
		for i, disposition := range []string{"active", "integrated", "abandoned", "active"} {
			name := fmt.Sprint("branch-", i)
			must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: last.Hash.String(), Branch: name}))
			must[dhruva.Branch](r)(r.l.SetDisposition(r.ctx(), sp.ID, name, disposition))
			want.Branches[disposition]++
		}
		for i := range 40 {
			in := ledger.ClaimInput{Space: sp.ID, Agent: "ana", Scope: fmt.Sprint(i), TTL: ptr(24 * time.Hour)}
			if i%4 == 0 {
				in.Task = "t"
				want.ClaimsOfTasks++
			}
			if i%5 == 0 {
				in.TTL = ptr(time.Minute)
			}
			c := must[ledger.ClaimView](r)(r.l.Claim(r.ctx(), in))
			want.Claims++
			switch {
			case i%3 == 0:
				must[ledger.ClaimView](r)(r.l.EndClaim(r.ctx(), c.ID, dhruva.ClaimDone))
				want.ClaimsDone++
			case i%7 == 0:
				must[ledger.ClaimView](r)(r.l.EndClaim(r.ctx(), c.ID, dhruva.ClaimAbandoned))
				want.ClaimsAbandoned++
			case i%5 == 0:
				want.ClaimsExpired++
			default:
				want.ClaimsActive++
			}
		}
		r.later(2 * time.Hour)
		got := must[ledger.Metrics](r)(r.l.Metrics(r.ctx(), sp.ID))
		want.Space, want.At = got.Space, got.At
		if diff := cmp.Diff(want, got); diff != "" {
			r.Error(diff)
		}
		// a deleted checkpoint counts no more, nor do its remarks
		end := r.commit(ledger.CommitInput{Session: s.ID, Title: "to go", Author: "dora"})
		must[dhruva.Note](r)(r.l.AddRemark(r.ctx(), ledger.RemarkInput{Checkpoint: end.Hash.String(), Text: "a remark", Kind: dhruva.NoteMilestone}))
		must[ledger.Dependents](r)(r.l.DeleteCheckpoint(r.ctx(), end.Hash.String(), false))
		again := must[ledger.Metrics](r)(r.l.Metrics(r.ctx(), sp.ID))
		again.At, again.Space = want.At, want.Space
		if diff := cmp.Diff(want, again); diff != "" {
			r.Error(diff)
		}
	})
}
