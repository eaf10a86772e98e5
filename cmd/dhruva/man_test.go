package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryCommandIsListed: docs/commands.md names all that there are.
func TestEveryCommandIsListed(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, w := range strings.FieldsFunc(string(b), func(r rune) bool { return strings.ContainsRune(" ,`|[]\n", r) }) {
		listed[w] = true
	}
	root := (&program{}).root()
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && !listed[c.Name()] {
			t.Errorf("%s is missing", c.CommandPath())
		}
	}
	for _, group := range []string{"session", "checkpoint", "branch", "claim", "worktree", "space"} {
		c, _, err := root.Find([]string{group})
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range c.Commands() {
			if !listed[verb.Name()] {
				t.Errorf("%s is missing", verb.CommandPath())
			}
		}
	}
}

func TestRoff(t *testing.T) {
	for in, want := range map[string]string{
		".TH x": `\&.TH x`, "'quoted'": `\&'quoted'`, `a\b`: `a\eb`, "--dry-run": `\-\-dry\-run`, `say "x"`: `say \(dqx\(dq`, "a…": `a\[u2026]`,
	} {
		if got := roff(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
