package agents_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
)

func (r *rig) probe(w dhruva.Worktree) *agents.Probe {
	r.Helper()
	r.clock.Advance(2 * time.Minute)
	v, err := r.w.Show(r.ctx, string(w.ID))
	r.must(err)
	return v.Probe
}

// told is a probe in words.
func told(p *agents.Probe) string {
	if p == nil {
		return "nothing"
	}
	out := fmt.Sprintf("%d dirty %q", p.DirtyFiles, p.DirtyPaths)
	if p.Ahead != nil && p.Behind != nil {
		out += fmt.Sprintf(", %d ahead and %d behind of %s", *p.Ahead, *p.Behind, p.Against)
	}
	if p.LastCommit != "" {
		out += ", last commit " + p.Relative
	}
	return out
}

func (r *rig) says(w dhruva.Worktree, want string) {
	r.Helper()
	if got := told(r.probe(w)); got != want {
		r.Errorf("%s\nwant %s", got, want)
	}
}

func (r *rig) change(dir, name string) {
	r.write(dir, name, name)
	r.git(dir, "add", ".")
	r.git(dir, "commit", "--quiet", "-m", name)
}

// D28: whatever there is to compare with is used, and what can be known is told.
func TestD28_AProbeTellsWhatCanBeKnown(t *testing.T) {
	r := project(t)
	w := r.open(agents.WorktreeInput{})
	r.says(w, `0 dirty [], 0 ahead and 0 behind of main, last commit 3 hours ago`)
	r.change(w.Path, "a")
	r.change(w.Path, "b")
	r.change(r.repo, "c")
	for _, name := range []string{"z z", "नेहा", "e", "d\x1b[31m\n"} {
		r.write(w.Path, name, "x")
	}
	r.write(w.Path, "readme.txt", "changed")
	r.says(w, `5 dirty ["readme.txt" "d [31m" "e"], 2 ahead and 1 behind of main, last commit 3 hours ago`)
	r.git(w.Path, "mv", "a", "renamed")
	if p := r.probe(w); p.DirtyFiles != 7 || len(p.DirtyPaths) != 3 {
		t.Errorf("%s", told(p))
	}
	if got, want := r.probe(w).LastCommit, r.git(w.Path, "rev-parse", "HEAD")[:7]; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.git(r.repo, "branch", "-m", "main", "master")
	if p := r.probe(w); p.Against != "master" || *p.Ahead != 2 {
		t.Errorf("%s", told(p))
	}
	r.git(r.repo, "branch", "-m", "master", "trunk")
	if p := r.probe(w); p == nil || p.Ahead != nil || p.Behind != nil || p.DirtyFiles != 7 || p.LastCommit == "" || p.Relative == "" {
		t.Errorf("%s", told(p))
	}
	r.git(w.Path, "-c", "branch.autoSetupMerge=always", "branch", "--set-upstream-to=trunk")
	if p := r.probe(w); p.Against != "trunk" || *p.Ahead != 2 || *p.Behind != 1 {
		t.Errorf("%s", told(p))
	}
	r.git(r.repo, "checkout", "--quiet", "-b", "other")
	r.git(r.repo, "branch", "-D", "trunk") // an upstream that is gone
	if p := r.probe(w); p == nil || p.Ahead != nil || p.LastCommit == "" {
		t.Errorf("%s", told(p))
	}
	r.git(w.Path, "checkout", "--quiet", "--detach")
	if p := r.probe(w); p == nil || p.Ahead != nil || p.LastCommit == "" || p.Relative != "" {
		t.Errorf("%s", told(p))
	}
}

func TestD28_AClonedRepositoryIsComparedWithItsOrigin(t *testing.T) {
	r := project(t)
	clone := filepath.Join(r.root, "clone")
	r.git(r.repo, "branch", "-m", "main", "develop")
	r.git(r.root, "clone", "--quiet", r.repo, clone)
	s := r.newSpace("clone", clone)
	w := r.open(agents.WorktreeInput{Space: string(s.ID)})
	r.says(w, `0 dirty [], 0 ahead and 0 behind of origin/develop, last commit 3 hours ago`)
	r.change(w.Path, "a")
	r.git(w.Path, "push", "--quiet", "-u", "origin", "HEAD")
	r.change(w.Path, "b")
	r.says(w, `0 dirty [], 1 ahead and 0 behind of origin/`+w.Branch+`, last commit 3 hours ago`)
	r.git(w.Path, "checkout", "--quiet", "-b", "another") // it is not on its branch any more
	r.says(w, `0 dirty [], 2 ahead and 0 behind of origin/develop, last commit 3 hours ago`)
}

func TestAProbeIsThreeCallsAndStandsForAMinute(t *testing.T) {
	r := project(t)
	w := r.open(agents.WorktreeInput{})
	for range 3 {
		r.calls.new()
		r.says(w, `0 dirty [], 0 ahead and 0 behind of main, last commit 3 hours ago`)
		if n := r.calls.new(); n != 3 {
			t.Errorf("%d calls", n)
		}
		r.clock.Advance(time.Minute - time.Nanosecond)
		_, err := r.w.Show(r.ctx, string(w.ID))
		r.must(err)
		_, _, err = r.w.List(r.ctx, "work", false, dhruva.Page{})
		r.must(err)
		if n := r.calls.new(); n != 0 {
			t.Errorf("%d calls within a minute", n)
		}
	}
	r.clock.Advance(2 * time.Minute)
	r.calls.new()
	var wait sync.WaitGroup
	for range 8 { // who asks at once asks once
		wait.Go(func() {
			if v, err := r.w.Show(r.ctx, string(w.ID)); err != nil || v.Probe == nil {
				t.Errorf("%+v %v", v, err)
			}
		})
	}
	wait.Wait()
	if n := r.calls.new(); n != 3 {
		t.Errorf("%d calls of eight at once", n)
	}
}

func TestAProbeThatFailsStandsForAMinute(t *testing.T) {
	r := project(t)
	w := r.open(agents.WorktreeInput{})
	real, err := os.ReadFile(r.w.Git)
	r.must(err)
	broken := "#!/bin/sh\necho >> '" + r.calls.file + "'\nexit 7\n"
	r.must(os.WriteFile(r.w.Git, []byte(broken), 0o700))
	r.calls.new()
	r.says(w, "nothing")
	v, err := r.w.Show(r.ctx, string(w.ID))
	r.must(err)
	if n := r.calls.new(); n != 1 || v.Probe != nil {
		t.Errorf("%d calls, %s", n, told(v.Probe))
	}
	r.must(os.WriteFile(r.w.Git, real, 0o700))
	r.says(w, `0 dirty [], 0 ahead and 0 behind of main, last commit 3 hours ago`)
	gone, cancel := context.WithCancel(r.ctx) // one that nobody waited for is not kept
	cancel()
	r.clock.Advance(2 * time.Minute)
	if got := r.w.Probe(gone, w); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if v, err = r.w.Show(r.ctx, string(w.ID)); err != nil || v.Probe == nil {
		t.Errorf("%+v %v", v, err)
	}
}

// D28: whoever asks waits three seconds at most, however many working copies
// hang; here less.
func TestD28_AProbeEndsWithItsTime(t *testing.T) {
	r := project(t)
	w := r.open(agents.WorktreeInput{})
	r.must(os.WriteFile(r.w.Git, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700))
	short, cancel := context.WithTimeout(r.ctx, 50*time.Millisecond) // stands for the three seconds
	defer cancel()
	if got := r.w.Probe(short, w); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestWorktreesOfClaimsAreInTheState(t *testing.T) {
	r := project(t)
	w := r.open(agents.WorktreeInput{})
	r.change(w.Path, "a")
	r.write(w.Path, "b", "x")
	r.claimIn("ana", "the parser", w.ID)
	r.claimIn("ben", "nothing", "")
	r.clock.Advance(2 * time.Minute)
	s, err := r.a.State(r.ctx, agents.StateQuery{Space: "work"})
	r.must(err)
	if s.ActiveClaims[0].At != nil || s.ActiveClaims[1].At == nil {
		t.Fatalf("%+v", s.ActiveClaims)
	}
	one, zero, n := 1, 0, 1
	against, last, ago := "main", r.git(w.Path, "rev-parse", "HEAD")[:7], "3 hours ago"
	want := &agents.Worktree{ID: w.ID, Path: w.Path, Branch: w.Branch, Status: "open", DirtyFiles: &n, Ahead: &one, Behind: &zero, Against: &against, LastCommit: &last, LastRelative: &ago}
	if diff := cmp.Diff(want, s.ActiveClaims[1].At); diff != "" {
		t.Error(diff)
	}
	if md := s.Markdown(agents.View{}); !strings.Contains(md, "worktree `"+string(w.ID[:8])+"`, 1 uncommitted, 1 ahead and 0 behind of `main`") {
		t.Error(md)
	}
	r.must(os.RemoveAll(w.Path)) // the state is told nevertheless
	r.clock.Advance(2 * time.Minute)
	s, err = r.a.State(r.ctx, agents.StateQuery{Space: "work"})
	r.must(err)
	if at := s.ActiveClaims[1].At; at == nil || at.DirtyFiles != nil || at.ID != w.ID {
		t.Errorf("%+v", at)
	}
}
