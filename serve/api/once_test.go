package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// TestContract12_EveryMutationTakesTheHeader walks the OpenAPI document.
func TestContract12_EveryMutationTakesTheHeader(t *testing.T) {
	r := newRig(t)
	res, err := http.Get(r.url + client.Prefix + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In, Description string }
			Responses  map[string]struct{ Headers map[string]any }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			route := strings.ToUpper(method) + " " + path
			seen[route] = true
			takes, tells := false, false
			for _, p := range op.Parameters {
				takes = takes || p.In == "header" && p.Name == client.HeaderIdempotencyKey && p.Description != ""
			}
			for _, answer := range op.Responses {
				tells = tells || answer.Headers[client.HeaderReplayed] != nil
			}
			writes := method != "get" && !contains(reads, route)
			if takes != writes || tells != writes {
				t.Errorf("%s: takes %s: %v, tells of a replay: %v", route, client.HeaderIdempotencyKey, takes, tells)
			}
			if _, tried := mutations[route]; tried != writes {
				t.Errorf("%s: tried with a key: %v", route, tried)
			}
		}
	}
	for route := range mutations {
		if !seen[route] {
			t.Errorf("%s is not there", route)
		}
	}
}

func contains(list []string, s string) bool {
	return strings.Contains("\n"+strings.Join(list, "\n")+"\n", "\n"+s+"\n")
}

// reply is an answer to a mutation.
type reply struct {
	status   int
	body     string
	replayed bool
	header   http.Header
}

func (r *rig) do(route string, m mutation, body string, header ...string) (out reply) {
	r.t.Helper()
	method, _, _ := strings.Cut(route, " ")
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+client.Prefix+m.path, strings.NewReader(body))
	if err != nil {
		r.t.Error(err)
		return out
	}
	req.Header.Set("Authorization", "Bearer "+r.Key)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Error(err)
		return out
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Error(err)
	}
	return reply{res.StatusCode, string(b), res.Header.Get(client.HeaderReplayed) == "true", res.Header}
}

func (r *rig) keyed(route string, m mutation) reply {
	r.t.Helper()
	return r.do(route, m, m.body, client.HeaderIdempotencyKey, "k-1")
}

// counts is how much the tenant holds of each kind.
func (r *rig) counts() map[string]int {
	r.t.Helper()
	n, page := map[string]int{}, dhruva.Page{Limit: 1000}
	p := auth.LocalPrincipal()
	check := func(err error) {
		if err != nil {
			r.t.Fatal(err)
		}
	}
	check(r.store.View(context.Background(), p.Scope(), func(tx dhruva.Tx) error {
		spaces, err := tx.ListSpaces(page)
		check(err)
		n["spaces"] = len(spaces)
		for _, s := range spaces {
			branches, err := tx.ListBranches(s.ID)
			check(err)
			checkpoints, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: s.ID, Page: page})
			check(err)
			n["branches"], n["checkpoints"] = n["branches"]+len(branches), n["checkpoints"]+len(checkpoints)
			for _, b := range branches {
				n["branches "+b.Disposition]++
			}
			notes, err := tx.ListNotes(dhruva.NoteQuery{Space: s.ID, Page: page})
			check(err)
			n["notes"] += len(notes)
			moves, err := tx.HeadMoves(dhruva.HeadMoveQuery{Space: s.ID, Limit: 1000})
			check(err)
			n["moves"] += len(moves)
			claims, err := tx.ListClaims(dhruva.ClaimQuery{Space: s.ID, Page: page})
			check(err)
			for _, c := range claims {
				n["claims "+string(c.Status)]++
			}
			trees, err := tx.ListWorktrees(dhruva.WorktreeQuery{Space: s.ID, Page: page})
			check(err)
			for _, w := range trees {
				n["worktrees "+string(w.Status)]++
			}
			for _, state := range []dhruva.SourceState{dhruva.SourceReady, dhruva.SourceHeld} {
				sources, err := tx.ListSources(dhruva.SourceQuery{Space: s.ID, Generation: 1, State: state, Page: page})
				check(err)
				n[string(state)] += len(sources)
			}
		}
		sessions, err := tx.ListSessions(dhruva.SessionQuery{Page: page})
		check(err)
		for _, s := range sessions {
			n[string(s.Kind)], n["turns"] = n[string(s.Kind)]+1, n["turns"]+int(s.LastSeq)
			if s.Mount != nil {
				n["mounts"]++
			}
		}
		receipts, err := tx.ListReceipts(dhruva.ReceiptQuery{State: ledger.ReceiptFinal, Page: page})
		check(err)
		n["receipts"] = len(receipts)
		keys, err := tx.ListKeys(page)
		check(err)
		for _, k := range keys {
			n["keys"]++
			if !k.RevokedAt.IsZero() {
				n["revoked"]++
			}
		}
		return nil
	}))
	return n
}

// sameAnswer compares what a replay says with what was said first.
func sameAnswer(t *testing.T, route string, first, again string) {
	t.Helper()
	if route == "POST /sessions/{id}/send" { // as docs say: evidence is named by source alone
		first, again = plainEvidence(t, first), plainEvidence(t, again)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("%s is answered otherwise again: %s", route, diff)
	}
}

func plainEvidence(t *testing.T, body string) string {
	t.Helper()
	var r client.SendResult
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if len(r.Evidence) == 0 {
		t.Error("the send has no evidence to be compared")
	}
	for i, e := range r.Evidence {
		r.Evidence[i] = client.EvidenceRef{Source: e.Source, Class: e.Class, Role: e.Role, Trust: e.Trust, Time: e.Time}
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func eachMutation(t *testing.T, fn func(t *testing.T, route string, mutate func(fixture) mutation)) {
	for route, mutate := range mutations {
		t.Run(strings.ReplaceAll(route, "/", "_"), func(t *testing.T) { fn(t, route, mutate) })
	}
}

// TestContract12_ARepeatedCall: over HTTP, every mutation repeated has no second
// effect and is answered as before; the same key with another body is refused.
func TestContract12_ARepeatedCall(t *testing.T) {
	eachMutation(t, func(t *testing.T, route string, mutate func(fixture) mutation) {
		r := newRig(t)
		m := mutate(r.fixture())
		first := r.keyed(route, m)
		if first.status != m.status || first.replayed {
			t.Fatalf("first: %+v", first)
		}
		after, asked := r.counts(), len(r.model.asked)
		again := r.keyed(route, m)
		if diff := cmp.Diff(after, r.counts()); diff != "" {
			t.Errorf("the repetition had an effect: %s", diff)
		}
		if len(r.model.asked) != asked {
			t.Error("the model was asked again")
		}
		if m.replay != 0 {
			wantShownOnce(t, first, again, m.replay)
		} else {
			if again.status != m.status || !again.replayed {
				t.Errorf("again: %+v", again)
			}
			sameAnswer(t, route, first.body, again.body)
		}
		if m.other == "" {
			return
		}
		other := r.do(route, m, m.other, client.HeaderIdempotencyKey, "k-1")
		if other.status != 409 || !strings.Contains(other.body, `"key_reused"`) || !strings.Contains(other.body, "another request") {
			t.Errorf("another body: %+v", other)
		}
		spaced := r.do(route, m, " "+strings.ReplaceAll(m.body, `":`, `" : `), client.HeaderIdempotencyKey, "k-1")
		if spaced.status != again.status {
			t.Errorf("with other white space: %+v", spaced)
		}
	})
}

// wantShownOnce: a key that was made is named, not shown.
func wantShownOnce(t *testing.T, first, again reply, status int) {
	t.Helper()
	var made client.NewKey
	var p client.Problem
	if err := json.Unmarshal([]byte(first.body), &made); err != nil || made.Secret == "" {
		t.Fatalf("%v: %s", err, first.body)
	}
	if err := json.Unmarshal([]byte(again.body), &p); err != nil {
		t.Fatal(err)
	}
	if again.status != status || p.Code != "key_shown_once" || !strings.Contains(p.Detail, string(made.ID)) || !strings.Contains(p.Hint, string(made.ID)) || strings.Contains(again.body, made.Secret) {
		t.Errorf("again: %+v", again)
	}
}

var someID = regexp.MustCompile(`[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|"(token|key|label|snippet)":"[^"]*"|"score":[0-9.e+-]+|[A-Z]+ · [0-9a-f]{7}|(from|to) [0-9a-f]{7}|"(path|root)":"[^"]*"|"base":"[0-9a-f]{40}"|"[a-z2-7]{32}"`)

// TestContract12_AnyFaultIsSettled fails each update of every mutation in turn,
// lost or kept. Repeating the call settles it, as if it had been undisturbed.
func TestContract12_AnyFaultIsSettled(t *testing.T) {
	var faults atomic.Int64
	eachMutation(t, func(t *testing.T, route string, mutate func(fixture) mutation) {
		clean := newRig(t)
		want := clean.keyed(route, mutate(clean.fixture()))
		counts := clean.counts()
		for _, fault := range []storetest.Fault{storetest.Lost, storetest.Kept} {
			for at := 1; ; at++ {
				r := newRig(t)
				m := mutate(r.fixture())
				faulty := storetest.NewFaulty(r.store.Store, fault, at)
				r.store.Store = faulty
				got := r.settled(route, m)
				when := fmt.Sprintf("fault %d at %d", fault, at)
				if m.replay == 0 || got.status != m.replay {
					if got.status != want.status {
						t.Fatalf("%s: %+v", when, got)
					}
					if diff := cmp.Diff(someID.ReplaceAllString(want.body, "·"), someID.ReplaceAllString(got.body, "·")); diff != "" && route != "POST /sessions/{id}/send" {
						t.Errorf("%s: %s", when, diff)
					}
				}
				if diff := cmp.Diff(counts, r.counts()); diff != "" {
					t.Errorf("%s: %s", when, diff)
				}
				if again := r.keyed(route, m); m.replay == 0 {
					sameAnswer(t, route, got.body, again.body)
				}
				if t.Failed() || faulty.Updates() < at {
					break
				}
				faults.Add(1)
			}
		}
	})
	t.Logf("%d faults in %d routes", faults.Load(), len(mutations))
}

// settled repeats a call until its outcome is known.
func (r *rig) settled(route string, m mutation) (got reply) {
	r.t.Helper()
	for range 4 {
		got = r.keyed(route, m)
		if got.status != http.StatusServiceUnavailable {
			return got
		}
		if got.header.Get("Retry-After") == "" {
			r.t.Errorf("503 without Retry-After: %s", got.body)
		}
	}
	r.t.Fatalf("never settled: %+v", got)
	return got
}

// TestContract12_TwentyAtOnce: of equal calls one has an effect; the others are
// answered alike, or told when to come back.
func TestContract12_TwentyAtOnce(t *testing.T) {
	eachMutation(t, func(t *testing.T, route string, mutate func(fixture) mutation) {
		clean := newRig(t)
		clean.keyed(route, mutate(clean.fixture()))
		counts := clean.counts()
		r := newRig(t)
		m := mutate(r.fixture())
		asked := len(r.model.asked)
		replies := make([]reply, 20)
		var wg sync.WaitGroup
		for i := range replies {
			wg.Go(func() { replies[i] = r.keyed(route, m) })
		}
		wg.Wait()
		done := 0
		for _, got := range replies {
			switch {
			case got.status == m.status && !got.replayed:
				done++
			case got.status == m.status, m.replay != 0 && got.status == m.replay && strings.Contains(got.body, "key_shown_once"):
			case got.status == 409 && got.header.Get("Retry-After") != "" && strings.Contains(got.body, `"call_running"`):
			default:
				t.Errorf("%+v", got)
			}
		}
		if done != 1 {
			t.Errorf("%d of 20 calls say that they did it", done)
		}
		if diff := cmp.Diff(counts, r.counts()); diff != "" {
			t.Error(diff)
		}
		if n := len(r.model.asked) - asked; n > 1 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

// A send whose twin is running is told when to come back; once it is answered,
// every form of it is answered from what was stored.
func TestContract12_SendIsAskedOnce(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	s := must[client.Session](t)(r.CreateSession(ctx, "", client.SessionInput{}))
	r.model.gate = make(chan struct{})
	in := client.SendInput{Message: "hello"}
	var once sync.Once
	first, err := r.Idempotent("k").SendStream(ctx, s.ID, in, func(string) error {
		once.Do(func() {
			defer close(r.model.gate)
			_, err := r.Idempotent("k").Send(ctx, s.ID, in)
			wantProblem(t, err, 409, "call_running")
			if p := problem(err); p.RetryAfter <= 0 || p.RetryAfter > 2*time.Second {
				t.Errorf("come back after %v", p.RetryAfter)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	whole := r.Idempotent("k")
	second := must[client.SendResult](t)(whole.Send(ctx, s.ID, in))
	if diff := cmp.Diff(first, second); diff != "" || !whole.Replayed() {
		t.Errorf("replayed %v: %s", whole.Replayed(), diff)
	}
	var pieces []string
	stream := r.Idempotent("k")
	third, err := stream.SendStream(ctx, s.ID, in, func(p string) error { pieces = append(pieces, p); return nil })
	if err != nil || !stream.Replayed() {
		t.Fatalf("replayed %v: %v", stream.Replayed(), err)
	}
	if diff := cmp.Diff([]string{"It is Canberra."}, pieces); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(first, third); diff != "" {
		t.Error(diff)
	}
	if len(r.model.asked) != 1 {
		t.Errorf("the model was asked %d times", len(r.model.asked))
	}
}

func problem(err error) *client.Problem {
	p, _ := err.(*client.Problem)
	return p
}

// A send whose model failed may be repeated at once, and stores one pair.
func TestContract12_AFailedSendMayBeRepeated(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	s := must[client.Session](t)(r.CreateSession(ctx, "", client.SessionInput{}))
	in := client.SendInput{Message: "hello"}
	r.model.err = llm.NewError("scripted", 500, "overloaded", "too busy", nil)
	_, err := r.Idempotent("k").Send(ctx, s.ID, in)
	wantProblem(t, err, 502, "upstream")
	_, err = r.Idempotent("k").Send(ctx, s.ID, client.SendInput{Message: "another"})
	wantProblem(t, err, 409, "key_reused")
	r.model.err = nil
	once := r.Idempotent("k")
	first := must[client.SendResult](t)(once.Send(ctx, s.ID, in))
	if once.Replayed() {
		t.Error("replayed, although nothing was answered before")
	}
	if diff := cmp.Diff(first, must[client.SendResult](t)(once.Send(ctx, s.ID, in))); diff != "" {
		t.Error(diff)
	}
	if got := must[client.List[client.Turn]](t)(r.Turns(ctx, s.ID, 0, 0)); len(got.Items) != 2 {
		t.Errorf("%d turns", len(got.Items))
	}
}

// When pieces of a reply are out that was not kept, the stream ends with an
// error, not with another reply.
func TestAStreamThatWasOvertaken(t *testing.T) {
	if err := (&events{begun: true}).replay(client.SendResult{}); err == nil {
		t.Error("another reply follows the pieces of the first")
	}
}

// A refused call leaves its key, and answers each time anew.
func TestContract12_ARefusedCallLeavesItsKey(t *testing.T) {
	r := newRig(t)
	r.fixture()
	m := mutation{path: "/spaces"}
	for _, tt := range []struct {
		body   string
		status int
	}{{`{"name":""}`, 422}, {`{"name":"work"}`, 409}, {`{"name":"` + strings.Repeat("x", 300) + `"}`, 413}, {`{"name":"free"}`, 201}} {
		if got := r.do("POST /spaces", m, tt.body, client.HeaderIdempotencyKey, "k"); got.status != tt.status || got.replayed {
			t.Errorf("%.40s: %+v", tt.body, got)
		}
	}
}

// What a call made may be gone when it is repeated; then that is said, and
// nothing is made anew.
func TestContract12_WhatWasMadeIsGone(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	s := must[client.Space](t)(r.Idempotent("k").CreateSpace(ctx, client.SpaceInput{Name: "x"}))
	if err := r.DeleteSpace(ctx, string(s.ID)); err != nil {
		t.Fatal(err)
	}
	_, err := r.Idempotent("k").CreateSpace(ctx, client.SpaceInput{Name: "x"})
	wantProblem(t, err, 409, "result_gone")
	if got := must[client.List[client.Space]](t)(r.Spaces(ctx, dhruva.Page{})); len(got.Items) != 0 {
		t.Errorf("%+v", got.Items)
	}
}

// A replay shows what was made as it is now.
func TestContract12_AReplayShowsWhatIsNow(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	s := must[client.Space](t)(r.Idempotent("k").CreateSpace(ctx, client.SpaceInput{Name: "before"}))
	name := "after"
	now := must[client.Space](t)(r.UpdateSpace(ctx, string(s.ID), client.SpacePatch{Name: &name}))
	if diff := cmp.Diff(now, must[client.Space](t)(r.Idempotent("k").CreateSpace(ctx, client.SpaceInput{Name: "before"}))); diff != "" {
		t.Error(diff)
	}
}

// Whoever made a thing is shown it again, with a right to write alone; a key
// without that right is not, and one that does not reach it neither.
func TestContract12_WhoIsAnsweredAgain(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	f := r.fixture()
	writer := r.as(auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.StateWrite, dhruva.MemoryWrite}})
	first := must[client.Session](t)(writer.Idempotent("k").CreateSession(ctx, "work", client.SessionInput{}))
	if diff := cmp.Diff(first, must[client.Session](t)(writer.Idempotent("k").CreateSession(ctx, "work", client.SessionInput{}))); diff != "" {
		t.Error(diff)
	}
	note := must[client.Remembered](t)(writer.Idempotent("n").Remember(ctx, "work", client.RememberInput{Text: "We ship on Fridays."}))
	if diff := cmp.Diff(note, must[client.Remembered](t)(writer.Idempotent("n").Remember(ctx, "work", client.RememberInput{Text: "We ship on Fridays."}))); diff != "" {
		t.Error(diff)
	}
	reader := r.as(auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.StateRead}})
	_, err := reader.Idempotent("k").CreateSession(ctx, "work", client.SessionInput{})
	wantProblem(t, err, 403, "denied")
	other := must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "other"}))
	limited := r.as(auth.KeyInput{Scopes: dhruva.KeyScopes(), Space: other.ID})
	_, err = limited.Idempotent("k").CreateSession(ctx, "work", client.SessionInput{})
	wantProblem(t, err, 409, "result_gone")
	_ = f
}

func TestContract12_AnotherRouteIsAnotherCall(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	f := r.fixture()
	a := must[client.Session](t)(r.Idempotent("k").CreateSession(ctx, "work", client.SessionInput{}))
	b := must[client.Session](t)(r.Idempotent("k").CreateSession(ctx, "", client.SessionInput{}))
	c := must[client.Session](t)(r.Idempotent("k").Fork(ctx, f.chat.ID, client.ForkInput{Checkpoint: f.first.Hash.String()}))
	if a.ID == b.ID || b.ID == c.ID {
		t.Errorf("%s, %s, %s", a.ID, b.ID, c.ID)
	}
}

// Reading takes no notice of the header, whatever it says; a header that stands
// twice is refused where it counts.
func TestContract12_WhereTheHeaderCounts(t *testing.T) {
	r := newRig(t)
	r.fixture()
	for _, key := range []string{"k", "not a key"} {
		for range 2 {
			if got := r.do("POST /x", mutation{path: "/spaces/work/recall"}, `{"query":"Australia"}`, client.HeaderIdempotencyKey, key); got.status != 200 || got.replayed {
				t.Errorf("recall: %+v", got)
			}
			if got := r.do("GET /x", mutation{path: "/spaces"}, "", client.HeaderIdempotencyKey, key); got.status != 200 {
				t.Errorf("list: %+v", got)
			}
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", r.url+client.Prefix+"/spaces", strings.NewReader(`{"name":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + r.Key}, "Idempotency-Key": {"a", "b"}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := bufio.NewReader(res.Body).ReadString(0); res.StatusCode != 422 || !strings.Contains(body, "twice") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}
