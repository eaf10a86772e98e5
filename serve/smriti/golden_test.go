package smriti_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/llm"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with the one that is kept.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// masks take out of an answer what no two runs have alike.
var masks = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`Session [A-Z][a-z]{2} \d\d \d\d:\d\d`), "Session MON DD HH:MM"},
	{regexp.MustCompile(`branch-\d{4}-\d\d-\d\d`), "branch-DATE"},
	{regexp.MustCompile(`"[0-9a-f]{7}"`), `"HASH7"`},
	{regexp.MustCompile(`\b[0-9a-f]{7} `), "HASH7 "},
	{regexp.MustCompile(`(commit|from|since) [0-9a-f]{7}\b`), "$1 HASH7"},
}

func masked(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	s := string(b) + "\n"
	for _, m := range masks {
		s = m.re.ReplaceAllString(s, m.with)
	}
	return s
}

// TestShapes compares the JSON of every kind of answer, field by field.
func TestShapes(t *testing.T) {
	r := newRig(t)
	shape := func(name string, v any) { golden(t, name+".json", masked(t, v)) }
	repo := r.want(201, "POST", "/api/v2/repos", object{"name": "Über Trip 2", "description": "d", "project_root": "/p", "metadata": object{"k": []int{1}}})
	shape("repo", repo)
	space := repo["id"].(string)
	shape("head_empty", r.want(200, "GET", "/api/v4/chat/spaces/"+space+"/head", nil))
	shape("state_empty", r.want(200, "GET", "/api/v4/chat/spaces/"+space+"/state", nil))
	session := r.want(201, "POST", "/api/v4/chat/sessions", object{"repo_id": space})
	shape("session", session)
	id := session["id"].(string)
	shape("session_fresh", r.want(201, "POST", "/api/v4/chat/sessions", object{}))
	shape("send", r.say(id, "hello"))
	shape("turns", r.list("/api/v4/chat/sessions/"+id+"/turns"))
	one := r.save(space, id, "One", "summary", "s", "objective", "o", "decisions", []string{"d1"}, "assumptions", []string{"a1"},
		"tasks", []any{"plain", object{"text": "made", "id": "t-1", "intent_hint": "review", "blocked_by": "b", "status": "open"}},
		"open_questions", []string{"q1"}, "entities", []string{"e1"},
		"artifacts", []any{object{"id": "a", "type": "go", "label": "main.go", "content": "package main"}}, "project_root", "/elsewhere")
	shape("commit", one)
	at := one["id"].(string)
	shape("note", r.want(201, "POST", "/api/v5/checkpoint/"+at+"/notes", object{"text": "n"}))
	two := r.commit(space, "Two", "author_agent", "claude-code", "metadata", object{"extra": true}, "context_blob", object{"x": 1}, "raw_source_text", "raw")
	shape("commit_v2", two)
	fork := r.want(201, "POST", "/api/v5/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": at})
	shape("fork", fork)
	r.save(space, fork["session_id"].(string), "Three", "decisions", []string{"d3"})
	shape("claim", r.want(201, "POST", "/api/v5/claims", object{"space_id": space, "agent": "a", "scope": "s", "base_commit_id": at, "task_id": "t-1", "intent_type": "docs"}))
	shape("state", r.want(200, "GET", "/api/v4/chat/spaces/"+space+"/state?since_commit_id="+at, nil))
	shape("head", r.want(200, "GET", "/api/v4/chat/spaces/"+space+"/head", nil))
	shape("lineage", r.want(200, "GET", "/api/v5/lineage/spaces/"+space, nil))
	shape("compare", r.want(200, "GET", "/api/v5/lineage/checkpoints/"+at+"/compare/"+two["id"].(string), nil)["diff"])
	shape("delta", r.want(200, "GET", "/api/v2/context/parent-delta/"+two["id"].(string), nil))
	shape("disposition", r.want(200, "PATCH", "/api/v5/lineage/branches/disposition", object{"space_id": space, "branch_name": fork["branch_name"], "disposition": "integrated"}))
	shape("metrics", r.want(200, "GET", "/api/v5/metrics/spaces/"+space, nil))
	shape("blocked", r.want(409, "DELETE", "/api/v2/commits/"+at, nil))
	shape("review", r.want(200, "POST", "/api/v5/checkpoint/"+at+"/review", nil))
	shape("draft", r.want(200, "POST", "/api/v5/checkpoint/draft", object{"session_id": id, "num_turns": 5, "mounted_checkpoint_id": at, "history_base_seq": 0}))
	shape("extract", r.want(200, "POST", "/api/v5/checkpoint/extract", object{"content": "We decided."}))
	shape("providers", r.want(200, "GET", "/api/v4/chat/providers", nil))
	shape("pack_commit", r.want(200, "POST", "/api/v2/context/from-commit", object{"commit_id": at}))
	pasted := r.want(201, "POST", "/api/v1/sessions", object{"raw_transcript": "Human: hi\n\nAI: ho", "source_tool": "chatgpt"})
	shape("v1_session", pasted)
	shape("v1_artifacts", r.want(200, "GET", "/api/v1/sessions/"+pasted["id"].(string)+"/artifacts", nil))
	pack := r.want(201, "POST", "/api/v1/sessions/"+pasted["id"].(string)+"/context-packs", object{"target_tool": "cursor"})
	shape("v1_pack", pack)
	if d := cmp.Diff(pack, r.want(200, "GET", "/api/v1/context-packs/"+pack["id"].(string), nil)); d != "" {
		t.Error(d)
	}
	_, memories := r.do("POST", "/api/v2/memory/extract", object{"content": "We decided."})
	shape("v2_memories", memories)
	shape("unprocessable", r.want(422, "POST", "/api/v4/chat/commit", object{
		"repo_id": "x", "session_id": nil, "decisions": []any{"a", 1}, "tasks": []any{object{}}, "summary": 3, "artifacts": object{},
	}))
}

// TestPacksOfEveryTarget: text in a pack is neither a section nor a tag of it, and
// what is done is not to be done.
func TestPacksOfEveryTarget(t *testing.T) {
	r := newRig(t)
	r.slot.Default = nil
	r.slot.Enqueue(llm.Reply{Text: `{"title": "Böse <title>", "objective": "# not a heading", "summary": "Two lines:\n## neither",
		"decisions": ["Use Go & not <b>C</b>", "first line\nsecond line"], "assumptions": ["it rains"],
		"tasks": [{"text": "write it", "id": "w", "intent_hint": "implement", "blocked_by": "rain"}],
		"open_questions": ["why?"], "entities": ["देहली", "Go"],
		"artifacts": [{"type": "md", "label": "a \"quoted\" label", "content": "` + "```\\nfence\\n```" + `"}]}`})
	pasted := r.want(201, "POST", "/api/v1/sessions", object{"raw_transcript": "User: x", "title": "The </context> title"})
	space := r.space("s")
	commit := r.commit(space, "The </context> title", "objective", "# not a heading", "summary", "Two lines:\n## neither",
		"decisions", []string{"Use Go & not <b>C</b>", "first line\nsecond line"}, "assumptions", []string{"it rains"},
		"tasks", []any{agents.Task{Text: "write it", ID: "w", Intent: "implement", BlockedBy: "rain"}, agents.Task{Text: "IS-DONE", Status: "done"}},
		"open_questions", []string{"why?"}, "entities", []string{"देहली", "Go"},
		"artifacts", []any{object{"type": "md", "label": `a "quoted" label`, "content": "```\nfence\n```"}})
	for _, target := range []string{"generic", "chatgpt", "claude", "cursor"} {
		v1 := r.want(201, "POST", "/api/v1/sessions/"+pasted["id"].(string)+"/context-packs", object{"target_tool": target})
		golden(t, "pack_v1_"+target+".txt", v1["content"].(string))
		v2 := r.want(200, "POST", "/api/v2/context/from-commit", object{"commit_id": commit["id"], "target": target})
		golden(t, "pack_v2_"+target+".txt", v2["content"].(string))
		if v2["format"] != "markdown" || v2["target_tool"] != target {
			t.Errorf("%s: %v", target, v2)
		}
		if strings.Contains(v2["content"].(string), "IS-DONE") || strings.Contains(v2["content"].(string), "map[") {
			t.Errorf("TestD14: %s: %s", target, v2["content"])
		}
		if target == "claude" && strings.Count(v2["content"].(string), "</context>") != 1 {
			t.Errorf("a text ends the pack: %s", v2["content"])
		}
	}
}
