package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dhruva-memory/dhruva/client"
)

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// child is the program as a process of its own.
type child struct {
	*exec.Cmd
	url    string
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// start runs the program until it says where it listens.
func start(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: exec.Command(exe, args...)}
	c.Env = []string{asProgram + "=1", "HOME=" + dir, "DHRUVA_DATA=" + dir, "TMPDIR=" + dir}
	c.Stderr = &c.stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // one that has ended cannot be
	c.stdout = bufio.NewReader(out)
	line, _ := c.stdout.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		_ = c.Wait()
		t.Fatalf("it said %q: %s", line, c.stderr.String())
	}
	c.url = url
	return c
}

// end waits for the process and returns its exit code and what it still said.
func (c *child) end(t *testing.T) (int, string) {
	t.Helper()
	rest, err := io.ReadAll(c.stdout)
	if err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(rest)
}

func TestServeEndsCleanlyOnATerm(t *testing.T) {
	dir := t.TempDir()
	c := start(t, dir, "serve", "--listen", "127.0.0.1:0")
	for _, path := range []string{"/livez", "/readyz", "/health"} {
		res, err := http.Get(c.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d", path, res.StatusCode)
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	code, rest := c.end(t)
	if code != exitOK || rest != "" {
		t.Errorf("exit code %d, further output %q", code, rest)
	}
	for _, line := range strings.Split(strings.TrimSpace(c.stderr.String()), "\n") {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("not a JSON line on standard error: %s", line)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, serverFile)); err == nil {
		t.Errorf("%s is still there", serverFile)
	}
}

func TestAKilledServerLeavesNoTrap(t *testing.T) {
	dir := t.TempDir()
	c := start(t, dir, "serve", "--listen", "127.0.0.1:0")
	api := &client.Client{BaseURL: c.url, Key: strings.TrimSpace(string(readFile(t, filepath.Join(dir, "admin.key"))))}
	if _, err := api.CreateSpace(t.Context(), client.SpaceInput{Name: "kept"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.end(t)
	if _, err := os.Stat(filepath.Join(dir, serverFile)); err != nil {
		t.Fatalf("the killed server's file is gone: %v", err)
	}
	var out bytes.Buffer
	env := func(n string) string { return map[string]string{"DHRUVA_DATA": dir}[n] }
	if code := run(t.Context(), []string{"space", "list"}, strings.NewReader(""), &out, io.Discard, env); code != exitOK || !strings.Contains(out.String(), "kept") {
		t.Errorf("exit code %d, %s", code, out.String())
	}
	again := start(t, dir, "serve", "--listen", "127.0.0.1:0")
	if err := again.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code, _ := again.end(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, again.stderr.String())
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTryServesADemoAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	c := start(t, dir, "try")
	var said strings.Builder
	for !strings.Contains(said.String(), "session preview") {
		line, err := c.stdout.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, c.stderr.String())
		}
		said.WriteString(line)
	}
	_, key, _ := strings.Cut(said.String(), "· key ")
	key, _, _ = strings.Cut(key, "\n")
	got, err := (&client.Client{BaseURL: c.url, Key: key}).Recall(t.Context(), "", client.RecallInput{Query: "which seat does Mel want?"})
	if err != nil || len(got.Evidence) == 0 || !strings.Contains(got.Evidence[0].Snippet, "window seat") {
		t.Errorf("recall gives %+v, %v", got, err)
	}
	// The first of the three lines, as the SDKs would send it: no provider named.
	req, err := http.NewRequest(http.MethodPost, c.url+"/v1/chat/completions", strings.NewReader(`{"model":"echo","messages":[{"role":"user","content":"When do we go to Australia?"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("first week of May")) {
		t.Errorf("%d: %s", res.StatusCode, body)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code, _ := c.end(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, c.stderr.String())
	}
	left, err := filepath.Glob(filepath.Join(dir, "dhruva-try-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSighupReloadsTheProviders(t *testing.T) {
	dir := t.TempDir()
	all, err := newProviders(defaultConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	in, err := open(t.Context(), dir, "", all, slog.New(slog.NewJSONHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := in.closeSoon(); err != nil {
			t.Error(err)
		}
	}()
	p := &program{env: noEnv(t)}
	reloaded := make(chan error)
	p.reloaded = func(err error) { reloaded <- err }
	stop := p.reloading(in, "")
	defer stop()
	path := filepath.Join(dir, providersFile)
	hup := func(yaml string) error {
		if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		me, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if err := me.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		return <-reloaded
	}
	if err := hup("chat: {default_provider: echo}"); err != nil {
		t.Fatal(err)
	}
	if got, err := in.providers.find(""); err != nil || got.Name != echoName {
		t.Errorf("after the reload: %v, %v", got, err)
	}
	if got := logged.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"providers reloaded"`) {
		t.Errorf("a reload logs %q", got)
	}
	if err := hup("chat: ["); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a broken file gives %v", err)
	}
	if got, err := in.providers.find(""); err != nil || got.Name != echoName {
		t.Errorf("a broken file changed something: %v, %v", got, err)
	}
}

func TestMCPOverStandardInput(t *testing.T) {
	dir := t.TempDir()
	env := func(n string) string { return map[string]string{"DHRUVA_DATA": dir}[n] }
	if code := run(t.Context(), []string{"space", "create", "work"}, strings.NewReader(""), io.Discard, io.Discard, env); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(context.Background(), []string{"mcp", "--space", "work"}, inR, outW, io.Discard, env)
		_ = outW.Close()
		ended <- code
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool string, args map[string]any) string {
		t.Helper()
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %+v", tool, err, res)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	call("remember", map[string]any{"text": "The deploy window is Friday at nine in the evening."})
	if got := call("recall", map[string]any{"query": "when is the deploy window?"}); !strings.Contains(got, "Friday at nine") {
		t.Errorf("recall says %s", got)
	}
	once := map[string]any{"text": "The release is on Monday.", "idempotency_key": "k"}
	if first, again := call("remember", once), call("remember", once); first != again {
		t.Errorf("repeated: %s, then %s", first, again)
	}
	once["text"] = "The release is on Tuesday."
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "remember", Arguments: once})
	if err != nil || !res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "used for another text") {
		t.Errorf("another text: %v %+v", err, res)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_ = inW.Close()
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for space, want := range map[string]string{"work": "Friday at nine", "default": ""} {
		var out bytes.Buffer
		run(t.Context(), []string{"recall", "--space", space, "when is the deploy window?"}, strings.NewReader(""), &out, io.Discard, env)
		if got := out.String(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("in space %s: %q", space, got)
		}
	}
}
