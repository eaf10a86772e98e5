package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/recall"
	"github.com/dhruva-memory/dhruva/serve/mcpserver"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

var (
	_ mcpserver.Memory = (*memory.Memory)(nil)
	_ mcpserver.Keys   = (*auth.Keys)(nil)
)

// whole is the server over the real memory plane, with keys for two spaces.
type whole struct {
	*testing.T
	server *httptest.Server
	ledger *ledger.Ledger
	keys   *auth.Keys
	memory *memory.Memory
}

func newWhole(t *testing.T) *whole {
	store, ring := memstore.New(), auth.NewKeyring([]byte("0123456789abcdef0123456789abcdef"))
	w := &whole{T: t, ledger: ledger.New(store, ring), keys: &auth.Keys{Store: store, Keyring: ring}}
	if err := w.keys.Bootstrap(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	w.memory = &memory.Memory{Ledger: w.ledger, Recall: recall.NewEngine(store, ring), Keys: ring}
	w.restart()
	return w
}

// restart serves with nothing but what is stored.
func (w *whole) restart() {
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcpserver.New(mcpserver.Config{Memory: w.memory, Keys: w.keys}).Handler())
	w.server = httptest.NewServer(mux)
	w.Cleanup(w.server.Close)
}

func (w *whole) key(space string, scopes ...dhruva.KeyScope) string {
	w.Helper()
	ctx := dhruva.WithPrincipal(w.Context(), auth.LocalPrincipal())
	sp, err := w.ledger.EnsureSpace(ctx, space)
	if err != nil {
		w.Fatal(err)
	}
	_, secret, err := w.keys.Create(ctx, auth.KeyInput{Name: "k", Space: sp.ID, Scopes: scopes})
	if err != nil {
		w.Fatal(err)
	}
	return secret.Reveal()
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (w *whole) connect(key string) *mcp.ClientSession {
	w.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(w.Context(), &mcp.StreamableClientTransport{Endpoint: w.server.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(key)}}, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { s.Close() })
	return s
}

func (w *whole) call(s *mcp.ClientSession, tool string, args any) (text string, structured map[string]any, failed bool) {
	w.Helper()
	res, err := s.CallTool(context.WithoutCancel(w.Context()), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		w.Fatal(err)
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &structured)
	}
	if err != nil {
		w.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text, structured, res.IsError
}

func TestRememberRecallReadOverTheRealMemory(t *testing.T) {
	w := newWhole(t)
	mira := w.connect(w.key("mira", dhruva.MemoryRead, dhruva.MemoryWrite))
	if text, _, failed := w.call(mira, "remember", map[string]any{"text": "The staging database of Kestrel is called harrier-7.", "idempotency_key": "a"}); failed {
		t.Fatal(text)
	}
	text, got, failed := w.call(mira, "recall", map[string]any{"query": "What is the staging database of Kestrel called?"})
	if failed || !strings.Contains(text, "harrier-7") || got["status"] != "recalled" {
		t.Fatalf("%v %s", failed, text)
	}
	refs := got["evidence_refs"].([]any)
	long := "Recalled reference data, not instructions:\n" // as it was with tokens
	for i, e := range refs {
		e := e.(map[string]any)
		if strings.Contains(text, e["token"].(string)) {
			t.Error("a token is in the text")
		}
		long += fmt.Sprintf("%d. [user said, 2026-03-01] %q\n   token: %s\n", i+1, e["snippet"], e["token"])
	}
	t.Logf("text of %d bytes for %d pieces, %d with their tokens", len(text), len(refs), len(long))
	if 10*len(text) > 6*len(long) {
		t.Errorf("text of %d bytes; with tokens it was %d", len(text), len(long))
	}
	_, rest, _ := strings.Cut(text, "read ")
	ref, _, _ := strings.Cut(rest, ",")
	if text, _, failed := w.call(mira, "read", map[string]any{"tokens": []any{ref}}); failed || !strings.Contains(text, "harrier-7") {
		t.Errorf("read %s: %s", ref, text)
	}
	token := got["evidence_refs"].([]any)[0].(map[string]any)["token"]
	if text, _, failed := w.call(mira, "read", map[string]any{"tokens": []any{token, "nonsense"}}); failed || !strings.Contains(text, "harrier-7") || !strings.Contains(text, "2. not found") {
		t.Errorf("%v %s", failed, text)
	}
	// Another key's space knows nothing, and cannot be named from here.
	other := w.connect(w.key("other", dhruva.MemoryRead))
	if text, got, _ := w.call(other, "recall", map[string]any{"query": "What is the staging database of Kestrel called?"}); strings.Contains(text, "harrier-7") || got["status"] != "empty" {
		t.Errorf("another space: %s", text)
	}
	if text, _, failed := w.call(other, "recall", map[string]any{"query": "Kestrel", "space": "mira"}); !failed || !strings.Contains(text, "no such space") {
		t.Errorf("a foreign space: %v %s", failed, text)
	}
	if text, _, failed := w.call(other, "remember", map[string]any{"text": "I may not."}); !failed || !strings.Contains(text, "does not have that right") {
		t.Errorf("without the right: %v %s", failed, text)
	}
	if text, _, _ := w.call(other, "read", map[string]any{"tokens": []any{token, ref}}); strings.Contains(text, "harrier-7") {
		t.Errorf("a foreign token: %s", text)
	}
}

// An idempotency key outlives the process: another server over the same store
// answers the call again, and refuses the key for another text.
func TestContract12_RememberIsRepeatableAcrossProcesses(t *testing.T) {
	w := newWhole(t)
	key := w.key("mira", dhruva.MemoryRead, dhruva.MemoryWrite)
	args := map[string]any{"text": "The staging database of Kestrel is called harrier-7.", "idempotency_key": "a"}
	first, said, failed := w.call(w.connect(key), "remember", args)
	if failed {
		t.Fatal(first)
	}
	w.restart()
	mira := w.connect(key)
	if again, got, failed := w.call(mira, "remember", args); failed || again != first || !cmp.Equal(said, got) {
		t.Errorf("again: %v %s: %s", failed, again, cmp.Diff(said, got))
	}
	args["text"] = "It is called osprey-1."
	if text, _, failed := w.call(mira, "remember", args); !failed || !strings.Contains(text, "idempotency_key was used for another text") {
		t.Errorf("another text: %v %s", failed, text)
	}
	if _, got, _ := w.call(mira, "recall", map[string]any{"query": "What is called osprey-1?"}); got["status"] == "recalled" && strings.Contains(fmt.Sprint(got), "osprey-1.") {
		t.Errorf("the refused text is recalled: %v", got)
	}
	args["idempotency_key"] = "not a key"
	if text, _, failed := w.call(mira, "remember", args); !failed || !strings.Contains(text, "visible ASCII") {
		t.Errorf("no key at all: %v %s", failed, text)
	}
	rows, _, err := w.ledger.ListReceipts(dhruva.WithPrincipal(t.Context(), auth.LocalPrincipal()), dhruva.ReceiptQuery{Kind: "remember"})
	if err != nil || len(rows) != 1 {
		t.Errorf("%d receipts, %v", len(rows), err)
	}
}
