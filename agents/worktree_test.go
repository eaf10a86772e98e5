package agents_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

func TestAWorktreeIsMadeOnABranchOfItsOwn(t *testing.T) {
	r := project(t)
	head := r.git(r.repo, "rev-parse", "HEAD")
	w := r.open(agents.WorktreeInput{Agent: "Claude Code"})
	if !regexp.MustCompile(`^dhruva/claude-code/[0-9a-f]{8}$`).MatchString(w.Branch) || !strings.HasSuffix(w.Branch, string(w.ID[:8])) {
		t.Errorf("branch %s", w.Branch)
	}
	if want := filepath.Join(r.w.Dir, "work", "claude-code-"+string(w.ID[:8])); w.Path != want {
		t.Errorf("path %s, want %s", w.Path, want)
	}
	if w.Base != head || w.Root != r.repo || w.Status != dhruva.WorktreeOpen {
		t.Errorf("%+v", w)
	}
	if text, err := os.ReadFile(filepath.Join(w.Path, "readme.txt")); err != nil || string(text) != "one\n" {
		t.Errorf("%q %v", text, err)
	}
	if got := r.git(w.Path, "rev-parse", "--abbrev-ref", "HEAD") + " " + r.git(w.Path, "status", "--porcelain"); got != w.Branch+" " {
		t.Errorf("%q", got)
	}
	r.w.Prefix = "smriti"
	if w := r.open(agents.WorktreeInput{Agent: "नेहा"}); !strings.HasPrefix(w.Branch, "smriti/agent/") {
		t.Errorf("branch %s", w.Branch)
	}
	named := r.open(agents.WorktreeInput{Branch: "topic/one", Base: head[:10], Path: filepath.Join(r.root, "a", "b", "here")})
	if named.Branch != "topic/one" || named.Base != head || !exists(filepath.Join(r.root, "a", "b", "here", "readme.txt")) {
		t.Errorf("%+v", named)
	}
}

func TestWorktreesAreFoundByTheBeginningOfTheirIDs(t *testing.T) {
	r := project(t)
	w := r.open(agents.WorktreeInput{})
	for _, ref := range []string{string(w.ID), string(w.ID[:8]), strings.ToUpper(string(w.ID[:6]))} {
		got, err := r.w.Show(r.ctx, ref)
		r.must(err)
		if got.ID != w.ID || got.Probe == nil {
			t.Errorf("%s: %+v", ref, got)
		}
	}
	_, err := r.w.Show(r.ctx, string(w.ID[:3]))
	r.is(err, dhruva.ErrInvalid)
	_, err = r.w.Show(r.ctx, "0000000z")
	r.is(err, dhruva.ErrNotFound)
}

func TestWhatExistsIsNotMadeAgain(t *testing.T) {
	r := project(t)
	w := r.open(agents.WorktreeInput{Branch: "taken"})
	r.refused(agents.WorktreeInput{Branch: "taken"}, dhruva.ErrConflict)
	r.refused(agents.WorktreeInput{Branch: "taken/below"}, dhruva.ErrConflict)
	r.refused(agents.WorktreeInput{Path: w.Path}, dhruva.ErrConflict)
	r.refused(agents.WorktreeInput{Path: r.repo}, dhruva.ErrConflict)
	r.refused(agents.WorktreeInput{Base: "0123456789012345678901234567890123456789"}, dhruva.ErrInvalid)
	r.refused(agents.WorktreeInput{Base: "no-such-branch"}, dhruva.ErrInvalid)
	r.refused(agents.WorktreeInput{Path: "relative"}, dhruva.ErrInvalid)
	r.refused(agents.WorktreeInput{Path: filepath.Join(r.repo, ".git", "hooks", "x")}, dhruva.ErrInvalid)
	r.refused(agents.WorktreeInput{Path: r.root + "/a\nb"}, dhruva.ErrInvalid)
	r.refused(agents.WorktreeInput{Agent: " "}, dhruva.ErrInvalid)
}

// The directory for worktrees is made with the first of them.
func TestTheDirectoryForWorktreesIsMade(t *testing.T) {
	r := project(t)
	r.w.Dir = filepath.Join(t.TempDir(), "state", "worktrees")
	w, err := r.w.Open(r.ctx, agents.WorktreeInput{Space: string(r.space.ID), Agent: "alice"})
	if err != nil || !strings.Contains(w.Path, filepath.Join("state", "worktrees")) {
		t.Errorf("%+v, %v", w, err)
	}
}

// D29: names that git or a shell would take for something else.
func TestD29_NamesAreRefused(t *testing.T) {
	r := project(t)
	for _, name := range []string{
		"-b", "--upload-pack=touch", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[b", `a\b`, "a//b", "/a", "a/", ".a", "a/.b", "a.lock", "a.lock/b", "a.",
		"@", "a@{1}", "HEAD", "a\x00b", "a\nb", "a\u202eb", "a\u200bb", strings.Repeat("a", 201), "a\xff",
	} {
		r.refused(agents.WorktreeInput{Branch: name}, dhruva.ErrInvalid)
		r.refused(agents.WorktreeInput{Base: name, Branch: "fine"}, dhruva.ErrInvalid)
	}
	for _, name := range []string{"a", "feature/one", "नेहा", "C++", "a.b", "a@b", "$(touch x)", "`touch x`", ";id", "a&&b"} {
		if strings.Contains(name, " ") {
			continue
		}
		if w := r.open(agents.WorktreeInput{Branch: name}); w.Branch != name {
			t.Errorf("%q became %q", name, w.Branch)
		}
	}
}

func TestD29_NothingIsAllowedThatTheOperatorDidNotName(t *testing.T) {
	r := project(t)
	outside := real(t, t.TempDir())
	other := filepath.Join(outside, "other")
	r.git(outside, "clone", "--quiet", r.repo, other)
	elsewhere := r.newSpace("elsewhere", other)
	r.refused(agents.WorktreeInput{Space: string(elsewhere.ID)}, dhruva.ErrDenied)
	r.refused(agents.WorktreeInput{Path: filepath.Join(outside, "new")}, dhruva.ErrDenied)
	r.refused(agents.WorktreeInput{Path: r.root + "/../" + filepath.Base(outside) + "/new"}, dhruva.ErrDenied)
	r.refused(agents.WorktreeInput{Path: r.root}, dhruva.ErrConflict)
	r.refused(agents.WorktreeInput{Path: r.root + "x"}, dhruva.ErrDenied)

	// links that lead out
	r.must(os.Symlink(outside, filepath.Join(r.root, "out")))
	r.must(os.Symlink(filepath.Join(outside, "nothing"), filepath.Join(r.root, "dangling")))
	r.must(os.Symlink(other, filepath.Join(r.root, "linked")))
	for _, path := range []string{"out/new", "out", "dangling", "dangling/new", "linked/new"} {
		r.refused(agents.WorktreeInput{Path: filepath.Join(r.root, path)}, dhruva.ErrDenied)
	}
	linked := r.newSpace("linked", filepath.Join(r.root, "linked"))
	r.refused(agents.WorktreeInput{Space: string(linked.ID)}, dhruva.ErrDenied)
	if left, err := os.ReadDir(outside); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}

	// repositories that lie outside, by what .git says or is
	byFile := filepath.Join(r.root, "by-file")
	r.write(byFile, ".git", "gitdir: "+filepath.Join(other, ".git")+"\n")
	byLink := filepath.Join(r.root, "by-link")
	r.must(os.Mkdir(byLink, 0o700))
	r.must(os.Symlink(filepath.Join(other, ".git"), filepath.Join(byLink, ".git")))
	inner := filepath.Join(r.root, "inner")
	r.git(r.root, "clone", "--quiet", r.repo, inner)
	r.must(os.RemoveAll(filepath.Join(inner, ".git", "refs")))
	r.must(os.Symlink(filepath.Join(other, ".git", "refs"), filepath.Join(inner, ".git", "refs")))
	for n, dir := range []string{byFile, byLink, inner} {
		s := r.newSpace(fmt.Sprint("repository ", n), dir)
		r.refused(agents.WorktreeInput{Space: string(s.ID)}, dhruva.ErrDenied)
	}

	// not a repository, though one lies above it
	r.must(os.Mkdir(filepath.Join(r.repo, "sub"), 0o700))
	for n, dir := range []string{filepath.Join(r.repo, "sub"), filepath.Join(r.root, "not there")} {
		s := r.newSpace(fmt.Sprint("no repository ", n), dir)
		r.refused(agents.WorktreeInput{Space: string(s.ID)}, dhruva.ErrInvalid)
	}
	none := r.newSpace("no root", "")
	r.refused(agents.WorktreeInput{Space: string(none.ID)}, dhruva.ErrInvalid)

	r.w.Roots, r.w.Dir = nil, ""
	r.refused(agents.WorktreeInput{Path: filepath.Join(r.root, "new")}, dhruva.ErrDenied)
	r.w.ProjectRoots = true // then the project itself may hold them
	r.open(agents.WorktreeInput{Path: filepath.Join(r.repo, "trees", "one")})
	r.refused(agents.WorktreeInput{Path: filepath.Join(r.root, "new")}, dhruva.ErrDenied)
}

func TestD29_RightsAreAskedBeforeGit(t *testing.T) {
	r := project(t)
	w := r.open(agents.WorktreeInput{})
	r.calls.new()
	p, err := dhruva.PrincipalFrom(r.ctx)
	r.must(err)
	reader, stranger := p, p
	reader.Scopes = []dhruva.KeyScope{dhruva.StateRead}
	stranger.Tenant = "another"
	_, err = r.w.Open(dhruva.WithPrincipal(r.ctx, reader), agents.WorktreeInput{Space: string(r.space.ID), Agent: "a"})
	r.is(err, dhruva.ErrDenied)
	_, err = r.w.Close(dhruva.WithPrincipal(r.ctx, reader), string(w.ID), true)
	r.is(err, dhruva.ErrDenied)
	_, err = r.w.Open(dhruva.WithPrincipal(r.ctx, stranger), agents.WorktreeInput{Space: string(r.space.ID), Agent: "a"})
	r.is(err, dhruva.ErrNotFound)
	_, err = r.w.Close(dhruva.WithPrincipal(r.ctx, stranger), string(w.ID), true)
	r.is(err, dhruva.ErrNotFound)
	_, err = r.w.Open(context.Background(), agents.WorktreeInput{Space: string(r.space.ID), Agent: "a"})
	r.is(err, dhruva.ErrUnauthenticated)
	if n := r.calls.new(); n != 0 {
		t.Errorf("git was run %d times", n)
	}
}

func TestClosing(t *testing.T) {
	r := project(t)
	w := r.open(agents.WorktreeInput{})
	r.write(w.Path, "new.txt", "not committed\n")
	_, err := r.w.Close(r.ctx, string(w.ID[:8]), false)
	r.is(err, dhruva.ErrConflict)
	r.git(w.Path, "config", "status.showUntrackedFiles", "no") // does not hide it
	_, err = r.w.Close(r.ctx, string(w.ID), false)
	r.is(err, dhruva.ErrConflict)
	if !exists(filepath.Join(w.Path, "new.txt")) {
		t.Fatal("it is gone")
	}
	r.git(w.Path, "add", ".")
	r.git(w.Path, "commit", "--quiet", "-m", "second")
	closed, err := r.w.Close(r.ctx, string(w.ID), false)
	r.must(err)
	if closed.Status != dhruva.WorktreeClosed || closed.ClosedAt.IsZero() || exists(w.Path) {
		t.Errorf("%+v", closed)
	}
	if subject := r.git(r.repo, "log", "-1", "--format=%s", w.Branch); subject != "second" {
		t.Errorf("the branch is at %q", subject)
	}
	_, err = r.w.Close(r.ctx, string(w.ID), false)
	r.is(err, dhruva.ErrConflict)

	dirty := r.open(agents.WorktreeInput{})
	r.write(dirty.Path, "readme.txt", "changed\n")
	_, err = r.w.Close(r.ctx, string(dirty.ID), true)
	r.must(err)
	if exists(dirty.Path) {
		t.Error("it is there")
	}
	views, _, err := r.w.List(r.ctx, "work", true, dhruva.Page{})
	r.must(err)
	open, _, err := r.w.List(r.ctx, "work", false, dhruva.Page{})
	r.must(err)
	if len(views) != 2 || views[0].Probe != nil || len(open) != 0 {
		t.Errorf("%+v %+v", views, open)
	}
}

func TestARowWhoseDirectoryIsGoneCanBeClosed(t *testing.T) {
	r := project(t)
	for name, lose := range map[string]func(dhruva.Worktree){
		"directory":           func(w dhruva.Worktree) { r.must(os.RemoveAll(w.Path)) },
		"directory, and more": func(w dhruva.Worktree) { r.must(os.RemoveAll(w.Path)); r.git(r.repo, "worktree", "prune") },
		"repository":          func(w dhruva.Worktree) { r.must(os.RemoveAll(w.Path)); r.must(os.RemoveAll(r.repo)) },
	} {
		w := r.open(agents.WorktreeInput{})
		lose(w)
		if v, err := r.w.Show(r.ctx, string(w.ID)); err != nil || v.Probe != nil {
			t.Errorf("%s: %+v %v", name, v, err)
		}
		if _, err := r.w.Close(r.ctx, string(w.ID), false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !exists(r.repo) {
			r.git(r.root, "init", "--quiet", "--initial-branch=main", r.repo)
			r.git(r.repo, "commit", "--quiet", "--allow-empty", "-m", "anew")
		} else if left := r.git(r.repo, "worktree", "list"); strings.Contains(left, w.Path) {
			t.Errorf("%s: git still has %s", name, left)
		}
	}
}

// What a working copy says of its repository is the agent's to change. It is not
// followed, and nothing is removed by it.
func TestD29_AWorktreeThatPointsElsewhereIsLeftAlone(t *testing.T) {
	r := project(t)
	other := filepath.Join(r.root, "other")
	r.git(r.root, "clone", "--quiet", r.repo, other)
	w := r.open(agents.WorktreeInput{})
	r.write(w.Path, ".git", "gitdir: "+filepath.Join(other, ".git")+"\n")
	r.calls.new()
	v, err := r.w.Show(r.ctx, string(w.ID))
	r.must(err)
	if v.Probe != nil || r.calls.new() != 0 {
		t.Errorf("%+v", v)
	}
	for _, force := range []bool{false, true} {
		_, err = r.w.Close(r.ctx, string(w.ID), force)
		r.is(err, dhruva.ErrConflict)
	}
	if !exists(filepath.Join(w.Path, "readme.txt")) || r.calls.new() != 0 {
		t.Error("it was touched")
	}
	moved := r.open(agents.WorktreeInput{})
	outside := filepath.Join(real(t, t.TempDir()), "kept")
	r.must(os.Rename(moved.Path, outside))
	r.must(os.Symlink(outside, moved.Path))
	_, err = r.w.Close(r.ctx, string(moved.ID), true)
	r.is(err, dhruva.ErrDenied)
	if !exists(filepath.Join(outside, "readme.txt")) {
		t.Error("what lies outside is gone")
	}
}

func TestAFailureOfGitLeavesNothing(t *testing.T) {
	r := project(t)
	script := func(text string) {
		r.must(os.WriteFile(r.w.Git, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	}
	real, err := os.ReadFile(r.w.Git)
	r.must(err)
	exec := strings.TrimPrefix(string(real), "#!/bin/sh\n")
	for name, text := range map[string]string{
		"worktree add fails":   `case "$*" in *"worktree add"*) echo "fatal: disk\033[31m full" >&2; exit 128;; esac` + "\n" + exec,
		"it fails afterwards":  `case "$*" in *"worktree add"*) ` + strings.ReplaceAll(exec, "exec ", "") + `; exit 1;; esac` + "\n" + exec,
		"check-out fails":      `case "$*" in *"reset --hard"*) exit 128;; esac` + "\n" + exec,
		"configuration fails":  `case "$*" in *"config --list"*) exit 3;; esac` + "\n" + exec,
		"nothing works at all": `exit 128`,
	} {
		script(text)
		in := agents.WorktreeInput{Branch: "one", Path: filepath.Join(r.root, "deep", "er", "one")}
		r.refused(in, dhruva.ErrUnavailable)
		_, err := r.w.Open(r.ctx, agents.WorktreeInput{Space: string(r.space.ID), Agent: "a", Branch: "one", Path: in.Path})
		var failed *agents.GitFailed
		if !errors.As(err, &failed) || strings.ContainsAny(failed.Reason, "\n\x1b") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.must(os.WriteFile(r.w.Git, real, 0o700))
	r.open(agents.WorktreeInput{Branch: "one", Path: filepath.Join(r.root, "deep", "er", "one")})
	r.w.Git = filepath.Join(r.root, "no git")
	r.refused(agents.WorktreeInput{Branch: "two"}, dhruva.ErrUnavailable)
}

// When the row cannot be stored the working copy goes again; when it was stored
// and nobody was told, it stays.
func TestAStoreThatFailsLeavesNeitherWithoutTheOther(t *testing.T) {
	r := project(t)
	store := r.l.Store
	for _, fault := range storetest.Faults() {
		l, faulty := *r.l, storetest.NewFaulty(store, fault, 1)
		l.Store = faulty
		before := r.files()
		w, err := r.w.Over(&l).Open(r.ctx, agents.WorktreeInput{Space: string(r.space.ID), Agent: "a", Branch: "branch-" + fault.String()})
		if fault == storetest.Kept {
			r.must(err)
			if got, err := r.w.Show(r.ctx, string(w.ID)); err != nil || got.Probe == nil {
				t.Errorf("%+v %v", got, err)
			}
			continue
		}
		if !faulty.Happened() {
			t.Fatalf("%v was not made", fault)
		}
		r.is(err, dhruva.ErrUnavailable)
		if after := r.files(); after != before {
			t.Errorf("%v:\n%s\nbefore:\n%s", fault, after, before)
		}
	}
	rows, _, err := r.l.Worktrees(r.ctx, r.space.ID, true, dhruva.Page{})
	if err != nil || len(rows) != 1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// A call with an idempotency key makes one working copy.
func TestOpeningOnce(t *testing.T) {
	r := project(t)
	made := map[string]bool{}
	for range 3 {
		out, err := r.l.Once(r.ctx, ledger.Call{Route: "worktrees", Key: "k", Request: []byte("x"), Claim: time.Minute}, func(l *ledger.Ledger) error {
			_, err := r.w.Over(l).Open(r.ctx, agents.WorktreeInput{Space: string(r.space.ID), Agent: "a"})
			return err
		})
		r.must(err)
		made[out.Last(ledger.MadeWorktree)] = true
	}
	if len(made) != 1 || strings.Count(r.git(r.repo, "worktree", "list"), "\n") != 1 {
		t.Errorf("%v %s", made, r.git(r.repo, "worktree", "list"))
	}
}

func TestManyOpenAtOnce(t *testing.T) {
	r := project(t)
	var won atomic.Int32
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			_, err := r.w.Open(r.ctx, agents.WorktreeInput{Space: string(r.space.ID), Agent: "a", Branch: "one", Path: filepath.Join(r.w.Dir, "one")})
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, dhruva.ErrConflict) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	rows, _, err := r.l.Worktrees(r.ctx, r.space.ID, true, dhruva.Page{})
	r.must(err)
	if won.Load() != 1 || len(rows) != 1 || !exists(filepath.Join(rows[0].Path, "readme.txt")) {
		t.Errorf("%d won, %d rows", won.Load(), len(rows))
	}
	if diff := cmp.Diff(rows[0].Branch, r.git(rows[0].Path, "rev-parse", "--abbrev-ref", "HEAD")); diff != "" {
		t.Error(diff)
	}
}
