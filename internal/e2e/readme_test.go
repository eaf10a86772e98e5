package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fence finds the README's blocks.
var fence = regexp.MustCompile("(?ms)^```(sh|js)\n(.*?)^```$")

// What the README shows works as printed: its scripts are its own blocks, its
// shell lines run in order in one shell. Only the address, the prepared
// binary and `claude` (a stand-in that records its arguments) differ.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, t.TempDir(), nil)
	text := strings.ReplaceAll(string(readme), "http://127.0.0.1:7373", s.URL)
	work := t.TempDir()
	var script strings.Builder
	script.WriteString("set -euo pipefail\n")
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		if m[1] == "sh" {
			script.WriteString(m[2])
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(m[2], "// "), "\n")
		copyTo(t, filepath.Join(work, name), m[2])
	}
	path, err := binary()
	s.must(err)
	s.must(os.MkdirAll(filepath.Join(work, "bin"), 0o755))
	s.must(os.Symlink(path, filepath.Join(work, "bin", "dhruva")))
	copyTo(t, filepath.Join(work, "bin", "claude"), "#!/bin/sh\nprintf '%s\\n' \"$@\" > claude.args\n")
	s.must(os.Chmod(filepath.Join(work, "bin", "claude"), 0o755))
	for _, f := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join("node", f))
		s.must(err)
		copyTo(t, filepath.Join(work, "internal/e2e/node", f), string(data))
	}
	out := runScript(t, work, s.dir, script.String())
	for _, want := range []string{
		"Echo: My dog is called Biscuit", "Echo: What is my dog called?", "<dhruva-memory v=\"1\"",
		"user said, ", "You are continuing a conversation.", "Checkpoint 1 Key Decisions:\n- Fly to Sydney", "User Query:\nWhich city comes first?",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what the README's lines print:\n%s", want, out)
		}
	}
	if _, prompt, ok := strings.Cut(out, "\nmounted "); !ok || strings.Contains(prompt, "New Zealand") {
		t.Errorf("the mounted prompt leaks:\n%s", prompt)
	}
	s.checkClaude(work)
}

// checkClaude connects as the README's `claude mcp add` line says.
func (s *server) checkClaude(work string) {
	s.Helper()
	args, err := os.ReadFile(filepath.Join(work, "claude.args"))
	s.must(err)
	got := strings.Split(strings.TrimSpace(string(args)), "\n")
	if len(got) != 8 || got[0] != "mcp" || got[5] != s.URL+"/mcp" {
		s.Fatalf("claude was called with %q", got)
	}
	key, ok := strings.CutPrefix(got[7], "Authorization: Bearer ")
	if text := s.mcpRecallOf(key, "what is my dog called?"); !ok || !strings.Contains(text, "Biscuit") {
		s.Errorf("recalled over MCP: %s", text)
	}
}

func copyTo(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func runScript(t *testing.T, work, data, script string) string {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "bash", "-c", script)
	cmd.Dir = work
	cmd.Env = append(clean(os.Environ()), "DHRUVA_DATA="+data)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	return out.String()
}
