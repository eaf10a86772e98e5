package proxy

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/wire"
	"github.com/google/go-cmp/cmp"
)

func TestI1_WithoutMemoryTheUpstreamBodyIsTheClients(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialectCase) {
		r := newRig(t)
		for _, mode := range []string{"off", "ingest", "write", "both"} { // nothing to inject
			_, _ = r.call(d.path, d.body, header("X-Dhruva-Memory", mode))
			got := r.provider.Last()
			if digest(got.Body) != digest([]byte(d.body)) {
				t.Errorf("%s: %s", mode, cmp.Diff(d.body, string(got.Body)))
			}
			if got.ContentLength != int64(len(d.body)) {
				t.Errorf("%s: length %d", mode, got.ContentLength)
			}
			receipt := r.captured().Prepared.Receipt
			if receipt.Bytes.ClientBody != "" || len(receipt.Edits) != 0 || receipt.Bytes.In != int64(len(d.body)) || receipt.Bytes.Forwarded != receipt.Bytes.In {
				t.Errorf("%s: receipt %+v", mode, receipt.Bytes)
			}
		}
	})
}

// R9, M25: whatever is spliced in, the rest of the body is as it was written.
func TestR9_AnEditLeavesTheRestAlone(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialectCase) {
		r := newRig(t)
		r.memory.inject = "recalled <é> \"x\"\n\u2028 \\ end"
		_, _ = r.call(d.path, d.body)
		got := r.provider.Last()
		receipt := r.captured().Prepared.Receipt
		if len(receipt.Edits) != 1 || !strings.Contains(string(got.Body), `recalled <é>`) {
			t.Fatalf("edits %+v in %s", receipt.Edits, got.Body)
		}
		if diff := cmp.Diff(d.body, undo(got.Body, receipt.Edits)); diff != "" {
			t.Error(diff)
		}
		want := dhruva.ByteAccount{
			In: int64(len(d.body)), Forwarded: int64(len(got.Body)), Out: receipt.Bytes.Out,
			ClientBody: digest([]byte(d.body)), ForwardedBody: digest(got.Body),
		}
		if diff := cmp.Diff(want, receipt.Bytes); diff != "" {
			t.Error(diff)
		}
		if got.ContentLength != int64(len(got.Body)) {
			t.Errorf("length %d for %d bytes", got.ContentLength, len(got.Body))
		}
	})
}

// M24-M30: no translation, no reordering; ids, reasoning, thinking and tool
// state reach the client as the provider wrote them, however they are cut.
func TestM26_ResponseBytesAreTheProviders(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialectCase) {
		r := newRig(t)
		r.memory.inject = "recalled"
		random := rand.New(rand.NewPCG(1, 2))
		for _, whole := range []testkit.Reply{d.json, d.sse, d.jsonCanary, d.sseCanary, d.providerError} {
			replies := []testkit.Reply{whole, whole.EveryByte()}
			for range 5 {
				sizes := make([]int, 40)
				for i := range sizes {
					sizes[i] = 1 + random.IntN(90)
				}
				replies = append(replies, whole.Split(sizes...))
			}
			for i, reply := range replies {
				mode := []string{"off", "recall", "ingest", "both"}[i%4]
				r.provider.Enqueue(reply)
				res, got := r.call(d.path, d.body, header("X-Dhruva-Memory", mode))
				if diff := cmp.Diff(whole.Raw(), got); diff != "" {
					t.Fatalf("%s, cut %d: %s", mode, i, diff)
				}
				if out := r.captured().Prepared.Receipt.Bytes.Out; out != int64(len(got)) {
					t.Fatalf("%d bytes in the receipt, %d relayed", out, len(got))
				}
				if res.Header.Get("Content-Type") == "" {
					t.Fatal("content type lost")
				}
			}
		}
	})
}

// M32-M39, R15: only visible text is observed, exact under every cut.
func TestM32_OnlyVisibleTextIsCaptured(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialectCase) {
		r := newRig(t)
		for _, reply := range []testkit.Reply{d.jsonCanary, d.sseCanary, d.sseCanary.EveryByte(), d.sseCanary.Split(7, 3, 11), d.sse.EveryByte()} {
			r.provider.Enqueue(reply)
			_, _ = r.call(d.path, d.body)
			got := r.captured()
			if diff := cmp.Diff(d.answer, got.Observation.Text); diff != "" {
				t.Error(diff)
			}
			if got.Observation.Terminal != dhruva.TerminalCompleted || got.Observation.InputTokens != testkit.InputTokens {
				t.Errorf("%+v", got.Observation)
			}
			if last := got.Projection.Messages[got.Projection.LastHuman()]; last.Text != d.question {
				t.Errorf("question %q", last.Text)
			}
		}
	})
}

func TestM25_UnknownHeadersPassBothWays(t *testing.T) {
	r := newRig(t)
	r.provider.Enqueue(testkit.ChatJSON("ok").Header("X-New-Thing", "a", "b").Header("Openai-Processing-Ms", "7").
		Header("X-Request-Id", "req_up").Header("X-Codex-Turn-State", "sticky").Header("Retry-After", "3"))
	res, _ := r.call("/v1/chat/completions", dialects()[0].body, "X-Future: 1", "X-Future: 2", "OpenAI-Organization: org",
		"X-Stainless-Lang: js", "User-Agent: claude-cli/1.0", "X-App: cli", "anthropic-beta: a,b", "anthropic-version: 2026-10-21",
		"x-codex-turn-state: s", "session_id: abc", "Accept-Encoding: zstd, br", "Idempotency-Key: i1", "Origin: http://x")
	up := r.provider.Last().Header
	for name, want := range map[string][]string{ // R21
		"X-Future": {"1", "2"}, "Openai-Organization": {"org"}, "X-Stainless-Lang": {"js"}, "User-Agent": {"claude-cli/1.0"},
		"X-App": {"cli"}, "Anthropic-Beta": {"a,b"}, "Anthropic-Version": {"2026-10-21"}, "X-Codex-Turn-State": {"s"},
		"Session_id": {"abc"}, "Accept-Encoding": {"zstd, br"}, "Idempotency-Key": {"i1"}, "Origin": {"http://x"},
	} {
		if diff := cmp.Diff(want, up[name]); diff != "" {
			t.Errorf("upstream %s: %s", name, diff)
		}
	}
	for name, want := range map[string][]string{
		"X-New-Thing": {"a", "b"}, "Openai-Processing-Ms": {"7"}, "X-Request-Id": {"req_up"}, "X-Codex-Turn-State": {"sticky"}, "Retry-After": {"3"},
	} {
		if diff := cmp.Diff(want, res.Header[name]); diff != "" {
			t.Errorf("client %s: %s", name, diff)
		}
	}
	if got := r.captured(); got.Prepared.Receipt.Upstream.RequestID != "req_up" || got.Hint != "codex:abc" {
		t.Errorf("%+v, hint %q", got.Prepared.Receipt.Upstream, got.Hint)
	}
}

// The client's headers reach the provider and nothing is added to them but
// the provider's credential; the answer gains only the five of ours, and the
// Date that HTTP asks of whoever forwards an answer without one.
func TestNothingElseIsAdded(t *testing.T) {
	r := newRig(t)
	r.provider.Enqueue(testkit.ChatJSON("ok").Header("Content-Type").Header("Date"))
	req := r.request(http.MethodPost, "/v1/chat/completions", dialects()[0].body, "Content-Type: -")
	req.Header.Set("User-Agent", "") // none is sent
	res := r.do(req)
	_ = r.read(res)
	var up []string
	for name := range r.provider.Last().Header {
		up = append(up, name)
	}
	slices.Sort(up)
	if diff := cmp.Diff([]string{"Authorization", "Content-Length"}, up); diff != "" {
		t.Error(diff)
	}
	var down []string
	for name := range res.Header {
		down = append(down, name)
	}
	slices.Sort(down)
	want := []string{"Content-Length", "Date", "X-Dhruva-Continuity-State", "X-Dhruva-Memory-State", "X-Dhruva-Overhead-Us", "X-Dhruva-Receipt-Id", "X-Dhruva-Request-Id"}
	if diff := cmp.Diff(want, down); diff != "" {
		t.Error(diff)
	}
}

func TestHeadersThatAreStripped(t *testing.T) {
	r := newRig(t)
	r.provider.Enqueue(testkit.ChatJSON("ok").Header("Set-Cookie", "CANARY=1").Header("X-Dhruva-Memory-State", "CANARY").
		Header("X-Dhruva-Else", "CANARY").Header("Connection", "X-Hop").Header("X-Hop", "CANARY").Header("Keep-Alive", "CANARY"))
	res, _ := r.call("/v1/chat/completions", dialects()[0].body,
		"Cookie: CANARY=1", "Forwarded: for=CANARY", "X-Forwarded-For: CANARY", "X-Forwarded-Proto: CANARY", "X-Forwarded-Prefix: CANARY",
		"X-Real-Ip: CANARY", "CF-Connecting-IP: CANARY", "Cf-Ray: CANARY", "Proxy-Authorization: CANARY", "Proxy-Thing: CANARY",
		"Connection: X-Secret-Hop", "X-Secret-Hop: CANARY", "Keep-Alive: CANARY", "Te: CANARY",
		"X-Dhruva-Conversation: CANARY", "X-Dhruva-Space: CANARY", "X-Dhruva-Memory: both", "Api-Key: "+dhruvaKey)
	up := r.provider.Last()
	for name, values := range up.Header {
		if strings.Contains(strings.Join(values, ","), "CANARY") && name != "Authorization" || strings.HasPrefix(name, "X-Dhruva") {
			t.Errorf("upstream got %s: %v", name, values)
		}
	}
	if got := up.Header["Authorization"]; len(got) != 1 || got[0] != "Bearer "+providerKey {
		t.Errorf("authorization %v", got)
	}
	for name, values := range res.Header {
		if strings.Contains(strings.Join(values, ","), "CANARY") {
			t.Errorf("client got %s: %v", name, values)
		}
	}
	if got := res.Header.Values("X-Dhruva-Memory-State"); len(got) != 1 {
		t.Errorf("memory state %v", got)
	}
}

func TestTheProvidersKeyGoesInItsOwnForm(t *testing.T) {
	r := newRig(t)
	cases := []struct {
		path     string
		headers  []string
		bearer   string
		apiKey   string
		upstream string // path
	}{
		{"/v1/chat/completions", nil, "Bearer " + providerKey, "", "/v1/chat/completions"},
		{"/v1/messages?beta=true", nil, "", providerKey, "/v1/messages"},
		{"/v1/messages", []string{"Authorization: -", "X-Api-Key: " + dhruvaKey}, "", providerKey, "/v1/messages"},
		{"/v1/responses", []string{"X-Dhruva-Provider: generic"}, "", "", "/deep/base/v1/responses"},
		{"/v1/messages", []string{"Authorization: -", "X-Dhruva-Key: " + dhruvaKey, "X-Api-Key: sk-mine"}, "", "sk-mine", "/v1/messages"},
		{"/v1/messages", []string{"Authorization: Bearer oauth-mine", "X-Dhruva-Key: " + dhruvaKey}, "Bearer oauth-mine", "", "/v1/messages"},
		{"/v1/chat/completions", []string{"Authorization: Bearer sk-mine", "X-Dhruva-Key: " + dhruvaKey, "X-Dhruva-Provider: keyless"}, "Bearer sk-mine", "", "/v1/chat/completions"},
		{"/v1/chat/completions", []string{"Authorization: Bearer dhr_live_bound"}, "", "", "/deep/base/v1/chat/completions"},
	}
	for _, c := range cases {
		res, body := r.call(c.path, `{"model":"m","messages":[{"role":"user","content":"hi"}],"input":"x"}`, c.headers...)
		if res.StatusCode == http.StatusBadGateway || res.StatusCode == http.StatusUnauthorized {
			t.Fatalf("%s %v: %d %s", c.path, c.headers, res.StatusCode, body)
		}
		up := r.provider.Last()
		if up.Header.Get("Authorization") != c.bearer || up.Header.Get("X-Api-Key") != c.apiKey || up.Path() != c.upstream {
			t.Errorf("%s %v: authorization %q, x-api-key %q, path %q", c.path, c.headers, up.Header.Get("Authorization"), up.Header.Get("X-Api-Key"), up.Path())
		}
		if strings.Contains(strings.Join(up.Header["X-Dhruva-Key"], ""), "dhr") {
			t.Error("our key left the process")
		}
	}
}

func TestQueryIsKeptByteForByte(t *testing.T) {
	r := newRig(t)
	const query = "?beta=true&x=%2F;y=a+b&&empty&%zz=1&q="
	for _, c := range []struct{ method, path string }{{"POST", "/v1/messages"}, {"GET", "/v1/models"}, {"POST", "/v1/messages/count_tokens"}} {
		_ = r.read(r.do(r.request(c.method, c.path+query, `{"model":"m","messages":[]}`)))
		if _, got, _ := strings.Cut(r.provider.Last().Target, "?"); "?"+got != query {
			t.Errorf("%s: %q", c.path, got)
		}
	}
}

// R1: a signed thinking block goes back with its exact bytes, also when the
// human turn behind it is edited.
func TestR1_ThinkingBlocksKeepTheirBytes(t *testing.T) {
	r := newRig(t)
	r.memory.inject = "recalled"
	block := `{"signature":"EqQB+/=","thinking":"a < b & é — \u00e9","type":"thinking"}`
	body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"one"},{"role":"assistant","content":[` + block +
		`,{"type":"text","text":"two"}]},{"role":"user","content":"three"}]}`
	_, _ = r.call("/v1/messages", body)
	got := string(r.provider.Last().Body)
	if !strings.Contains(got, block) || !strings.Contains(got, "recalled") {
		t.Error(got)
	}
	if diff := cmp.Diff(body, undo([]byte(got), r.captured().Prepared.Receipt.Edits)); diff != "" {
		t.Error(diff)
	}
}

// R22, R24: stateless reasoning items keep their bytes, and store its value.
func TestR22_ReasoningItemsKeepTheirBytes(t *testing.T) {
	r := newRig(t)
	r.memory.inject = "recalled"
	items := `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":null},{"type":"reasoning","id":"rs_2","summary":[]},{"id":"rs_3","summary":[],"type":"reasoning","encrypted_content":"gAAA=="}`
	body := `{"model":"m","store":false,"include":["reasoning.encrypted_content"],"input":[{"role":"user","content":"one"},` + items +
		`,{"type":"message","role":"assistant","id":"msg_1","content":[{"type":"output_text","text":"two"}]},{"role":"user","content":"three"}]}`
	_, _ = r.call("/v1/responses", body)
	got := string(r.provider.Last().Body)
	if !strings.Contains(got, items) || !strings.Contains(got, `"store":false,`) || strings.Contains(got, "previous_response_id") || !strings.Contains(got, "recalled") {
		t.Error(got)
	}
	if diff := cmp.Diff(body, undo([]byte(got), r.captured().Prepared.Receipt.Edits)); diff != "" {
		t.Error(diff)
	}
}

// R16: frames without event lines, and one enormous terminal event.
func TestR16_OddStreams(t *testing.T) {
	r := newRig(t)
	huge := testkit.ResponsesSSE("青").Raw()
	pad := strings.LastIndex(huge, `"metadata":{}`) // in response.completed
	huge = huge[:pad] + `"metadata":{"pad":"` + strings.Repeat("青", 5<<20/3) + `"}` + huge[pad+len(`"metadata":{}`):]
	for name, reply := range map[string]testkit.Reply{
		"no event lines": testkit.SSE(strings.ReplaceAll(testkit.ResponsesSSE("青", "い").Raw(), "event: ", ": ")),
		"huge":           testkit.SSE(huge),
	} {
		r.provider.Enqueue(reply)
		_, got := r.call("/v1/responses", dialects()[1].body)
		if got != reply.Raw() {
			t.Errorf("%s: bytes changed", name)
		}
		o := r.captured().Observation
		if o.Terminal != dhruva.TerminalCompleted || o.Overflow || !strings.HasPrefix(o.Text, "青") {
			t.Errorf("%s: %s overflow=%v, %d bytes", name, o.Terminal, o.Overflow, len(o.Text))
		}
	}
}

// R18: usage chunks with empty or missing choices; include_usage stays false.
func TestR18_UsageChunks(t *testing.T) {
	r := newRig(t)
	body := `{"model":"m","stream":true,"stream_options":{"include_usage":false},"messages":[{"role":"user","content":"hi"}]}`
	reply := testkit.SSE(`data: {"choices":[],"prompt_filter_results":[]}`+"\n\n", `data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}`+"\n\n",
		`data: {"usage":{"prompt_tokens":4,"completion_tokens":2}}`+"\n\n", "data: [DONE]\n\n")
	r.provider.Enqueue(reply)
	_, got := r.call("/v1/chat/completions", body)
	if got != reply.Raw() || string(r.provider.Last().Body) != body {
		t.Errorf("%s / %s", got, r.provider.Last().Body)
	}
	if o := r.captured().Observation; o.Text != "ok" || o.InputTokens != 4 || o.OutputTokens != 2 {
		t.Errorf("%+v", o)
	}
}

// brokenDialect parses well and observes badly.
type brokenDialect struct {
	wire.Dialect
	observer wire.Observer
}

func (d brokenDialect) Observe(string, string) wire.Observer { return d.observer }

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("observer") }
func (panicking) Close() dhruva.Observation { panic("observer") }

// blocking hangs in Write, having said so, until released.
type blocking struct{ entered, release chan struct{} }

func (b blocking) Write(p []byte) (int, error) {
	close(b.entered)
	<-b.release
	return len(p), nil
}

func (b blocking) Close() dhruva.Observation { return dhruva.Observation{Text: "late"} }

func (r *rig) observeWith(o wire.Observer) {
	r.handler.dialect = func(method, path string) (wire.Dialect, bool) {
		d, ok := wire.ForRequest(method, path)
		return brokenDialect{d, o}, ok
	}
}

func TestM31_ABrokenObserverChangesNothing(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialectCase) {
		r := newRig(t)
		r.observeWith(panicking{})
		r.provider.Enqueue(d.sse)
		if _, got := r.call(d.path, d.body); got != d.sse.Raw() {
			t.Error("bytes changed")
		}
		if o := r.captured().Observation; !o.Overflow || o.Text != "" {
			t.Errorf("%+v", o)
		}
	})
}

func TestM31_ABlockedObserverDelaysNothingAndIsBounded(t *testing.T) {
	r := newRig(t)
	b := blocking{make(chan struct{}), make(chan struct{})}
	r.observeWith(b)
	r.handler.config.Limits.Observe = 1000
	rest := strings.Repeat("x", 5000)
	r.provider.Enqueue(testkit.SSE("data: {}\n\n").Wait(b.entered).Then(rest, rest))
	_, got := r.call("/v1/chat/completions", dialects()[0].body) // returns while the observer hangs
	if got != "data: {}\n\n"+rest+rest {
		t.Error("bytes changed")
	}
	if n := len(r.memory.captures); n != 0 {
		t.Errorf("%d captures while the observer hangs", n)
	}
	close(b.release)
	if o := r.captured().Observation; !o.Overflow || o.Text != "" {
		t.Errorf("%+v", o)
	}
}

// Memory's faults never reach the call.
func TestFaultsOfMemoryForwardUnchanged(t *testing.T) {
	hang := func(ctx context.Context, _ memory.PrepareInput) (memory.Prepared, error) {
		select {} // ignores its context, for ever
	}
	slow := func(ctx context.Context, _ memory.PrepareInput) (memory.Prepared, error) {
		<-ctx.Done()
		return memory.Prepared{}, ctx.Err()
	}
	cases := map[string]struct {
		prepare func(context.Context, memory.PrepareInput) (memory.Prepared, error)
		reason  dhruva.GateReason
	}{
		"panics": {func(context.Context, memory.PrepareInput) (memory.Prepared, error) { panic("memory") }, dhruva.GateDependencyError},
		"errs": {func(context.Context, memory.PrepareInput) (memory.Prepared, error) {
			return memory.Prepared{}, errors.New("disk on fire")
		}, dhruva.GateDependencyError},
		"unavailable": {func(context.Context, memory.PrepareInput) (memory.Prepared, error) {
			return memory.Prepared{}, dhruva.ErrUnavailable
		}, dhruva.GateDependencyError},
		"hangs":   {hang, dhruva.GateDependencyTimeout},
		"is slow": {slow, dhruva.GateDependencyTimeout},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.handler.config.Limits.PrepareTime = 1 // nanosecond: at once
			r.memory.prepare = c.prepare
			d := dialects()[0]
			if name == "panics" || name == "errs" || name == "unavailable" {
				r.handler.config.Limits.PrepareTime = 1 << 40
			}
			r.provider.Enqueue(d.sse)
			res, got := r.call(d.path, d.body)
			if res.StatusCode != 200 || got != d.sse.Raw() || string(r.provider.Last().Body) != d.body {
				t.Errorf("status %d", res.StatusCode)
			}
			if res.Header.Get(headerMemory) != "degraded" || res.Header.Get(headerReceiptID) == "" {
				t.Errorf("%v", res.Header)
			}
			in := r.captured()
			if in.Prepared.Capture || in.Prepared.Receipt.Recall.Reason != c.reason || in.Prepared.Receipt.Tenant != "t" || string(in.Prepared.Receipt.ID) != res.Header.Get(headerReceiptID) {
				t.Errorf("%+v", in.Prepared.Receipt)
			}
			// The caller may ask for the opposite.
			r.provider.Reset()
			res, _ = r.call(d.path, d.body, "X-Dhruva-Require: recall")
			if res.StatusCode != 503 || len(r.provider.Requests()) != 0 {
				t.Errorf("required: status %d, %d upstream calls", res.StatusCode, len(r.provider.Requests()))
			}
		})
	}
}

func TestAPlanThatDoesNotApplyIsDropped(t *testing.T) {
	r := newRig(t)
	r.memory.prepare = func(context.Context, memory.PrepareInput) (memory.Prepared, error) {
		return memory.Prepared{Capture: true, Plan: dhruva.Plan{Edits: []dhruva.Edit{{Kind: dhruva.EditInject, Message: 99, Text: "x"}}},
			Receipt: dhruva.Receipt{ID: "r", Memory: dhruva.MemoryRecalled}}, nil
	}
	d := dialects()[0]
	res, _ := r.call(d.path, d.body)
	if got := string(r.provider.Last().Body); got != d.body || res.Header.Get(headerMemory) != "degraded" {
		t.Errorf("%s, state %s", got, res.Header.Get(headerMemory))
	}
	if p := r.captured().Prepared; !p.Plan.Empty() || p.Receipt.Recall.Note == "" || !p.Capture {
		t.Errorf("%+v", p)
	}
}

// Contract: Capturing is called before the client can know that the answer is
// complete, and what it began ends with the capture.
func TestCapturingComesBeforeTheEnd(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialectCase) {
		// The provider's connection lingers behind the last event.
		hold := make(chan struct{})
		defer close(hold)
		replies := map[string]struct {
			reply testkit.Reply
			until string // where the client stops reading
		}{
			"declared length": {d.json, d.json.Raw()},
			"end of stream":   {d.sse.Wait(hold), d.sse.Raw()},
			"every byte":      {d.sse.EveryByte().Wait(hold), d.sse.Raw()},
		}
		for name, c := range replies {
			r := newRig(t)
			capturing := make(chan struct{})
			r.memory.capture = func(context.Context, memory.CaptureInput) error { <-capturing; return nil }
			r.provider.Enqueue(c.reply)
			res := r.do(r.request(http.MethodPost, d.path, d.body))
			got := make([]byte, len(c.until))
			if _, err := io.ReadFull(res.Body, got); err != nil {
				t.Fatal(err)
			}
			if events := r.memory.seen(); len(events) == 0 || events[0] != "capturing" || slices.Contains(events, "done") {
				t.Errorf("%s: %v when the client has everything", name, events)
			}
			close(capturing)
			res.Body.Close()
		}
	})
}

func TestDrainWaitsForCaptures(t *testing.T) {
	r := newRig(t)
	hold := make(chan struct{})
	r.memory.capture = func(context.Context, memory.CaptureInput) error { <-hold; return nil }
	_, _ = r.call("/v1/chat/completions", dialects()[0].body)
	r.captured() // it runs
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.handler.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("drained while a capture runs: %v", err)
	}
	close(hold)
	if err := r.handler.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if events := r.memory.seen(); !slices.Equal(events, []string{"capturing", "captured", "done"}) {
		t.Error(events)
	}
}
