package proxy_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/egress"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/llm/echo"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/recall"
	"github.com/dhruva-memory/dhruva/serve/proxy"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// whole is the proxy over the real memory plane, with the echo provider and a
// scripted one.
type whole struct {
	*testing.T
	store    dhruva.Store
	ledger   *ledger.Ledger
	keys     *auth.Keys
	provider *testkit.Provider
	handler  *proxy.Handler
	server   *httptest.Server
}

func newWhole(t *testing.T) *whole { return newWholeOn(t, memstore.New(), "") }

// newWholeOn has a store and, unless it is "", a provider of its own.
func newWholeOn(t *testing.T, store dhruva.Store, provider string) *whole {
	w := &whole{T: t, store: store, provider: testkit.NewProvider(t)}
	if provider == "" {
		provider = w.provider.URL()
	}
	ring := auth.NewKeyring([]byte("0123456789abcdef0123456789abcdef"))
	w.keys = &auth.Keys{Store: w.store, Keyring: ring}
	if err := w.keys.Bootstrap(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	w.ledger = ledger.New(w.store, ring)
	// A test on a busy machine proves what is recalled, not how soon.
	slow := memory.Limits{RecallTime: 1 << 36}
	w.handler = proxy.New(proxy.Config{
		Memory: &memory.Memory{Ledger: w.ledger, Recall: recall.NewEngine(w.store, ring), Keys: ring, Limits: slow},
		Keys:   w.keys,
		Limits: proxy.Limits{PrepareTime: 1 << 36},
		Upstreams: func(name string) (proxy.Upstream, error) {
			base, err := url.Parse(provider)
			switch {
			case err != nil:
				return proxy.Upstream{}, err
			case name == "echo":
				return proxy.Upstream{Kind: proxy.KindEcho, Transport: echo.Provider{}}, nil
			}
			kind := proxy.KindOpenAI
			if name == "anthropic" {
				kind = proxy.KindAnthropic
			} else {
				base = base.JoinPath("v1")
			}
			return proxy.Upstream{Kind: kind, BaseURL: base, Key: auth.NewSecret("sk-1"), Transport: transport(t)}, nil
		},
	})
	w.server = httptest.NewServer(w.handler)
	t.Cleanup(func() {
		w.server.Close()
		w.drain()
	})
	return w
}

func transport(t *testing.T) http.RoundTripper {
	tr := egress.New(egress.Policy{AllowPrivate: true})
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func (w *whole) drain() {
	if err := w.handler.Drain(context.Background()); err != nil {
		w.Error(err)
	}
}

func (w *whole) owner() context.Context {
	return dhruva.WithPrincipal(w.Context(), auth.LocalPrincipal())
}

// key makes a key for a space of its own.
func (w *whole) key(space string, provider string, scopes ...dhruva.KeyScope) string {
	w.Helper()
	sp, err := w.ledger.CreateSpace(w.owner(), ledger.SpaceInput{Name: space, Unique: true})
	if err != nil {
		w.Fatal(err)
	}
	return w.keyFor(sp.ID, provider, scopes...)
}

func (w *whole) keyFor(space dhruva.SpaceID, provider string, scopes ...dhruva.KeyScope) string {
	w.Helper()
	if len(scopes) == 0 {
		scopes = []dhruva.KeyScope{dhruva.ProxyUse, dhruva.MemoryRead, dhruva.MemoryWrite}
	}
	_, secret, err := w.keys.Create(w.owner(), auth.KeyInput{Name: "k", Space: space, Scopes: scopes, Provider: provider})
	if err != nil {
		w.Fatal(err)
	}
	return secret.Reveal()
}

func (w *whole) openai(key string) openai.Client {
	return openai.NewClient(openaioption.WithBaseURL(w.server.URL+"/v1/"), openaioption.WithAPIKey(key), openaioption.WithMaxRetries(0))
}

func (w *whole) anthropic(key string) anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithBaseURL(w.server.URL+"/"), anthropicoption.WithAPIKey(key), anthropicoption.WithMaxRetries(0))
}

// say talks to a model as one of six official clients does and gives its reply.
type say func(w *whole, key, text string) string

func clients() map[string]say {
	return map[string]say{
		"chat": func(w *whole, key, text string) string {
			client := w.openai(key)
			got, err := client.Chat.Completions.New(w.Context(), openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}})
			if err != nil {
				w.Fatal(err)
			}
			return got.Choices[0].Message.Content
		},
		"chat stream": func(w *whole, key, text string) string {
			client := w.openai(key)
			stream := client.Chat.Completions.NewStreaming(w.Context(), openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}})
			var acc openai.ChatCompletionAccumulator
			for stream.Next() {
				if !acc.AddChunk(stream.Current()) {
					w.Fatal("the accumulator refused a chunk")
				}
			}
			if err := stream.Err(); err != nil {
				w.Fatal(err)
			}
			return acc.Choices[0].Message.Content
		},
		"responses": func(w *whole, key, text string) string {
			client := w.openai(key)
			got, err := client.Responses.New(w.Context(), responses.ResponseNewParams{Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}})
			if err != nil {
				w.Fatal(err)
			}
			return got.OutputText()
		},
		"responses stream": func(w *whole, key, text string) string {
			client := w.openai(key)
			stream := client.Responses.NewStreaming(w.Context(), responses.ResponseNewParams{Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}})
			var final responses.Response
			for stream.Next() {
				final = stream.Current().Response
			}
			if err := stream.Err(); err != nil {
				w.Fatal(err)
			}
			return final.OutputText()
		},
		"messages": func(w *whole, key, text string) string {
			client := w.anthropic(key)
			got, err := client.Messages.New(w.Context(), messagesParams(text))
			if err != nil {
				w.Fatal(err)
			}
			return got.Content[0].Text
		},
		"messages stream": func(w *whole, key, text string) string {
			client := w.anthropic(key)
			stream := client.Messages.NewStreaming(w.Context(), messagesParams(text))
			var acc anthropic.Message
			for stream.Next() {
				if err := acc.Accumulate(stream.Current()); err != nil {
					w.Fatal(err)
				}
			}
			if err := stream.Err(); err != nil {
				w.Fatal(err)
			}
			return acc.Content[0].Text
		},
	}
}

func messagesParams(text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: "m", MaxTokens: 64, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))}}
}

// A fact said through one official client is recalled through each of the
// others, in the next request, and never in another space. The echo provider
// shows what the model was told.
func TestAFactIsRecalledAcrossClients(t *testing.T) {
	w := newWhole(t)
	other := w.key("elsewhere", "echo")
	for name, tell := range clients() {
		key := w.key("of "+name, "echo")
		tell(w, key, "Remember that the deployment window of Kestrel is Thursday 14:30.")
		for asking, ask := range clients() {
			reply := ask(w, key, "When is the deployment window of Kestrel?")
			if !strings.HasPrefix(reply, "Echo: When is") || !strings.Contains(reply, "Thursday 14:30") {
				t.Errorf("said through %s, asked through %s: %q", name, asking, reply)
			}
		}
		if reply := clients()["chat"](w, other, "When is the deployment window of Kestrel?"); strings.Contains(reply, "Thursday") {
			t.Errorf("another space recalled it: %q", reply)
		}
	}
}

// Contract 55 in one process: what was said is recalled by the very next
// request, many times over, however the answer ended.
func TestReadYourWrites(t *testing.T) {
	w := newWhole(t)
	for name, talk := range clients() {
		key := w.key("ryw "+name, "echo")
		for i := range 12 {
			talk(w, key, fmt.Sprintf("The access code of vault number%d is zebra%dquartz.", i, i))
			if reply := talk(w, key, fmt.Sprintf("What is the access code of vault number%d?", i)); !strings.Contains(reply, fmt.Sprintf("zebra%dquartz", i)) {
				w.drain()
				receipts, _, err := w.ledger.ListReceipts(w.owner(), dhruva.ReceiptQuery{Page: dhruva.Page{Limit: 3}})
				t.Fatalf("%s, vault %d: %q\n%+v %v", name, i, reply, receipts, err)
			}
		}
	}
}

// The official clients against a scripted provider: the proxy is not noticed.
func TestOfficialClientsOverAScriptedProvider(t *testing.T) {
	w := newWhole(t)
	key := w.key("scripted", "")
	for name, talk := range clients() {
		if got := talk(w, key, "hello"); got != "ok" {
			t.Errorf("%s: %q", name, got)
		}
	}
	client := w.openai(key)
	models, err := client.Models.List(t.Context())
	if err != nil || len(models.Data) != 1 || models.Data[0].ID != testkit.Model {
		t.Errorf("models: %v, %v", models, err)
	}
	messages := w.anthropic(key)
	count, err := messages.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: "m", Messages: messagesParams("hi").Messages})
	if err != nil || count.InputTokens != testkit.InputTokens {
		t.Errorf("count_tokens: %v, %v", count, err)
	}
	stranger := w.openai("dhr_live_wrong")
	if _, err := stranger.Models.List(t.Context()); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("wrong key: %v", err)
	}
}

func (w *whole) post(key, path, body string, header ...string) (*http.Response, string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := w.server.Client().Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	return res, string(got)
}

const question = `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"When is the deployment window of Kestrel?"}]}`

// Modes with the real memory: off and ingest leave the body alone even where
// there is something to recall, recall and both do not.
func TestModesDecideWhoSeesMemory(t *testing.T) {
	w := newWhole(t)
	sp, err := w.ledger.CreateSpace(w.owner(), ledger.SpaceInput{Name: "modes", Unique: true})
	if err != nil {
		t.Fatal(err)
	}
	key := w.keyFor(sp.ID, "")
	_, _ = w.post(key, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"The deployment window of Kestrel is Thursday 14:30."}]}`)
	for _, c := range []struct {
		key, mode, state string
		edited           bool
	}{
		{key, "off", "off", false}, {key, "ingest", "off", false}, {key, "recall", "recalled", true}, {key, "both", "recalled", true}, {key, "", "recalled", true},
		{w.keyFor(sp.ID, "", dhruva.ProxyUse), "", "off", false},
		{w.keyFor(sp.ID, "", dhruva.ProxyUse), "recall", "limited_by_scope", false},
		{w.keyFor(sp.ID, "", dhruva.ProxyUse, dhruva.MemoryWrite), "both", "limited_by_scope", false},
	} {
		var header []string
		if c.mode != "" {
			header = []string{"X-Dhruva-Memory", c.mode}
		}
		for _, path := range []string{"/v1/chat/completions", "/v1/messages"} {
			res, _ := w.post(c.key, path, question, header...)
			sent := w.provider.Last().Body
			if same := sha256.Sum256(sent) == sha256.Sum256([]byte(question)); same == c.edited || res.Header.Get("X-Dhruva-Memory-State") != c.state {
				t.Errorf("%s %q: state %s, body unchanged %v", path, c.mode, res.Header.Get("X-Dhruva-Memory-State"), same)
			}
		}
	}
}

// The receipt that the response names is final, and says what happened.
func TestReceiptsAreClosed(t *testing.T) {
	w := newWhole(t)
	sp, err := w.ledger.CreateSpace(w.owner(), ledger.SpaceInput{Name: "receipts", Unique: true})
	if err != nil {
		t.Fatal(err)
	}
	key := w.keyFor(sp.ID, "")
	for _, mode := range []string{"off", "both"} {
		res, body := w.post(key, "/v1/messages", question, "X-Dhruva-Memory", mode)
		w.drain()
		r, err := w.ledger.Receipt(w.owner(), dhruva.ReceiptID(res.Header.Get("X-Dhruva-Receipt-Id")))
		if err != nil {
			t.Fatal(err)
		}
		if r.State != "final" || r.Upstream.Status != 200 || r.Upstream.Terminal != dhruva.TerminalCompleted || r.Tokens.Input != testkit.InputTokens ||
			r.Bytes.In != int64(len(question)) || r.Bytes.Out != int64(len(body)) || r.Provider != "anthropic" || r.RequestID != res.Header.Get("X-Dhruva-Request-Id") {
			t.Errorf("%s: %+v", mode, r)
		}
	}
}

// M36-M39, R13: what must not be kept is nowhere in the store.
func TestM36_NoCanaryIsStored(t *testing.T) {
	w := newWhole(t)
	key := w.key("canaries", "")
	const system = "CANARY-S"
	for _, c := range []struct {
		path, body string
		replies    []testkit.Reply
	}{
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"system","content":"CANARY-S"},{"role":"user","content":"what is visible?"}]}`,
			[]testkit.Reply{testkit.ChatJSONCanary("visible blue"), testkit.ChatSSECanary("visible", " blue"), testkit.ChatSSEThink("visible", " blue")}},
		{"/v1/responses", `{"model":"m","instructions":"CANARY-S","input":[{"role":"user","content":"what is visible?"},{"type":"function_call","call_id":"c","name":"f","arguments":"CANARY-A"},{"type":"function_call_output","call_id":"c","output":"CANARY-A"},{"role":"user","content":"and now?"}]}`,
			[]testkit.Reply{testkit.ResponsesJSONCanary("visible blue"), testkit.ResponsesSSECanary("visible", " blue")}},
		{"/v1/messages", `{"model":"m","max_tokens":9,"system":"CANARY-S","messages":[{"role":"user","content":"what is visible?"},{"role":"assistant","content":[{"type":"thinking","thinking":"CANARY-T","signature":"x"},{"type":"tool_use","id":"t1","name":"f","input":{"a":"CANARY-A"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"CANARY-A"}]},{"role":"assistant","content":"done"},{"role":"user","content":"and now?"}]}`,
			[]testkit.Reply{testkit.MessagesJSONCanary("visible blue"), testkit.MessagesSSECanary("visible", " blue")}},
	} {
		for _, reply := range c.replies {
			w.provider.Enqueue(reply)
			_, _ = w.post(key, c.path, c.body)
		}
	}
	w.drain()
	dump := w.dump()
	for _, canary := range []string{testkit.CanaryReasoning, testkit.CanaryThinking, testkit.CanaryArguments, system} {
		if i := strings.Index(dump, canary); i >= 0 {
			t.Errorf("%s is stored: …%s…", canary, dump[max(0, i-80):min(len(dump), i+80)])
		}
	}
	if !strings.Contains(dump, "what is visible?") || !strings.Contains(dump, "visible blue") {
		t.Error("nothing was captured: the test proves nothing")
	}
}

// dump is every session, turn, source, receipt and change of the tenant.
func (w *whole) dump() string {
	w.Helper()
	var out strings.Builder
	page := dhruva.Page{Limit: 1000}
	enc := json.NewEncoder(&out)
	keep := func(v any, err error) {
		if err == nil {
			err = enc.Encode(v)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
	err := w.store.View(w.Context(), dhruva.TenantScope(auth.LocalTenant), func(tx dhruva.Tx) error {
		spaces, err := tx.ListSpaces(page)
		keep(spaces, err)
		sessions, err := tx.ListSessions(dhruva.SessionQuery{Page: page})
		keep(sessions, err)
		for _, s := range sessions {
			turns, err := tx.ListTurns(dhruva.TurnQuery{Session: s.ID})
			keep(turns, err)
		}
		for _, s := range spaces {
			sources, err := tx.ListSources(dhruva.SourceQuery{Space: s.ID, Generation: 1, Page: page})
			keep(sources, err)
		}
		receipts, err := tx.ListReceipts(dhruva.ReceiptQuery{Page: page})
		keep(receipts, err)
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return out.String()
}

// Tenants of one proxy never see each other's words, whatever runs at once.
func TestManyKeysAtOnce(t *testing.T) {
	w := newWhole(t)
	var wg sync.WaitGroup
	for i := range 8 {
		key := w.key(fmt.Sprintf("space %d", i), "echo")
		secret := fmt.Sprintf("canary%dcanary", i)
		wg.Go(func() {
			for range 6 {
				_, _ = w.post(key, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"The codeword for the harbour gate is `+secret+`."}]}`)
				_, got := w.post(key, "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"What is the codeword for the harbour gate?"}]}`)
				if !strings.Contains(got, secret) || strings.Count(got, "canary") != 2*strings.Count(got, secret) {
					t.Errorf("space %d was told %s", i, got)
				}
			}
		})
	}
	wg.Wait()
}

var (
	_ proxy.Memory = (*memory.Memory)(nil)
	_ proxy.Keys   = (*auth.Keys)(nil)
)
