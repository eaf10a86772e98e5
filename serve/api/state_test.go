package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/llm/mock"
	"github.com/dhruva-memory/dhruva/memory"
)

// working is a rig with the space work.
func working(t *testing.T) *rig {
	r := newRig(t)
	must[client.Space](t)(r.CreateSpace(t.Context(), client.SpaceInput{Name: "work"}))
	return r
}

// kept are items as they stand in a checkpoint, to be saved again.
func kept(c client.Checkpoint) client.CheckpointInput {
	in := client.CheckpointInput{Title: c.Title, Parents: []string{c.Hash.String()}}
	for _, i := range c.Items {
		if i.Kind == dhruva.KindDecision {
			in.Decisions = append(in.Decisions, client.Item{Text: i.Text, ID: string(i.ID)})
		}
	}
	return in
}

func texts(items []client.ItemDetail) (out []string) {
	for _, i := range items {
		out = append(out, i.Text)
	}
	slices.Sort(out)
	return out
}

// TestTwoBranchesMeet: a conflict is shown, picked and edited, and what was moved
// can be moved back.
func TestTwoBranchesMeet(t *testing.T) {
	r, ctx := working(t), t.Context()
	base := r.save("main", dhruva.Hash{}, "Use Postgres", "Ship on Friday")
	save := func(branch, edited, added string) client.Checkpoint {
		t.Helper()
		in := kept(base)
		in.Branch, in.Title, in.Author = branch, branch, branch
		in.Decisions[0].Text = edited
		in.Decisions = append(in.Decisions, client.Item{Text: added})
		return must[client.Checkpoint](t)(r.CreateCheckpoint(ctx, "work", in))
	}
	theirs, ours := save("side", "Use SQLite", "Write the docs"), save("main", "Use MySQL", "Write tests")
	item := string(base.Items[1].ID)

	d := must[client.Difference](t)(r.Diff(ctx, ours.Hash.Short(), theirs.Hash.Short()))
	k := d.Kinds["decision"]
	if d.CommonAncestor == nil || *d.CommonAncestor != base.Hash || d.Same || len(k.Changed) != 1 || k.Changed[0].A.Text != "Use MySQL" || k.Changed[0].B.Text != "Use SQLite" {
		t.Errorf("diff %+v", d)
	}
	if diff := cmp.Diff([]string{"Write tests", "Write the docs", "Ship on Friday"}, []string{k.OnlyA[0].Text, k.OnlyB[0].Text, k.Shared[0].Text}); diff != "" {
		t.Error(diff)
	}
	if d := must[client.Difference](t)(r.Diff(ctx, ours.Hash.String(), ours.Hash.String())); !d.Same {
		t.Errorf("a checkpoint differs from itself: %+v", d)
	}

	in := client.MergeInput{From: "side", Into: "main", DryRun: true}
	m := must[client.Merged](t)(r.Merge(ctx, "work", in))
	if m.Status != "conflicts" || len(m.Conflicts) != 1 || m.Checkpoint != nil || m.Base != base.Hash {
		t.Fatalf("dry run %+v", m)
	}
	if c := m.Conflicts[0]; string(c.Item) != item || c.Type != "both_edited" || !c.Open || c.Base.Text != "Use Postgres" || c.Ours[0].Text != "Use MySQL" || c.Theirs[0].Text != "Use SQLite" {
		t.Errorf("conflict %+v", c)
	}
	in.DryRun = false
	if m := must[client.Merged](t)(r.Merge(ctx, "work", in)); m.Status != "conflicts" || m.Checkpoint != nil {
		t.Fatalf("a conflict was written: %+v", m)
	}
	in.DryRun, in.Picks = true, map[string]string{item: "theirs"}
	m = must[client.Merged](t)(r.Merge(ctx, "work", in))
	if diff := cmp.Diff([]string{"Ship on Friday", "Use SQLite", "Write tests", "Write the docs"}, texts(m.Items)); diff != "" || m.Status != "merged" || m.Checkpoint != nil || m.Conflicts[0].Open {
		t.Errorf("%s %+v", diff, m)
	}
	if got := must[client.List[client.Branch]](t)(r.Branches(ctx, "work")); got.Items[0].Head != ours.Hash {
		t.Errorf("a dry run moved main: %+v", got)
	}
	in.DryRun, in.Picks, in.Edits = false, nil, map[string]string{item: "Use SQLite for one user"}
	once := r.Idempotent("m")
	m = must[client.Merged](t)(once.Merge(ctx, "work", in))
	if m.Checkpoint == nil || m.Title != "Merge side into main" || !cmp.Equal([]dhruva.Hash{ours.Hash, theirs.Hash}, m.Checkpoint.Parents) {
		t.Fatalf("merged %+v", m)
	}
	if diff := cmp.Diff([]string{"Ship on Friday", "Use SQLite for one user", "Write tests", "Write the docs"}, texts(m.Items)); diff != "" {
		t.Error(diff)
	}
	again := must[client.Merged](t)(once.Merge(ctx, "work", in))
	if diff := cmp.Diff(m, again); diff != "" || !once.Replayed() {
		t.Errorf("replayed %v: %s", once.Replayed(), diff)
	}
	if m := must[client.Merged](t)(r.Merge(ctx, "work", client.MergeInput{From: "side", Into: "main"})); m.Status != "up_to_date" {
		t.Errorf("again %+v", m)
	}
	if got := must[client.Verification](t)(r.Verify(ctx, "work")); !got.OK || got.Checked != 4 {
		t.Errorf("verify %+v", got)
	}
	r.undone(base.Hash, ours.Hash, m.Checkpoint.Hash)
}

// undone takes a merge back and forth, and reverts.
func (r *rig) undone(base, ours, merge dhruva.Hash) {
	t, ctx := r.t, r.t.Context()
	t.Helper()
	u := must[client.HeadMove](t)(r.Undo(ctx, "work", "main"))
	if u.Act != "undo" || u.From != merge || u.To != ours || u.Undoes == 0 {
		t.Errorf("undo %+v", u)
	}
	if re := must[client.HeadMove](t)(r.Redo(ctx, "work", "")); re.Act != "redo" || re.To != merge || re.Undoes != u.Seq {
		t.Errorf("redo %+v", re)
	}
	_, err := r.Redo(ctx, "work", "")
	wantProblem(t, err, 409, "conflict")
	back := must[client.Checkpoint](t)(r.Revert(ctx, "work", client.RevertInput{To: base.Short(), Author: "mel"}))
	if diff := cmp.Diff([]string{"Ship on Friday", "Use Postgres"}, texts(slices.DeleteFunc(back.Items, func(i client.ItemDetail) bool { return i.Kind != dhruva.KindDecision }))); diff != "" || back.Parents[0] != merge || back.Author != "mel" {
		t.Errorf("%s %+v", diff, back)
	}
	_, err = r.Revert(ctx, "work", client.RevertInput{To: back.Hash.String()})
	wantProblem(t, err, 409, "conflict")
	var acts []string
	for page := (dhruva.Page{Limit: 2}); ; {
		l := must[client.List[client.HeadMove]](t)(r.Reflog(ctx, "work", "main", page))
		for _, m := range l.Items {
			acts = append(acts, m.Act)
		}
		if page.After = l.Next; l.Next == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"revert", "redo", "undo", "merge", "commit", "commit"}, acts); diff != "" {
		t.Error(diff)
	}
	b := must[client.Branch](t)(r.SetDisposition(ctx, "work", client.DispositionInput{Branch: "side", Disposition: "integrated"}))
	if b.Disposition != "integrated" {
		t.Errorf("%+v", b)
	}
}

// TestBlame: an item is followed to the checkpoint and the turns it comes from, and
// a turn to the checkpoints.
func TestBlame(t *testing.T) {
	r, ctx := working(t), t.Context()
	s := must[client.Session](t)(r.CreateSession(ctx, "work", client.SessionInput{}))
	must[client.SendResult](t)(r.Send(ctx, s.ID, client.SendInput{Message: "We go in May."}))
	first := must[client.Checkpoint](t)(r.CreateCheckpoint(ctx, "work", client.CheckpointInput{
		Session: s.ID, Title: "one", Author: "ana", Decisions: []client.Item{{Text: "Go in May", Cites: []client.Cite{{From: 1, Through: 1}}}, {Text: "Pack light"}},
	}))
	in := kept(first)
	in.Decisions[1].Text, in.Author = "Pack very light", "ben"
	second := must[client.Checkpoint](t)(r.CreateCheckpoint(ctx, "work", in))
	l := must[client.List[client.Origin]](t)(r.Blame(ctx, second.Hash.Short(), ""))
	by := map[string]client.Origin{}
	for _, o := range l.Items {
		by[o.Item.Text] = o
	}
	may, pack := by["Go in May"], by["Pack very light"]
	if may.Written != first.Hash || may.Author != "ana" || may.Uncited || may.Cited != first.Hash || len(may.Turns) != 1 || may.Turns[0].Content != "We go in May." || may.Window.Session != s.ID {
		t.Errorf("%+v", may)
	}
	if pack.First != first.Hash || pack.Written != second.Hash || pack.Author != "ben" || !pack.Uncited || pack.Turns == nil {
		t.Errorf("%+v", pack)
	}
	if one := must[client.List[client.Origin]](t)(r.Blame(ctx, second.Hash.Short(), string(may.Item.ID))); len(one.Items) != 1 || one.Items[0].Item.ID != may.Item.ID {
		t.Errorf("%+v", one)
	}
	drawn := must[client.List[client.Drawn]](t)(r.TurnCheckpoints(ctx, s.ID, 1))
	if len(drawn.Items) != 1 || drawn.Items[0].Checkpoint.Hash != first.Hash || len(drawn.Items[0].Items) != 1 || drawn.Items[0].Items[0].Text != "Go in May" {
		t.Errorf("%+v", drawn)
	}
	if got := must[client.List[client.Drawn]](t)(r.TurnCheckpoints(ctx, s.ID, 2)); len(got.Items) != 1 || len(got.Items[0].Items) != 0 {
		t.Errorf("a turn that nothing cites: %+v", got)
	}
	if got := must[client.List[client.LineageNode]](t)(r.Reachable(ctx, s.ID, dhruva.Page{})); len(got.Items) != 2 || got.Items[0].Hash != second.Hash {
		t.Errorf("reachable %+v", got)
	}
}

func TestNotes(t *testing.T) {
	r, ctx := working(t), t.Context()
	c := r.save("main", dhruva.Hash{}, "Go in May")
	for i := range 5 {
		n := must[client.Note](t)(r.AddNote(ctx, c.Hash.Short(), client.NoteInput{Text: fmt.Sprint("note ", i), Author: "ana", Kind: dhruva.NoteMilestone}))
		if n.Checkpoint != c.Hash || n.Author != "ana" || n.ID == "" {
			t.Errorf("%+v", n)
		}
	}
	must[client.Note](t)(r.AddNote(ctx, c.Hash.Short(), client.NoteInput{Text: "plain"}))
	var got []string
	for page := (dhruva.Page{Limit: 4}); ; {
		l := must[client.List[client.Note]](t)(r.Notes(ctx, c.Hash.String(), page))
		for _, n := range l.Items {
			got = append(got, n.Text)
		}
		if page.After = l.Next; l.Next == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"note 0", "note 1", "note 2", "note 3", "note 4", "plain"}, got); diff != "" {
		t.Error(diff)
	}
	l := must[client.Lineage](t)(r.Lineage(ctx, "work", client.LineageFilter{}))
	if diff := cmp.Diff(map[dhruva.NoteKind]int{dhruva.NoteMilestone: 5, dhruva.NotePlain: 1}, l.Items[0].Notes); diff != "" {
		t.Error(diff)
	}
}

func TestDeleteACheckpoint(t *testing.T) {
	r, ctx := working(t), t.Context()
	first := r.save("main", dhruva.Hash{}, "Go in May")
	second := r.save("main", first.Hash, "Go in June")
	fork := must[client.Session](t)(r.ForkCheckpoint(ctx, first.Hash.String(), client.ForkInput{Branch: "fork"}))
	seeded := must[client.Session](t)(r.CreateSession(ctx, "work", client.SessionInput{Seeded: first.Hash.String()}))
	must[client.Session](t)(r.Mount(ctx, seeded.ID, client.MountInput{Checkpoint: first.Hash.String()}))
	d := must[client.Dependents](t)(r.Dependents(ctx, first.Hash.Short()))
	if d.Blocking != 2 || len(d.Children) != 1 || d.Children[0].Hash != second.Hash || len(d.Forked) != 1 || d.Forked[0].ID != fork.ID ||
		len(d.Seeded) != 1 || d.Seeded[0].ID != seeded.ID || len(d.Mounted) != 1 || d.Mounted[0].ID != seeded.ID {
		t.Errorf("%+v", d)
	}
	wantProblem(t, r.DeleteCheckpoint(ctx, first.Hash.String(), false), 409, "has_dependents")
	must[client.Checkpoint](t)(r.Checkpoint(ctx, first.Hash.String()))
	if err := r.DeleteCheckpoint(ctx, second.Hash.Short(), false); err != nil {
		t.Fatal(err)
	}
	if got := must[client.List[client.Branch]](t)(r.Branches(ctx, "work")); got.Items[0].Name != "fork" || got.Items[1].Head != first.Hash {
		t.Errorf("branches %+v", got)
	}
	if err := r.DeleteCheckpoint(ctx, first.Hash.String(), true); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, r.DeleteCheckpoint(ctx, first.Hash.String(), true), 404, "not_found")
	_, err := r.Session(ctx, fork.ID)
	wantProblem(t, err, 404, "not_found")
	_, err = r.Preview(ctx, seeded.ID, client.SendInput{Message: "What next?"})
	wantProblem(t, err, 404, "not_found")
	if !strings.Contains(err.Error(), "unmount") {
		t.Errorf("%v does not say to unmount", err)
	}
	must[client.Session](t)(r.Unmount(ctx, seeded.ID))
	must[client.Preview](t)(r.Preview(ctx, seeded.ID, client.SendInput{Message: "What next?"}))
	if l := must[client.Lineage](t)(r.Lineage(ctx, "work", client.LineageFilter{})); len(l.Items) != 0 || len(l.Branches) != 0 {
		t.Errorf("lineage %+v", l)
	}
	if v := must[client.Verification](t)(r.Verify(ctx, "work")); !v.OK || v.Checked != 2 {
		t.Errorf("verify %+v", v)
	}
}

func TestLineageIsPaged(t *testing.T) {
	r, ctx := working(t), t.Context()
	var want []dhruva.Hash
	parent := dhruva.Hash{}
	for i := range 7 {
		parent = r.save("main", parent, fmt.Sprint("decision ", i)).Hash
		want = slices.Insert(want, 0, parent)
	}
	side := r.save("side", want[3], "another")
	want = slices.Insert(want, 0, side.Hash)
	fork := must[client.Session](t)(r.ForkCheckpoint(ctx, want[2].String(), client.ForkInput{Branch: "fork", Title: "F"}))
	var got []dhruva.Hash
	var forks []client.Fork
	for f := (client.LineageFilter{Page: dhruva.Page{Limit: 3}}); ; {
		l := must[client.Lineage](t)(r.Lineage(ctx, "work", f))
		for _, n := range l.Items {
			got = append(got, n.Hash)
		}
		forks = append(forks, l.Forks...)
		if len(l.Branches) != 3 {
			t.Errorf("branches %+v", l.Branches)
		}
		if f.After = l.Next; l.Next == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(forks) != 1 || forks[0].Session != fork.ID || forks[0].Checkpoint != want[2] || forks[0].Branch != "fork" {
		t.Errorf("forks %+v", forks)
	}
	l := must[client.Lineage](t)(r.Lineage(ctx, "work", client.LineageFilter{Branch: "side"}))
	if len(l.Items) != 1 || !cmp.Equal([]dhruva.Hash{want[4]}, l.Items[0].Parents) {
		t.Errorf("side %+v", l.Items)
	}
}

const drafted = "Here it is:\n```json\n" + `{"title": "Trip", "objective": null, "summary": "In May.",
  "decisions": [{"text": "Go in May", "turns": [1]}, "Fly", {"text": "Fly"}, 7, null], "tasks": [{"text": "Book", "id": "book", "turns": [99]}],
  "assumptions": "none", "open_questions": null, "entities": ["Australia"],
  "issues": [{"type": "contradiction", "description": "May or June?"}], "suggestions": ["Decide", 3]}` + "\n```\n"

func TestDraftExtractReview(t *testing.T) {
	r, ctx := working(t), t.Context()
	s := must[client.Session](t)(r.CreateSession(ctx, "work", client.SessionInput{}))
	empty := must[client.Draft](t)(r.Draft(ctx, s.ID, client.DraftInput{}))
	if empty.Title != "" || empty.Window == nil || len(empty.Turns) != 0 || len(r.model.asked) != 0 {
		t.Errorf("of nothing %+v", empty)
	}
	must[client.SendResult](t)(r.Send(ctx, s.ID, client.SendInput{Message: "We go to Australia in May."}))
	c := r.save("main", dhruva.Hash{}, "Go in May", "Go in June")
	asks := map[string]func() (string, error){
		"draft": func() (string, error) {
			d, err := r.Draft(ctx, s.ID, client.DraftInput{})
			return string(d.ReceiptID), err
		},
		"extract": func() (string, error) {
			d, err := r.Extract(ctx, client.ExtractInput{Content: "# Plan\nGo in May."})
			return string(d.ReceiptID), err
		},
		"review": func() (string, error) {
			d, err := r.Review(ctx, c.Hash.Short(), client.ModelInput{})
			return string(d.ReceiptID), err
		},
		"title": func() (string, error) { d, err := r.SetTitle(ctx, s.ID, ""); return d.Title, err },
	}
	for name, ask := range asks {
		_, err := ask()
		wantProblem(t, err, 503, "no_background")
		if p := problem(err); !strings.Contains(p.Hint, "background_intelligence") || !errors.Is(err, dhruva.ErrUnavailable) {
			t.Errorf("%s: hint %q", name, p.Hint)
		}
	}
	r.memory.Background = func() (memory.Provider, error) {
		return memory.Provider{Name: "scripted", DefaultModel: "small", Generator: r.model}, nil
	}
	for name, fail := range map[string]func(){
		"the provider fails": func() { r.model.err = llm.NewError("scripted", 500, "overloaded", "too busy", nil) },
		"no JSON":            func() { r.model.err, r.model.pieces = nil, []string{"I would rather not."} },
		"half of it":         func() { r.model.pieces = []string{`{"title": "T", "decisions": [`} },
	} {
		fail()
		for ask, do := range asks {
			if ask == "title" && r.model.err == nil {
				continue // a title is no JSON
			}
			if _, err := do(); !errors.Is(err, dhruva.ErrUnavailable) || problem(err).Status != 502 || problem(err).Code != "upstream" {
				t.Errorf("%s, %s: %v %+v", name, ask, err, problem(err))
			}
		}
		r.model.err = nil
	}
	r.model.pieces = []string{drafted}
	d := must[client.Draft](t)(r.Draft(ctx, s.ID, client.DraftInput{}))
	if d.Title != "Trip" || d.Summary != "In May." || d.Session != s.ID || d.Provider != "scripted" || d.Model != "small" || d.ReceiptID == "" || d.Window.Through != 2 || !cmp.Equal([]int64{1, 2}, d.Turns) {
		t.Errorf("draft %+v", d)
	}
	if diff := cmp.Diff([]client.Item{{Text: "Go in May", Cites: []client.Cite{{From: 1, Through: 1}}}, {Text: "Fly"}}, d.Decisions[:2]); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(d.Uncited, "Book") || slices.Contains(d.Uncited, "Go in May") {
		t.Errorf("uncited %v", d.Uncited)
	}
	if got := must[client.List[client.Checkpoint]](t)(r.Checkpoints(ctx, "work", client.CheckpointFilter{})); len(got.Items) != 1 {
		t.Errorf("a draft was saved: %+v", got)
	}
	saved := must[client.Checkpoint](t)(r.CreateCheckpoint(ctx, "work", d.CheckpointInput))
	if saved.Title != "Trip" || saved.Window == nil || len(saved.Tasks) != 1 || saved.Tasks[0].ID != "book" {
		t.Errorf("what was drafted is saved as %+v", saved)
	}
	if x := must[client.Draft](t)(r.Extract(ctx, client.ExtractInput{Content: "# Plan\nGo in May."})); x.Title != "Trip" || x.Window != nil || len(x.Turns) != 0 {
		t.Errorf("extract %+v", x)
	}
	v := must[client.Review](t)(r.Review(ctx, c.Hash.Short(), client.ModelInput{}))
	if v.Checkpoint != c.Hash || len(v.Issues) != 1 || v.Issues[0].Type != "contradiction" || v.Suggestions[0] != "Decide" {
		t.Errorf("review %+v", v)
	}
	must[client.SendResult](t)(r.Send(ctx, s.ID, client.SendInput{Message: "Or in June?"}))
	r.mocked(s.ID, c.Hash)
}

// mocked drafts with the built-in provider, which is asked only when it is named.
func (r *rig) mocked(s dhruva.SessionID, c dhruva.Hash) {
	t, ctx := r.t, r.t.Context()
	t.Helper()
	providers := r.memory.Providers
	r.memory.Providers = func(name string) (memory.Provider, error) {
		if name == mock.Name {
			return memory.Provider{Name: name, DefaultModel: mock.Model, Generator: mock.Provider{}}, nil
		}
		return providers(name)
	}
	if d := must[client.Draft](t)(r.Draft(ctx, s, client.DraftInput{Provider: mock.Name, Turns: 1})); d.Title != "Mock checkpoint" || d.Model != mock.Model || len(d.Turns) != 1 {
		t.Errorf("draft %+v", d)
	}
	if d := must[client.Draft](t)(r.Extract(ctx, client.ExtractInput{Content: "x y z", Provider: mock.Name, Model: "m9"})); d.Model != "m9" || len(d.Artifacts) != 1 {
		t.Errorf("extract %+v", d)
	}
	if v := must[client.Review](t)(r.Review(ctx, c.String(), client.ModelInput{Provider: mock.Name})); len(v.Issues) != 1 {
		t.Errorf("review %+v", v)
	}
}

// contents are the texts of turns, numbered.
func contents(l client.List[client.Turn]) (out []string) {
	for _, t := range l.Items {
		out = append(out, fmt.Sprintf("%d %s", t.Seq, t.Content))
	}
	return out
}

// TestVersionsOfTurns: edits and regenerations stand side by side, and one goes on
// from either.
func TestVersionsOfTurns(t *testing.T) {
	r, ctx := working(t), t.Context()
	s := must[client.Session](t)(r.CreateSession(ctx, "work", client.SessionInput{}))
	say := func(in client.SendInput, answer string) client.SendResult {
		t.Helper()
		r.model.pieces = []string{answer}
		return must[client.SendResult](t)(r.Send(ctx, s.ID, in))
	}
	say(client.SendInput{Message: "Where to?"}, "Perth")
	say(client.SendInput{Message: "When?"}, "May")
	path := func(want ...string) {
		t.Helper()
		l := must[client.List[client.Turn]](t)(r.Path(ctx, s.ID, 0, 0))
		if diff := cmp.Diff(want, contents(l)); diff != "" {
			t.Error(diff)
		}
	}
	path("1 Where to?", "2 Perth", "3 When?", "4 May")
	again := say(client.SendInput{Regenerate: 4}, "June")
	if len(again.Turns) != 1 || again.Turns[0].Seq != 5 || again.Turns[0].Parent != 3 {
		t.Errorf("regenerated %+v", again.Turns)
	}
	path("1 Where to?", "2 Perth", "3 When?", "5 June")
	edited := say(client.SendInput{Message: "With whom?", Edit: 3}, "Alone")
	if len(edited.Turns) != 2 || edited.Turns[0].Parent != 2 {
		t.Errorf("edited %+v", edited.Turns)
	}
	path("1 Where to?", "2 Perth", "6 With whom?", "7 Alone")
	if got := contents(must[client.List[client.Turn]](t)(r.Siblings(ctx, s.ID, 6))); !cmp.Equal([]string{"3 When?"}, got) {
		t.Errorf("siblings %v", got)
	}
	if got := contents(must[client.List[client.Turn]](t)(r.Siblings(ctx, s.ID, 4))); !cmp.Equal([]string{"5 June"}, got) {
		t.Errorf("siblings %v", got)
	}
	if got := must[client.Session](t)(r.SelectTip(ctx, s.ID, 4)); got.Tip != 4 || got.LastSeq != 7 {
		t.Errorf("tip %+v", got)
	}
	path("1 Where to?", "2 Perth", "3 When?", "4 May")
	l := must[client.List[client.Turn]](t)(r.Path(ctx, s.ID, 0, 2))
	if diff := cmp.Diff([]string{"3 When?", "4 May"}, contents(l)); diff != "" || !cmp.Equal([]int64{3, 6}, l.Items[0].Versions) || !cmp.Equal([]int64{4, 5}, l.Items[1].Versions) {
		t.Errorf("%s %+v", diff, l.Items)
	}
	if got := contents(must[client.List[client.Turn]](t)(r.Path(ctx, s.ID, 3, 0))); !cmp.Equal([]string{"1 Where to?", "2 Perth"}, got) {
		t.Errorf("before 3: %v", got)
	}
	next := say(client.SendInput{Message: "And then?"}, "Home")
	if next.Turns[0].Parent != 4 {
		t.Errorf("after the tip: %+v", next.Turns)
	}
	if asked := r.model.asked[len(r.model.asked)-1]; strings.Contains(asked, "June") || strings.Contains(asked, "Alone") || !strings.Contains(asked, "May") {
		t.Errorf("the model is shown what was left aside:\n%s", asked)
	}
	r.regeneratedStream(s.ID)
}

// regeneratedStream streams another version of an answer, once.
func (r *rig) regeneratedStream(id dhruva.SessionID) {
	t, ctx := r.t, r.t.Context()
	t.Helper()
	r.model.pieces = []string{"To ", "bed"}
	asked := len(r.model.asked)
	once := r.Idempotent("again")
	var pieces []string
	take := func(p string) error { pieces = append(pieces, p); return nil }
	first, err := once.SendStream(ctx, id, client.SendInput{Regenerate: 9}, take)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"To ", "bed"}, pieces); diff != "" || first.Reply != "To bed" || len(first.Turns) != 1 {
		t.Errorf("%s %+v", diff, first)
	}
	pieces = nil
	second, err := once.SendStream(ctx, id, client.SendInput{Regenerate: 9}, take)
	if err != nil || !once.Replayed() {
		t.Fatalf("replayed %v: %v", once.Replayed(), err)
	}
	if diff := cmp.Diff(first, second); diff != "" || !cmp.Equal([]string{"To bed"}, pieces) {
		t.Errorf("%v %s", pieces, diff)
	}
	whole := must[client.SendResult](t)(once.Send(ctx, id, client.SendInput{Regenerate: 9}))
	if diff := cmp.Diff(first, whole); diff != "" || len(r.model.asked) != asked+1 {
		t.Errorf("asked %d times: %s", len(r.model.asked)-asked, diff)
	}
}

// TestForkAtATurn: with each scope, from a message and from an answer.
func TestForkAtATurn(t *testing.T) {
	r, ctx := working(t), t.Context()
	s := must[client.Session](t)(r.CreateSession(ctx, "work", client.SessionInput{Title: "trip"}))
	r.save("main", dhruva.Hash{}, "Go in May")
	for _, in := range []client.SendInput{{Message: "one"}, {Message: "two"}, {Regenerate: 4}, {Message: "three"}} {
		must[client.SendResult](t)(r.Send(ctx, s.ID, in))
	}
	for _, tt := range []struct {
		in   client.ForkInput
		last int64
		path string
	}{
		{client.ForkInput{Turn: 5}, 4, "one two"},
		{client.ForkInput{Turn: 6, Branch: "anew"}, 4, "one two"},
		{client.ForkInput{Turn: 5, Scope: "related"}, 5, "one two"},
		{client.ForkInput{Turn: 5, Scope: "all"}, 7, "one two"},
		{client.ForkInput{Turn: 1, Scope: "path"}, 0, ""},
	} {
		f := must[client.Session](t)(r.Fork(ctx, s.ID, tt.in))
		var said []string
		for _, turn := range must[client.List[client.Turn]](t)(r.Path(ctx, f.ID, 0, 0)).Items {
			if turn.Role == dhruva.RoleUser {
				said = append(said, turn.Content)
			}
		}
		if f.LastSeq != tt.last || strings.Join(said, " ") != tt.path || f.ForkedTurn == nil || *f.ForkedTurn != (client.TurnRef{Session: s.ID, Seq: tt.in.Turn}) || f.Branch == "main" {
			t.Errorf("%+v: %+v %v", tt.in, f, said)
		}
	}
	for name, tt := range map[string]struct {
		in     client.ForkInput
		status int
		code   string
	}{
		"neither":        {client.ForkInput{}, 422, "invalid"},
		"both":           {client.ForkInput{Turn: 1, Checkpoint: "abcdef0"}, 422, "invalid"},
		"no such turn":   {client.ForkInput{Turn: 99}, 404, "not_found"},
		"a taken branch": {client.ForkInput{Turn: 5, Branch: "anew"}, 409, "conflict"},
		"main":           {client.ForkInput{Turn: 5, Branch: "main"}, 422, "invalid"},
	} {
		if _, err := r.Fork(ctx, s.ID, tt.in); problem(err) == nil || problem(err).Status != tt.status || problem(err).Code != tt.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStateMetricsAndClaims(t *testing.T) {
	r, ctx := working(t), t.Context()
	first := r.save("main", dhruva.Hash{}, "Go in May")
	second := r.save("main", first.Hash, "Go in June")
	r.save("side", first.Hash, "Stay")
	c := must[client.Claim](t)(r.Claim(ctx, "work", client.ClaimInput{Agent: "alice", Scope: "the importer", Base: first.Hash.Short(), Hours: 1}))
	if c.Base != first.Hash || c.Intent != "implement" || c.Branch != "main" || c.Status != dhruva.ClaimActive || c.ExpiresAt.Sub(c.ClaimedAt).Hours() != 1 {
		t.Errorf("claim %+v", c)
	}
	raw := must[json.RawMessage](t)(r.State(ctx, "work", client.StateQuery{Since: first.Hash.Short()}))
	var state struct {
		Space  struct{ Name string }
		Commit struct {
			Hash      string `json:"commit_hash"`
			Decisions []string
		}
		Branches []struct {
			Name string `json:"branch_name"`
		} `json:"active_branches"`
		Claims    []struct{ Agent string } `json:"active_claims"`
		Freshness struct {
			Changed bool
			Count   int `json:"new_checkpoints_count"`
		}
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		t.Fatal(err)
	}
	if state.Space.Name != "work" || state.Commit.Hash != second.Hash.String() || len(state.Branches) != 1 || len(state.Claims) != 1 || !state.Freshness.Changed || state.Freshness.Count != 1 {
		t.Errorf("state %s", raw)
	}
	text := must[string](t)(r.StateText(ctx, "work", client.StateQuery{Since: first.Hash.Short()}))
	for _, want := range []string{"work", "Go in June", "alice", "the importer", "side"} {
		if !strings.Contains(text, want) {
			t.Errorf("the state lacks %q:\n%s", want, text)
		}
	}
	if short := must[string](t)(r.StateText(ctx, "work", client.StateQuery{MainOnly: true, Compact: true})); strings.Contains(short, "alice") || len(short) >= len(text) {
		t.Errorf("main alone:\n%s", short)
	}
	var m struct {
		Coordination map[string]any
		Branches     struct{ Active int }
	}
	if err := json.Unmarshal(must[json.RawMessage](t)(r.Metrics(ctx, "work")), &m); err != nil || m.Coordination["claims_active"] != 1.0 || m.Coordination["total_checkpoints"] != 3.0 || m.Branches.Active != 1 {
		t.Errorf("metrics %+v, %v", m, err)
	}
	done := must[client.Claim](t)(r.EndClaim(ctx, c.ID, dhruva.ClaimDone))
	if diff := cmp.Diff(c, done, cmpopts.IgnoreFields(client.Claim{}, "Status")); diff != "" || done.Status != dhruva.ClaimDone {
		t.Errorf("%s %+v", diff, done)
	}
	_, err := r.EndClaim(ctx, c.ID, dhruva.ClaimAbandoned)
	wantProblem(t, err, 409, "conflict")
	if got := must[client.List[client.Claim]](t)(r.Claims(ctx, "work", false, dhruva.Page{})); len(got.Items) != 0 {
		t.Errorf("in force %+v", got)
	}
	if got := must[client.List[client.Claim]](t)(r.Claims(ctx, "work", true, dhruva.Page{Limit: 1})); len(got.Items) != 1 {
		t.Errorf("all %+v", got)
	}
}

func TestWorktrees(t *testing.T) {
	r, ctx := working(t), t.Context()
	_, err := r.OpenWorktree(ctx, "work", client.WorktreeInput{Agent: "alice"})
	wantProblem(t, err, 422, "invalid") // the space has no project
	r.project()
	w := must[client.Worktree](t)(r.OpenWorktree(ctx, "work", client.WorktreeInput{Agent: "alice", Branch: "alice/x"}))
	if w.Status != dhruva.WorktreeOpen || w.Branch != "alice/x" || len(w.Base) != 40 || !strings.HasPrefix(w.Path, r.root) {
		t.Errorf("opened %+v", w)
	}
	if err := os.WriteFile(filepath.Join(w.Path, "new.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := must[client.Worktree](t)(r.Worktree(ctx, string(w.ID[:8])))
	if got.Probe == nil || got.Probe.DirtyFiles != 1 || !cmp.Equal([]string{"new.txt"}, got.Probe.DirtyPaths) {
		t.Errorf("probe %+v", got.Probe)
	}
	wantProblem(t, r.CloseWorktree(ctx, string(w.ID), false), 409, "conflict")
	for name, in := range map[string]client.WorktreeInput{
		"a taken branch": {Agent: "bob", Branch: "alice/x"}, "an odd branch": {Agent: "bob", Branch: "--force"}, "no commit": {Agent: "bob", Base: "nowhere"},
		"outside": {Agent: "bob", Path: "/elsewhere/x"}, "a relative path": {Agent: "bob", Path: "x"}, "NUL": {Agent: "bob", Branch: "a\x00b"},
	} {
		want := map[string]int{"a taken branch": 409, "outside": 403}[name]
		if want == 0 {
			want = 422
		}
		if _, err := r.OpenWorktree(ctx, "work", in); problem(err) == nil || problem(err).Status != want {
			t.Errorf("%s: %v %+v", name, err, problem(err))
		}
	}
	if err := r.CloseWorktree(ctx, string(w.ID), true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.Path); err == nil {
		t.Error("the directory is still there")
	}
	wantProblem(t, r.CloseWorktree(ctx, string(w.ID), true), 409, "conflict")
	if got := must[client.List[client.Worktree]](t)(r.Worktrees(ctx, "work", false)); len(got.Items) != 0 {
		t.Errorf("open %+v", got)
	}
	if got := must[client.List[client.Worktree]](t)(r.Worktrees(ctx, "work", true)); len(got.Items) != 1 || got.Items[0].Status != dhruva.WorktreeClosed || got.Items[0].ClosedAt == nil {
		t.Errorf("all %+v", got)
	}
}
