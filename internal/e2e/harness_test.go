package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/internal/testkit"
)

// binary builds dhruva once for the package, as it is released.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "dhruva-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "dhruva")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "github.com/dhruva-memory/dhruva/cmd/dhruva")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %v\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// server is a running dhruva serve.
type server struct {
	*testing.T
	URL  string
	dir  string
	cmd  *exec.Cmd
	logs *logs
	done chan error
}

// logs is what a process writes, which a test may read meanwhile.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to it.
func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String is all of it so far.
func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// place is where a server keeps things: a data directory, and a store, "" for
// the one in the directory.
type place struct{ dir, store string }

// eachStore runs a test on each kind of store: in memory, on SQLite, on Postgres.
func eachStore(t *testing.T, test func(*testing.T, place)) {
	for name, store := range map[string]func(*testing.T) string{
		"memory": func(*testing.T) string { return "memory:" }, "sqlite": func(*testing.T) string { return "" },
		"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) { test(t, place{t.TempDir(), store(t)}) })
	}
}

// start serves a data directory; its providers openai and anthropic are the
// recording one when it is given.
func start(t *testing.T, dir string, upstream *testkit.Provider) *server {
	t.Helper()
	return startAt(t, place{dir: dir}, upstream)
}

func startAt(t *testing.T, at place, upstream *testkit.Provider) *server {
	t.Helper()
	dir := at.dir
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	if upstream != nil {
		text := fmt.Sprintf("providers:\n  openai: {enabled: true, api_key: sk-upstream, base_url: %s/v1, allow_private: true, default_model: m}\n"+
			"  anthropic: {enabled: true, api_key: sk-ant-upstream, base_url: %s, allow_private: true, default_model: m}\n", upstream.URL(), upstream.URL())
		if err := os.WriteFile(filepath.Join(dir, "providers.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &server{T: t, dir: dir, logs: &logs{}, done: make(chan error, 1)}
	args := []string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}
	if at.store != "" {
		args = append(args, "--store", at.store)
	}
	s.cmd = exec.Command(path, args...)
	s.cmd.Stderr = s.logs
	s.cmd.Env = clean(os.Environ())
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { s.done <- s.cmd.Wait() }()
	t.Cleanup(s.stop)
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("it said %q (%v)\n%s", line, err, s.logs)
	}
	s.URL = url
	return s
}

// clean takes out of an environment what would configure dhruva.
func clean(env []string) (out []string) {
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "DHRUVA_") && !strings.HasPrefix(name, "SMRITI_") && !strings.HasSuffix(name, "_API_KEY") {
			out = append(out, e)
		}
	}
	return out
}

// stop ends the server as an operator does and waits for it.
func (s *server) stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(os.Interrupt)
	<-s.done
	s.cmd = nil
}

// kill ends the process without warning.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
	s.cmd = nil
}

// admin is a client with the key that serve wrote for this machine.
func (s *server) admin() *client.Client {
	s.Helper()
	key, err := os.ReadFile(filepath.Join(s.dir, "admin.key"))
	if err != nil {
		s.Fatal(err)
	}
	return &client.Client{BaseURL: s.URL, Key: strings.TrimSpace(string(key))}
}

func (s *server) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%v\n%s", err, s.logs)
	}
}

// key makes a space of this name where there is none, and a key for it.
func (s *server) key(space string, scopes ...dhruva.KeyScope) string {
	s.Helper()
	if _, err := s.admin().Space(context.Background(), space); err != nil {
		_, err = s.admin().CreateSpace(context.Background(), client.SpaceInput{Name: space})
		s.must(err)
	}
	if len(scopes) == 0 {
		scopes = []dhruva.KeyScope{dhruva.ProxyUse, dhruva.MemoryRead, dhruva.MemoryWrite, dhruva.ReceiptRead}
	}
	k, err := s.admin().CreateKey(context.Background(), client.KeyInput{Name: "e2e", Space: space, Scopes: scopes})
	s.must(err)
	return k.Secret
}

// post sends raw bytes as a client of a provider would.
func (s *server) post(path, key string, body []byte, headers ...string) *http.Response {
	s.Helper()
	r, err := http.NewRequest(http.MethodPost, s.URL+path, bytes.NewReader(body))
	s.must(err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	s.Cleanup(func() { resp.Body.Close() })
	return resp
}

// run executes the binary for this server's data directory.
func (s *server) run(args ...string) string {
	s.Helper()
	path, err := binary()
	s.must(err)
	cmd := exec.Command(path, append(args, "--data", s.dir)...)
	cmd.Env = clean(os.Environ())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("dhruva %v: %v\n%s", args, err, errs.String())
	}
	return string(out)
}

// do posts to the echo provider.
func do(url, key, body string) (*http.Response, error) {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("X-Dhruva-Provider", "echo")
	return http.DefaultClient.Do(r)
}
