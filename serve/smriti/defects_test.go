package smriti_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/llm"
)

// The defects of the first implementation (state-plane.md §6), looked for from
// outside. What a model was given is read from the provider that recorded it.

// mounted is a session with a checkpoint after its second turn and two more turns.
func (r *rig) mounted(space string) (session string, checkpoint any) {
	r.Helper()
	session = r.session(object{"repo_id": space})
	r.say(session, "BEFORE-ONE")
	checkpoint = r.save(space, session, "One", "summary", "CHECKPOINT-ONE")["id"]
	r.say(session, "AFTER-ONE")
	return session, checkpoint
}

// refused sends a message that must reach no model and store no turn.
func (r *rig) refused(status int, session string, more ...any) {
	r.Helper()
	asked, turns := len(r.chat.Requests()), len(r.list("/api/v4/chat/sessions/"+session+"/turns"))
	r.want(status, "POST", "/api/v4/chat/send", r.message(session, "m", more...))
	if len(r.chat.Requests()) != asked || len(r.list("/api/v4/chat/sessions/"+session+"/turns")) != turns {
		r.Error("a refused message was sent or stored")
	}
}

func TestD1_TheNewestTurnsAreKept(t *testing.T) {
	r := newRig(t)
	session := r.session(object{"repo_id": r.space("s")})
	for n := range 25 {
		r.say(session, fmt.Sprintf("message number %02d.", n))
	}
	r.holds(r.prompt(), "[28 earlier turns are left out.]", "message number 24.", "message number 23.", "message number 14.")
	r.lacks(r.prompt(), "message number 13.")
}

func TestD3_MountWithoutBaseIsRefused(t *testing.T) {
	r := newRig(t)
	session, one := r.mounted(r.space("s"))
	r.refused(422, session, "mounted_checkpoint_id", one)
	r.refused(422, session, "mounted_checkpoint_id", one, "history_base_seq", nil)
	r.refused(422, session, "history_base_seq", 2)
	r.refused(422, session, "mounted_checkpoint_id", one, "history_base_seq", -1)
	r.refused(422, session, "mounted_checkpoint_id", one, "history_base_seq", 5)
	r.say(session, "mounted", "mounted_checkpoint_id", one, "history_base_seq", 4)
	r.holds(r.prompt(), "CHECKPOINT-ONE", "mounted")
	r.lacks(r.prompt(), "BEFORE-ONE", "AFTER-ONE")
	r.say(session, "still mounted", "mounted_checkpoint_id", one, "history_base_seq", 4)
	r.holds(r.prompt(), "User: mounted", "still mounted")
	r.lacks(r.prompt(), "BEFORE-ONE", "AFTER-ONE")
}

// A session without turns takes no base and -1, as the first front end sends it.
func TestD3_EmptySession(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	one := r.commit(space, "One", "summary", "CHECKPOINT-ONE")["id"]
	for _, base := range []any{nil, -1, 0} {
		r.say(r.session(object{"repo_id": space}), "hello", "mounted_checkpoint_id", one, "history_base_seq", base)
		r.holds(r.prompt(), "CHECKPOINT-ONE")
	}
}

func TestD4_UnknownMountIsNoHead(t *testing.T) {
	r := newRig(t)
	session, _ := r.mounted(r.space("s"))
	r.refused(404, session, "mounted_checkpoint_id", nobody, "history_base_seq", 4)
	r.refused(422, session, "mounted_checkpoint_id", "garbage", "history_base_seq", 4)
}

func TestD5_MountOfAnotherSpace(t *testing.T) {
	r := newRig(t)
	session, one := r.mounted(r.space("s"))
	far := r.commit(r.space("far"), "Far", "summary", "FAR-SECRET")["id"]
	r.refused(404, session, "mounted_checkpoint_id", far, "history_base_seq", 4)
	r.refused(422, r.session(object{}), "mounted_checkpoint_id", one, "history_base_seq", 0)
}

// TestD10_TheServerHoldsTheMount: a request that knows nothing of a mount that the
// server holds is mounted too (D12: nothing of it is lost with the page).
func TestD10_TheServerHoldsTheMount(t *testing.T) {
	r := newRig(t)
	session, one := r.mounted(r.space("s"))
	ctx := dhruva.WithPrincipal(t.Context(), auth.LocalPrincipal())
	if _, err := r.ledger.Mount(ctx, dhruva.SessionID(session), one.(string), 1); err != nil {
		t.Fatal(err)
	}
	r.say(session, "typed before")
	r.holds(r.prompt(), "CHECKPOINT-ONE", "typed before")
	r.lacks(r.prompt(), "BEFORE-ONE", "AFTER-ONE")
}

// TestD11_AReplyInFlightStaysBehindTheMount: its request began before.
func TestD11_AReplyInFlightStaysBehindTheMount(t *testing.T) {
	r := newRig(t)
	session, one := r.mounted(r.space("s"))
	gate, done := make(chan struct{}), make(chan struct{})
	r.chat.Enqueue(llm.Reply{Text: "LATE-REPLY of the old context", Wait: gate})
	asked := len(r.chat.Requests())
	go func() {
		defer close(done)
		r.do("POST", "/api/v4/chat/send", r.message(session, "IN-FLIGHT question"))
	}()
	for len(r.chat.Requests()) == asked {
		if t.Context().Err() != nil {
			return
		}
	}
	ctx := dhruva.WithPrincipal(t.Context(), auth.LocalPrincipal())
	if _, err := r.ledger.Mount(ctx, dhruva.SessionID(session), one.(string), 1); err != nil {
		t.Fatal(err)
	}
	close(gate)
	<-done
	r.say(session, "after the mount")
	r.lacks(r.prompt(), "LATE-REPLY", "IN-FLIGHT", "AFTER-ONE")
}

func TestD12_FailedSendStoresNothing(t *testing.T) {
	r := newRig(t)
	session, _ := r.mounted(r.space("s"))
	r.chat.Enqueue(llm.Reply{Err: llm.NewError("scripted", 500, "", "broken", nil)})
	in := r.message(session, "typed text")
	r.want(502, "POST", "/api/v4/chat/send", in, "Idempotency-Key", "k1")
	if got := r.want(200, "POST", "/api/v4/chat/send", in, "Idempotency-Key", "k1"); got["turn_count"] != 6.0 {
		t.Errorf("sent again: %v", got)
	}
}

// TestD13_DraftsAreText: what a draft proposes can be saved as it is.
func TestD13_DraftsAreText(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	session, _ := r.mounted(space)
	r.slot.Enqueue(llm.Reply{Text: `{"tasks": ["plain", {"text": "made", "intent_hint": "DOCS", "id": 7}, 3, null, {"nothing": 1}, "plain"], "decisions": null}`})
	d := r.want(200, "POST", "/api/v5/checkpoint/draft", object{"session_id": session})
	for _, k := range []string{"decisions", "assumptions", "open_questions", "entities", "tasks"} {
		if _, ok := d[k].([]any); !ok {
			t.Errorf("%s is no list: %v", k, d[k])
		}
	}
	saved := r.save(space, session, "Drafted", "tasks", d["tasks"])
	if fmt.Sprint(saved["tasks"]) != fmt.Sprint(d["tasks"]) || !strings.HasPrefix(fmt.Sprint(saved["tasks"]), "[plain ") {
		t.Errorf("tasks %v saved as %v", d["tasks"], saved["tasks"])
	}
}

func TestD14_TasksAreWordsAndDoneOnesAreNotOpen(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	r.commit(space, "c", "tasks", []any{object{"text": "OPEN-TASK", "id": "x"}, object{"text": "DONE-TASK", "status": "done"}})
	r.say(r.session(object{"repo_id": space}), "go on")
	r.holds(r.prompt(), "OPEN-TASK")
	r.lacks(r.prompt(), "DONE-TASK", "map[", "{")
}

func TestD15_ForksDoNotShareABranch(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	at := r.commit(space, "c")["id"]
	in := object{"space_id": space, "checkpoint_id": at}
	one, two := r.want(201, "POST", "/api/v5/lineage/sessions/fork", in), r.want(201, "POST", "/api/v5/lineage/sessions/fork", in)
	if one["branch_name"] == two["branch_name"] {
		t.Errorf("both are on %v", one["branch_name"])
	}
	for _, name := range []string{"main", "Main", "MAIN "} {
		in["branch_name"] = name
		r.want(400, "POST", "/api/v5/lineage/sessions/fork", in)
	}
}

// TestD16_AForkStaysAFork: its source is not deleted without it.
func TestD16_AForkStaysAFork(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	at := r.commit(space, "c")["id"].(string)
	fork := r.want(201, "POST", "/api/v5/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": at})["session_id"].(string)
	r.want(409, "DELETE", "/api/v2/commits/"+at, nil)
	if got := r.want(200, "GET", "/api/v4/chat/sessions/"+fork, nil); got["forked_from_checkpoint_id"] != at || got["branch_name"] == "main" {
		t.Errorf("fork: %v", got)
	}
	r.want(204, "DELETE", "/api/v2/commits/"+at+"?cascade=true", nil)
	r.want(404, "GET", "/api/v4/chat/sessions/"+fork, nil)
}

func TestD17_SeededSessionsAreToldAndBlockNothing(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	at := r.commit(space, "c")["id"].(string)
	seeded := r.want(201, "POST", "/api/v4/chat/sessions", object{"repo_id": space, "seed_from": "head"})
	if seeded["seeded_commit_id"] != at {
		t.Errorf("seeded: %v", seeded)
	}
	if got := r.want(201, "POST", "/api/v4/chat/sessions", object{"repo_id": space, "seed_from": "none"}); got["seeded_commit_id"] != nil {
		t.Errorf("not seeded: %v", got)
	}
	child := r.commit(space, "d")["id"].(string)
	d := r.want(409, "DELETE", "/api/v2/commits/"+at, nil)["detail"].(object)["dependents"].(object)
	if got := d["seeded_sessions"].([]any); len(got) != 1 || got[0].(object)["id"] != seeded["id"] || d["blocking_count"] != 1.0 {
		t.Errorf("dependents: %v", d)
	}
	r.want(204, "DELETE", "/api/v2/commits/"+child, nil)
	r.want(204, "DELETE", "/api/v2/commits/"+at, nil) // the seeded one is left, and shows no source
	if got := r.want(200, "GET", "/api/v4/chat/sessions/"+seeded["id"].(string), nil); got["seeded_commit_id"] != nil {
		t.Errorf("seeded by what is gone: %v", got)
	}
}

func TestD18_LineageTellsDispositions(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	at := r.commit(space, "c")["id"]
	branch := r.want(201, "POST", "/api/v5/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": at})["branch_name"]
	got := r.want(200, "PATCH", "/api/v5/lineage/branches/disposition", object{"space_id": space, "branch_name": branch, "disposition": "abandoned"})
	if got["sessions_updated"] != 1.0 {
		t.Errorf("disposition: %v", got)
	}
	for _, s := range r.want(200, "GET", "/api/v5/lineage/spaces/"+space, nil)["sessions"].([]any) {
		if o := s.(object); o["branch_name"] == branch && o["branch_disposition"] != "abandoned" {
			t.Errorf("session: %v", o)
		}
	}
	state := r.want(200, "GET", "/api/v4/chat/spaces/"+space+"/state", nil)
	if len(state["active_branches"].([]any)) != 0 {
		t.Errorf("state: %v", state["active_branches"])
	}
}

func TestD19_CompareReadsAllScripts(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	a := r.commit(space, "a", "decisions", []string{"हिन्दी में लिखें", "用中文写", "C"})["id"].(string)
	b := r.commit(space, "b", "decisions", []string{"हिन्दी में लिखें", "C++"})["id"].(string)
	diff := r.want(200, "GET", "/api/v5/lineage/checkpoints/"+a+"/compare/"+b, nil)["diff"].(object)
	if fmt.Sprint(diff["decisions_shared"], diff["decisions_only_a"], diff["decisions_only_b"]) != "[हिन्दी में लिखें] [用中文写 C] [C++]" {
		t.Errorf("diff: %v", diff)
	}
	self := r.want(200, "GET", "/api/v5/lineage/checkpoints/"+a+"/compare/"+a, nil)["diff"].(object)
	if len(self["decisions_shared"].([]any)) != 3 || self["common_ancestor_commit_id"] != a {
		t.Errorf("self: %v", self)
	}
}

// TestD21_ProvidersThatAreNone are 422, whatever they are called.
func TestD21_ProvidersThatAreNone(t *testing.T) {
	r := newRig(t)
	session, _ := r.mounted(r.space("s"))
	for _, name := range []string{"openai", "chat", "background", "background_intelligence", "", "no such"} {
		r.refused(422, session, "provider", name)
	}
}

func TestD22_NoSecretIsRepeated(t *testing.T) {
	r := newRig(t)
	session, _ := r.mounted(r.space("s"))
	secret := "sk-" + "ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
	r.chat.Enqueue(llm.Reply{Err: llm.NewError("scripted", 401, secret, "Incorrect API key provided: "+secret, nil)})
	if got := r.want(502, "POST", "/api/v4/chat/send", r.message(session, "m")); strings.Contains(fmt.Sprint(got), secret) {
		t.Errorf("502: %v", got)
	}
	if got := fmt.Sprint(r.want(200, "GET", "/api/v4/chat/providers", nil)); strings.Contains(got, "sk-") {
		t.Errorf("providers: %v", got)
	}
}

// TestD23_MalformedIdsAreNeverOurFault: 4xx on every route that takes one.
func TestD23_MalformedIdsAreNeverOurFault(t *testing.T) {
	r := newRig(t)
	r.key = r.newKey(auth.KeyInput{Scopes: dhruva.KeyScopes()})
	space := r.space("s")
	session := r.session(object{"repo_id": space})
	for _, id := range []string{"x", "1", "../x", "%00", "00000000-0000-0000-0000-00000000000g", strings.Repeat("9", 400)} {
		p := strings.ReplaceAll(strings.ReplaceAll(id, "/", "%2F"), "%00", "%2500")
		for _, c := range []struct {
			method, path string
			body         any
		}{
			{"GET", "/api/v2/repos/" + p, nil}, {"DELETE", "/api/v2/repos/" + p, nil}, {"PATCH", "/api/v2/repos/" + p + "/project-root", object{"project_root": "/x"}},
			{"GET", "/api/v2/repos/" + p + "/commits", nil}, {"GET", "/api/v2/repos/" + p + "/commits/latest", nil},
			{"POST", "/api/v2/commits", object{"repo_id": id, "message": "m"}}, {"POST", "/api/v2/commits", object{"repo_id": space, "message": "m", "parent_commit_id": id}},
			{"GET", "/api/v2/commits/" + p, nil}, {"DELETE", "/api/v2/commits/" + p, nil}, {"POST", "/api/v2/context/from-commit", object{"commit_id": id}},
			{"GET", "/api/v2/context/parent-delta/" + p, nil}, {"POST", "/api/v4/chat/sessions", object{"repo_id": id}},
			{"GET", "/api/v4/chat/sessions/" + p, nil}, {"GET", "/api/v4/chat/sessions/" + p + "/turns", nil}, {"POST", "/api/v4/chat/sessions/" + p + "/title", nil},
			{"PUT", "/api/v4/chat/sessions/" + session + "/attach", object{"repo_id": id}}, {"PUT", "/api/v4/chat/sessions/" + p + "/attach", object{"repo_id": space}},
			{"POST", "/api/v4/chat/send", r.message(id, "m")}, {"POST", "/api/v4/chat/send", r.message(session, "m", "repo_id", id)},
			{"POST", "/api/v4/chat/send", r.message(session, "m", "mounted_checkpoint_id", id, "history_base_seq", 0)},
			{"POST", "/api/v4/chat/commit", object{"repo_id": id, "session_id": session, "message": "m"}}, {"POST", "/api/v4/chat/commit", object{"repo_id": space, "session_id": id, "message": "m"}},
			{"GET", "/api/v4/chat/spaces/" + p + "/head", nil}, {"GET", "/api/v4/chat/spaces/" + p + "/state", nil}, {"GET", "/api/v4/chat/spaces/" + space + "/state?since_commit_id=" + p, nil},
			{"POST", "/api/v5/checkpoint/draft", object{"session_id": id}}, {"POST", "/api/v5/checkpoint/" + p + "/review", nil}, {"POST", "/api/v5/checkpoint/" + p + "/notes", object{"text": "t"}},
			{"POST", "/api/v5/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": id}}, {"GET", "/api/v5/lineage/spaces/" + p, nil},
			{"GET", "/api/v5/lineage/checkpoints/" + p + "/compare/" + p, nil}, {"GET", "/api/v5/lineage/sessions/" + p + "/checkpoints", nil},
			{"PATCH", "/api/v5/lineage/branches/disposition", object{"space_id": id, "branch_name": "b", "disposition": "active"}},
			{"POST", "/api/v5/claims", object{"space_id": id, "agent": "a", "scope": "s"}}, {"POST", "/api/v5/claims", object{"space_id": space, "agent": "a", "scope": "s", "session_id": id}},
			{"PATCH", "/api/v5/claims/" + p, object{"status": "done"}}, {"GET", "/api/v5/claims?space_id=" + p, nil}, {"GET", "/api/v5/metrics/spaces/" + p, nil},
			{"POST", "/api/v5/worktrees", object{"space_id": id, "agent": "a"}}, {"GET", "/api/v5/worktrees?space_id=" + p, nil}, {"GET", "/api/v5/worktrees/" + p, nil}, {"DELETE", "/api/v5/worktrees/" + p, nil},
			{"GET", "/api/v1/sessions/" + p, nil}, {"GET", "/api/v1/context-packs/" + p, nil}, {"DELETE", "/api/v2/memory/" + p, nil},
		} {
			if status, out := r.do(c.method, c.path, c.body); status < 400 || status >= 500 {
				t.Errorf("%s %s: %d %v", c.method, c.path, status, out)
			}
		}
	}
	r.want(400, "POST", "/api/v2/commits", object{"repo_id": space, "message": strings.Repeat("m", 1000)})
}

func TestD24_NotesOfManyAtOnceAreAllKept(t *testing.T) {
	r := newRig(t)
	at := r.commit(r.space("s"), "c")["id"].(string)
	const many = 16
	done := make(chan int, many)
	for n := range many {
		go func() {
			status, _ := r.do("POST", "/api/v5/checkpoint/"+at+"/notes", object{"text": fmt.Sprint("note ", n)})
			done <- status
		}()
	}
	for range many {
		if s := <-done; s != 201 {
			t.Errorf("status %d", s)
		}
	}
	if notes := r.want(200, "GET", "/api/v2/commits/"+at, nil)["metadata"].(object)["notes"].([]any); len(notes) != many {
		t.Errorf("%d notes", len(notes))
	}
}

func TestD25_ClaimsAreBounded(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	far := r.commit(r.space("far"), "c")["id"]
	claim := func(more ...any) object {
		in := object{"space_id": space, "agent": "a", "scope": "s"}
		for i := 0; i+1 < len(more); i += 2 {
			in[more[i].(string)] = more[i+1]
		}
		return in
	}
	for _, hours := range []any{0, -1, 1e9, 1e300, -1e300, 0.001, 24 * 8} {
		r.want(400, "POST", "/api/v5/claims", claim("ttl_hours", hours))
	}
	r.want(422, "POST", "/api/v5/claims", claim("ttl_hours", "long"))
	r.want(404, "POST", "/api/v5/claims", claim("base_commit_id", far))
	r.want(404, "POST", "/api/v5/claims", claim("session_id", nobody))
	r.want(404, "POST", "/api/v5/claims", claim("worktree_id", nobody))
	r.want(404, "GET", "/api/v5/claims?space_id="+nobody, nil)
	one := r.want(201, "POST", "/api/v5/claims", claim("ttl_hours", 0.5, "task_id", "t"))
	r.want(201, "POST", "/api/v5/claims", claim("task_id", "t"))
	if got := r.list("/api/v5/claims?space_id=" + space); len(got) != 2 {
		t.Errorf("claims: %v", got)
	}
	r.late.Store(int64(time.Hour))
	if got := r.list("/api/v5/claims?space_id=" + space); len(got) != 1 {
		t.Errorf("after one has expired: %v", got)
	}
	if got := r.list("/api/v5/claims?space_id=" + space + "&include_expired=true"); len(got) != 2 {
		t.Errorf("with those that have expired: %v", got)
	}
	r.want(409, "PATCH", "/api/v5/claims/"+one["id"].(string), object{"status": "done"})
}

func TestD26_FreshnessIsExact(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	first := r.commit(space, "first")["id"].(string)
	aside := r.commit(space, "aside", "branch_name", "other", "parent_commit_id", first)["id"].(string)
	far := r.commit(r.space("far"), "far")["id"].(string)
	fresh := func(since string) object {
		return r.want(200, "GET", "/api/v4/chat/spaces/"+space+"/state?since_commit_id="+since, nil)["freshness"].(object)
	}
	if got := fresh(first); got["changed"] != false || got["new_checkpoints_count"] != 0.0 {
		t.Errorf("since the head: %v", got)
	}
	for n := range 60 {
		r.commit(space, fmt.Sprint("c", n))
	}
	if got := fresh(first); got["changed"] != true || got["new_checkpoints_count"] != 60.0 || len(got["new_checkpoints"].([]any)) != 5 {
		t.Errorf("since the first: %v", got)
	}
	if got := fresh(aside); got["state"] != "aside" || got["new_checkpoints_count"] != 60.0 {
		t.Errorf("since one of another branch: %v", got)
	}
	for _, id := range []string{far, nobody} {
		if got := fresh(id); got["state"] != "unknown" || got["new_checkpoints_count"] != 0.0 || got["since_commit_hash"] != nil {
			t.Errorf("since one that is none: %v", got)
		}
	}
	r.want(204, "DELETE", "/api/v2/commits/"+aside, nil)
	if got := fresh(aside); got["state"] != "deleted" {
		t.Errorf("since a deleted one: %v", got)
	}
	if got := r.want(200, "GET", "/api/v4/chat/spaces/"+space+"/state", nil); got["freshness"] != nil {
		t.Errorf("not asked for: %v", got["freshness"])
	}
}

// TestD33_NoMockUnlessAskedFor: where no model is, an extract is an error, and a
// transcript says that it has none.
func TestD33_NoMockUnlessAskedFor(t *testing.T) {
	r := newRig(t)
	r.noSlot = true
	in := object{"content": "We decided."}
	if got := r.want(500, "POST", "/api/v5/checkpoint/extract", in); strings.Contains(fmt.Sprint(got), "Mock") {
		t.Errorf("extract: %v", got)
	}
	r.want(500, "POST", "/api/v2/memory/extract", in)
	failed := r.want(201, "POST", "/api/v1/sessions", object{"raw_transcript": "User: hi"})
	if failed["status"] != "failed" || !strings.Contains(fmt.Sprint(failed["error"]), "no model is configured") || failed["raw_transcript"] != "User: hi" {
		t.Errorf("v1: %v", failed)
	}
	path := "/api/v1/sessions/" + failed["id"].(string)
	r.want(409, "GET", path+"/artifacts", nil)
	r.want(409, "POST", path+"/context-packs", object{"target_tool": "generic"})
	if got := r.want(200, "GET", path, nil); got["status"] != "failed" || got["error"] != failed["error"] {
		t.Errorf("v1 again: %v", got)
	}
	in["use_mock"] = true
	if got := r.want(200, "POST", "/api/v5/checkpoint/extract", in); got["title"] != "Mock checkpoint" {
		t.Errorf("mock: %v", got)
	}
	if got := r.want(201, "POST", "/api/v1/sessions", object{"raw_transcript": "User: hi", "use_mock": true}); got["status"] != "completed" {
		t.Errorf("v1 with the mock: %v", got)
	}
}

// TestD6_AForkFollowsItsOwnHead: what is saved on it enters its context.
func TestD6_AForkFollowsItsOwnHead(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	at := r.commit(space, "c", "summary", "SOURCE")["id"]
	fork := r.want(201, "POST", "/api/v5/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": at})["session_id"].(string)
	r.say(fork, "on the fork")
	r.holds(r.prompt(), "SOURCE")
	r.save(space, fork, "own", "summary", "OWN-HEAD")
	r.commit(space, "later on main", "summary", "LATER-ON-MAIN")
	r.say(fork, "go on")
	r.holds(r.prompt(), "OWN-HEAD")
	r.lacks(r.prompt(), "on the fork", "LATER-ON-MAIN")
}

// TestD7_SavingWhileMountedFollowsTheMount, where the server holds it.
func TestD7_SavingWhileMountedFollowsTheMount(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	session, one := r.mounted(space)
	two := r.save(space, session, "Two")
	ctx := dhruva.WithPrincipal(t.Context(), auth.LocalPrincipal())
	if _, err := r.ledger.Mount(ctx, dhruva.SessionID(session), one.(string), 1); err != nil {
		t.Fatal(err)
	}
	r.say(session, "another way")
	three := r.save(space, session, "Three")
	if three["parent_commit_id"] != one || three["branch_name"] == "main" || two["parent_commit_id"] != one {
		t.Errorf("saved: %v", three)
	}
}

// TestD8_AnotherSessionsCheckpointHidesNothing of this one's turns.
func TestD8_AnotherSessionsCheckpointHidesNothing(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	session := r.session(object{"repo_id": space})
	r.say(session, "NOT-SAVED-YET")
	r.commit(space, "of somebody else", "summary", "THEIRS")
	r.say(session, "go on")
	r.holds(r.prompt(), "NOT-SAVED-YET", "THEIRS")
}

func TestD9_ParallelSendsAreNumberedInPairs(t *testing.T) {
	r := newRig(t)
	session := r.session(object{"repo_id": r.space("s")})
	const many = 8
	done := make(chan int, many)
	for n := range many {
		go func() {
			status, _ := r.do("POST", "/api/v4/chat/send", r.message(session, fmt.Sprint("m", n)))
			done <- status
		}()
	}
	for range many {
		if s := <-done; s != 200 {
			t.Errorf("status %d", s)
		}
	}
	for n, turn := range r.list("/api/v4/chat/sessions/" + session + "/turns") {
		if turn["sequence_number"] != float64(n+1) || turn["role"] != []string{"user", "assistant"}[n%2] {
			t.Errorf("turn %d: %v", n+1, turn)
		}
	}
}

// TestD27_MetricsCountBranchesAndExpiredClaims.
func TestD27_MetricsCountBranchesAndExpiredClaims(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	at := r.commit(space, "c")["id"]
	r.session(object{"repo_id": space})
	r.want(201, "POST", "/api/v5/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": at, "branch_name": "b"})
	for range 2 {
		r.want(201, "POST", "/api/v5/claims", object{"space_id": space, "agent": "a", "scope": "s", "ttl_hours": 1})
	}
	r.late.Store(int64(2 * time.Hour))
	m := r.want(200, "GET", "/api/v5/metrics/spaces/"+space, nil)
	if b := m["branches"].(object); b["active"] != 1.0 || b["abandoned"] != 0.0 {
		t.Errorf("branches: %v", b)
	}
	if c := m["coordination"].(object); c["total_claims"] != 2.0 || c["claims_expired"] != 2.0 || c["claim_completion_rate"] != nil {
		t.Errorf("claims: %v", c)
	}
}

func TestD32_AForkIsNotAttachedElsewhere(t *testing.T) {
	r := newRig(t)
	space, other := r.space("s"), r.space("other")
	at := r.commit(space, "c")["id"]
	fork := r.want(201, "POST", "/api/v5/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": at})["session_id"].(string)
	r.want(409, "PUT", "/api/v4/chat/sessions/"+fork+"/attach", object{"repo_id": other})
}

// TestD34_ArtifactsHaveABudget together, and each is cut.
func TestD34_ArtifactsHaveABudget(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	var all []any
	for n := range 40 {
		all = append(all, object{"label": fmt.Sprint("file", n), "content": strings.Repeat("0123456789", 500)})
	}
	r.commit(space, "c", "artifacts", all)
	r.say(r.session(object{"repo_id": space}), "go on")
	r.holds(r.prompt(), "file0")
	if n := len(r.prompt()); n > 24_000 {
		t.Errorf("the prompt has %d bytes", n)
	}
}
