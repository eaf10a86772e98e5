package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/egress"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/llm"
)

var (
	_ llm.Generator = (*OpenAI)(nil)
	_ llm.Generator = (*Anthropic)(nil)
)

const key = "CANARY-key-0123456789"

// dialect is one client under test with the canned replies of its wire format.
type dialect struct {
	name             string
	open             func(p *testkit.Provider) llm.Generator
	json, jsonCanary func(string) testkit.Reply
	sse, sseCanary   func(...string) testkit.Reply
	failed           testkit.Reply
	brokenMid        testkit.Reply
	path, keyHeader  string
	credential       string
}

func dialects() []dialect {
	return []dialect{
		{
			name: "openai",
			open: func(p *testkit.Provider) llm.Generator {
				return NewOpenAI(Config{BaseURL: p.URL() + "/v1/", APIKey: key, HTTPClient: p.Client(), DefaultModel: "dm"})
			},
			json: testkit.ChatJSON, jsonCanary: testkit.ChatJSONCanary, sse: testkit.ChatSSE, sseCanary: testkit.ChatSSECanary,
			failed:    testkit.ChatError(429, "requests", "rate_limit_exceeded", "slow down "+key+" sk-abcdefghijklmn"),
			brokenMid: testkit.ChatSSEError("boom "+key, "par"),
			path:      "/v1/chat/completions", keyHeader: "Authorization", credential: "Bearer " + key,
		},
		{
			name: "anthropic",
			open: func(p *testkit.Provider) llm.Generator {
				return NewAnthropic(Config{BaseURL: p.URL(), APIKey: key, HTTPClient: p.Client(), DefaultModel: "dm"})
			},
			json: testkit.MessagesJSON, jsonCanary: testkit.MessagesJSONCanary, sse: testkit.MessagesSSE, sseCanary: testkit.MessagesSSECanary,
			failed:    testkit.MessagesError(429, "rate_limit_exceeded", "slow down "+key+" sk-abcdefghijklmn"),
			brokenMid: testkit.MessagesSSEError("overloaded_error", "boom "+key, "par"),
			path:      "/v1/messages", keyHeader: "X-Api-Key", credential: key,
		},
	}
}

// each runs a test for both dialects.
func each(t *testing.T, f func(t *testing.T, d dialect, p *testkit.Provider, g llm.Generator)) {
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			p := testkit.NewProvider(t)
			f(t, d, p, d.open(p))
		})
	}
}

func ask() llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
}

func stream(ctx context.Context, g llm.Generator, req llm.Request) (llm.Response, []string, error) {
	var deltas []string
	res, err := g.Stream(ctx, req, func(d string) error { deltas = append(deltas, d); return nil })
	return res, deltas, err
}

func TestGenerateReadsTheVisibleAnswer(t *testing.T) {
	each(t, func(t *testing.T, d dialect, p *testkit.Provider, g llm.Generator) {
		p.Enqueue(d.json("héllo <b>"), d.jsonCanary("hi"))
		got, err := g.Generate(t.Context(), ask())
		if err != nil {
			t.Fatal(err)
		}
		want := llm.Response{Text: "héllo <b>", Model: testkit.Model, InputTokens: testkit.InputTokens, OutputTokens: testkit.OutputTokens, FinishReason: llm.FinishStop}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if got, err = g.Generate(t.Context(), ask()); err != nil || got.Text != "hi" || got.FinishReason != llm.FinishTool {
			t.Errorf("%+v, %v", got, err)
		}
		r := p.Requests()[0]
		if r.Target != d.path || r.Header.Get(d.keyHeader) != d.credential || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v", r.Target, r.Header)
		}
	})
}

func TestStreamDeliversDeltasUnderAnySplit(t *testing.T) {
	each(t, func(t *testing.T, d dialect, p *testkit.Provider, g llm.Generator) {
		whole := d.sse("Hél", "lo", " → \n")
		for _, r := range []testkit.Reply{whole, whole.EveryByte(), whole.Split(7, 1, 100), whole.Split(), d.sseCanary("Hél", "lo", " → \n").Split(13)} {
			p.Enqueue(r)
			got, deltas, err := stream(t.Context(), g, ask())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"Hél", "lo", " → \n"}, deltas); diff != "" {
				t.Error(diff)
			}
			if got.Text != "Héllo → \n" || got.Model != testkit.Model || got.InputTokens != testkit.InputTokens || got.OutputTokens != testkit.OutputTokens {
				t.Errorf("%+v", got)
			}
		}
	})
}

// The first delta arrives while the provider still holds the second back.
func TestStreamIsNotBuffered(t *testing.T) {
	each(t, func(t *testing.T, d dialect, p *testkit.Provider, g llm.Generator) {
		raw, gate := d.sse("one", "two").Raw(), make(chan struct{})
		cut := strings.Index(raw, `two`) - 200
		cut = strings.Index(raw[cut:], "\n\n") + cut + 2
		p.Enqueue(testkit.SSE(raw[:cut]).Wait(gate).Then(raw[cut:]))
		var deltas []string
		_, err := g.Stream(t.Context(), ask(), func(s string) error {
			if deltas = append(deltas, s); len(deltas) == 1 {
				close(gate)
			}
			return nil
		})
		if diff := cmp.Diff([]string{"one", "two"}, deltas); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
}

func TestStreamFallsBackToAJSONAnswer(t *testing.T) {
	each(t, func(t *testing.T, d dialect, p *testkit.Provider, g llm.Generator) {
		p.Enqueue(d.json("whole"))
		got, deltas, err := stream(t.Context(), g, ask())
		if err != nil || got.Text != "whole" || len(deltas) != 1 {
			t.Errorf("%+v, %q, %v", got, deltas, err)
		}
	})
}

func TestErrorsAreNormalisedAndMasked(t *testing.T) {
	each(t, func(t *testing.T, d dialect, p *testkit.Provider, g llm.Generator) {
		p.Enqueue(d.failed, d.brokenMid)
		_, err := g.Generate(t.Context(), ask())
		e := asError(t, err)
		if e.Status != 429 || e.Code != "rate_limit_exceeded" || e.Provider != d.name || !e.Temporary() {
			t.Errorf("%+v", e)
		}
		noSecret(t, err)
		got, _, err := stream(t.Context(), g, ask())
		e = asError(t, err)
		if e.Status != 200 || got.Text != "par" || got.FinishReason != "" || !strings.Contains(e.Message, "boom") {
			t.Errorf("%+v, %+v", got, e)
		}
		noSecret(t, err)
	})
}

func asError(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) || !errors.Is(err, dhruva.ErrUnavailable) {
		t.Fatalf("%T %v", err, err)
	}
	return e
}

func noSecret(t *testing.T, err error) {
	t.Helper()
	for _, s := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		if strings.Contains(s, key) || strings.Contains(s, "abcdefghijklmn") {
			t.Errorf("a secret shows: %s", s)
		}
	}
}

// Whatever a provider answers, the failure is an llm.Error with the right code
// and nothing of the raw body when it was not an error object.
func TestOddAnswers(t *testing.T) {
	cases := map[string]struct {
		reply testkit.Reply
		code  string
		on    string
	}{
		"html":            {testkit.Static(502, "text/html", "<html>CANARY-raw</html>"), "", ""},
		"empty":           {testkit.Status(500, ""), "", ""},
		"error string":    {testkit.Status(400, `{"error":"model not found"}`), "error", ""},
		"numeric code":    {testkit.Status(402, `{"error":{"code":402,"message":"credits"}}`), "402", ""},
		"detail":          {testkit.Status(422, `{"detail":"wrong"}`), "", ""},
		"redirect":        {testkit.Status(307, `{}`).Header("Location", "/elsewhere"), "", ""},
		"200 not JSON":    {testkit.JSON("CANARY-raw"), "malformed", ""},
		"200 with error":  {testkit.JSON(`{"error":{"message":"no","type":"server_error","code":null}}`), "server_error", ""},
		"200 empty":       {testkit.JSON(`{}`), "malformed", ""},
		"closed in body":  {testkit.JSON(`{"choi`).Close(), "truncated", ""},
		"closed at once":  {testkit.JSON("").Then().Close(), "truncated", ""},
		"stream garbage":  {testkit.SSE("data: CANARY-raw\n\n"), "malformed", "stream"},
		"stream cut":      {testkit.SSE("data: {}\n\n"), "truncated", "stream"},
		"stream dropped":  {testkit.SSE("data: {}\n\n").Close(), "truncated", "stream"},
		"stream is empty": {testkit.SSE(""), "truncated", "stream"},
	}
	each(t, func(t *testing.T, d dialect, p *testkit.Provider, g llm.Generator) {
		for name, c := range cases {
			p.Enqueue(c.reply)
			var err error
			if c.on == "stream" {
				_, _, err = stream(t.Context(), g, ask())
			} else {
				_, err = g.Generate(t.Context(), ask())
			}
			e := asError(t, err)
			if e.Code != c.code || strings.Contains(err.Error(), "CANARY") || e.Message == "" {
				t.Errorf("%s: %#v", name, e)
			}
		}
		if len(p.Requests()) != len(cases) {
			t.Errorf("%d requests for %d calls: something was retried or followed", len(p.Requests()), len(cases))
		}
	})
}

func TestCancelAndDeadline(t *testing.T) {
	each(t, func(t *testing.T, d dialect, p *testkit.Provider, g llm.Generator) {
		p.Enqueue(d.json("x").After(make(chan struct{})))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { _, err := g.Generate(ctx, ask()); done <- err }()
		held := p.Await(1)[0]
		cancel()
		err := <-done
		if e := asError(t, err); e.Code != "canceled" || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v", e)
		}
		<-held.Gone
		ctx, cancel = context.WithDeadline(t.Context(), testkit.Epoch.AddDate(-1, 0, 0))
		defer cancel()
		if _, err := g.Generate(ctx, ask()); !errors.Is(err, context.DeadlineExceeded) || asError(t, err).Code != "timeout" {
			t.Error(err)
		}
	})
}

func TestEmitErrorStopsAndComesBackAsItIs(t *testing.T) {
	each(t, func(t *testing.T, d dialect, p *testkit.Provider, g llm.Generator) {
		stop := errors.New("stop")
		p.Enqueue(testkit.SSE(d.sse("a", "b").Raw()).Wait(make(chan struct{})))
		res, err := g.Stream(t.Context(), ask(), func(string) error { return stop })
		if err != stop || res.Text != "a" {
			t.Errorf("%+v, %v", res, err)
		}
		<-p.Await(1)[0].Gone
	})
}

func TestJSONIsPromisedOrFails(t *testing.T) {
	each(t, func(t *testing.T, d dialect, p *testkit.Provider, g llm.Generator) {
		req := ask()
		req.JSON = true
		for in, want := range map[string]string{`{"a":1}`: `{"a":1}`, "```json\n{\"a\":1}\n```": `{"a":1}`, "\n[1]\n": "[1]",
			"Here it is:\n```json\n{\"a\":1}\n```\nAnything else?": `{"a":1}`} {
			p.Enqueue(d.json(in))
			if got, err := g.Generate(t.Context(), req); err != nil || got.Text != want {
				t.Errorf("%q: %q, %v", in, got.Text, err)
			}
		}
		p.Enqueue(d.json("Sure! {"))
		if _, err := g.Generate(t.Context(), req); asError(t, err).Code != "not_json" {
			t.Error(err)
		}
	})
}

func TestRequestBodies(t *testing.T) {
	p := testkit.NewProvider(t)
	temp := 0.0
	req := llm.Request{
		Messages:  []llm.Message{{Role: llm.RoleSystem, Content: "s1"}, {Role: llm.RoleUser, Content: "<u>"}, {Role: llm.RoleSystem, Content: "s2"}, {Role: llm.RoleAssistant, Content: "a"}, {Role: llm.RoleUser, Content: "u2"}},
		MaxTokens: 5, Temperature: &temp, Schema: json.RawMessage(`{"type":"object"}`), SchemaName: "draft",
	}
	chat := `"messages":[{"role":"system","content":"s1"},{"role":"user","content":"<u>"},{"role":"system","content":"s2"},{"role":"assistant","content":"a"},{"role":"user","content":"u2"}]`
	format := `"response_format":{"type":"json_schema","json_schema":{"name":"draft","schema":{"type":"object"}}}`
	openai := NewOpenAI(Config{BaseURL: p.URL(), HTTPClient: p.Client(), DefaultModel: "dm"})
	generic := NewOpenAI(Config{BaseURL: p.URL(), HTTPClient: p.Client(), DefaultModel: "dm", Name: "generic"})
	anthropic := NewAnthropic(Config{BaseURL: p.URL() + "/v1", HTTPClient: p.Client()})
	named := req
	named.Model = "m"
	plain := llm.Request{Model: "m", Messages: req.Messages[1:2], JSON: true}
	for _, c := range []struct {
		g    llm.Generator
		req  llm.Request
		sse  bool
		want string
	}{
		{openai, req, false, `{"model":"dm",` + chat + `,"max_completion_tokens":5,"temperature":0,` + format + `}`},
		{generic, req, true, `{"model":"dm",` + chat + `,"max_tokens":5,"temperature":0,` + format + `,"stream":true,"stream_options":{"include_usage":true}}`},
		{openai, plain, false, `{"model":"m","messages":[{"role":"user","content":"<u>"}],"response_format":{"type":"json_object"}}`},
		{anthropic, named, true, `{"model":"m","max_tokens":5,"system":"s1\n\ns2","messages":[{"role":"user","content":"<u>"},{"role":"assistant","content":"a"},{"role":"user","content":"u2"}],"temperature":0,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},"stream":true}`},
		{anthropic, plain, false, `{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":"<u>"}]}`},
	} {
		// The mock's "ok" is not the JSON that was asked for: only what was
		// sent matters here.
		if c.sse {
			_, _, _ = stream(t.Context(), c.g, c.req)
		} else {
			_, _ = c.g.Generate(t.Context(), c.req)
		}
		last := p.Last()
		if diff := cmp.Diff(c.want, string(last.Body)); diff != "" {
			t.Error(diff)
		}
		if last.Header.Get("Authorization")+last.Header.Get("X-Api-Key") != "" {
			t.Error("a credential without a key")
		}
	}
	if got := p.Last(); got.Target != "/v1/messages" || got.Header.Get("anthropic-version") != "2023-06-01" {
		t.Errorf("%s %v", got.Target, got.Header)
	}
}

func TestChatVariants(t *testing.T) {
	p := testkit.NewProvider(t)
	g := NewOpenAI(Config{BaseURL: p.URL(), HTTPClient: p.Client(), Name: "generic"})
	for name, c := range map[string]struct {
		reply  testkit.Reply
		text   string
		finish llm.Finish
	}{
		"thinking inline":    {testkit.ChatSSEThink("Hi"), "Hi", llm.FinishStop},
		"array content":      {testkit.SSE(`data: {"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":"CANARY"},{"type":"text","text":"Hi"}]},"finish_reason":"length"}]}` + "\n\n"), "Hi", llm.FinishLength},
		"second choice":      {testkit.SSE(`data: {"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}`), "Hi", llm.FinishStop},
		"no choices, extras": {testkit.SSE(": PROCESSING\n\n", `data: {"choices":[],"prompt_filter_results":[]}`+"\n\n", `data: {"id":"x"}`+"\n\n", testkit.ChatSSE("Hi").Raw()), "Hi", llm.FinishStop},
		"refusal":            {testkit.SSE(`data: {"choices":[{"index":0,"delta":{"refusal":"CANARY"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"), "", llm.FinishFilter},
		"done, no finish":    {testkit.SSE(`data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}` + "\n\ndata: [DONE]\n\n"), "Hi", llm.FinishOther},
	} {
		p.Enqueue(c.reply)
		got, _, err := stream(t.Context(), g, ask())
		if err != nil || got.Text != c.text || got.FinishReason != c.finish {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestNothingPrintsTheKey(t *testing.T) {
	c := Config{Name: "openai", BaseURL: "https://api.example.com", APIKey: key}
	asJSON, err := json.Marshal(struct{ C Config }{c})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", c)
	shown := []string{string(asJSON), log.String()}
	for _, v := range []any{c, &c, []Config{c}, NewOpenAI(c), *NewOpenAI(c), NewAnthropic(c), *NewAnthropic(c)} {
		shown = append(shown, fmt.Sprintf("%v %+v %#v %s", v, v, v, v))
	}
	for _, s := range shown {
		if strings.Contains(s, key) {
			t.Errorf("the key shows: %s", s)
		}
	}
}

// Without a client of its own a remote refuses loopback: the strict policy is
// the default, and its refusal reads well.
func TestDefaultClientIsTheStrictOne(t *testing.T) {
	_, err := NewOpenAI(Config{BaseURL: "http://127.0.0.1:9"}).Generate(t.Context(), ask())
	if !errors.Is(err, dhruva.ErrUnavailable) || !errors.Is(err, dhruva.ErrInvalid) {
		t.Fatal(err)
	}
	p := testkit.NewProvider(t)
	g := NewOpenAI(Config{BaseURL: p.URL() + "/v1", HTTPClient: egress.Client(egress.Policy{AllowPrivate: true})})
	if got, err := g.Generate(t.Context(), ask()); err != nil || got.Text != "ok" {
		t.Fatal(got, err)
	}
	if p.Last().Header.Get("Accept-Encoding") != "" {
		t.Error("a content coding was asked for that nothing decodes")
	}
}

// The caller's client may follow redirects; a remote never does.
func TestKeyDoesNotFollowARedirect(t *testing.T) {
	thief := testkit.NewProvider(t)
	p := testkit.NewProvider(t)
	p.Enqueue(testkit.Status(308, `{}`).Header("Location", thief.URL()+"/v1/messages"))
	g := NewAnthropic(Config{BaseURL: p.URL(), APIKey: key, HTTPClient: &http.Client{}})
	if _, err := g.Generate(t.Context(), ask()); asError(t, err).Status != 308 || len(thief.Requests()) != 0 {
		t.Fatal(err, thief.Requests())
	}
}
