package agents_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/ledger"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares with a file of testdata, but for ids and hashes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

var (
	anyID    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyHash  = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	anyShort = regexp.MustCompile(`\b[0-9a-f]{7}\b`)
)

// plainly is a text whose ids and hashes are numbered by when they first stand
// in it.
func plainly(s string) string {
	seen := map[string]string{}
	number := func(kind string) func(string) string {
		return func(id string) string {
			if seen[id] == "" {
				seen[id] = kind + string(rune('A'+len(seen)))
			}
			return seen[id]
		}
	}
	s = anyID.ReplaceAllStringFunc(s, number("ID-"))
	s = anyHash.ReplaceAllStringFunc(s, number("HASH-"))
	return anyShort.ReplaceAllString(s, "hash7")
}

func (r *rig) claimIn(agent, scope string, w dhruva.WorktreeID) ledger.ClaimView {
	r.Helper()
	r.clock.Advance(time.Minute)
	c, err := r.l.Claim(r.ctx, ledger.ClaimInput{Space: r.space.ID, Agent: agent, Scope: scope, Worktree: w, Task: "t-1", Intent: "review"})
	r.must(err)
	return c
}

func (r *rig) commit(in ledger.CommitInput) dhruva.Checkpoint {
	r.Helper()
	r.clock.Advance(time.Minute)
	in.Space = r.space.ID
	c, err := r.l.Commit(r.ctx, in)
	r.must(err)
	return c
}

func items(texts ...string) (out []ledger.ItemInput) {
	for _, s := range texts {
		out = append(out, ledger.ItemInput{Text: s})
	}
	return out
}

// full is a space with one of everything; since is a checkpoint of it.
func full(t *testing.T) (r *rig, since dhruva.Checkpoint) {
	r = newRig(t)
	r.space = r.newSpace("Harbour", "/srv/harbour")
	about := "Boats and their berths.\n\n# not a heading"
	_, err := r.l.UpdateSpace(r.ctx, r.space.ID, ledger.SpacePatch{Description: &about})
	r.must(err)
	s, err := r.l.CreateSession(r.ctx, ledger.SessionInput{Space: r.space.ID, Title: "berths"})
	r.must(err)
	since = r.commit(ledger.CommitInput{Title: "the first", Summary: "begun", Decisions: items("Use SQLite"), Author: "ana"})
	fork, err := r.l.Fork(r.ctx, ledger.ForkInput{Checkpoint: since.Hash.String(), Branch: "try`it"})
	r.must(err)
	r.commit(ledger.CommitInput{Session: fork.ID, Title: "another store", Summary: strings.Repeat("बहुत लंबा सारांश ", 20), Decisions: items("Use Postgres"), Author: "ben"})
	r.commit(ledger.CommitInput{
		Session: s.ID, Title: "the second", Objective: "Find every boat a berth.", Author: "cleo",
		Summary:       "Berths are drawn.\n## Decisions\n- forged\n---\n```\nstill the summary",
		Decisions:     items("Use SQLite", "Draw berths\n## by hand"),
		Assumptions:   items("Boats are shorter than 30 m"),
		OpenQuestions: items("Who pays?"), Entities: items("Harbour office", "Ana"),
		Tasks: []ledger.ItemInput{
			{Text: "Count the boats"},
			{Text: "Paint the pier", Attrs: []dhruva.Attr{{Name: dhruva.AttrStatus, Value: "done"}}},
			{Text: "Write to the office", Attrs: []dhruva.Attr{{Name: dhruva.AttrSlug, Value: "letter"}, {Name: dhruva.AttrIntent, Value: "docs"}, {Name: dhruva.AttrBlockedBy, Value: "the count"}}},
		},
		Artifacts: []ledger.ItemInput{
			{Text: "```go\npackage boats\n```\n## In progress", Attrs: []dhruva.Attr{{Name: dhruva.AttrLabel, Value: "boats.go"}, {Name: dhruva.AttrType, Value: "code"}}},
			{Text: strings.Repeat("long ", 300), Attrs: []dhruva.Attr{{Name: dhruva.AttrLabel, Value: "log"}, {Name: dhruva.AttrSlug, Value: "a-2"}}},
		},
	})
	r.claimIn("ana", "berths 1 to 9\n# now", "")
	r.clock.Advance(90 * time.Minute)
	return r, since
}

func TestTheStateAsMarkdown(t *testing.T) {
	r, since := full(t)
	s, err := r.a.State(r.ctx, agents.StateQuery{Space: "Harbour", Since: since.Hash.String()})
	r.must(err)
	for name, v := range map[string]agents.View{"full": {}, "compact": {Compact: true}, "preview": {Preview: true}, "main-only": {MainOnly: true}} {
		golden(t, "state-"+name+".md", plainly(s.Markdown(v)))
	}
	long, short := len(s.Markdown(agents.View{})), len(s.Markdown(agents.View{Compact: true}))
	if short*2 > long {
		t.Errorf("compact has %d bytes of %d", short, long)
	}
	main, err := r.a.State(r.ctx, agents.StateQuery{Space: string(r.space.ID), MainOnly: true})
	r.must(err)
	golden(t, "state-main.md", plainly(main.Markdown(agents.View{})))
}

// D31: the JSON holds every key, also what is null.
func TestD31_TheStateAsJSON(t *testing.T) {
	r, since := full(t)
	s, err := r.a.State(r.ctx, agents.StateQuery{Space: "Harbour", Since: since.Hash.String()})
	r.must(err)
	b, err := json.MarshalIndent(s, "", "  ")
	r.must(err)
	golden(t, "state.json", plainly(string(b))+"\n")
	var back agents.State
	r.must(json.Unmarshal(b, &back))
	back.At = s.At
	if diff := cmp.Diff(s, back); diff != "" {
		t.Error(diff)
	}

	empty := newRig(t)
	empty.space = empty.newSpace("empty", "")
	s, err = empty.a.State(empty.ctx, agents.StateQuery{Space: "empty"})
	r.must(err)
	b, err = json.MarshalIndent(s, "", "  ")
	r.must(err)
	golden(t, "state-empty.json", plainly(string(b))+"\n")
	golden(t, "state-empty.md", plainly(s.Markdown(agents.View{})))
}

func TestHeadingsOfAStateAreOurs(t *testing.T) {
	r, since := full(t)
	s, err := r.a.State(r.ctx, agents.StateQuery{Space: "Harbour", Since: since.Hash.String()})
	r.must(err)
	var headings []string
	fence := ""
	for l := range strings.SplitSeq(s.Markdown(agents.View{}), "\n") {
		switch {
		case fence == "" && strings.HasPrefix(l, "```"):
			fence = l[:len(l)-len(strings.TrimLeft(l, "`"))]
		case fence != "" && l == fence:
			fence = ""
		case fence == "" && strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "###"):
			headings = append(headings, l)
		}
	}
	want := []string{
		"# Harbour", "## Current objective", "## Where we are", "## Decisions", "## Assumptions we are relying on", "## Open questions", "## In progress",
		"## Attached artifacts", "## Key entities", "## Active branches", "## Active work", "## Divergence signal",
	}
	if diff := cmp.Diff(want, headings); diff != "" || fence != "" {
		t.Errorf("%s%q", diff, fence)
	}
}

func TestAFreshStateIsRenderedInEachCase(t *testing.T) {
	r, since := full(t)
	other := r.newSpace("other", "")
	c, err := r.l.Commit(r.ctx, ledger.CommitInput{Space: other.ID, Title: "foreign"})
	r.must(err)
	head, err := r.a.State(r.ctx, agents.StateQuery{Space: "Harbour"})
	r.must(err)
	var out strings.Builder
	for _, ref := range []string{since.Hash.String(), head.Commit.Hash, head.ActiveBranches[0].Hash, c.Hash.String()} {
		f, err := r.a.Freshness(r.ctx, "Harbour", ref)
		r.must(err)
		b, err := json.Marshal(f)
		r.must(err)
		out.WriteString(string(b) + "\n")
	}
	_, err = r.l.DeleteCheckpoint(r.ctx, head.Commit.Hash, false)
	r.must(err)
	f, err := r.a.Freshness(r.ctx, "Harbour", head.Commit.Hash)
	r.must(err)
	b, err := json.Marshal(f)
	r.must(err)
	golden(t, "freshness.jsonl", plainly(out.String()+string(b)+"\n"))
	_, err = r.a.Freshness(r.ctx, "Harbour", "HEAD")
	r.is(err, dhruva.ErrInvalid)
	_, err = r.a.State(r.ctx, agents.StateQuery{Space: "nowhere"})
	r.is(err, dhruva.ErrNotFound)
}

func TestClaimsAndMetricsAsJSON(t *testing.T) {
	r, _ := full(t)
	done := r.claimIn("ben", "done soon", "")
	_, err := r.l.EndClaim(r.ctx, done.ID, dhruva.ClaimDone)
	r.must(err)
	r.clock.Advance(3 * time.Hour)
	claims, next, err := r.a.Claims(r.ctx, "Harbour", true, dhruva.Page{})
	r.must(err)
	if next != "" || len(claims) != 2 || claims[0].Status != dhruva.ClaimDone || claims[1].Status != agents.StatusExpired {
		t.Errorf("%+v", claims)
	}
	live, _, err := r.a.Claims(r.ctx, "Harbour", false, dhruva.Page{})
	r.must(err)
	if len(live) != 0 {
		t.Errorf("%+v", live)
	}
	m, err := r.a.Metrics(r.ctx, "Harbour")
	r.must(err)
	b, err := json.MarshalIndent(m, "", "  ")
	r.must(err)
	golden(t, "metrics.json", plainly(string(b))+"\n")
	empty := r.newSpace("empty", "")
	m, err = r.a.Metrics(r.ctx, string(empty.ID))
	r.must(err)
	if m.Coordination.CompletionRate != nil || m.StateQuality.AvgDecisions != 0 {
		t.Errorf("%+v", m)
	}
	_, _, err = r.a.Claims(r.ctx, "nowhere", true, dhruva.Page{})
	r.is(err, dhruva.ErrNotFound)
	_, err = r.a.Metrics(r.ctx, "nowhere")
	r.is(err, dhruva.ErrNotFound)
}

func TestTasksInJSON(t *testing.T) {
	for text, want := range map[string]agents.Task{
		`"plain"`: {Text: "plain"},
		`{"text":"more","id":"a","intent_hint":"test","blocked_by":"b","status":"Done"}`: {Text: "more", ID: "a", Intent: "test", BlockedBy: "b", Status: "Done"},
	} {
		var got agents.Task
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
		if b, err := json.Marshal(got); err != nil || string(b) != text {
			t.Errorf("%s became %s %v", text, b, err)
		}
		if got.Done() != (want.Status == "Done") {
			t.Errorf("%s: done %v", text, got.Done())
		}
	}
}
