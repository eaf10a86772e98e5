package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// watched is a provider that calls seen with every piece of a request as it
// comes from the wire, before any of it is read.
func watched(t *testing.T, seen func([]byte)) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, testkit.ChatJSON("Noted.").Raw()) // a client that has gone fails the test elsewhere
	}))
	s.Listener = wire{s.Listener, seen}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

type wire struct {
	net.Listener
	seen func([]byte)
}

func (w wire) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	return &wireConn{c, w.seen}, err
}

type wireConn struct {
	net.Conn
	seen func([]byte)
}

func (c *wireConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.seen(p[:n])
	}
	return n, err
}

// onDisk is what a store's files hold now, as if the machine had stopped.
func onDisk(t *testing.T, path string) []dhruva.Receipt {
	t.Helper()
	dir := t.TempDir()
	for _, ext := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + ext)
		if err != nil && (ext == "" || !errors.Is(err, os.ErrNotExist)) {
			t.Error(err)
			return nil
		}
		if err := os.WriteFile(filepath.Join(dir, "copy.db"+ext), b, 0o600); err != nil {
			t.Error(err)
			return nil
		}
	}
	s, err := sqlstore.Open(context.Background(), filepath.Join(dir, "copy.db"), sqlstore.Options{})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer s.Close()
	var out []dhruva.Receipt
	err = s.View(context.Background(), dhruva.TenantScope(auth.LocalTenant), func(tx dhruva.Tx) error {
		out, err = tx.ListReceipts(dhruva.ReceiptQuery{Kind: "proxy"})
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

// Contracts 10, memory-plane 2.10: what is injected is accounted for on disk
// before the provider gets the first byte of the request.
func TestAnInjectionIsDurableBeforeTheFirstUpstreamByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	store, err := sqlstore.Open(context.Background(), path, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	var mu sync.Mutex
	var got bytes.Buffer
	var first []dhruva.Receipt // on disk when the first byte came
	provider := watched(t, func(p []byte) {
		mu.Lock()
		defer mu.Unlock()
		if got.Len() == 0 {
			first = onDisk(t, path)
		}
		got.Write(p)
	})
	w := newWholeOn(t, store, provider)
	key := w.key("space", "")
	ask := clients()["chat"]
	ask(w, key, "My dog is called Biscuit and is allergic to chicken.")
	w.drain()
	mu.Lock()
	if len(first) != 0 || bytes.Contains(got.Bytes(), []byte("dhruva-memory")) {
		t.Fatalf("the first request was touched: %+v", first)
	}
	got.Reset()
	mu.Unlock()
	ask(w, key, "What is my dog called?")
	mu.Lock()
	defer mu.Unlock()
	if !bytes.Contains(got.Bytes(), []byte("dhruva-memory")) || !bytes.Contains(got.Bytes(), []byte("Biscuit")) {
		t.Fatalf("nothing was injected: %s", got.Bytes())
	}
	var open []dhruva.Receipt
	for _, r := range first {
		if r.State == "open" {
			open = append(open, r)
		}
	}
	if len(open) != 1 || open[0].Memory != dhruva.MemoryRecalled || open[0].Recall.Evidence == 0 || len(open[0].Recall.Sources) == 0 {
		t.Errorf("on disk when the first byte came: %+v", first)
	}
}

// stuck is a store whose updates fail while it is stuck.
type stuck struct {
	dhruva.Store
	on atomic.Bool
}

func (s *stuck) Update(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) error {
	if s.on.Load() {
		return fmt.Errorf("%w: the disk is full", dhruva.ErrUnavailable)
	}
	return s.Store.Update(ctx, scopes, fn)
}

// Where the intent cannot be written nothing is injected.
func TestWithoutADurableIntentNothingIsInjected(t *testing.T) {
	store := &stuck{Store: memstore.New()}
	w := newWholeOn(t, store, "")
	key := w.key("space", "")
	ask := clients()["chat"]
	ask(w, key, "My dog is called Biscuit and is allergic to chicken.")
	w.drain()
	store.on.Store(true)
	ask(w, key, "What is my dog called?")
	w.drain()
	if body := string(w.provider.Last().Body); strings.Contains(body, "Biscuit") || strings.Contains(body, "dhruva-memory") {
		t.Errorf("injected without an account: %s", body)
	}
	store.on.Store(false)
	ask(w, key, "What is my dog called?")
	if body := string(w.provider.Last().Body); !strings.Contains(body, "Biscuit") {
		t.Errorf("not injected: %s", body)
	}
}

// Whatever becomes of a call, its receipt ends once, and its leaf is there once:
// many calls at once, untouched and injected, answered, failed and abandoned.
func TestReceiptsAreClosedOnceWithTheirLeaves(t *testing.T) {
	w := newWhole(t)
	key := w.key("space", "")
	ask := clients()["chat"]
	ask(w, key, "My dog is called Biscuit and is allergic to chicken.")
	w.drain()
	slow := make(chan struct{})
	w.provider.SetDefault(func(r testkit.Request) testkit.Reply {
		switch {
		case bytes.Contains(r.Body, []byte("number 1")):
			return testkit.ChatError(500, "server_error", "boom", "sorry")
		case bytes.Contains(r.Body, []byte("number 2")):
			return testkit.ChatSSE("one ", "two ").Wait(slow).Then("data: [DONE]\n\n")
		}
		return testkit.ChatJSON("Noted.")
	})
	const calls = 60
	var wg sync.WaitGroup
	for n := range calls {
		wg.Go(func() {
			mode := []string{"off", "both", "recall"}[n/20]
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"number %d: what is my dog called?"}]}`, n%3 == 2, n%3)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.server.URL+"/v1/chat/completions", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+key)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Dhruva-Memory", mode)
			res, err := w.server.Client().Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if n%3 == 2 { // the client leaves in the middle
				cancel()
			}
			_, _ = io.Copy(io.Discard, res.Body) // it breaks off where the client left
		})
	}
	wg.Wait()
	close(slow)
	w.drain()
	err := w.store.View(t.Context(), dhruva.TenantScope(auth.LocalTenant), func(tx dhruva.Tx) error {
		rows, err := tx.ListReceipts(dhruva.ReceiptQuery{Kind: "proxy", Page: dhruva.Page{Limit: 1000}})
		if err != nil {
			return err
		}
		if len(rows) != calls+1 {
			t.Errorf("%d receipts of %d calls", len(rows), calls+1)
		}
		states := map[dhruva.MemoryState]int{}
		for _, r := range rows {
			states[r.Memory]++
			leaf, err := tx.Leaf(dhruva.LeafID(r.ID))
			want, wantErr := dhruva.LeafOf(r)
			if err != nil || wantErr != nil || leaf != want {
				t.Errorf("receipt %s is %s, its leaf %+v: %v %v", r.ID, r.State, leaf, err, wantErr)
			}
		}
		if states[dhruva.MemoryRecalled] == 0 || states[dhruva.MemoryOff] == 0 {
			t.Errorf("%v", states)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
