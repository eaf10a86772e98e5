package smriti_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestFlow is the whole way of a client through the API.
func TestFlow(t *testing.T) {
	r := newRig(t)
	space := r.space("Trip")
	if got := r.list("/api/v2/repos"); len(got) != 1 || got[0]["id"] != space || got[0]["repo_slug"] != "trip" {
		t.Errorf("repos: %v", got)
	}
	session := r.session(object{"repo_id": space, "provider": "scripted", "model": "m1"})
	if got := r.say(session, "Where do we go?"); got["reply"] != "It is noted by the model." || got["turn_count"] != 2.0 || got["provider"] != "scripted" || got["model"] != "m1" || got["session_id"] != session {
		t.Errorf("send: %v", got)
	}
	draft := r.want(200, "POST", "/api/v5/checkpoint/draft", object{"session_id": session})
	if draft["title"] != "Mock checkpoint" {
		t.Errorf("draft: %v", draft)
	}
	one := r.save(space, session, "Australia", "summary", "We go to Australia.", "decisions", []string{"Fly in March"},
		"tasks", []any{"Book a flight", object{"text": "Get a visa", "id": "visa", "intent_hint": "Docs", "status": "done"}})
	if one["author_agent"] != "scripted" || one["author_type"] != "llm" || one["repo_id"] != space || one["parent_commit_id"] != nil || len(one["commit_hash"].(string)) != 64 {
		t.Errorf("commit: %v", one)
	}
	r.say(session, "AFTER-ONE and what of New Zealand?")
	r.say(session, "now mounted", "mounted_checkpoint_id", one["id"], "history_base_seq", 4, "memory_scope", "latest_1")
	r.holds(r.prompt(), "We go to Australia.", "Fly in March", "Book a flight", "now mounted")
	r.lacks(r.prompt(), "AFTER-ONE", "Get a visa")
	fork := r.want(201, "POST", "/api/v5/lineage/sessions/fork", object{"space_id": space, "checkpoint_id": one["id"]})
	if fork["history_base_seq"] != 0.0 || fork["forked_from_checkpoint_id"] != one["id"] || !strings.HasPrefix(fork["branch_name"].(string), "branch-") {
		t.Errorf("fork: %v", fork)
	}
	forked := fork["session_id"].(string)
	if got := r.want(200, "GET", "/api/v4/chat/sessions/"+forked, nil); got["title"] != "Fork from "+one["commit_hash"].(string)[:7] {
		t.Errorf("fork's session: %v", got)
	}
	r.say(forked, "FIRST-OF-FORK hello")
	r.say(forked, "and again")
	r.holds(r.prompt(), "FIRST-OF-FORK", "We go to Australia.") // D2
	two := r.save(space, forked, "New Zealand", "decisions", []string{"Fly in March", "Rent a van"})
	if two["parent_commit_id"] != one["id"] || two["branch_name"] != fork["branch_name"] {
		t.Errorf("commit on a fork: %v", two)
	}
	diff := r.want(200, "GET", fmt.Sprintf("/api/v5/lineage/checkpoints/%s/compare/%s", one["id"], two["id"]), nil)["diff"].(object)
	if fmt.Sprint(diff["decisions_shared"], diff["decisions_only_b"], diff["common_ancestor_commit_id"]) != fmt.Sprint([]any{"Fly in March"}, []any{"Rent a van"}, one["id"]) {
		t.Errorf("compare: %v", diff)
	}
	claim := r.want(201, "POST", "/api/v5/claims", object{"space_id": space, "agent": "a1", "scope": "the van", "base_commit_id": one["id"], "task_id": "visa"})
	state := r.want(200, "GET", "/api/v4/chat/spaces/"+space+"/state?since_commit_id="+one["id"].(string), nil)
	if len(state["active_claims"].([]any)) != 1 || len(state["active_branches"].([]any)) != 1 || state["commit"].(object)["id"] != one["id"] || state["freshness"].(object)["changed"] != false {
		t.Errorf("state: %v", state)
	}
	if got := r.want(200, "PATCH", "/api/v5/claims/"+claim["id"].(string), object{"status": "done"}); got["status"] != "done" {
		t.Errorf("claim: %v", got)
	}
	note := r.want(201, "POST", "/api/v5/checkpoint/"+one["id"].(string)+"/notes", object{"text": "good", "kind": "milestone"})
	if note["author"] != "founder" || note["checkpoint_id"] != one["id"] || note["kind"] != "milestone" {
		t.Errorf("note: %v", note)
	}
	lineage := r.want(200, "GET", "/api/v5/lineage/spaces/"+space, nil)
	nodes, sessions := lineage["checkpoints"].([]any), lineage["sessions"].([]any)
	if len(nodes) != 2 || len(sessions) != 2 || nodes[0].(object)["id"] != one["id"] || nodes[0].(object)["note_count"] != 1.0 || nodes[1].(object)["parent_checkpoint_id"] != one["id"] {
		t.Errorf("lineage: %v", lineage)
	}
	if got := r.list("/api/v5/lineage/sessions/" + forked + "/checkpoints"); len(got) != 2 || got[0]["id"] != two["id"] {
		t.Errorf("reachable: %v", got)
	}
	metrics := r.want(200, "GET", "/api/v5/metrics/spaces/"+space, nil)
	if c := metrics["coordination"].(object); c["total_checkpoints"] != 2.0 || c["claims_done"] != 1.0 || c["claims_with_task_id"] != 1.0 {
		t.Errorf("metrics: %v", metrics)
	}
	review := r.want(200, "POST", "/api/v5/checkpoint/"+one["id"].(string)+"/review", nil)
	if review["checkpoint_id"] != one["id"] || len(review["issues"].([]any)) != 1 {
		t.Errorf("review: %v", review)
	}
	blocked := r.want(409, "DELETE", "/api/v2/commits/"+one["id"].(string), nil)["detail"].(object)["dependents"].(object)
	if blocked["blocking_count"] != 2.0 || len(blocked["child_commits"].([]any)) != 1 || len(blocked["forked_sessions"].([]any)) != 1 {
		t.Errorf("409: %v", blocked)
	}
	r.want(204, "DELETE", "/api/v2/commits/"+one["id"].(string)+"?cascade=true", nil)
	r.want(404, "DELETE", "/api/v2/commits/"+one["id"].(string), nil)
	r.want(404, "GET", "/api/v4/chat/sessions/"+forked, nil)
	r.want(204, "DELETE", "/api/v2/repos/"+space, nil)
	r.want(404, "DELETE", "/api/v2/repos/"+space, nil)
}
