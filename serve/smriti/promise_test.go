package smriti_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/ledger"
)

func TestS9_FreshHasNoSpace(t *testing.T) {
	r := newRig(t)
	s := r.want(201, "POST", "/api/v4/chat/sessions", object{})
	if s["repo_id"] != nil {
		t.Errorf("session: %v", s)
	}
	r.say(s["id"].(string), "hello")
	for _, turn := range r.list("/api/v4/chat/sessions/" + s["id"].(string) + "/turns") {
		if turn["repo_id"] != nil {
			t.Errorf("turn: %v", turn)
		}
	}
	if got := r.list("/api/v2/repos"); len(got) != 0 {
		t.Errorf("the home is listed: %v", got)
	}
	r.want(409, "POST", "/api/v4/chat/send", r.message(s["id"].(string), "m", "repo_id", r.space("s")))
}

// A name that looks like an id is a name.
func TestSpacesAreFoundByTheirIds(t *testing.T) {
	r := newRig(t)
	r.space(nobody)
	r.want(404, "GET", "/api/v2/repos/"+nobody, nil)
	r.want(404, "POST", "/api/v4/chat/sessions", object{"repo_id": nobody})
}

// TestS18_FreshPromptIsTheMessage: nothing else, not even the session's own turns.
func TestS18_FreshPromptIsTheMessage(t *testing.T) {
	r := newRig(t)
	s := r.session(object{})
	r.say(s, "first")
	r.say(s, "second, alone")
	if got := r.prompt(); got != "second, alone" {
		t.Errorf("prompt %q", got)
	}
}

func TestS19_ScopeIsHowManyCheckpoints(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	for n := 1; n <= 4; n++ {
		r.commit(space, fmt.Sprint("c", n), "summary", fmt.Sprintf("SUMMARY-%d", n))
	}
	s := r.session(object{"repo_id": space})
	r.say(s, "one", "memory_scope", "latest_1")
	r.holds(r.prompt(), "Checkpoint 1 Summary:", "SUMMARY-4")
	r.lacks(r.prompt(), "SUMMARY-3")
	r.say(s, "three", "memory_scope", "latest_3")
	r.holds(r.prompt(), "Checkpoint 3 Summary:", "SUMMARY-2", "SUMMARY-3", "SUMMARY-4")
	r.lacks(r.prompt(), "SUMMARY-1")
	r.say(s, "default")
	r.lacks(r.prompt(), "SUMMARY-3")
}

// TestS25_NewZealand: what was said between a checkpoint and mounting it reaches
// no model, and the draft sees the same turns as the chat (S28, S36).
func TestS25_NewZealand(t *testing.T) {
	r := newRig(t)
	space := r.space("trip")
	s := r.session(object{"repo_id": space})
	r.say(s, "AUS-TURN")
	one := r.save(space, s, "Australia", "summary", "AUS-SUMMARY", "decisions", []string{"AUS-DECISION"})["id"]
	for n := range 5 {
		r.say(s, fmt.Sprintf("NZ-TURN-%d", n))
	}
	r.save(space, s, "New Zealand", "summary", "NZ-SUMMARY", "decisions", []string{"NZ-DECISION"})
	r.say(s, "NZ-TURN after its checkpoint")
	base := len(r.list("/api/v4/chat/sessions/" + s + "/turns"))
	for n := range 3 {
		r.say(s, fmt.Sprintf("POST-MOUNT-%d", n), "mounted_checkpoint_id", one, "history_base_seq", base)
		r.holds(r.prompt(), "AUS-SUMMARY", "AUS-DECISION")
		r.lacks(r.prompt(), "NZ-", "AUS-TURN")
		for before := range n {
			r.holds(r.prompt(), fmt.Sprintf("POST-MOUNT-%d", before))
		}
	}
	r.want(200, "POST", "/api/v5/checkpoint/draft", object{"session_id": s, "mounted_checkpoint_id": one, "history_base_seq": base})
	all := r.slot.Requests()
	draft := flat(all[len(all)-1])
	r.holds(draft, "POST-MOUNT-0", "POST-MOUNT-1", "POST-MOUNT-2")
	r.lacks(draft, "NZ-", "AUS-")
}

func TestS43_TheProviderMayChange(t *testing.T) {
	r := newRig(t)
	s := r.session(object{"repo_id": r.space("s")})
	r.say(s, "remember the red door", "use_mock", true)
	if got := r.want(200, "GET", "/api/v4/chat/sessions/"+s, nil); got["active_provider"] != "mock" {
		t.Errorf("session: %v", got)
	}
	r.say(s, "which door?")
	r.holds(r.prompt(), "the red door")
	if got := r.want(200, "GET", "/api/v4/chat/sessions/"+s, nil); got["active_provider"] != "scripted" || got["active_model"] != "m1" {
		t.Errorf("session: %v", got)
	}
}

// TestS45_PasteToPacks is the first API: transcript, artifacts, packs.
func TestS45_PasteToPacks(t *testing.T) {
	r := newRig(t)
	text := "You said:\nhello\n\nChatGPT said:\nhi\npassword: \"hunter2hunter2!\""
	s := r.want(201, "POST", "/api/v1/sessions", object{"raw_transcript": text, "title": "T", "source_tool": "chatgpt"})
	all := r.slot.Requests()
	r.holds(flat(all[len(all)-1]), "Human: hello", "Assistant: hi")
	r.lacks(flat(all[len(all)-1]), "You said:", "hunter2")
	path := "/api/v1/sessions/" + s["id"].(string)
	if d := cmp.Diff(s, r.want(200, "GET", path, nil)); d != "" || s["title"] != "T" || s["status"] != "completed" || strings.Contains(s["raw_transcript"].(string), "hunter2") {
		t.Errorf("session %v, diff %s", s, d)
	}
	r.want(422, "POST", path+"/context-packs", object{"target_tool": "vim"})
	one := r.want(201, "POST", path+"/context-packs", object{"target_tool": "claude"}, "Idempotency-Key", "p")
	again := r.want(201, "POST", path+"/context-packs", object{"target_tool": "claude"}, "Idempotency-Key", "p")
	if d := cmp.Diff(one, again); d != "" {
		t.Errorf("again: %s", d)
	}
	if one["session_id"] != s["id"] || !strings.HasPrefix(one["content"].(string), "<context>") {
		t.Errorf("pack: %v", one)
	}
	r.want(404, "GET", "/api/v1/sessions/"+one["id"].(string), nil)
	r.want(404, "GET", "/api/v1/context-packs/"+s["id"].(string), nil)
	if got := r.list("/api/v4/chat/sessions"); len(got) != 0 {
		t.Errorf("a transcript is no chat: %v", got)
	}
	r.key = r.newKey(auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.StateRead, dhruva.MemoryRead}})
	r.want(403, "POST", "/api/v1/sessions", object{"raw_transcript": text})
}

// TestS46_OldMemories: extract, list, change, build and delete.
func TestS46_OldMemories(t *testing.T) {
	r := newRig(t)
	_, out := r.do("POST", "/api/v2/memory/extract", object{"text": "We decided."})
	made := out.([]any)
	if len(made) != 5 {
		t.Fatalf("memories: %v", made)
	}
	decided := r.list("/api/v2/memory?type=decision")
	if len(decided) != 1 || decided[0]["confidence"] != 0.5 || decided[0]["embedding"] != nil {
		t.Fatalf("decisions: %v", decided)
	}
	if got := r.list("/api/v2/memory?limit=2"); len(got) != 2 {
		t.Errorf("two: %v", got)
	}
	id := decided[0]["id"].(string)
	changed := r.want(200, "PUT", "/api/v2/memory/"+id, object{"content": "Use Go", "importance": 1, "type": "preference"})
	if changed["content"] != "Use Go" || changed["importance"] != 1.0 || changed["confidence"] != 0.5 || changed["type"] != "preference" {
		t.Errorf("changed: %v", changed)
	}
	r.want(422, "PUT", "/api/v2/memory/"+id, object{"importance": 2})
	r.want(422, "PUT", "/api/v2/memory/"+id, object{"type": "dream"})
	pack := r.want(200, "POST", "/api/v2/context/build", object{"target_tool": "generic", "memory_ids": []string{id}})
	if !strings.Contains(pack["content"].(string), "- Use Go") {
		t.Errorf("pack: %v", pack)
	}
	r.want(204, "DELETE", "/api/v2/memory/"+id, nil)
	r.want(404, "DELETE", "/api/v2/memory/"+id, nil)
}

// TestS47_Attach moves a session until a checkpoint was saved from it.
func TestS47_Attach(t *testing.T) {
	r := newRig(t)
	space, other := r.space("s"), r.space("s") // names may be shared
	s := r.session(object{})
	r.say(s, "hello")
	put := func(status int, to string) object {
		return r.want(status, "PUT", "/api/v4/chat/sessions/"+s+"/attach", object{"repo_id": to})
	}
	if got := put(200, space); got["repo_id"] != space {
		t.Errorf("attached: %v", got)
	}
	for _, turn := range r.list("/api/v4/chat/sessions/" + s + "/turns") {
		if turn["repo_id"] != space {
			t.Errorf("turn: %v", turn)
		}
	}
	put(200, other)
	put(200, space)
	r.save(space, s, "c")
	put(409, other)
	put(200, space)
}

func TestS47_FiftySessionsAreListed(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	var last string
	for n := range 53 {
		last = r.session(object{"repo_id": space, "title": fmt.Sprint(n)})
	}
	got := r.list("/api/v4/chat/sessions")
	if len(got) != 50 || got[0]["id"] != last {
		t.Errorf("%d sessions, the first %v", len(got), got[0])
	}
	r.want(204, "DELETE", "/api/v4/chat/sessions/"+last, nil)
	r.want(404, "DELETE", "/api/v4/chat/sessions/"+last, nil)
}

// TestS48_EmptyWindowAsksNobody.
func TestS48_EmptyWindowAsksNobody(t *testing.T) {
	r := newRig(t)
	r.noSlot = true
	got := r.want(200, "POST", "/api/v5/checkpoint/draft", object{"session_id": r.session(object{})})
	if got["title"] != "" || len(got["decisions"].([]any)) != 0 || len(r.slot.Requests()) != 0 {
		t.Errorf("draft: %v", got)
	}
}

// TestS49_OldRoutesStay: no route of the first two versions is unknown.
func TestS49_OldRoutesStay(t *testing.T) {
	r := newRig(t)
	for _, route := range []string{
		"POST /api/v1/sessions", "GET /api/v1/sessions/x", "GET /api/v1/sessions/x/artifacts", "POST /api/v1/sessions/x/context-packs", "GET /api/v1/context-packs/x",
		"POST /api/v2/repos", "GET /api/v2/repos", "POST /api/v2/commits", "POST /api/v2/context/from-commit", "POST /api/v2/context/build",
		"POST /api/v2/memory/extract", "GET /api/v2/memory", "PUT /api/v2/memory/x", "DELETE /api/v2/memory/x",
	} {
		method, path, _ := strings.Cut(route, " ")
		if status, out := r.do(method, path, nil); status == 404 || status == 405 || status >= 500 {
			t.Errorf("%s: %d %v", route, status, out)
		}
	}
}

// TestS50_DraftsHaveErrorsOfTheirOwn: a broken background model breaks no chat.
func TestS50_DraftsHaveErrorsOfTheirOwn(t *testing.T) {
	r := newRig(t)
	r.noSlot = true
	s := r.session(object{"repo_id": r.space("s")})
	r.say(s, "hello")
	r.want(500, "POST", "/api/v5/checkpoint/draft", object{"session_id": s})
	r.say(s, "still there")
}

// TestIdempotencyKeys: every call that makes something is done once.
func TestIdempotencyKeys(t *testing.T) {
	r := newRig(t)
	n := 0
	twice := func(path string, in object) object {
		t.Helper()
		n++
		key := fmt.Sprint("key-", n)
		one := r.want(201, "POST", path, in, "Idempotency-Key", key)
		if d := cmp.Diff(one, r.want(201, "POST", path, in, "Idempotency-Key", key)); d != "" {
			t.Errorf("%s (-first +again):\n%s", path, d)
		}
		in["further"] = 1
		r.want(409, "POST", path, in, "Idempotency-Key", key)
		delete(in, "further")
		return one
	}
	space := twice("/api/v2/repos", object{"name": "s", "metadata": object{"k": "v"}})["id"].(string)
	session := twice("/api/v4/chat/sessions", object{"repo_id": space})["id"].(string)
	in := r.message(session, "once")
	first := r.want(200, "POST", "/api/v4/chat/send", in, "Idempotency-Key", "send")
	if d := cmp.Diff(first, r.want(200, "POST", "/api/v4/chat/send", in, "Idempotency-Key", "send")); d != "" || len(r.chat.Requests()) != 1 {
		t.Errorf("sent %d times: %s", len(r.chat.Requests()), d)
	}
	at := twice("/api/v4/chat/commit", object{"repo_id": space, "session_id": session, "message": "m", "project_root": "/x"})["id"].(string)
	twice("/api/v2/commits", object{"repo_id": space, "message": "m", "metadata": object{"k": "v"}, "author_type": "human"})
	twice("/api/v5/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": at})
	twice("/api/v5/claims", object{"space_id": space, "agent": "a", "scope": "s"})
	twice("/api/v5/checkpoint/"+at+"/notes", object{"text": "t"})
	twice("/api/v1/sessions", object{"raw_transcript": "User: x"})
	if got := r.list("/api/v2/repos/" + space + "/commits"); len(got) != 2 {
		t.Errorf("%d commits", len(got))
	}
	r.want(400, "POST", "/api/v2/repos", object{"name": "x"}, "Idempotency-Key", "with space")
	status, _ := r.do("POST", "/api/v2/repos", object{"name": "s", "metadata": object{"k": "v"}}, "Idempotency-Key", "key-1")
	r.want(204, "DELETE", "/api/v2/repos/"+space, nil)
	if got := r.want(409, "POST", "/api/v2/repos", object{"name": "s", "metadata": object{"k": "v"}}, "Idempotency-Key", "key-1"); status != 201 || !strings.Contains(fmt.Sprint(got), "deleted") {
		t.Errorf("what it made is gone: %v", got)
	}
}

// TestCommitExtras: what a commit says beyond its state is kept.
func TestCommitExtras(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	one := r.commit(space, "one", "project_root", "/first", "author_type", "human", "metadata", object{"a": 1, "token": "x"}, "context_blob", []int{1, 2}, "raw_source_text", "raw")
	if got := r.want(200, "GET", "/api/v2/repos/"+space, nil); got["project_root"] != "/first" {
		t.Errorf("the space's root: %v", got)
	}
	two := r.commit(space, "two", "project_root", "/second")
	three := r.commit(space, "three")
	for want, c := range map[string]object{"/first": one, "/second": two} {
		if c["project_root"] != want {
			t.Errorf("root %v, want %s", c["project_root"], want)
		}
	}
	if three["project_root"] != "/first" || one["author_type"] != "human" || one["raw_source_text"] != "raw" || fmt.Sprint(one["context_blob"]) != "[1 2]" || one["metadata"].(object)["a"] != 1.0 {
		t.Errorf("one %v, three %v", one, three)
	}
	if d := cmp.Diff(one, r.want(200, "GET", "/api/v2/commits/"+one["id"].(string), nil)); d != "" {
		t.Error(d)
	}
	list := r.list("/api/v2/repos/" + space + "/commits?branch=main")
	if len(list) != 3 || list[0]["id"] != three["id"] || list[1]["parent_commit_id"] != one["id"] {
		t.Errorf("list: %v", list)
	}
	if d := cmp.Diff(list[2], one); d != "" {
		t.Error(d)
	}
	r.want(409, "POST", "/api/v2/commits", object{"repo_id": space, "message": "stale", "parent_commit_id": one["id"]})
}

// TestS2_NoRouteChangesACheckpoint: notes stand beside it.
func TestS2_NoRouteChangesACheckpoint(t *testing.T) {
	r := newRig(t)
	at := r.commit(r.space("s"), "c", "decisions", []string{"d"})
	path := "/api/v2/commits/" + at["id"].(string)
	for _, method := range []string{"PUT", "PATCH", "POST"} {
		r.want(405, method, path, object{"message": "other"})
	}
	r.want(201, "POST", "/api/v5/checkpoint/"+at["id"].(string)+"/notes", object{"text": "t"})
	if got := r.want(200, "GET", path, nil); got["commit_hash"] != at["commit_hash"] || got["message"] != "c" {
		t.Errorf("commit: %v", got)
	}
}

// TestWorktrees: with a key, below the roots, with git's branch as Smriti names it.
func TestWorktrees(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	git := func(args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		c.Dir = repo
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if err := os.MkdirAll(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "first")
	r.trees.Roots, r.trees.Dir = []string{dir}, filepath.Join(dir, "trees")
	if err := os.MkdirAll(r.trees.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.key = r.newKey(auth.KeyInput{Scopes: dhruva.KeyScopes()})
	space := r.space("s")
	in := object{"space_id": space, "agent": "codex"}
	const all = "/api/v5/worktrees"
	r.want(400, "POST", all, in) // no project root
	r.want(200, "PATCH", "/api/v2/repos/"+space+"/project-root", object{"project_root": repo})
	r.want(400, "POST", all, object{"space_id": space, "agent": "codex", "base_path": "relative"})
	r.want(403, "POST", all, object{"space_id": space, "agent": "codex", "base_path": "/var/elsewhere"})
	r.want(404, "POST", all, object{"space_id": nobody, "agent": "codex"})
	one := r.want(201, "POST", all, in, "Idempotency-Key", "w")
	if again := r.want(201, "POST", all, in, "Idempotency-Key", "w"); again["id"] != one["id"] {
		t.Errorf("again: %v", again)
	}
	if branch := one["branch_name"].(string); !strings.HasPrefix(branch, "smriti/codex/") || len(branch) != len("smriti/codex/")+8 {
		t.Errorf("branch %s", branch)
	}
	r.want(409, "POST", all, object{"space_id": space, "agent": "codex", "branch_name": one["branch_name"]})
	id := one["id"].(string)
	if err := os.WriteFile(filepath.Join(one["path"].(string), "new.txt"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	list := r.list(all + "?space_id=" + space)
	if len(list) != 1 || list[0]["probe"].(object)["dirty_files"] != 1.0 || fmt.Sprint(list[0]["probe"].(object)["dirty_paths"]) != "[new.txt]" {
		t.Errorf("list: %v", list)
	}
	if got := r.want(200, "GET", all+"/"+id[:8], nil); got["id"] != id {
		t.Errorf("by prefix: %v", got)
	}
	r.want(400, "GET", all+"/"+id[:3], nil)
	ctx := dhruva.WithPrincipal(t.Context(), auth.LocalPrincipal())
	for _, twin := range []string{"abcd0000-0000-4000-8000-000000000001", "abcd0000-0000-4000-8000-000000000002"} {
		row := ledger.WorktreeInput{ID: dhruva.WorktreeID(twin), Space: dhruva.SpaceID(r.space("twins")), Agent: "a", Branch: "b", Base: "c", Root: repo, Path: dir + twin}
		if _, err := r.ledger.OpenWorktree(ctx, row); err != nil {
			t.Fatal(err)
		}
	}
	r.want(422, "GET", all+"/abcd0000", nil)
	r.want(422, "DELETE", all+"/abcd0000", nil)
	r.want(404, "GET", all+"/ffffffff-ffff", nil)
	claim := r.want(201, "POST", "/api/v5/claims", object{"space_id": space, "agent": "codex", "scope": "s", "worktree_id": id})
	state := r.want(200, "GET", "/api/v4/chat/spaces/"+space+"/state", nil)
	if got := state["active_claims"].([]any)[0].(object); got["id"] != claim["id"] || got["worktree"].(object)["id"] != id {
		t.Errorf("state: %v", got)
	}
	r.want(409, "DELETE", all+"/"+id, nil)
	if got := r.want(200, "DELETE", all+"/"+id+"?force=true", nil); got["status"] != "closed" || got["closed_at"] == nil {
		t.Errorf("closed: %v", got)
	}
	r.want(409, "DELETE", all+"/"+id, nil)
	if got := r.list(all + "?space_id=" + space + "&include_closed=true"); len(got) != 1 {
		t.Errorf("closed ones: %v", got)
	}
	r.trees.Git = filepath.Join(dir, "no-such-git")
	if got := r.want(500, "POST", all, in); !strings.Contains(got["detail"].(string), "git") {
		t.Errorf("git failed: %v", got)
	}
	if got := r.list(all + "?space_id=" + space); len(got) != 0 {
		t.Errorf("a row is left: %v", got)
	}
}

// TestS45_ALongTranscriptIsKept, and says why nothing was drawn from it.
func TestS45_ALongTranscriptIsKept(t *testing.T) {
	r := newRig(t)
	text := "User: " + strings.Repeat("नमस्ते ", 40_000)
	s := r.want(201, "POST", "/api/v1/sessions", object{"raw_transcript": text})
	if s["status"] != "failed" || !strings.Contains(s["error"].(string), "the limit is 200000") || s["raw_transcript"] != text {
		t.Errorf("status %v, error %v, %d bytes", s["status"], s["error"], len(s["raw_transcript"].(string)))
	}
	r.want(413, "POST", "/api/v1/sessions", object{"raw_transcript": strings.Repeat("x", 5<<20)})
}

// TestWriteOnlyKeys are told what they made.
func TestWriteOnlyKeys(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	r.key = r.newKey(auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.StateWrite}})
	if got := r.commit(space, "c", "metadata", object{"k": "v"}, "project_root", "/x"); got["metadata"].(object)["k"] != "v" || got["project_root"] != "/x" {
		t.Errorf("commit: %v", got)
	}
	r.want(403, "GET", "/api/v2/repos/"+space+"/commits", nil)
}

// TestCompareTasksByTheirText: a task whose state alone differs is shared.
func TestCompareTasksByTheirText(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	a := r.commit(space, "a", "tasks", []any{object{"text": "Ship it", "id": "x"}, "only a"})["id"].(string)
	b := r.commit(space, "b", "tasks", []any{object{"text": "Ship  it", "id": "x", "status": "done"}})["id"].(string)
	diff := r.want(200, "GET", "/api/v5/lineage/checkpoints/"+a+"/compare/"+b, nil)["diff"].(object)
	if fmt.Sprint(diff["tasks_shared"], diff["tasks_only_a"], diff["tasks_only_b"]) != "[Ship it] [only a] []" {
		t.Errorf("diff: %v", diff)
	}
}
