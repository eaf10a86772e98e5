package agents_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// rig is a space on a store in memory, and a directory that the operator allows,
// with a project's repository in it.
type rig struct {
	*testing.T
	l     *ledger.Ledger
	a     *agents.Agents
	w     *agents.Worktrees
	clock *testkit.Clock
	ctx   context.Context
	space dhruva.Space
	root  string // allowed
	repo  string
	calls *calls
}

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, clock: testkit.NewClock(start)}
	r.l = ledger.New(memstore.New(), auth.NewKeyring([]byte("0123456789abcdef0123456789abcdef")))
	r.l.Now = r.clock.Now
	r.ctx = dhruva.WithPrincipal(context.Background(), dhruva.Principal{Tenant: "tenant", ID: "owner", Name: "Ana", Scopes: []dhruva.KeyScope{dhruva.Admin}})
	r.root = real(t, t.TempDir())
	r.w = &agents.Worktrees{Ledger: r.l, Roots: []string{r.root}, Dir: filepath.Join(r.root, "made"), Now: r.clock.Now}
	r.a = &agents.Agents{Ledger: r.l, Worktrees: r.w}
	return r
}

// project gives the rig a repository with one commit on main, and a space for
// it. git's calls are counted.
func project(t *testing.T) *rig {
	r := newRig(t)
	r.repo = filepath.Join(r.root, "project")
	r.git(r.root, "init", "--quiet", "--initial-branch=main", r.repo)
	r.write(r.repo, "readme.txt", "one\n")
	r.git(r.repo, "add", ".")
	r.git(r.repo, "commit", "--quiet", "-m", "first")
	r.must(os.MkdirAll(r.w.Dir, 0o700))
	r.space = r.newSpace("work", r.repo)
	r.calls = counting(t, r.w)
	return r
}

func (r *rig) newSpace(name, root string) dhruva.Space {
	r.Helper()
	s, err := r.l.CreateSpace(r.ctx, ledger.SpaceInput{Name: name, ProjectRoot: root})
	r.must(err)
	return s
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) is(err, want error) {
	r.Helper()
	if !errors.Is(err, want) {
		r.Fatalf("error %v, want %v", err, want)
	}
}

func real(t *testing.T, path string) string {
	t.Helper()
	out, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// git is what a person does in a repository.
func (r *rig) git(dir string, args ...string) string {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b", "GIT_COMMITTER_DATE="+start.Add(-3*time.Hour).Format(time.RFC3339), "GIT_AUTHOR_DATE="+start.Format(time.RFC3339))
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *rig) write(dir, name, text string) {
	r.Helper()
	path := filepath.Join(dir, name)
	r.must(os.MkdirAll(filepath.Dir(path), 0o700))
	r.must(os.WriteFile(path, []byte(text), 0o700))
}

func (r *rig) open(in agents.WorktreeInput) dhruva.Worktree {
	r.Helper()
	in.Space = firstText(in.Space, string(r.space.ID))
	in.Agent = firstText(in.Agent, "ana")
	w, err := r.w.Open(r.ctx, in)
	r.must(err)
	return w
}

// refused opens a working copy that may not be, and checks that nothing is left
// of it.
func (r *rig) refused(in agents.WorktreeInput, want error) {
	r.Helper()
	in.Space, in.Agent = firstText(in.Space, string(r.space.ID)), firstText(in.Agent, "ana")
	before := r.files()
	_, err := r.w.Open(r.ctx, in)
	r.is(err, want)
	if after := r.files(); after != before {
		r.Errorf("after %v:\n%s\nbefore:\n%s", err, after, before)
	}
}

// files are the directories below the root but for what git keeps for itself,
// the branches of the project, and how many rows there are.
func (r *rig) files() string {
	var b strings.Builder
	r.must(filepath.WalkDir(r.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		b.WriteString(path + "\n")
		return err
	}))
	rows, _, err := r.l.Worktrees(r.ctx, r.space.ID, true, dhruva.Page{})
	r.must(err)
	fmt.Fprintln(&b, len(rows), "rows")
	if r.repo != "" {
		b.WriteString(r.git(r.repo, "branch", "--list") + r.git(r.repo, "worktree", "list"))
	}
	return b.String()
}

func firstText(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// calls counts runs of git: a program that notes each and then is git.
type calls struct {
	mu   sync.Mutex
	file string
	seen int
}

func counting(t *testing.T, w *agents.Worktrees) *calls {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := &calls{file: filepath.Join(dir, "calls")}
	w.Git = filepath.Join(dir, "git")
	script := "#!/bin/sh\necho \"$@\" >> '" + c.file + "'\nexec '" + git + "' \"$@\"\n"
	if err := os.WriteFile(w.Git, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return c
}

// new is how many there were since it was asked last.
func (c *calls) new() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, _ := os.ReadFile(c.file)
	n := strings.Count(string(b), "\n")
	out := n - c.seen
	c.seen = n
	return out
}
