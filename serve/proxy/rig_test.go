package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/egress"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/memory"
)

const (
	dhruvaKey   = "dhr_live_CANARY-DHRUVA-KEY"
	providerKey = "sk-CANARY-PROVIDER-KEY"
)

// fakeMemory injects a block when inject is set and records captures.
type fakeMemory struct {
	mu       sync.Mutex
	prepared []memory.PrepareInput
	events   []string // capturing, captured, done, in order
	captures chan memory.CaptureInput

	inject  string
	prepare func(context.Context, memory.PrepareInput) (memory.Prepared, error)
	capture func(context.Context, memory.CaptureInput) error
}

func newFakeMemory() *fakeMemory {
	return &fakeMemory{captures: make(chan memory.CaptureInput, 256)}
}

func (m *fakeMemory) note(event string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, event)
}

func (m *fakeMemory) seen() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.events...)
}

func (m *fakeMemory) Prepare(ctx context.Context, in memory.PrepareInput) (memory.Prepared, error) {
	m.mu.Lock()
	m.prepared = append(m.prepared, in)
	m.mu.Unlock()
	if m.prepare != nil {
		return m.prepare(ctx, in)
	}
	p := memory.Prepared{Mode: in.Mode, Capture: in.Mode != memory.ModeOff, Receipt: dhruva.Receipt{
		ID: "rcp-1", Memory: dhruva.MemoryOff, Continuity: dhruva.ContinuityNotApplicable,
	}}
	if m.inject != "" && in.Projection.Injectable >= 0 {
		p.Plan.Edits = []dhruva.Edit{{Kind: dhruva.EditInject, Message: in.Projection.Injectable, Text: m.inject}}
		p.Receipt.Memory = dhruva.MemoryRecalled
	}
	return p, nil
}

func (m *fakeMemory) Capturing(memory.Prepared) func() {
	m.note("capturing")
	return func() { m.note("done") }
}

func (m *fakeMemory) Capture(ctx context.Context, in memory.CaptureInput) (dhruva.Receipt, error) {
	m.note("captured")
	m.captures <- in
	if m.capture != nil {
		return in.Prepared.Receipt, m.capture(ctx, in)
	}
	return in.Prepared.Receipt, nil
}

// fakeKeys knows a few keys by name.
type fakeKeys map[string]dhruva.Principal

func (k fakeKeys) Authenticate(_ context.Context, credential string) (dhruva.Principal, error) {
	if credential == "dhr_live_down" {
		return dhruva.Principal{}, dhruva.ErrUnavailable
	}
	p, ok := k[credential]
	if !ok {
		return dhruva.Principal{}, dhruva.ErrUnauthenticated
	}
	return p, nil
}

func everything() []dhruva.KeyScope {
	return []dhruva.KeyScope{dhruva.ProxyUse, dhruva.MemoryRead, dhruva.MemoryWrite, dhruva.ReceiptRead}
}

// rig is a proxy between a client and a scripted provider.
type rig struct {
	*testing.T
	provider *testkit.Provider
	memory   *fakeMemory
	handler  *Handler
	server   *httptest.Server
}

func newRig(t *testing.T) *rig {
	m := newFakeMemory()
	r := newRigOn(t, m)
	r.memory = m
	return r
}

func newRigOn(t *testing.T, m Memory) *rig {
	t.Helper()
	r := &rig{T: t, provider: testkit.NewProvider(t)}
	transport := egress.New(egress.Policy{AllowPrivate: true})
	t.Cleanup(transport.CloseIdleConnections)
	upstreams := map[string]Upstream{
		"openai":    {Kind: KindOpenAI, BaseURL: r.url("/v1"), Key: auth.NewSecret(providerKey), Transport: transport},
		"anthropic": {Kind: KindAnthropic, BaseURL: r.url(""), Key: auth.NewSecret(providerKey), Transport: transport},
		"generic":   {Kind: KindOpenAI, BaseURL: r.url("/deep/base/v1/"), Transport: transport},
		"keyless":   {Kind: KindOpenAI, BaseURL: r.url("/v1"), NeedsKey: true, Transport: transport},
		"dead":      {Kind: KindOpenAI, BaseURL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Transport: transport},
		"echo":      {Kind: KindEcho, Transport: teapot{}},
	}
	r.handler = New(Config{
		Memory: m,
		Keys: fakeKeys{
			dhruvaKey:         {Tenant: "t", ID: "mira", Key: "k1", Scopes: everything()},
			"dhr_live_none":   {Tenant: "t", ID: "nobody", Key: "k2", Scopes: []dhruva.KeyScope{dhruva.MemoryRead}},
			"dhr_live_bound":  {Tenant: "t", ID: "bound", Key: "k3", Scopes: everything(), Provider: "generic"},
			"dhr_test_tester": {Tenant: "t", ID: "tester", Key: "k4", Scopes: everything(), Test: true},
			"dhr_live_other":  {Tenant: "t", ID: "other", Key: "k5", Scopes: everything()},
			"dhr_live_reader": {Tenant: "t", ID: "reader", Key: "k6", Scopes: []dhruva.KeyScope{dhruva.ProxyUse, dhruva.MemoryRead}},
		},
		Upstreams: func(name string) (Upstream, error) {
			u, ok := upstreams[name]
			if !ok {
				return u, dhruva.ErrNotFound
			}
			return u, nil
		},
	})
	r.server = httptest.NewServer(r.handler)
	t.Cleanup(r.drain)
	t.Cleanup(r.server.Close)
	return r
}

func (r *rig) url(path string) *url.URL {
	u, err := url.Parse(r.provider.URL() + path)
	if err != nil {
		r.Fatal(err)
	}
	return u
}

func (r *rig) drain() {
	if err := r.handler.Drain(context.Background()); err != nil {
		r.Error(err)
	}
}

// captured is what the next capture was given.
func (r *rig) captured() memory.CaptureInput { return <-r.memory.captures }

// teapot is a provider in this process.
type teapot struct{}

func (teapot) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}, "X-Path": {r.URL.Path}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// request is a client's call. Headers are "Name: value".
func (r *rig) request(method, target, body string, headers ...string) *http.Request {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, r.server.URL+target, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+dhruvaKey)
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if value == "-" {
			req.Header.Del(name)
			continue
		}
		if http.CanonicalHeaderKey(name) == "Authorization" {
			req.Header.Del(name)
		}
		req.Header.Add(name, value)
	}
	return req
}

// client does not decompress and does not follow redirects.
func (r *rig) do(req *http.Request) *http.Response {
	r.Helper()
	c := http.Client{
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := c.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { res.Body.Close() })
	return res
}

func (r *rig) call(target, body string, headers ...string) (*http.Response, string) {
	r.Helper()
	res := r.do(r.request(http.MethodPost, target, body, headers...))
	return res, r.read(res)
}

func (r *rig) read(res *http.Response) string {
	r.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatal(err)
	}
	return string(b)
}

func digest(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// undo takes the splices out of a forwarded body again.
func undo(body []byte, edits []dhruva.Splice) string {
	out := append([]byte(nil), body...)
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		out = append(out[:e.Offset:e.Offset], out[e.Offset+e.Len:]...)
	}
	return string(out)
}

// dialectCase is what the three dialects have in common in a test.
type dialectCase struct {
	name, path       string
	body             string // odd, and its last message a human turn
	json, sse        testkit.Reply
	jsonCanary       testkit.Reply
	sseCanary        testkit.Reply
	providerError    testkit.Reply
	question, answer string
}

func dialects() []dialectCase {
	// What encoding/json would change: escapes, key order, numbers, duplicates
	// of names that decide nothing, separators, spaces, a trailing newline.
	odd := `"x_odd":{"b":1e400,"a":-0.0,"c":9223372036854775808,"d":"\u003c\/<>&` + "\u2028" + `\ud83d\ude00 é","b":  [1, 2 ,{}]},"x_odd":null,`
	return []dialectCase{
		{
			name: "chat", path: "/v1/chat/completions", question: "what <colour> & \"why\"?", answer: "blue – 青い",
			body: `{ ` + odd + `"model":"m","messages":[{"role":"system","content":"be \u0062rief"},{"role":"user","content":"what <colour> & \"why\"?"}]}` + "\n",
			json: testkit.ChatJSON("blue – 青い"), sse: testkit.ChatSSE("blue", " – ", "青い"),
			jsonCanary: testkit.ChatJSONCanary("blue – 青い"), sseCanary: testkit.ChatSSECanary("blue", " – ", "青い"),
			providerError: testkit.ChatError(429, "rate_limit_error", "rate_limited", "slow down"),
		},
		{
			name: "responses", path: "/v1/responses", question: "what <colour> & \"why\"?", answer: "blue – 青い",
			body: `{ ` + odd + `"model":"m","store":false,"input":[{"role":"developer","content":"be \u0062rief"},{"type":"message","role":"user","content":[{"type":"input_text","text":"what <colour> & \"why\"?"}]}]}` + "\n",
			json: testkit.ResponsesJSON("blue – 青い"), sse: testkit.ResponsesSSE("blue", " – ", "青い"),
			jsonCanary: testkit.ResponsesJSONCanary("blue – 青い"), sseCanary: testkit.ResponsesSSECanary("blue", " – ", "青い"),
			providerError: testkit.ChatError(500, "server_error", "boom", "sorry"),
		},
		{
			name: "messages", path: "/v1/messages", question: "what <colour> & \"why\"?", answer: "blue – 青い",
			body: `{ ` + odd + `"model":"m","max_tokens":99,"system":[{"type":"text","text":"be \u0062rief","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"what <colour> & \"why\"?","cache_control":{"type":"ephemeral"}}]}]}` + "\n",
			json: testkit.MessagesJSON("blue – 青い"), sse: testkit.MessagesSSE("blue", " – ", "青い"),
			jsonCanary: testkit.MessagesJSONCanary("blue – 青い"), sseCanary: testkit.MessagesSSECanary("blue", " – ", "青い"),
			providerError: testkit.MessagesError(529, "overloaded_error", "busy"),
		},
	}
}

func eachDialect(t *testing.T, f func(t *testing.T, d dialectCase)) {
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) { f(t, d) })
	}
}

func header(name string, value any) string { return fmt.Sprintf("%s: %v", name, value) }
