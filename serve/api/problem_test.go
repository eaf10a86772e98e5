package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
)

func wantProblem(t *testing.T, err error, status int, code string) {
	t.Helper()
	var p *client.Problem
	if !errors.As(err, &p) {
		t.Fatalf("error %v, want a problem %d %s", err, status, code)
	}
	if p.Status != status || p.Code != code {
		t.Fatalf("problem %d %s (%s), want %d %s", p.Status, p.Code, p.Detail, status, code)
	}
	if p.RequestID == "" || p.Type == "" || p.Title == "" {
		t.Errorf("problem without id, type or title: %+v", p)
	}
}

// TestLostDatabase: an error of the network, which the database gives too, is no
// provider's; its words are for the log alone.
func TestLostDatabase(t *testing.T) {
	lost := fmt.Errorf("%w: the connection to the database is lost: %w", dhruva.ErrUnavailable,
		&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5432}, Err: syscall.ECONNREFUSED})
	p := problemOf(t.Context(), lost)
	if p.Status != 503 || p.Code != "unavailable" || strings.Contains(p.Detail, "5432") {
		t.Errorf("problem %d %s: %s", p.Status, p.Code, p.Detail)
	}
}

func TestRefusals(t *testing.T) {
	r := newRig(t)
	r.twins("twin")
	must[client.Space](t)(r.CreateSpace(t.Context(), client.SpaceInput{Name: "one"}))
	missing := dhruva.NewID()
	for name, tt := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		code, hint         string
	}{
		"no key":                  {"GET", "/spaces", "", []string{"Authorization", ""}, 401, "unauthenticated", "key"},
		"a wrong key":             {"GET", "/spaces", "", []string{"Authorization", "Bearer dhr_live_wrong"}, 401, "unauthenticated", "key"},
		"two credentials":         {"GET", "/spaces", "", []string{"x-api-key", "dhr_live_other"}, 400, "malformed", ""},
		"no such route":           {"GET", "/nothing", "", nil, 404, "no_route", ""},
		"a later route":           {"GET", "/receipts/" + missing + "/proof", "", nil, 404, "no_route", ""},
		"a wrong method":          {"PUT", "/spaces", "", nil, 405, "method_not_allowed", ""},
		"a missing space":         {"GET", "/spaces/nowhere", "", nil, 404, "not_found", "check"},
		"a missing session":       {"GET", "/sessions/" + missing, "", nil, 404, "not_found", "check"},
		"a missing checkpoint":    {"GET", "/checkpoints/abcdef0", "", nil, 404, "not_found", "check"},
		"a short prefix":          {"GET", "/checkpoints/abc", "", nil, 422, "invalid", ""},
		"a missing receipt":       {"GET", "/receipts/" + missing, "", nil, 404, "not_found", "check"},
		"a missing source":        {"GET", "/spaces/one/sources/none", "", nil, 404, "not_found", "check"},
		"a missing key":           {"DELETE", "/keys/" + missing, "", nil, 404, "not_found", "check"},
		"an ambiguous name":       {"GET", "/spaces/twin", "", nil, 409, "ambiguous_name", "use an id"},
		"an ambiguous recall":     {"POST", "/spaces/twin/recall", `{"query":"x"}`, nil, 409, "ambiguous_name", "use an id"},
		"an ambiguous note":       {"POST", "/spaces/twin/remember", `{"text":"x"}`, nil, 409, "ambiguous_name", "use an id"},
		"an ambiguous name taken": {"POST", "/spaces", `{"name":"twin"}`, nil, 409, "name_taken", "DELETE"},
		"a flag of the past":      {"POST", "/spaces", `{"name":"x","unique":true}`, nil, 422, "invalid", "unique"},
		"no space to release in":  {"POST", "/spaces/nowhere/sources/x/release", "", nil, 404, "not_found", "check"},
		"a space's cursor":        {"GET", "/spaces?after=zzz", "", nil, 422, "invalid", ""},
		"a session's cursor":      {"GET", "/spaces/one/sessions?after=zzz", "", nil, 422, "invalid", ""},
		"a checkpoint's cursor":   {"GET", "/spaces/one/checkpoints?after=zzz", "", nil, 422, "invalid", ""},
		"a receipt's cursor":      {"GET", "/receipts?after=zzz", "", nil, 422, "invalid", ""},
		"a key's cursor":          {"GET", "/keys?after=zzz", "", nil, 422, "invalid", ""},
		"a turn's cursor":         {"GET", "/sessions/" + missing + "/turns?after=zzz", "", nil, 422, "invalid", ""},
		"an unknown class":        {"GET", "/spaces/one/sources?class=foo", "", nil, 422, "invalid", ""},
		"an unknown state":        {"GET", "/spaces/one/sources?state=foo", "", nil, 422, "invalid", ""},
		"an unknown kind":         {"GET", "/receipts?kind=foo", "", nil, 422, "invalid", ""},
		"another unknown kind":    {"GET", "/spaces/one/sessions?kind=foo", "", nil, 422, "invalid", ""},
		"an unknown branch":       {"GET", "/spaces/one/checkpoints?branch=nope", "", nil, 404, "not_found", "check"},
		"an unknown session":      {"GET", "/spaces/one/checkpoints?session=" + missing, "", nil, 404, "not_found", "check"},
		"receipts of no session":  {"GET", "/receipts?session=" + missing, "", nil, 404, "not_found", "check"},
		"a taken name":            {"POST", "/spaces", `{"name":"one"}`, nil, 409, "name_taken", "DELETE"},
		"an unknown field":        {"POST", "/spaces", `{"name":"x","colour":"red"}`, nil, 422, "invalid", "body.colour"},
		"a field in capitals":     {"POST", "/spaces", `{"Name":"x"}`, nil, 400, "malformed", ""},
		"a missing field":         {"POST", "/spaces", `{}`, nil, 422, "invalid", ""},
		"a wrong type":            {"POST", "/spaces", `{"name":1}`, nil, 422, "invalid", ""},
		"no body":                 {"POST", "/spaces", ``, nil, 400, "malformed", ""},
		"broken JSON":             {"POST", "/spaces", `{"name":`, nil, 400, "malformed", ""},
		"trailing JSON":           {"POST", "/spaces", `{"name":"x"}{}`, nil, 400, "malformed", ""},
		"invalid UTF-8":           {"POST", "/spaces", "{\"name\":\"\xff\"}", nil, 400, "malformed", ""},
		"another media type":      {"POST", "/spaces", `name=x`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type", ""},
		"a coded body":            {"POST", "/spaces", `{"name":"x"}`, []string{"Content-Encoding", "gzip"}, 415, "unsupported_encoding", ""},
		"a large body":            {"POST", "/spaces", `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, "too_large", ""},
		"an unknown parameter":    {"GET", "/spaces?colour=red", "", nil, 422, "invalid", ""},
		"too long a page":         {"GET", "/spaces?limit=1001", "", nil, 422, "invalid", ""},
		"a page of nothing":       {"GET", "/spaces?limit=0", "", nil, 422, "invalid", ""},
		"a blank idempotency key": {"POST", "/spaces", `{"name":"x"}`, []string{"Idempotency-Key", " "}, 422, "invalid", ""},
		"an odd idempotency key":  {"POST", "/spaces", `{"name":"x"}`, []string{"Idempotency-Key", "a b"}, 422, "invalid", ""},
		"a long idempotency key":  {"POST", "/spaces", `{"name":"x"}`, []string{"Idempotency-Key", strings.Repeat("k", 256)}, 422, "invalid", ""},
		"no tokens":               {"POST", "/read", `{"tokens":[]}`, nil, 422, "invalid", ""},
		"an odd depth":            {"PUT", "/sessions/" + missing + "/mount", `{"checkpoint":"abcdef0","depth":2}`, nil, 422, "invalid", ""},
		"an unknown right":        {"POST", "/keys", `{"scopes":["everything"]}`, nil, 422, "invalid", ""},
		"a numeric decision":      {"POST", "/spaces/one/checkpoints", `{"decisions":[1]}`, nil, 422, "invalid", ""},
		"a strange decision":      {"POST", "/spaces/one/checkpoints", `{"decisions":[{"text":"a","colour":1}]}`, nil, 422, "invalid", ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, p, header := r.raw(tt.method, tt.path, tt.body, tt.header...)
			if status != tt.status || p.Code != tt.code || p.Status != status {
				t.Fatalf("%d %s (%s %+v), want %d %s", status, p.Code, p.Detail, p.Errors, tt.status, tt.code)
			}
			if p.RequestID == "" || p.RequestID != header.Get("X-Dhruva-Request-Id") {
				t.Errorf("request id %q, header %q", p.RequestID, header.Get("X-Dhruva-Request-Id"))
			}
			if ct := header.Get("Content-Type"); ct != problemType {
				t.Errorf("content type %q", ct)
			}
			if strings.Contains(p.Detail, "ledger: ") || strings.Contains(p.Detail, ": space: ") {
				t.Errorf("the detail speaks of packages: %q", p.Detail)
			}
			if !strings.Contains(p.Hint, tt.hint) {
				t.Errorf("hint %q lacks %q", p.Hint, tt.hint)
			}
			if tt.body != "" && len(tt.body) < 1000 && strings.Contains(p.Detail, tt.body) {
				t.Errorf("the body is repeated: %q", p.Detail)
			}
		})
	}
}

// TestRefusalsOfTheStatePlane: what is not there, is malformed or too large is told
// so, and nothing of it is a failure of the server.
func TestRefusalsOfTheStatePlane(t *testing.T) {
	r := working(t)
	ctx, missing := t.Context(), dhruva.NewID()
	s := must[client.Session](t)(r.CreateSession(ctx, "work", client.SessionInput{}))
	must[client.SendResult](t)(r.Send(ctx, s.ID, client.SendInput{Message: "hello"}))
	c := r.save("main", dhruva.Hash{}, "Go in May")
	must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "other"}))
	foreign := must[client.Checkpoint](t)(r.CreateCheckpoint(ctx, "other", client.CheckpointInput{Title: "foreign"})).Hash.String()
	at, cp, no := "/sessions/"+string(s.ID), "/checkpoints/"+c.Hash.String(), "/checkpoints/"+strings.Repeat("a", 64)
	const huge = "99999999999999999999"
	for _, tt := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/spaces/nowhere/lineage", "", 404}, {"GET", "/spaces/work/lineage?after=zzz", "", 422}, {"GET", "/spaces/work/lineage?limit=1001", "", 422},
		{"GET", "/spaces/work/lineage?branch=nope", "", 404}, {"GET", "/spaces/a%00b/lineage", "", 404}, {"GET", "/spaces/work/lineage?branch=a%00b", "", 404},
		{"GET", cp + "/diff/zzz", "", 422}, {"GET", cp + "/diff/" + strings.Repeat("a", 64), "", 404}, {"GET", "/checkpoints/%00/diff/x", "", 422},
		{"GET", "/spaces/work/reflog?after=zzz", "", 422}, {"GET", "/spaces/work/reflog?after=-1", "", 422}, {"GET", "/spaces/work/reflog?after=" + huge, "", 422},
		{"GET", cp + "/blame?item=" + missing, "", 404}, {"GET", cp + "/blame?item=%00", "", 404}, {"GET", no + "/blame", "", 404},
		{"GET", at + "/turns/0/checkpoints", "", 422}, {"GET", at + "/turns/99/checkpoints", "", 404}, {"GET", at + "/turns/" + huge + "/checkpoints", "", 422},
		{"GET", at + "/turns/9223372036854775807/checkpoints", "", 404}, {"GET", at + "/turns/x/siblings", "", 422}, {"GET", at + "/turns/9223372036854775807/siblings", "", 404},
		{"GET", "/sessions/" + missing + "/checkpoints", "", 404}, {"GET", at + "/checkpoints?after=zzz", "", 422}, {"GET", "/sessions/%00/path", "", 404},
		{"GET", at + "/path?before=-1", "", 422}, {"GET", at + "/path?before=" + huge, "", 422}, {"GET", at + "/path?limit=1001", "", 422}, {"GET", "/sessions/" + missing + "/path", "", 404},
		{"PUT", at + "/tip", `{"turn":0}`, 422}, {"PUT", at + "/tip", `{"turn":99}`, 404}, {"PUT", at + "/tip", `{"turn":` + huge + `}`, 422}, {"PUT", at + "/tip", `{"turn":1.5}`, 422},
		{"POST", at + "/send", `{"regenerate":99}`, 404}, {"POST", at + "/send", `{"regenerate":1}`, 422}, {"POST", at + "/send", `{"message":"x","edit":2}`, 422},
		{"POST", at + "/send", `{"message":"x","edit":1,"regenerate":2}`, 422}, {"POST", at + "/send", `{"regenerate":9223372036854775807}`, 404},
		{"POST", at + "/fork", `{"turn":-1}`, 422}, {"POST", at + "/fork", `{"turn":9223372036854775807}`, 404}, {"POST", at + "/fork", `{"turn":2,"scope":"most"}`, 422},
		{"GET", no + "/notes", "", 404}, {"GET", cp + "/notes?after=zzz", "", 422}, {"POST", cp + "/notes", `{"text":""}`, 422}, {"POST", cp + "/notes", `{"text":"  "}`, 422},
		{"POST", cp + "/notes", `{"text":"a\u0000b"}`, 422}, {"POST", cp + "/notes", `{"text":"` + strings.Repeat("x", 2001) + `"}`, 413}, {"POST", cp + "/notes", `{"text":"x","kind":"shout"}`, 422},
		{"POST", no + "/notes", `{"text":"x"}`, 404}, {"GET", no + "/dependents", "", 404}, {"DELETE", no, "", 404}, {"DELETE", "/checkpoints/zzz", "", 422}, {"DELETE", cp + "?cascade=maybe", "", 422},
		{"POST", "/spaces/work/merge", `{"from":"nope","into":"main"}`, 404}, {"POST", "/spaces/work/merge", `{"from":"main","into":"nope"}`, 404}, {"POST", "/spaces/work/merge", `{"from":"main"}`, 422},
		{"POST", "/spaces/work/merge", `{"from":"` + foreign + `","into":"main"}`, 404}, {"POST", "/spaces/work/merge", `{"from":"a\u0000","into":"b\u0000"}`, 404},
		{"POST", "/spaces/work/revert", `{"to":"` + foreign + `"}`, 404}, {"POST", "/spaces/work/revert", `{"to":"zzz"}`, 422}, {"POST", "/spaces/work/revert", `{"to":"` + c.Hash.String() + `","branch":"nope"}`, 404},
		{"POST", "/spaces/other/undo", `{"branch":"nope"}`, 409}, {"POST", "/spaces/work/redo", `{}`, 409}, {"POST", "/spaces/nowhere/undo", `{}`, 404},
		{"PATCH", "/spaces/work/branches", `{"branch":"nope","disposition":"abandoned"}`, 404}, {"PATCH", "/spaces/work/branches", `{"branch":"main","disposition":"gone"}`, 422},
		{"POST", at + "/draft", `{"turns":-1}`, 422}, {"POST", at + "/draft", `{"turns":` + huge + `}`, 422}, {"POST", "/sessions/" + missing + "/draft", `{}`, 404}, {"POST", "/extract", `{"content":""}`, 422},
		{"POST", no + "/review", `{}`, 404}, {"GET", "/spaces/nowhere/state", "", 404}, {"GET", "/spaces/work/state?compact=2", "", 422}, {"GET", "/spaces/nowhere/metrics", "", 404},
		{"GET", "/spaces/work/claims?after=zzz", "", 422}, {"GET", "/claims/" + missing, "", 404}, {"GET", "/claims/%00", "", 404}, {"PATCH", "/claims/" + missing, `{"status":"done"}`, 404},
		{"PATCH", "/claims/" + missing, `{"status":"active"}`, 422}, {"POST", "/spaces/work/claims", `{"agent":"a"}`, 422}, {"POST", "/spaces/work/claims", `{"agent":"a","scope":"s","ttl_hours":-1}`, 422},
		{"POST", "/spaces/work/claims", `{"agent":"a","scope":"s","ttl_hours":1e300}`, 422}, {"POST", "/spaces/work/claims", `{"agent":"a","scope":"s","ttl_hours":169}`, 422},
		{"POST", "/spaces/work/claims", `{"agent":"a","scope":"s","base":"` + foreign + `"}`, 404}, {"POST", "/spaces/work/claims", `{"agent":"a","scope":"s","session_id":"` + missing + `"}`, 404},
		{"POST", "/spaces/work/claims", `{"agent":"a","scope":"s","intent_type":"play"}`, 422}, {"POST", "/spaces/work/claims", `{"agent":"a\u0000","scope":"s"}`, 422},
		{"GET", "/spaces/work/worktrees?after=zzz", "", 422}, {"GET", "/worktrees/" + missing, "", 404}, {"GET", "/worktrees/abc", "", 422}, {"GET", "/worktrees/%00%00%00%00", "", 404},
		{"DELETE", "/worktrees/" + missing, "", 404}, {"POST", "/spaces/work/worktrees", `{}`, 422}, {"POST", "/spaces/work/worktrees", `{"agent":"a"}`, 422},
	} {
		status, p, _ := r.raw(tt.method, tt.path, tt.body)
		if status != tt.status || p.Status != status {
			t.Errorf("%s %.90s %.90s: %d %s %s, want %d", tt.method, tt.path, tt.body, status, p.Code, p.Detail, tt.status)
		}
		if strings.Contains(p.Detail, "ledger: ") || strings.Contains(p.Detail, "agents: ") || p.Code == "" {
			t.Errorf("%s %.90s: code %q, detail %q", tt.method, tt.path, p.Code, p.Detail)
		}
	}
}

func TestForeignIDsAreNotFound(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	mine := must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "mine"}))
	must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "theirs"}))
	session := must[client.Session](t)(r.CreateSession(ctx, "theirs", client.SessionInput{}))
	must[client.SendResult](t)(r.Send(ctx, session.ID, client.SendInput{Message: "a secret plan"}))
	saved := must[client.Checkpoint](t)(r.CreateCheckpoint(ctx, "theirs", client.CheckpointInput{Session: session.ID, Title: "secret"}))
	must[client.Checkpoint](t)(r.CreateCheckpoint(ctx, "mine", client.CheckpointInput{Title: "mine"}))
	claimed := must[client.Claim](t)(r.Claim(ctx, "theirs", client.ClaimInput{Agent: "a", Scope: "s"}))
	fact := must[client.Remembered](t)(r.Remember(ctx, "theirs", client.RememberInput{Text: "The password of the vault is a secret."}))
	found := must[client.Recall](t)(r.Recall(ctx, "theirs", client.RecallInput{Query: "password of the vault"}))
	c := r.as(auth.KeyInput{Scopes: dhruva.KeyScopes(), Space: mine.ID})
	for name, call := range map[string]func() error{
		"space":    func() error { _, err := c.Space(ctx, "theirs"); return err },
		"sessions": func() error { _, err := c.Sessions(ctx, "theirs", client.SessionFilter{}); return err },
		"session":  func() error { _, err := c.Session(ctx, session.ID); return err },
		"turns":    func() error { _, err := c.Turns(ctx, session.ID, 0, 0); return err },
		"send":     func() error { _, err := c.Send(ctx, session.ID, client.SendInput{Message: "x"}); return err },
		"preview":  func() error { _, err := c.Preview(ctx, session.ID, client.SendInput{Message: "x"}); return err },
		"mount": func() error {
			_, err := c.Mount(ctx, session.ID, client.MountInput{Checkpoint: saved.Hash.String()})
			return err
		},
		"fork":       func() error { _, err := c.ForkCheckpoint(ctx, saved.Hash.String(), client.ForkInput{}); return err },
		"checkpoint": func() error { _, err := c.Checkpoint(ctx, saved.Hash.String()); return err },
		"its turns":  func() error { _, err := c.CheckpointTurns(ctx, saved.Hash.String()); return err },
		"branches":   func() error { _, err := c.Branches(ctx, "theirs"); return err },
		"verify":     func() error { _, err := c.Verify(ctx, "theirs"); return err },
		"source":     func() error { _, err := c.Source(ctx, "theirs", fact.Source); return err },
		"recall":     func() error { _, err := c.Recall(ctx, "theirs", client.RecallInput{Query: "x"}); return err },
		"remember":   func() error { _, err := c.Remember(ctx, "theirs", client.RememberInput{Text: "x y z"}); return err },
		"import":     func() error { _, err := c.Import(ctx, "theirs", client.ImportInput{Key: "k"}); return err },
		"receipt":    func() error { _, err := c.Receipt(ctx, found.Receipt); return err },
		"delete":     func() error { return c.DeleteSession(ctx, session.ID) },
		"lineage":    func() error { _, err := c.Lineage(ctx, "theirs", client.LineageFilter{}); return err },
		"diff":       func() error { _, err := c.Diff(ctx, saved.Hash.String(), saved.Hash.String()); return err },
		"merge": func() error {
			_, err := c.Merge(ctx, "mine", client.MergeInput{From: saved.Hash.String(), Into: "main"})
			return err
		},
		"revert": func() error {
			_, err := c.Revert(ctx, "theirs", client.RevertInput{To: saved.Hash.String()})
			return err
		},
		"reflog":     func() error { _, err := c.Reflog(ctx, "theirs", "", dhruva.Page{}); return err },
		"undo":       func() error { _, err := c.Undo(ctx, "theirs", ""); return err },
		"blame":      func() error { _, err := c.Blame(ctx, saved.Hash.String(), ""); return err },
		"notes":      func() error { _, err := c.Notes(ctx, saved.Hash.String(), dhruva.Page{}); return err },
		"note":       func() error { _, err := c.AddNote(ctx, saved.Hash.String(), client.NoteInput{Text: "x"}); return err },
		"dependents": func() error { _, err := c.Dependents(ctx, saved.Hash.String()); return err },
		"hide":       func() error { return c.DeleteCheckpoint(ctx, saved.Hash.String(), true) },
		"drawn":      func() error { _, err := c.TurnCheckpoints(ctx, session.ID, 1); return err },
		"reachable":  func() error { _, err := c.Reachable(ctx, session.ID, dhruva.Page{}); return err },
		"path":       func() error { _, err := c.Path(ctx, session.ID, 0, 0); return err },
		"siblings":   func() error { _, err := c.Siblings(ctx, session.ID, 1); return err },
		"tip":        func() error { _, err := c.SelectTip(ctx, session.ID, 1); return err },
		"draft":      func() error { _, err := c.Draft(ctx, session.ID, client.DraftInput{}); return err },
		"review":     func() error { _, err := c.Review(ctx, saved.Hash.String(), client.ModelInput{}); return err },
		"state":      func() error { _, err := c.State(ctx, "theirs", client.StateQuery{}); return err },
		"metrics":    func() error { _, err := c.Metrics(ctx, "theirs"); return err },
		"claims":     func() error { _, err := c.Claims(ctx, "theirs", true, dhruva.Page{}); return err },
		"claim":      func() error { _, err := c.Claim(ctx, "theirs", client.ClaimInput{Agent: "a", Scope: "s"}); return err },
		"end claim":  func() error { _, err := c.EndClaim(ctx, claimed.ID, dhruva.ClaimDone); return err },
		"worktrees":  func() error { _, err := c.Worktrees(ctx, "theirs", true); return err },
		"worktree":   func() error { _, err := c.OpenWorktree(ctx, "theirs", client.WorktreeInput{Agent: "a"}); return err },
	} {
		t.Run(name, func(t *testing.T) { wantProblem(t, call(), 404, "not_found") })
	}
	if len(found.Evidence) == 0 {
		t.Fatal("nothing was recalled to try the token of")
	}
	if got := must[client.ReadResults](t)(c.Read(ctx, []string{found.Evidence[0].Token})); got.Results[0].Status != "not_found" || got.Results[0].Text != "" {
		t.Errorf("a foreign token reads %+v", got)
	}
}

func TestFailuresBelow(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	must[client.List[client.Space]](t)(r.Spaces(ctx, dhruva.Page{})) // the key is known from here on
	for _, tt := range []struct {
		err    error
		status int
		code   string
		is     error
	}{
		{fmt.Errorf("disk /secret/path: %w", dhruva.ErrUnavailable), 503, "unavailable", dhruva.ErrUnavailable},
		{errors.New("a bug at /secret/path"), 500, "internal", nil},
		{fmt.Errorf("closed: %w", dhruva.ErrFenced), 409, "stale_generation", dhruva.ErrFenced},
	} {
		r.store.err = tt.err
		_, err := r.CreateSpace(ctx, client.SpaceInput{Name: "x"})
		wantProblem(t, err, tt.status, tt.code)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the client is told %v", err)
		}
		if tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%v does not unwrap to %v", err, tt.is)
		}
	}
}

// TestDocument loads the OpenAPI document and finds every route of this
// milestone in it, and no other.
func TestDocument(t *testing.T) {
	r := newRig(t)
	res, err := http.Get(r.url + client.Prefix + "/openapi.json") // without a key
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Fatalf("%v: openapi %q", err, doc.OpenAPI)
	}
	var got []string
	for path, methods := range doc.Paths {
		for m, op := range methods {
			got = append(got, strings.ToUpper(m)+" "+path)
			if op.OperationID == "" || op.Responses["default"] == nil || len(op.Responses) < 2 {
				t.Errorf("%s %s is not described: %+v", m, path, op)
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"DELETE /checkpoints/{hash}", "DELETE /keys/{id}", "DELETE /sessions/{id}", "DELETE /sessions/{id}/mount", "DELETE /spaces/{space}",
		"DELETE /worktrees/{id}", "GET /checkpoints/{hash}", "GET /checkpoints/{hash}/blame", "GET /checkpoints/{hash}/dependents",
		"GET /checkpoints/{hash}/diff/{other}", "GET /checkpoints/{hash}/notes", "GET /checkpoints/{hash}/turns", "GET /claims/{id}", "GET /jobs",
		"GET /keys", "GET /receipts", "GET /receipts/{id}", "GET /sessions/{id}", "GET /sessions/{id}/checkpoints", "GET /sessions/{id}/path",
		"GET /sessions/{id}/turns", "GET /sessions/{id}/turns/{seq}/checkpoints", "GET /sessions/{id}/turns/{seq}/siblings", "GET /spaces",
		"GET /spaces/{space}", "GET /spaces/{space}/branches", "GET /spaces/{space}/checkpoints", "GET /spaces/{space}/claims",
		"GET /spaces/{space}/lineage", "GET /spaces/{space}/metrics", "GET /spaces/{space}/reflog", "GET /spaces/{space}/sessions",
		"GET /spaces/{space}/sources", "GET /spaces/{space}/sources/{id}", "GET /spaces/{space}/state", "GET /spaces/{space}/verify",
		"GET /spaces/{space}/worktrees", "GET /worktrees/{id}", "PATCH /claims/{id}", "PATCH /spaces/{space}", "PATCH /spaces/{space}/branches",
		"POST /checkpoints/{hash}/fork", "POST /checkpoints/{hash}/notes", "POST /checkpoints/{hash}/review", "POST /extract", "POST /jobs/{id}/retry",
		"POST /keys", "POST /read", "POST /sessions", "POST /sessions/{id}/draft", "POST /sessions/{id}/fork", "POST /sessions/{id}/preview",
		"POST /sessions/{id}/send", "POST /sessions/{id}/title", "POST /spaces", "POST /spaces/{space}/checkpoints", "POST /spaces/{space}/claims",
		"POST /spaces/{space}/import", "POST /spaces/{space}/merge", "POST /spaces/{space}/recall", "POST /spaces/{space}/redo",
		"POST /spaces/{space}/remember", "POST /spaces/{space}/revert", "POST /spaces/{space}/sessions", "POST /spaces/{space}/sources/{id}/release",
		"POST /spaces/{space}/undo", "POST /spaces/{space}/worktrees", "PUT /sessions/{id}/attach", "PUT /sessions/{id}/mount", "PUT /sessions/{id}/tip",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes: %s", diff)
	}
	for _, ref := range strings.Split(string(b), `"$ref":"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(ref, `"`)
		if !strings.Contains(string(b), `"`+name+`":{`) {
			t.Errorf("schema %s is missing", name)
		}
	}
}
