package smriti_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/llm"

	"github.com/dhruva-memory/dhruva"
)

// nobody is the id of nothing.
const nobody = "00000000-0000-4000-8000-000000000000"

// TestCodes has every code of every route at least once.
func TestCodes(t *testing.T) {
	r := newRig(t)
	space, other := r.space("one"), r.space("two")
	fresh, session := r.session(object{}), r.session(object{"repo_id": space})
	elsewhere := r.session(object{"repo_id": other})
	r.say(session, "hello")
	at := r.commit(space, "At")["id"].(string)
	far := r.commit(other, "Far")["id"].(string)
	claim := r.want(201, "POST", "/api/v5/claims", object{"space_id": space, "agent": "a", "scope": "s"})["id"].(string)
	v2, chat, v5 := "/api/v2", "/api/v4/chat", "/api/v5"
	send := func(more ...any) object { return r.message(session, "m", more...) }
	save := func(space, session string) object {
		return object{"repo_id": space, "session_id": session, "message": "m"}
	}
	r.want(200, "PATCH", v5+"/claims/"+claim, object{"status": "done"})
	for _, c := range []struct {
		status       int
		method, path string
		body         any
	}{
		{422, "POST", v2 + "/repos", object{}},
		{422, "POST", v2 + "/repos", object{"name": " "}},
		{422, "POST", v2 + "/repos", object{"name": 1}},
		{422, "POST", v2 + "/repos", `{"name": `},
		{422, "POST", v2 + "/repos", `[]`},
		{422, "POST", v2 + "/repos", ``},
		{422, "POST", v2 + "/repos", object{"name": "a\x00b"}},
		{400, "POST", v2 + "/repos", "{\"name\": \"\xff\"}"},
		{400, "POST", v2 + "/repos", object{"name": strings.Repeat("n", 300)}},
		{413, "POST", v2 + "/repos", object{"name": strings.Repeat("n", 2<<20)}},
		{404, "GET", v2 + "/repos/" + nobody, nil},
		{422, "GET", v2 + "/repos/one", nil},
		{405, "PUT", v2 + "/repos", nil},
		{404, "GET", v2 + "/nothing", nil},
		{400, "PATCH", v2 + "/repos/" + space + "/project-root", object{"project_root": " "}},
		{422, "PATCH", v2 + "/repos/" + space + "/project-root", object{}},
		{404, "PATCH", v2 + "/repos/" + nobody + "/project-root", object{"project_root": "/x"}},
		{200, "PATCH", v2 + "/repos/" + space + "/project-root", object{"project_root": "/x"}},
		{404, "DELETE", v2 + "/repos/" + nobody, nil},
		{404, "GET", v2 + "/repos/" + nobody + "/commits", nil},
		{404, "GET", v2 + "/repos/" + space + "/commits/latest?branch=none", nil},
		{200, "GET", v2 + "/repos/" + space + "/commits/latest", nil},
		{404, "POST", v2 + "/commits", object{"repo_id": nobody, "message": "m"}},
		{400, "POST", v2 + "/commits", object{"repo_id": space, "message": "m", "parent_commit_id": nobody}},
		{400, "POST", v2 + "/commits", object{"repo_id": space, "message": "m", "parent_commit_id": far}},
		{422, "POST", v2 + "/commits", object{"repo_id": space, "message": "m", "parent_commit_id": "head"}},
		{400, "POST", v2 + "/commits", object{"repo_id": space, "message": "m", "branch_name": "-x"}},
		{404, "GET", v2 + "/commits/" + nobody, nil},
		{422, "GET", v2 + "/commits/zzz", nil},
		{404, "DELETE", v2 + "/commits/" + nobody, nil},
		{422, "DELETE", v2 + "/commits/" + at + "?cascade=perhaps", nil},
		{404, "POST", v2 + "/context/from-commit", object{"commit_id": nobody}},
		{422, "POST", v2 + "/context/from-commit", object{"commit_id": at, "target": "vim"}},
		{404, "GET", v2 + "/context/parent-delta/" + nobody, nil},
		{200, "GET", v2 + "/context/parent-delta/" + at, nil},

		{404, "POST", chat + "/sessions", object{"repo_id": nobody}},
		{422, "POST", chat + "/sessions", object{"repo_id": "x"}},
		{201, "POST", chat + "/sessions", object{"repo_id": space, "seed_from": "no such thing"}},
		{404, "GET", chat + "/sessions/" + nobody, nil},
		{422, "GET", chat + "/sessions/x", nil},
		{404, "DELETE", chat + "/sessions/" + nobody, nil},
		{404, "GET", chat + "/sessions/" + nobody + "/turns", nil},
		{400, "POST", chat + "/sessions/" + fresh + "/title", nil},
		{404, "POST", chat + "/sessions/" + nobody + "/title", nil},
		{404, "PUT", chat + "/sessions/" + fresh + "/attach", object{"repo_id": nobody}},
		{422, "PUT", chat + "/sessions/" + fresh + "/attach", object{"repo_id": "x"}},
		{422, "PUT", chat + "/sessions/" + fresh + "/attach", object{}},
		{404, "POST", chat + "/spaces/" + nobody + "/sessions", object{}},
		{201, "POST", chat + "/spaces/" + space + "/sessions", nil},
		{200, "GET", chat + "/spaces/" + space + "/sessions", nil},
		{200, "GET", chat + "/spaces/" + nobody + "/sessions/" + session, nil},
		{200, "GET", chat + "/spaces/" + nobody + "/sessions/" + session + "/turns", nil},
		{400, "POST", chat + "/send", send("model", " ")},
		{400, "POST", chat + "/send", send("message", "")},
		{404, "POST", chat + "/send", send("session_id", nobody)},
		{422, "POST", chat + "/send", send("session_id", "x")},
		{422, "POST", chat + "/send", object{"session_id": session}},
		{422, "POST", chat + "/send", send("provider", "openai")},
		{422, "POST", chat + "/send", send("memory_scope", "latest_2")},
		{422, "POST", chat + "/send", send("use_mock", "perhaps")},
		{422, "POST", chat + "/send", send("history_base_seq", 1.5)},
		{409, "POST", chat + "/send", send("repo_id", other)},
		{200, "POST", chat + "/send", send("repo_id", space)},
		{200, "POST", chat + "/send", send("provider", "", "use_mock", true)},
		{404, "POST", chat + "/commit", save(nobody, session)},
		{404, "POST", chat + "/commit", save(space, nobody)},
		{404, "POST", chat + "/commit", save(space, elsewhere)},
		{404, "POST", chat + "/commit", save(space, fresh)},
		{422, "POST", chat + "/commit", save("x", session)},
		{404, "GET", chat + "/spaces/" + nobody + "/head", nil},
		{404, "GET", chat + "/spaces/" + nobody + "/state", nil},
		{422, "GET", chat + "/spaces/" + space + "/state?since_commit_id=x", nil},

		{404, "POST", v5 + "/checkpoint/draft", object{"session_id": nobody}},
		{422, "POST", v5 + "/checkpoint/draft", object{"session_id": session, "num_turns": 0}},
		{422, "POST", v5 + "/checkpoint/draft", object{"session_id": session, "num_turns": 101}},
		{422, "POST", v5 + "/checkpoint/draft", object{"session_id": session, "mounted_checkpoint_id": at}},
		{404, "POST", v5 + "/checkpoint/draft", object{"session_id": session, "mounted_checkpoint_id": far, "history_base_seq": 0}},
		{422, "POST", v5 + "/checkpoint/extract", object{"content": " "}},
		{422, "POST", v5 + "/checkpoint/extract", object{"content": strings.Repeat("x", 200_001)}},
		{200, "POST", v5 + "/checkpoint/extract", object{"content": strings.Repeat("ह", 200_000)}},
		{404, "POST", v5 + "/checkpoint/" + nobody + "/review", nil},
		{422, "POST", v5 + "/checkpoint/x/review", nil},
		{404, "POST", v5 + "/checkpoint/" + nobody + "/notes", object{"text": "t"}},
		{400, "POST", v5 + "/checkpoint/" + at + "/notes", object{"text": "t", "kind": "song"}},
		{422, "POST", v5 + "/checkpoint/" + at + "/notes", object{"text": ""}},
		{422, "POST", v5 + "/checkpoint/" + at + "/notes", object{"text": strings.Repeat("ह", 2001)}},
		{201, "POST", v5 + "/checkpoint/" + at + "/notes", object{"text": strings.Repeat("ह", 2000)}},
		{404, "POST", v5 + "/lineage/sessions/fork", object{"space_id": nobody, "checkpoint_id": at}},
		{404, "POST", v5 + "/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": nobody}},
		{400, "POST", v5 + "/lineage/sessions/fork", object{"space_id": other, "checkpoint_id": at}},
		{400, "POST", v5 + "/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": at, "branch_name": "main"}},
		{201, "POST", v5 + "/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": at, "branch_name": "feature/x"}},
		{409, "POST", v5 + "/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": at, "branch_name": "feature/x"}},
		{404, "GET", v5 + "/lineage/spaces/" + nobody, nil},
		{404, "GET", v5 + "/lineage/checkpoints/" + at + "/compare/" + nobody, nil},
		{422, "GET", v5 + "/lineage/checkpoints/" + at + "/compare/x", nil},
		{404, "GET", v5 + "/lineage/sessions/" + nobody + "/checkpoints", nil},
		{200, "GET", v5 + "/lineage/sessions/" + fresh + "/checkpoints", nil},
		{400, "PATCH", v5 + "/lineage/branches/disposition", object{"space_id": space, "branch_name": "feature/x", "disposition": "gone"}},
		{404, "PATCH", v5 + "/lineage/branches/disposition", object{"space_id": space, "branch_name": "feature/y", "disposition": "abandoned"}},
		{200, "PATCH", v5 + "/lineage/branches/disposition", object{"space_id": space, "branch_name": "feature/x", "disposition": "abandoned"}},
		{200, "PATCH", v5 + "/lineage/branches/disposition", object{"space_id": space, "branch_name": "feature/x", "disposition": "active"}},
		{404, "POST", v5 + "/claims", object{"space_id": nobody, "agent": "a", "scope": "s"}},
		{400, "POST", v5 + "/claims", object{"space_id": space, "agent": "a", "scope": "s", "intent_type": "rest"}},
		{400, "PATCH", v5 + "/claims/" + claim, object{"status": "lost"}},
		{404, "PATCH", v5 + "/claims/" + nobody, object{"status": "done"}},
		{409, "PATCH", v5 + "/claims/" + claim, object{"status": "done"}},
		{422, "GET", v5 + "/claims", nil},
		{404, "GET", v5 + "/claims?space_id=" + nobody, nil},
		{404, "GET", v5 + "/metrics/spaces/" + nobody, nil},

		{422, "POST", "/api/v1/sessions", object{"raw_transcript": " "}},
		{404, "GET", "/api/v1/sessions/" + nobody, nil},
		{404, "GET", "/api/v1/sessions/" + nobody + "/artifacts", nil},
		{404, "POST", "/api/v1/sessions/" + nobody + "/context-packs", object{"target_tool": "generic"}},
		{404, "GET", "/api/v1/context-packs/" + nobody, nil},
		{422, "POST", v2 + "/memory/extract", object{}},
		{422, "GET", v2 + "/memory?type=dream", nil},
		{422, "GET", v2 + "/memory?limit=0", nil},
		{404, "PUT", v2 + "/memory/" + nobody, object{}},
		{404, "DELETE", v2 + "/memory/" + nobody, nil},
		{404, "POST", v2 + "/context/build", object{"target_tool": "generic", "memory_ids": []string{nobody}}},
		{422, "POST", v2 + "/context/build", object{"target_tool": "generic", "memory_ids": []string{"x"}}},
	} {
		status, out := r.do(c.method, c.path, c.body)
		if status != c.status {
			t.Errorf("%s %s %v: %d, want %d: %v", c.method, c.path, c.body, status, c.status, out)
		}
		if o, ok := out.(object); status >= 400 && (!ok || len(o) != 1 || o["detail"] == nil) {
			t.Errorf("%s %s: the body is not {detail}: %v", c.method, c.path, out)
		}
	}
}

// TestModelFailures: what a provider does wrong is 502, what is not there 500, and
// neither is repeated with a secret.
func TestModelFailures(t *testing.T) {
	r := newRig(t)
	space := r.space("s")
	session := r.session(object{"repo_id": space})
	at := r.commit(space, "At", "decisions", []string{"d"})["id"].(string)
	secret := "sk-" + "proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	r.chat.Enqueue(llm.Reply{Err: llm.NewError("scripted", 401, "auth", "bad key "+secret, nil)})
	if got := r.want(502, "POST", "/api/v4/chat/send", r.message(session, "m")); strings.Contains(got["detail"].(string), secret) {
		t.Errorf("TestD22: %v", got)
	}
	if got := r.list("/api/v4/chat/sessions/" + session + "/turns"); len(got) != 0 {
		t.Errorf("a failed send stored %v", got)
	}
	r.say(session, "m")
	r.slot.Enqueue(llm.Reply{Text: "no JSON at all"}, llm.Reply{Text: "[1"}, llm.Reply{Text: "{"}, llm.Reply{Err: llm.NewError("b", 500, "", "broken", nil)})
	r.want(502, "POST", "/api/v5/checkpoint/draft", object{"session_id": session})
	r.want(502, "POST", "/api/v5/checkpoint/extract", object{"content": "c"})
	r.want(502, "POST", "/api/v5/checkpoint/"+at+"/review", nil)
	if got := r.want(200, "POST", "/api/v4/chat/sessions/"+session+"/title", nil); !strings.HasPrefix(got["title"].(string), "Session ") {
		t.Errorf("a failed title changed it: %v", got)
	}
	if got := r.want(200, "POST", "/api/v4/chat/sessions/"+session+"/title", nil); got["title"] != "A fitting title" {
		t.Errorf("title: %v", got)
	}
	r.noSlot = true
	for path, in := range map[string]object{
		"/api/v5/checkpoint/draft": {"session_id": session}, "/api/v5/checkpoint/extract": {"content": "c"}, "/api/v5/checkpoint/" + at + "/review": nil,
	} {
		if got := r.want(500, "POST", path, in); !strings.Contains(got["detail"].(string), "background_intelligence") {
			t.Errorf("%s: %v", path, got)
		}
	}
	if got := r.want(200, "POST", "/api/v4/chat/sessions/"+session+"/title", nil); got["title"] != "A fitting title" {
		t.Errorf("title without a slot: %v", got)
	}
}

// TestWhoMayCome: keyless requests are served in local mode only, only from this
// machine, and never on routes of worktrees.
func TestWhoMayCome(t *testing.T) {
	r := newRig(t)
	space, other := r.space("s"), r.space("other")
	const repos, trees = "/api/v2/repos", "/api/v5/worktrees"
	r.want(403, "GET", repos, nil, "Origin", "https://evil.example")
	r.want(403, "POST", repos, object{"name": "x"}, "Origin", "null")
	r.want(403, "GET", repos, nil, "Host", "evil.example")
	r.want(401, "GET", repos, nil, "X-Forwarded-For", "203.0.113.9")
	r.want(401, "GET", trees+"?space_id="+space, nil)
	r.want(401, "POST", trees, object{"space_id": space, "agent": "a"})
	r.want(401, "DELETE", trees+"/"+nobody, nil)
	r.want(415, "POST", repos, `{"name": "x"}`, "Content-Type", "text/plain")
	r.want(415, "POST", repos, `{"name": "x"}`, "Content-Encoding", "gzip")
	r.want(401, "GET", repos, nil, "Authorization", "Bearer dhr_live_nothing")
	r.key = r.newKey(auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.StateRead}})
	r.want(200, "GET", trees+"?space_id="+space, nil)
	r.want(403, "POST", repos, object{"name": "x"})
	r.want(200, "GET", repos, nil)
	own := r.newKey(auth.KeyInput{Scopes: dhruva.KeyScopes(), Spaces: []dhruva.SpaceID{dhruva.SpaceID(other)}})
	r.key = own
	r.want(404, "GET", repos+"/"+space, nil)
	r.want(403, "POST", "/api/v4/chat/sessions", object{}) // a key of named spaces has no home
	r.key, r.local = "", false
	got := r.want(401, "GET", repos, nil)
	if !strings.Contains(got["detail"].(string), "key") {
		t.Errorf("401: %v", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", r.url+repos, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for _, name := range []string{"WWW-Authenticate", "X-Content-Type-Options", "X-Dhruva-Request-Id"} {
		if res.Header.Get(name) == "" {
			t.Errorf("no %s", name)
		}
	}
	if res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("there is CORS")
	}
}
