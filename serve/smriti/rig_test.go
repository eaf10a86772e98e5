package smriti_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/llm/mock"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/recall"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
	"github.com/dhruva-memory/dhruva/serve/smriti"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// rig is the whole API over a memory store, with a provider that records what it
// is given.
type rig struct {
	*testing.T
	url    string
	key    string // "" is nobody
	chat   *llm.Scripted
	slot   *llm.Scripted // for background work
	noSlot bool
	keys   *auth.Keys
	ledger *ledger.Ledger
	trees  *agents.Worktrees
	local  bool
	late   atomic.Int64 // added to the clock
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, local: true}
	r.chat = &llm.Scripted{Default: func(req llm.Request) llm.Reply { return llm.Reply{Text: "It is noted by the model."} }}
	r.slot = &llm.Scripted{Default: func(req llm.Request) llm.Reply {
		if req.JSON {
			return llm.Reply{Text: mock.Answer}
		}
		return llm.Reply{Text: `"A fitting title"`}
	}}
	store, keyring := memstore.New(), auth.NewKeyring([]byte("a seed of at least thirty-two bytes!"))
	r.keys = &auth.Keys{Store: store, Keyring: keyring}
	if err := r.keys.Bootstrap(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	r.ledger = ledger.New(store, keyring)
	began := time.Now()
	r.ledger.Now = func() time.Time { return began.Add(time.Since(began) + time.Duration(r.late.Load())) }
	m := &memory.Memory{
		Ledger: r.ledger, Recall: recall.NewEngine(store, keyring), Keys: keyring,
		Providers: r.provider,
		Background: func() (memory.Provider, error) {
			if r.noSlot {
				return memory.Provider{}, fmt.Errorf("%w: provider %q is not enabled", dhruva.ErrInvalid, "openai")
			}
			return memory.Provider{Name: "background", DefaultModel: "b1", Generator: r.slot}, nil
		},
	}
	r.trees = &agents.Worktrees{Ledger: r.ledger}
	handler := smriti.New(smriti.Config{
		Memory: m, Keys: r.keys, Worktrees: r.trees, Local: func(*http.Request) bool { return r.local },
		Providers: func() smriti.Providers {
			return smriti.Providers{
				ByName:     map[string]smriti.Provider{"openai": {Enabled: true, HasKey: true, Configured: true, Label: "ready", DefaultModel: "gpt"}},
				Background: smriti.Background{Provider: "openai", Model: "gpt-4o-mini", Label: "not configured"},
			}
		},
	})
	s := httptest.NewServer(edge.Access{Log: slog.New(slog.DiscardHandler)}.Wrap(handler))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

func (r *rig) provider(name string) (memory.Provider, error) {
	switch name {
	case "scripted":
		return memory.Provider{Name: name, DefaultModel: "m1", Generator: r.chat}, nil
	case "mock":
		return memory.Provider{Name: mock.Name, DefaultModel: mock.Model, Generator: mock.Provider{}}, nil
	}
	return memory.Provider{}, fmt.Errorf("%w: provider %q is not enabled", dhruva.ErrInvalid, name)
}

// object is a JSON object.
type object = map[string]any

// do sends a request and reads the JSON that comes back.
func (r *rig) do(method, path string, in any, header ...string) (int, any) {
	r.Helper()
	var body io.Reader
	switch v := in.(type) {
	case nil:
	case string:
		body = strings.NewReader(v)
	default:
		b, err := json.Marshal(v)
		if err != nil {
			r.Fatal(err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(r.Context(), method, r.url+path, body)
	if err != nil {
		r.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatal(err)
	}
	if len(raw) == 0 {
		return res.StatusCode, nil
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		r.Fatalf("%s %s: %d is no JSON: %s", method, path, res.StatusCode, raw)
	}
	return res.StatusCode, out
}

// want sends a request that is answered with a status, and returns the object.
func (r *rig) want(status int, method, path string, in any, header ...string) object {
	r.Helper()
	got, out := r.do(method, path, in, header...)
	if got != status {
		r.Fatalf("%s %s: status %d, want %d: %v", method, path, got, status, out)
	}
	if status >= 400 {
		if o, ok := out.(object); !ok || o["detail"] == nil || len(o) != 1 && o["type"] == nil {
			r.Fatalf("%s %s: no detail: %v", method, path, out)
		}
	}
	o, _ := out.(object)
	return o
}

// list sends a request that is answered with a list.
func (r *rig) list(path string) []object {
	r.Helper()
	status, out := r.do("GET", path, nil)
	rows, ok := out.([]any)
	if status != 200 || !ok {
		r.Fatalf("GET %s: %d %v", path, status, out)
	}
	objects := make([]object, len(rows))
	for i := range rows {
		objects[i] = rows[i].(object)
	}
	return objects
}

func (r *rig) space(name string) string {
	r.Helper()
	return r.want(201, "POST", "/api/v2/repos", object{"name": name})["id"].(string)
}

func (r *rig) session(in object) string {
	r.Helper()
	return r.want(201, "POST", "/api/v4/chat/sessions", in)["id"].(string)
}

// say sends a message; more are further fields.
func (r *rig) say(session, message string, more ...any) object {
	r.Helper()
	return r.want(200, "POST", "/api/v4/chat/send", r.message(session, message, more...))
}

func (r *rig) message(session, message string, more ...any) object {
	in := object{"session_id": session, "provider": "scripted", "model": "m1", "message": message}
	for i := 0; i+1 < len(more); i += 2 {
		in[more[i].(string)] = more[i+1]
	}
	return in
}

// save saves a checkpoint of a session.
func (r *rig) save(space, session, message string, more ...any) object {
	r.Helper()
	in := object{"repo_id": space, "session_id": session, "message": message}
	for i := 0; i+1 < len(more); i += 2 {
		in[more[i].(string)] = more[i+1]
	}
	return r.want(201, "POST", "/api/v4/chat/commit", in)
}

// commit saves a checkpoint without a session.
func (r *rig) commit(space, message string, more ...any) object {
	r.Helper()
	in := object{"repo_id": space, "message": message}
	for i := 0; i+1 < len(more); i += 2 {
		in[more[i].(string)] = more[i+1]
	}
	return r.want(201, "POST", "/api/v2/commits", in)
}

// prompt is what the chat model was given last.
func (r *rig) prompt() string {
	r.Helper()
	all := r.chat.Requests()
	if len(all) == 0 {
		r.Fatal("no model was asked")
	}
	return flat(all[len(all)-1])
}

func flat(req llm.Request) string {
	var out []string
	for _, m := range req.Messages {
		out = append(out, m.Content)
	}
	return strings.Join(out, "\n")
}

// holds and lacks look for texts in what a model was given.
func (r *rig) holds(prompt string, texts ...string) {
	r.Helper()
	for _, s := range texts {
		if !strings.Contains(prompt, s) {
			r.Errorf("the prompt lacks %q:\n%s", s, prompt)
		}
	}
}

func (r *rig) lacks(prompt string, texts ...string) {
	r.Helper()
	for _, s := range texts {
		if strings.Contains(prompt, s) {
			r.Errorf("the prompt holds %q:\n%s", s, prompt)
		}
	}
}

func (r *rig) newKey(in auth.KeyInput) string {
	r.Helper()
	_, secret, err := r.keys.Create(dhruva.WithPrincipal(r.Context(), auth.LocalPrincipal()), in)
	if err != nil {
		r.Fatal(err)
	}
	return secret.Reveal()
}
