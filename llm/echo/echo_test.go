package echo

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/llm"
)

var (
	_ http.RoundTripper = Provider{}
	_ llm.Generator     = Provider{}
)

// said is what the tests tell the provider: more than ASCII.
const said = "My cat is called Möbius, and she likes 猫草."

func send(t *testing.T, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://echo"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := Provider{}.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(got)
}

// answerText reads the visible text of a whole answer in any dialect.
func answerText(t *testing.T, body string) string {
	t.Helper()
	var v struct {
		Choices []struct{ Message struct{ Content string } }
		Output  []struct{ Content []struct{ Text string } }
		Content []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	switch {
	case len(v.Choices) > 0:
		return v.Choices[0].Message.Content
	case len(v.Output) > 0:
		return v.Output[0].Content[0].Text
	case len(v.Content) > 0:
		return v.Content[0].Text
	}
	t.Fatalf("no text in %s", body)
	return ""
}

// The reply quotes the last user text, with any block the proxy added to it,
// in every way a dialect can carry it.
func TestReplyQuotesTheLastUserText(t *testing.T) {
	cases := []struct{ path, body, want string }{
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"q\n<memory>fact & <b></memory>"}]}`, "Echo: q\n<memory>fact & <b></memory>"},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"fact"}]}]}`, "Echo: q\nfact"},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c"}]},{"role":"tool","tool_call_id":"c","content":"no"}]}`, "Echo: q"},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"developer","content":"no"}]}`, "Echo: "},
		{"/v1/responses", `{"model":"m","input":"q\nfact"}`, "Echo: q\nfact"},
		{"/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"q"},{"type":"input_text","text":"fact"}]}]}`, "Echo: q\nfact"},
		{"/v1/responses", `{"model":"m","input":[{"type":"message","role":"user","content":"q"},{"type":"reasoning","id":"rs","summary":[],"content":[{"type":"reasoning_text","text":"no"}]},{"type":"function_call_output","call_id":"c","output":"no"}]}`, "Echo: q"},
		{"/v1/messages?beta=true", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"q\nfact"}]}`, "Echo: q\nfact"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"system":"no","messages":[{"role":"user","content":[{"type":"text","text":"q","cache_control":{"type":"ephemeral"}},{"type":"text","text":"fact"}]}]}`, "Echo: q\nfact"},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"no"}]}]}]}`, "Echo: q"},
	}
	for _, c := range cases {
		res, body := send(t, "POST", c.path, c.body)
		if res.StatusCode != 200 {
			t.Errorf("%s: %d %s", c.body, res.StatusCode, body)
			continue
		}
		if diff := cmp.Diff(c.want, answerText(t, body)); diff != "" {
			t.Errorf("%s: %s", c.body, diff)
		}
	}
}

func TestAnswersAreDeterministic(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages"} {
		for _, stream := range []string{"true", "false"} {
			ask := func(text string) (string, string) {
				res, body := send(t, "POST", path, `{"model":"m","max_tokens":9,"stream":`+stream+`,"messages":[{"role":"user","content":"`+text+`"}],"input":"`+text+`"}`)
				return body, res.Header.Get("X-Request-Id")
			}
			a, idA := ask("one")
			b, idB := ask("one")
			c, idC := ask("two")
			if a != b || idA != idB || a == c || idA == idC || idA == "" {
				t.Errorf("%s stream %s: not a function of the request", path, stream)
			}
		}
	}
}

func TestMalformedBodiesAreRefusedInTheDialectsShape(t *testing.T) {
	bad := []string{"", "{", "null", "[]", `"x"`, `{}`, `{"model":"m"}`, `{"model":1,"messages":[],"input":[]}`, `{"model":"m","messages":[],"input":[],"max_tokens":1}`, `{"model":"m","max_tokens":1,"messages":{},"input":{}}`,
		`{"model":"m","max_tokens":1,"messages":[{"role":"wizard","content":"x"}],"input":[{"role":"wizard","content":"x"}]}`, `{"model":"m","max_tokens":1,"stream":"yes","messages":[{"role":"user","content":"CANARY"}],"input":"CANARY"}`,
		`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":7}],"input":[{"role":"user","content":7}]}`, `{"messages":[{"role":"user","content":"x"}],"input":"x","max_tokens":1}`, `{"model":"m","max_tokens":1,"input":"x","messages":[{"role":"user","content":"x"}]} trailing`}
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/v1/responses/input_tokens"} {
		for _, body := range bad {
			res, got := send(t, "POST", path, body)
			checkRefusal(t, path+" "+body, res, got, 400)
		}
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/v1/chat/completions", 405}, {"POST", "/v1/models", 405}, {"GET", "/v1/responses/resp_1", 404}, {"POST", "/v1/embeddings", 404}, {"GET", "/v1/messages", 405}, {"GET", "/", 404}} {
		res, got := send(t, c.method, c.path, "")
		checkRefusal(t, c.method+c.path, res, got, c.status)
	}
	res, got := send(t, "POST", "/v1/messages", `{"model":"m","messages":[{"role":"user","content":"x"}]}`)
	checkRefusal(t, "no max_tokens", res, got, 400)
}

func checkRefusal(t *testing.T, name string, res *http.Response, body string, status int) {
	t.Helper()
	var v struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil || res.StatusCode != status {
		t.Errorf("%s: %d %s", name, res.StatusCode, body)
		return
	}
	wantType := ""
	if strings.Contains(name, "messages") && !strings.Contains(name, "/chat") {
		wantType = "error"
	}
	if strings.Contains(res.Request.URL.Path, "/messages") != (v.Type == "error") || v.Error.Type == "" || v.Error.Message == "" || strings.Contains(body, "CANARY") {
		t.Errorf("%s (want type %q): %s", name, wantType, body)
	}
}

func TestModelsInBothShapes(t *testing.T) {
	_, openai := send(t, "GET", "/v1/models", "")
	_, anthropic := send(t, "GET", "/v1/models?limit=5", "", "anthropic-version", "2023-06-01")
	if !strings.HasPrefix(openai, `{"object":"list","data":[{"id":"echo-1","object":"model",`) || !strings.HasPrefix(anthropic, `{"data":[{"type":"model","id":"echo-1",`) {
		t.Errorf("%s\n%s", openai, anthropic)
	}
	res, body := send(t, "GET", "/v1/nothing", "", "anthropic-version", "2026-10-21")
	if res.StatusCode != 404 || !strings.Contains(body, `"type":"not_found_error"`) {
		t.Error(body)
	}
}

func TestCompressedBodies(t *testing.T) {
	plain := []byte(`{"model":"m","input":"packed"}`)
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write(plain)
	w.Close()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for coding, body := range map[string][]byte{"gzip": gz.Bytes(), "zstd": enc.EncodeAll(plain, nil), "gzip, zstd": enc.EncodeAll(gz.Bytes(), nil), "identity": plain} {
		res, got := send(t, "POST", "/v1/responses", string(body), "Content-Encoding", coding)
		if res.StatusCode != 200 || answerText(t, got) != "Echo: packed" {
			t.Errorf("%s: %d %s", coding, res.StatusCode, got)
		}
	}
	for coding, status := range map[string]int{"br": 415, "gzip": 400, "zstd": 400, "gzip,gzip,gzip": 415} {
		if res, got := send(t, "POST", "/v1/responses", string(plain), "Content-Encoding", coding); res.StatusCode != status {
			t.Errorf("%s: %d %s", coding, res.StatusCode, got)
		}
	}
	bomb := enc.EncodeAll(make([]byte, maxBody+1), nil)
	if res, got := send(t, "POST", "/v1/messages", string(bomb), "Content-Encoding", "zstd"); res.StatusCode != 413 || !strings.Contains(got, "request_too_large") {
		t.Errorf("%d %s", res.StatusCode, got)
	}
}

// Each read gives bytes of one event, and the context's end ends the stream.
func TestStreamHonoursItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", "http://echo/v1/messages", strings.NewReader(`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"a b c"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := Provider{}.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	n, err := res.Body.Read(buf)
	if got := string(buf[:n]); err != nil || !strings.HasPrefix(got, "event: message_start\n") || strings.Count(got, "\n\n") != 1 {
		t.Fatalf("%q, %v", got, err)
	}
	cancel()
	if n, err = res.Body.Read(buf); n != 0 || !errors.Is(err, context.Canceled) {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if _, err := (Provider{}).RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	res.Body.Close()
	if _, err := res.Body.Read(buf); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Fatal(err)
	}
}

func TestChatChoicesAndUsageChunk(t *testing.T) {
	_, got := send(t, "POST", "/v1/chat/completions", `{"model":"m","n":2,"stream":true,"messages":[{"role":"user","content":"x"}]}`)
	if strings.Contains(got, `"usage"`) || !strings.HasSuffix(got, "data: [DONE]\n\n") || strings.Count(got, `"finish_reason":"stop"`) != 2 || !strings.Contains(got, `"index":1`) {
		t.Error(got)
	}
	_, got = send(t, "POST", "/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`)
	if strings.Count(got, `"usage":{`) != 1 || !strings.Contains(got, `"choices":[],"usage":{`) || !strings.Contains(got, `"usage":null`) {
		t.Error(got)
	}
	if res, body := send(t, "POST", "/v1/chat/completions", `{"model":"m","n":129,"messages":[{"role":"user","content":"x"}]}`); res.StatusCode != 400 {
		t.Error(body)
	}
}

func TestPiecesAreSeveralAndOnRuneBorders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := prefix + rapid.StringN(1, 2000, -1).Draw(t, "s")
		got := pieces(s)
		if len(got) < 2 || len(got) > 2*maxPieces || strings.Join(got, "") != s {
			t.Fatalf("%q", got)
		}
		for _, p := range got {
			if p == "" || (utf8.ValidString(s) && !utf8.ValidString(p)) {
				t.Fatalf("%q in %q", p, s)
			}
		}
	})
	if n := len(pieces(prefix + strings.Repeat("猫", 1<<20))); n > maxPieces+2 {
		t.Errorf("%d pieces", n)
	}
}

const draftSchema = `{"type":"object","properties":{"title":{"type":"string","maxLength":6},"decisions":{"type":"array","items":{"type":"string"}},
	"tasks":{"type":"array","minItems":2,"items":{"$ref":"#/$defs/task"}},"when":{"type":"string","format":"date-time"},"n":{"type":"integer","minimum":3},"ok":{"type":"boolean"},"none":{"type":["string","null"]},"x":{"anyOf":[{"type":"null"},{"type":"string"}]}},
	"required":["title","decisions","tasks","extra <q>"],"$defs":{"task":{"type":"object","properties":{"text":{"type":"string","minLength":9},"status":{"enum":["open","done"]},"kind":{"const":7},"sub":{"$ref":"#/$defs/task"}},"required":["text"]}}}`

func TestJSONModeInEveryDialect(t *testing.T) {
	object, want := `{"echo":"hi \"<there>\""}`, ""
	for _, c := range []struct{ path, body string }{
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi \"<there>\""}],"response_format":{"type":"json_object"}}`},
		{"/v1/responses", `{"model":"m","input":"hi \"<there>\"","text":{"format":{"type":"json_object"}}}`},
	} {
		_, body := send(t, "POST", c.path, c.body)
		if diff := cmp.Diff(object, answerText(t, body)); diff != "" {
			t.Errorf("%s: %s", c.path, diff)
		}
	}
	for _, c := range []struct{ path, body string }{
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}],"response_format":{"type":"json_schema","json_schema":{"name":"d","schema":` + draftSchema + `}}}`},
		{"/v1/responses", `{"model":"m","input":"hello","text":{"format":{"type":"json_schema","name":"d","schema":` + draftSchema + `}}}`},
		{"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hello"}],"output_config":{"format":{"type":"json_schema","schema":` + draftSchema + `}}}`},
	} {
		_, body := send(t, "POST", c.path, c.body)
		got := answerText(t, body)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s differs: %s", c.path, got)
		}
	}
	checkDraft(t, want)
	for _, typ := range []string{`{"type":"xml"}`, `{"type":"json_schema"}`, `{"type":"json_schema","json_schema":{"schema":7}}`} {
		if res, body := send(t, "POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}],"response_format":`+typ+`}`); res.StatusCode != 400 {
			t.Errorf("%s: %s", typ, body)
		}
	}
}

func checkDraft(t *testing.T, got string) {
	t.Helper()
	type task struct {
		Text, Status string
		Kind         int
	}
	var v struct {
		Title     string
		Decisions []string
		Tasks     []task
		When      string
		N         int
		OK        bool
		None      string
		X         *string
		Extra     string `json:"extra <q>"`
	}
	if err := json.Unmarshal([]byte(got), &v); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	want := v
	want.Title, want.Decisions, want.When, want.N, want.None, want.X, want.Extra = "hello", []string{"hello"}, "2026-01-01T00:00:00Z", 3, "hello", nil, "hello"
	want.Tasks = []task{{"hello....", "open", 7}, {"hello....", "open", 7}}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(got, `{"title":"hello","decisions":["hello"],"tasks":[`) {
		t.Errorf("properties are out of order: %s", got)
	}
}

// A schema that branches at every level and a long text give an answer of
// bounded size.
func TestSchemaBombIsBounded(t *testing.T) {
	schema := json.RawMessage(`{"type":"array","minItems":64,"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"array","minItems":64,"items":{"type":"array","minItems":64,"items":{"type":"string"}}}}}`)
	if got := reply(strings.Repeat("x", 1<<20), format{json: true, schema: schema}); len(got) > 2*maxBytes || !json.Valid([]byte(got)) {
		t.Errorf("%d bytes", len(got))
	}
}

// Whatever stands where a schema should be, the answer is JSON and finite.
func FuzzSchema(f *testing.F) {
	f.Add(draftSchema, "hi")
	f.Add(`{"$ref":"#"}`, "")
	f.Add(`{"items":{"$ref":"#"},"minItems":64,"type":"array"}`, "x")
	f.Add(`{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}},"required":["a","b"]}`, "x")
	f.Fuzz(func(t *testing.T, schema, user string) {
		fm, err := newFormat("json_schema", json.RawMessage(schema))
		if err != nil {
			return
		}
		if got := reply(user, fm); !json.Valid([]byte(got)) {
			t.Fatalf("%q", got)
		}
	})
}

func TestGeneratorAgreesWithTheWire(t *testing.T) {
	req := llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Content: "s"}, {Role: llm.RoleUser, Content: said}, {Role: llm.RoleAssistant, Content: "a"}}}
	got, err := Provider{}.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Response{Text: "Echo: " + said, Model: Model, InputTokens: 2 + tokens(said), OutputTokens: tokens("Echo: " + said), FinishReason: llm.FinishStop}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var deltas []string
	got, err = Provider{}.Stream(t.Context(), req, func(d string) error { deltas = append(deltas, d); return nil })
	if err != nil || cmp.Diff(want, got) != "" || strings.Join(deltas, "") != want.Text || len(deltas) < 3 {
		t.Errorf("%+v, %q, %v", got, deltas, err)
	}
	req.JSON = true
	if got, err = (Provider{}).Generate(t.Context(), req); err != nil || !json.Valid([]byte(got.Text)) {
		t.Error(got, err)
	}
}

func TestGeneratorFails(t *testing.T) {
	if _, err := (Provider{}).Generate(t.Context(), llm.Request{}); !errors.Is(err, dhruva.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := (Provider{}).Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser}}, Schema: json.RawMessage("7")}); err == nil {
		t.Error("a schema that is none was taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := errors.New("stop")
	req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "a b c"}}}
	res, err := Provider{}.Stream(ctx, req, func(string) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) || res.Text != prefix {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err = (Provider{}).Stream(t.Context(), req, func(string) error { return stop }); err != stop {
		t.Error(err)
	}
	if _, err = (Provider{}).Generate(ctx, req); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
