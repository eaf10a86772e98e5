package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// shaped checks that a body is an error in the dialect's own form and returns
// its code and message.
func shaped(t *testing.T, dialect dhruva.Dialect, body string) (code, message string) {
	t.Helper()
	var v struct {
		Type      string `json:"type"`
		RequestID string `json:"request_id"`
		Error     struct {
			Type    string  `json:"type"`
			Message string  `json:"message"`
			Code    string  `json:"code"`
			Param   *string `json:"param"`
			Details struct {
				Code string `json:"error_code"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if v.Error.Type == "" || v.Error.Message == "" || (dialect == dhruva.DialectMessages) != (v.Type == "error" && v.RequestID != "") {
		t.Errorf("not a %s error: %s", dialect, body)
	}
	return v.Error.Code + v.Error.Details.Code, v.Error.Message
}

func TestBadHeadersAreRefusedBeforeAnyUpstreamCall(t *testing.T) {
	bad := []string{
		"X-Dhruva-Memory: on", "X-Dhruva-Memory: OFF", "X-Dhruva-Memory: ", "X-Dhruva-Memory: off, recall",
		"X-Dhruva-Compression: gzip", "X-Dhruva-Require: capture", "X-Dhruva-Partition: p", "X-Dhruva-Nope: 1",
		"X-Dhruva-Request-Id: mine", "X-Dhruva-Input-Budget: 0", "X-Dhruva-Input-Budget: -1", "X-Dhruva-Input-Budget: 1.5",
		"X-Dhruva-Recall-Budget: many", "X-Dhruva-Recall-Budget: +5", "X-Dhruva-Recall-Budget: 99999999999999999999",
		"X-Dhruva-Space: ", "X-Dhruva-Checkpoint: ", "X-Dhruva-Conversation: ", "X-Dhruva-Provider: nobody",
	}
	eachDialect(t, func(t *testing.T, d dialectCase) {
		r := newRig(t)
		for _, h := range bad {
			res, body := r.call(d.path, d.body, h)
			if res.StatusCode != http.StatusUnprocessableEntity {
				t.Errorf("%s: status %d", h, res.StatusCode)
				continue
			}
			if code, _ := shaped(t, dhruva.Dialect(d.name), body); code != "invalid_header" && code != "unknown_provider" {
				t.Errorf("%s: %s", h, body)
			}
		}
		res, _ := r.call(d.path, d.body, "X-Dhruva-Memory: off", "X-Dhruva-Memory: off")
		if res.StatusCode != 422 {
			t.Errorf("duplicate: %d", res.StatusCode)
		}
		res, _ = r.call(d.path, d.body, "X-Dhruva-Memory: write", "X-Dhruva-Require: recall")
		if res.StatusCode != 422 {
			t.Errorf("contradiction: %d", res.StatusCode)
		}
		if n := len(r.provider.Requests()); n != 0 {
			t.Errorf("%d upstream calls", n)
		}
		if n := len(r.memory.prepared); n != 0 {
			t.Errorf("memory was asked %d times", n)
		}
	})
}

func TestHeadersReachMemory(t *testing.T) {
	r := newRig(t)
	_, _ = r.call("/v1/messages", dialects()[2].body, "X-Dhruva-Memory: read-write", "X-Dhruva-Compression: passthrough", "X-Dhruva-Space: home",
		"X-Dhruva-Conversation: c1", "X-Dhruva-Checkpoint: abcdef1", "X-Dhruva-Require: recall", "X-Dhruva-Recall-Budget: 77",
		"X-Dhruva-Input-Budget: 9000", "X-Claude-Code-Session-Id: ignored-beside-ours")
	got := r.memory.prepared[0]
	got.Projection = nil
	want := memory.PrepareInput{
		Space: "home", Mode: memory.ModeBoth, Compression: "passthrough", Hint: "c1", Checkpoint: "abcdef1",
		Require: true, RecallBudget: 77, Path: "hosted", Provider: "anthropic",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, _ = r.call("/v1/messages", dialects()[2].body, "X-Dhruva-Memory: read", "X-Claude-Code-Session-Id: s1")
	if got := r.memory.prepared[1]; got.Mode != memory.ModeRecall || got.Hint != "claude-code:s1" {
		t.Errorf("%+v", got)
	}
	_, _ = r.call("/v1/messages", dialects()[2].body, "X-Dhruva-Memory: write")
	if got := r.memory.prepared[2]; got.Mode != memory.ModeIngest || got.Hint != "" {
		t.Errorf("%+v", got)
	}
}

func TestWhatMemoryRefusesForTheCaller(t *testing.T) {
	for err, status := range map[error]int{
		dhruva.ErrInvalid: 422, dhruva.ErrDenied: 403, dhruva.ErrNotFound: 404, dhruva.ErrConflict: 409,
	} {
		r := newRig(t)
		r.memory.prepare = func(context.Context, memory.PrepareInput) (memory.Prepared, error) {
			return memory.Prepared{}, fmt.Errorf("memory: prepare: %w: space x", err)
		}
		res, body := r.call("/v1/messages", dialects()[2].body)
		shaped(t, dhruva.DialectMessages, body)
		if res.StatusCode != status || len(r.provider.Requests()) != 0 {
			t.Errorf("%v: status %d, %d upstream calls", err, res.StatusCode, len(r.provider.Requests()))
		}
	}
}

func TestCredentials(t *testing.T) {
	cases := map[string]struct {
		headers []string
		status  int
	}{
		"none":             {[]string{"Authorization: -"}, 401},
		"wrong":            {[]string{"Authorization: Bearer dhr_live_wrong"}, 401},
		"basic":            {[]string{"Authorization: Basic eA=="}, 401},
		"x-api-key":        {[]string{"Authorization: -", "X-Api-Key: " + dhruvaKey}, 200},
		"the same twice":   {[]string{"X-Api-Key: " + dhruvaKey}, 200},
		"two different":    {[]string{"X-Api-Key: dhr_live_other"}, 400},
		"sent twice":       {[]string{"Authorization: Bearer " + dhruvaKey, "Authorization: Bearer " + dhruvaKey}, 401},
		"key store down":   {[]string{"Authorization: Bearer dhr_live_down"}, 503},
		"no right":         {[]string{"Authorization: Bearer dhr_live_none"}, 403},
		"bound elsewhere":  {[]string{"Authorization: Bearer dhr_live_bound", "X-Dhruva-Provider: openai"}, 403},
		"test key":         {[]string{"Authorization: Bearer dhr_test_tester", "X-Dhruva-Provider: openai"}, 403},
		"test key, echo":   {[]string{"Authorization: Bearer dhr_test_tester"}, 200},
		"no provider key":  {[]string{"X-Dhruva-Provider: keyless"}, 503},
		"provider is dead": {[]string{"X-Dhruva-Provider: dead"}, 502},
	}
	eachDialect(t, func(t *testing.T, d dialectCase) {
		r := newRig(t)
		for name, c := range cases {
			if name == "sent twice" { // the first wins nothing
				req := r.request(http.MethodPost, d.path, d.body)
				req.Header["Authorization"] = []string{"Bearer " + dhruvaKey, "Bearer " + dhruvaKey}
				if res := r.do(req); res.StatusCode != 400 {
					t.Errorf("%s: %d", name, res.StatusCode)
				}
				continue
			}
			before := len(r.provider.Requests())
			res, body := r.call(d.path, d.body, c.headers...)
			if res.StatusCode != c.status {
				t.Errorf("%s: status %d, want %d: %s", name, res.StatusCode, c.status, body)
			}
			if c.status == 200 {
				continue
			}
			_, message := shaped(t, dhruva.Dialect(d.name), body)
			if strings.Contains(body, "dhr_live_w") || !strings.HasSuffix(message, ".") {
				t.Errorf("%s: %s", name, message)
			}
			if (c.status == 401) != (res.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("%s: challenge %q", name, res.Header.Get("WWW-Authenticate"))
			}
			if len(r.provider.Requests()) != before {
				t.Errorf("%s reached the provider", name)
			}
			if res.Header.Get(headerRequestID) == "" || res.Header.Get("X-Request-Id")+res.Header.Get("Request-Id") != res.Header.Get(headerRequestID) {
				t.Errorf("%s: request ids %v", name, res.Header)
			}
		}
	})
}

func TestMalformedBodiesAreRefusedBeforeUpstream(t *testing.T) {
	bad := []string{
		``, ` `, `{`, `[]`, `"x"`, `null`, "{}x", "\xef\xbb\xbf{}", `{"model":"m","model":"n"}`, `{"Model":"m","model":"m"}`, `{"MESSAGES":[]}`,
		`{"messages":[{"role":"user","role":"system","content":"x"}]}`, `{"input":[{"type":"message","Role":"user"}]}`,
		"{\"model\":\"\xff\"}", `{"a":1,}`, `{'a':1}`, `{"a":01}`, `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
	}
	eachDialect(t, func(t *testing.T, d dialectCase) {
		r := newRig(t)
		for _, b := range bad {
			res, body := r.call(d.path, b)
			if res.StatusCode != http.StatusBadRequest {
				t.Errorf("%.40q: status %d", b, res.StatusCode)
				continue
			}
			shaped(t, dhruva.Dialect(d.name), body)
		}
		if n := len(r.provider.Requests()) + len(r.memory.prepared); n != 0 {
			t.Errorf("%d calls behind the parser", n)
		}
	})
}

func TestBodyLimits(t *testing.T) {
	r := newRig(t)
	r.handler.config.Limits.Body = 1000
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 2000) + `"}]}`
	for name, req := range map[string]*http.Request{
		"declared":         r.request(http.MethodPost, "/v1/chat/completions", body),
		"chunked":          r.request(http.MethodPost, "/v1/chat/completions", ""),
		"relayed":          r.request(http.MethodPost, "/v1/messages/count_tokens", body),
		"relayed, chunked": r.request(http.MethodPost, "/v1/messages/count_tokens", ""),
	} {
		if strings.HasSuffix(name, "chunked") {
			req.Body, req.ContentLength = io.NopCloser(struct{ io.Reader }{strings.NewReader(body)}), -1
		}
		res := r.do(req)
		if got := r.read(res); res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: status %d %s", name, res.StatusCode, got)
		} else {
			shaped(t, routeOf(req).dialect, got)
		}
	}
	for _, req := range r.provider.Requests() {
		if len(req.Body) > 1000 {
			t.Errorf("%d bytes reached the provider", len(req.Body))
		}
	}
}

// Beyond the projection's limits a request is relayed untouched, unseen.
func TestOverTheProjectionLimitsIsRelayedWithoutMemory(t *testing.T) {
	r := newRig(t)
	r.memory.inject = "recalled"
	body := `{"model":"m","messages":[` + strings.Repeat(`{"role":"user","content":"a"},`, 100_001) + `{"role":"user","content":"b"}]}`
	res, _ := r.call("/v1/chat/completions", body)
	if res.StatusCode != 200 || string(r.provider.Last().Body) != body || res.Header.Get(headerContinuity) != "bypassed_unprojectable" {
		t.Errorf("status %d, continuity %s", res.StatusCode, res.Header.Get(headerContinuity))
	}
	if in := r.captured(); in.Projection.LastHuman() >= 0 {
		t.Error("memory saw messages")
	}
}

func zstdOf(t *testing.T, s string) string {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err == nil {
		_, err = w.Write([]byte(s))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipOf(t *testing.T, s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(s))
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestR17_EncodedRequests(t *testing.T) {
	r := newRig(t)
	body := dialects()[1].body
	codings := map[string]func(*testing.T, string) string{"gzip": gzipOf, "zstd": zstdOf}
	for name, encode := range codings {
		sent := encode(t, body)
		res, _ := r.call("/v1/responses", sent, "Content-Encoding: "+name)
		up := r.provider.Last()
		if res.StatusCode != 200 || string(up.Body) != sent || up.Header.Get("Content-Encoding") != name {
			t.Errorf("%s, not edited: status %d, %d bytes, coding %q", name, res.StatusCode, len(up.Body), up.Header.Get("Content-Encoding"))
		}
		in := r.captured()
		if got := in.Projection.Messages[in.Projection.LastHuman()].Text; got != dialects()[1].question {
			t.Errorf("%s: looked at %q", name, got)
		}
		r.memory.inject = "recalled"
		_, _ = r.call("/v1/responses", sent, "Content-Encoding: "+name)
		up = r.provider.Last()
		if got := undo(up.Body, r.captured().Prepared.Receipt.Edits); got != body || up.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s, edited: coding %q %s", name, up.Header.Get("Content-Encoding"), got)
		}
		r.memory.inject = ""
		for fault, bad := range map[string]string{"corrupt": sent[:len(sent)-6] + "XXXXXX", "cut": sent[:len(sent)/2], "plain": body} {
			res, got := r.call("/v1/responses", bad, "Content-Encoding: "+name)
			if shaped(t, dhruva.DialectResponses, got); res.StatusCode != 400 {
				t.Errorf("%s %s: status %d", fault, name, res.StatusCode)
			}
		}
		bomb := encode(t, `{"input":"`+strings.Repeat(" ", 20<<20)+`"}`)
		res, got := r.call("/v1/responses", bomb, "Content-Encoding: "+name)
		if shaped(t, dhruva.DialectResponses, got); res.StatusCode != 413 {
			t.Errorf("%s bomb of %d bytes: status %d", name, len(bomb), res.StatusCode)
		}
	}
	res, _ := r.call("/v1/responses", "\x01br", "Content-Encoding: br")
	if up := r.provider.Last(); res.StatusCode != 200 || string(up.Body) != "\x01br" || up.Header.Get("Content-Encoding") != "br" {
		t.Errorf("unknown coding: status %d", res.StatusCode)
	}
}

func TestProviderErrorsAreRelayedAndNeverRetried(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialectCase) {
		for _, status := range []int{301, 400, 401, 408, 409, 429, 500, 503, 529} {
			r := newRig(t)
			r.provider.Enqueue(testkit.Static(status, "application/problem+json", `{"any": "thing" }`).Header("Location", "http://elsewhere.example/"))
			res, got := r.call(d.path, d.body)
			if res.StatusCode != status || got != `{"any": "thing" }` || res.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%d: %d %s", status, res.StatusCode, got)
			}
			if n := len(r.provider.Requests()); n != 1 {
				t.Errorf("%d: %d upstream calls", status, n)
			}
			in := r.captured()
			if in.Observation.Text != "" || in.Observation.Terminal != dhruva.TerminalFailed || in.Prepared.Receipt.Upstream.Status != status {
				t.Errorf("%d: %+v", status, in.Observation)
			}
		}
	})
}

func TestConnectFailures(t *testing.T) {
	r := newRig(t)
	res, body := r.call("/v1/messages", dialects()[2].body, "X-Dhruva-Provider: dead")
	if _, message := shaped(t, dhruva.DialectMessages, body); res.StatusCode != 502 || strings.Contains(message, "127.0.0.1") {
		t.Errorf("%d %s", res.StatusCode, message)
	}
	in := r.captured()
	if in.Prepared.Receipt.Upstream.Error != causeConnect || in.Observation.Terminal != dhruva.TerminalFailed || res.Header.Get(headerReceiptID) == "" {
		t.Errorf("%+v", in.Prepared.Receipt.Upstream)
	}
	slow := r.handler.config.Upstreams
	r.handler.config.Upstreams = func(name string) (Upstream, error) {
		u, err := slow(name)
		u.Transport = timingOut{}
		return u, err
	}
	res, body = r.call("/v1/chat/completions", dialects()[0].body)
	if shaped(t, dhruva.DialectChat, body); res.StatusCode != 504 || r.captured().Prepared.Receipt.Upstream.Error != causeTimeout {
		t.Errorf("status %d", res.StatusCode)
	}
}

type timingOut struct{}

func (timingOut) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body.Close()
	return nil, &net.DNSError{IsTimeout: true, Err: "timeout"}
}

func TestUpstreamCutIsRelayedAsACut(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialectCase) {
		r := newRig(t)
		raw := d.sse.Raw()
		r.provider.Enqueue(testkit.SSE(raw[:len(raw)/2]).Close())
		res := r.do(r.request(http.MethodPost, d.path, d.body))
		got, err := io.ReadAll(res.Body)
		if !errors.Is(err, io.ErrUnexpectedEOF) || string(got) != raw[:len(raw)/2] {
			t.Errorf("%v after %d of %d bytes", err, len(got), len(raw)/2)
		}
		if in := r.captured(); in.Prepared.Receipt.Upstream.Terminal != dhruva.TerminalUpstreamCut {
			t.Errorf("%+v", in.Prepared.Receipt.Upstream)
		}
	})
}

func TestR19_AClientThatLeavesCancelsUpstream(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialectCase) {
		never := make(chan struct{})
		for name, reply := range map[string]testkit.Reply{
			"before headers": d.sse.After(never),
			"mid-stream":     testkit.SSE(d.sse.Raw()[:40]).Wait(never),
		} {
			r := newRig(t)
			r.provider.Enqueue(reply)
			ctx, leave := context.WithCancel(t.Context())
			req := r.request(http.MethodPost, d.path, d.body).WithContext(ctx)
			arrived := make(chan *http.Response, 1)
			go func() {
				defer close(arrived)
				if res, err := (&http.Client{Transport: &http.Transport{}}).Do(req); err == nil {
					arrived <- res
				}
			}()
			upstream := r.provider.Await(1)[0]
			if name == "mid-stream" {
				res := <-arrived
				if _, err := io.ReadFull(res.Body, make([]byte, 40)); err != nil {
					t.Fatal(err)
				}
			}
			leave()
			<-arrived
			<-upstream.Gone // hangs, were it not cancelled
			in := r.captured()
			if in.Observation.Terminal != dhruva.TerminalClientAbort || in.Prepared.Receipt.Upstream.Terminal != dhruva.TerminalClientAbort {
				t.Errorf("%s: %+v", name, in.Observation)
			}
			if in.Projection.Messages[in.Projection.LastHuman()].Text != d.question {
				t.Errorf("%s: the user's words are lost", name)
			}
		}
	})
}

func TestR23_ModelsAreRelayed(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		target  string
		headers []string
		apiKey  string
	}{
		{"/v1/models?client_version=1", nil, ""},
		{"/v1/models/ft%3Agpt-4:org:x", nil, ""},
		{"/v1/models?limit=1", []string{"Anthropic-Version: 2023-06-01"}, providerKey},
	} {
		res := r.do(r.request(http.MethodGet, c.target, "", c.headers...))
		_ = r.read(res)
		up := r.provider.Last()
		if up.Target != c.target || up.Header.Get("X-Api-Key") != c.apiKey || res.Header.Get(headerMemory) != "off" || up.ContentLength != 0 {
			t.Errorf("%s: upstream %s, key %q", c.target, up.Target, up.Header.Get("X-Api-Key"))
		}
	}
	res := r.do(r.request(http.MethodGet, "/v1/models", "", "X-Dhruva-Provider: dead"))
	if got := r.read(res); res.StatusCode != 502 {
		t.Errorf("%d %s", res.StatusCode, got)
	}
	if len(r.memory.prepared) != 0 || len(r.memory.captures) != 0 {
		t.Error("memory took part")
	}
}

func TestRelayedRoutesKeepTheirBytes(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ method, target, body string }{
		{"POST", "/v1/messages/count_tokens?beta=true", `{"model":"m", "messages":[ ]}`},
		{"GET", "/v1/responses/resp_1?stream=true&starting_after=3", ""},
		{"DELETE", "/v1/responses/resp_1", ""},
		{"POST", "/v1/responses/resp_1/cancel", ""},
		{"GET", "/v1/responses/resp_1/input_items?limit=2", ""},
		{"POST", "/v1/responses/compact", `{"a": 1}`},
		{"POST", "/v1/responses/input_tokens", `{"model":1,"model":2}`},
		{"POST", "/v1/conversations", `{}`},
		{"GET", "/v1/conversations/conv_1/items", ""},
	} {
		r.provider.Enqueue(testkit.SSE("data: 1\n\n", "data: 2\n\n"))
		got := r.read(r.do(r.request(c.method, c.target, c.body)))
		up := r.provider.Last()
		if up.Method != c.method || up.Target != c.target || string(up.Body) != c.body || got != "data: 1\n\ndata: 2\n\n" {
			t.Errorf("%s %s: upstream %s %s %q", c.method, c.target, up.Method, up.Target, up.Body)
		}
		if strings.Contains(strings.Join(up.Header["Authorization"], ""), "dhr_") {
			t.Error("our key left the process")
		}
	}
}

func TestEverythingElseIsADialectShapedRefusal(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		method, target string
		status         int
		headers        []string
	}{
		{"POST", "/v1/embeddings", 404, nil},
		{"POST", "/v1/files", 404, []string{"Anthropic-Version: 2023-06-01"}},
		{"GET", "/v1/messages/batches", 404, []string{"Anthropic-Version: 2023-06-01"}},
		{"POST", "/v1/responses/../files", 404, nil},
		{"GET", "/v1/models/..%2ffiles", 404, nil},
		{"GET", "/v1/models/%2e%2e/files", 404, nil},
		{"GET", "/v1/models/%252e%252e", 404, nil},
		{"GET", "/v1/models/a%00b", 404, nil},
		{"GET", "/v1/models//x", 404, nil},
		{"POST", "/v2/messages", 404, nil},
		{"GET", "/v1/responses/a/b/c", 404, nil},
		{"GET", "/v1/chat/completions", 405, nil},
		{"PUT", "/v1/messages", 405, nil},
		{"DELETE", "/v1/models/x", 405, nil},
		{"GET", "/v1/responses", 426, []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw=="}},
	} {
		req := r.request(c.method, "/", "", c.headers...)
		req.URL.Opaque = c.target // as it is, not cleaned
		res := r.do(req)
		body := r.read(res)
		if res.StatusCode != c.status {
			t.Errorf("%s %s: status %d %s", c.method, c.target, res.StatusCode, body)
			continue
		}
		shaped(t, wanted(c.target, req.Header), body)
		if (c.status == 405) != (res.Header.Get("Allow") != "") {
			t.Errorf("%s %s: Allow %q", c.method, c.target, res.Header.Get("Allow"))
		}
	}
	if n := len(r.provider.Requests()); n != 0 {
		t.Errorf("%d upstream calls", n)
	}
}

func TestHeadAndOptionsTellNothing(t *testing.T) {
	r := newRig(t)
	for _, method := range []string{"HEAD", "OPTIONS"} {
		for _, credential := range []string{"Authorization: -", "Authorization: Bearer " + dhruvaKey, "Authorization: Bearer dhr_live_wrong"} {
			res := r.do(r.request(method, "/v1/messages", "", credential))
			if res.StatusCode != 204 || res.Header.Get("Allow") != "OPTIONS, HEAD, POST" || res.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s: %d %v", method, credential, res.StatusCode, res.Header)
			}
		}
	}
	if n := len(r.provider.Requests()); n != 0 {
		t.Errorf("%d upstream calls", n)
	}
}

// One read of the provider is one flush to the client: a first event arrives
// while the second is not written yet.
func TestEventsAreNotHeldBack(t *testing.T) {
	r := newRig(t)
	next := make(chan struct{})
	r.provider.Enqueue(testkit.SSE("data: 1\n\n").Wait(next).Then("data: 2\n\n"))
	res := r.do(r.request(http.MethodPost, "/v1/chat/completions", dialects()[0].body))
	body := bufio.NewReader(res.Body)
	if line, err := body.ReadString('\n'); err != nil || line != "data: 1\n" {
		t.Fatalf("%q, %v", line, err)
	}
	close(next)
	if rest, err := io.ReadAll(body); err != nil || string(rest) != "\ndata: 2\n\n" {
		t.Errorf("%q, %v", rest, err)
	}
}

// wanted is the dialect whose shape an error on a path has.
func wanted(target string, h http.Header) dhruva.Dialect {
	switch {
	case h.Get("Anthropic-Version") != "", target == "/v1/messages":
		return dhruva.DialectMessages
	}
	return dhruva.DialectChat // the same shape as Responses
}
