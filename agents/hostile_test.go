package agents_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
)

// attack prepares a repository such that git runs a program, which makes a mark.
type attack struct {
	// prepare is given the repository, and the program.
	prepare func(r *rig, program string)
	// idle: git as people run it does not run the program either, in what the
	// control does; it is here in case another version does.
	idle bool
}

// filtering has every file of the repository filtered, as a section of the
// configuration says.
func filtering(r *rig, name string, parts ...string) string {
	r.write(r.repo, ".gitattributes", "*.txt filter="+name+"\n")
	r.git(r.repo, "add", ".")
	r.git(r.repo, "commit", "--quiet", "-m", "attributes")
	out := fmt.Sprintf("[filter %q]\n", name)
	for n := 0; n < len(parts); n += 2 {
		out += "\t" + parts[n] + " = " + quoted(parts[n+1]) + "\n"
	}
	return out
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// configure adds to the repository's configuration.
func (r *rig) configure(text string) {
	r.Helper()
	f, err := os.OpenFile(filepath.Join(r.repo, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0o600)
	r.must(err)
	_, err = f.WriteString("\n" + text + "\n")
	r.must(err)
	r.must(f.Close())
}

// hooks are all that git knows, and the program in place of each.
func hooks(r *rig, dir, program string) {
	for _, name := range []string{
		"post-checkout", "post-commit", "pre-commit", "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-auto-gc", "post-rewrite",
		"post-merge", "pre-push", "update", "post-update", "push-to-checkout", "sendemail-validate", "applypatch-msg", "prepare-commit-msg",
	} {
		r.write(dir, name, "#!/bin/sh\n"+program+"\n")
	}
}

// missing takes the blob of a file away, and says where it might be fetched.
func missing(r *rig, remote string) {
	blob := r.git(r.repo, "rev-parse", "HEAD:readme.txt")
	r.git(r.repo, "rm", "--quiet", "--cached", "readme.txt") // plain git needs it as well
	r.git(r.repo, "reset", "--quiet")
	r.configure("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n" + remote)
	r.must(os.Remove(filepath.Join(r.repo, ".git", "objects", blob[:2], blob[2:])))
}

// attacks are by the setting that they use.
var attacks = map[string]attack{
	"core.fsmonitor": {prepare: func(r *rig, p string) { r.configure("[core]\n\tfsmonitor = " + quoted(p)) }},
	"core.fsmonitor twice": {prepare: func(r *rig, p string) {
		r.configure("[core]\n\tfsmonitor = " + quoted(p) + "\n\tfsmonitorHookVersion = 1")
	}},
	"hooks": {prepare: func(r *rig, p string) { hooks(r, filepath.Join(r.repo, ".git", "hooks"), p) }},
	"core.hooksPath": {prepare: func(r *rig, p string) {
		dir := filepath.Join(r.root, "my hooks")
		hooks(r, dir, p)
		r.configure("[core]\n\thooksPath = " + quoted(dir))
	}},
	"filter.smudge":  {prepare: func(r *rig, p string) { r.configure(filtering(r, "evil", "smudge", p+"; cat")) }},
	"filter.clean":   {prepare: func(r *rig, p string) { r.configure(filtering(r, "evil", "clean", p+"; cat")) }},
	"filter.process": {prepare: func(r *rig, p string) { r.configure(filtering(r, "evil", "process", p)) }},
	"filter that is required": {prepare: func(r *rig, p string) {
		r.configure(filtering(r, "evil", "smudge", p+"; cat", "clean", p+"; cat", "required", "true"))
	}},
	"filter of a strange name": {prepare: func(r *rig, p string) { r.configure(filtering(r, "E.v=i.l", "smudge", p+"; cat", "clean", p+"; cat")) }},
	"filter in old spelling": {prepare: func(r *rig, p string) {
		filtering(r, "evil")
		r.configure("[FILTER.evil]\n\tSmudge = " + quoted(p+"; cat") + "\n[FiLtEr \"evil\"]\n\tCLEAN = " + quoted(p+"; cat"))
	}},
	"info/attributes": {prepare: func(r *rig, p string) {
		text := filtering(r, "evil", "smudge", p+"; cat", "clean", p+"; cat")
		r.git(r.repo, "rm", "--quiet", ".gitattributes")
		r.git(r.repo, "commit", "--quiet", "-m", "none")
		r.write(r.repo, ".git/info/attributes", "* filter=evil\n")
		r.configure(text)
	}},
	"core.attributesFile": {prepare: func(r *rig, p string) {
		text := filtering(r, "evil", "smudge", p+"; cat", "clean", p+"; cat")
		r.git(r.repo, "rm", "--quiet", ".gitattributes")
		r.git(r.repo, "commit", "--quiet", "-m", "none")
		r.write(r.root, "attributes", "* filter=evil\n")
		r.configure(text + "[core]\n\tattributesFile = " + quoted(filepath.Join(r.root, "attributes")))
	}},
	"include": {prepare: func(r *rig, p string) {
		r.write(r.repo, ".git/evil.inc", filtering(r, "evil", "smudge", p+"; cat", "clean", p+"; cat"))
		r.configure("[include]\n\tpath = evil.inc")
	}},
	"includeIf.gitdir": {prepare: func(r *rig, p string) { // of worktrees alone
		r.write(r.repo, ".git/evil.inc", filtering(r, "evil", "smudge", p+"; cat", "clean", p+"; cat")+"[core]\n\tfsmonitor = "+quoted(p))
		r.configure("[includeIf \"gitdir:**/worktrees/**\"]\n\tpath = evil.inc")
	}},
	"includeIf.onbranch": {prepare: func(r *rig, p string) { // of the new branch alone
		r.write(r.repo, ".git/evil.inc", filtering(r, "evil", "smudge", p+"; cat", "clean", p+"; cat"))
		r.configure("[includeIf \"onbranch:evil/**\"]\n\tpath = evil.inc")
	}},
	"config.worktree": {prepare: func(r *rig, p string) {
		text := filtering(r, "evil", "smudge", p+"; cat", "clean", p+"; cat")
		r.configure("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true")
		r.write(r.repo, ".git/config.worktree", text)
	}},
	"ext transport": {prepare: func(r *rig, p string) {
		missing(r, "\turl = "+quoted("ext::sh -c '"+p+"'")+"\n[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always")
	}},
	"core.sshCommand": {prepare: func(r *rig, p string) {
		missing(r, "\turl = ssh://example.invalid/x\n[core]\n\tsshCommand = "+quoted(p)+"\n[protocol \"ssh\"]\n\tallow = always")
	}},
	"remote.uploadpack": {prepare: func(r *rig, p string) {
		missing(r, "\turl = "+quoted(r.repo)+"\n\tuploadpack = "+quoted(p)+"\n[protocol \"file\"]\n\tallow = always")
	}},
	"core.gitProxy": {prepare: func(r *rig, p string) {
		missing(r, "\turl = git://example.invalid/x\n[core]\n\tgitProxy = "+quoted(p)+"\n[protocol \"git\"]\n\tallow = always")
	}},
	"credential.helper": {idle: true, prepare: func(r *rig, p string) {
		missing(r, "\turl = http://127.0.0.1:1/x\n[credential]\n\thelper = "+quoted("!"+p)+"\n[core]\n\taskPass = "+quoted(p))
	}},
	"aliases": {idle: true, prepare: func(r *rig, p string) {
		r.configure("[alias]\n\tstatus = " + quoted("!"+p) + "\n\tworktree = " + quoted("!"+p) + "\n\treset = " + quoted("!"+p) + "\n\tconfig = " + quoted("!"+p))
	}},
	"diff, textconv, merge": {idle: true, prepare: func(r *rig, p string) {
		r.write(r.repo, ".gitattributes", "*.txt diff=evil merge=evil\n")
		r.git(r.repo, "add", ".")
		r.git(r.repo, "commit", "--quiet", "-m", "attributes")
		r.configure("[diff]\n\texternal = " + quoted(p) + "\n[diff \"evil\"]\n\tcommand = " + quoted(p) + "\n\ttextconv = " + quoted(p) + "\n[merge \"evil\"]\n\tdriver = " + quoted(p))
	}},
	"pagers, editors, signatures": {idle: true, prepare: func(r *rig, p string) {
		r.configure("[core]\n\tpager = " + quoted(p) + "\n\teditor = " + quoted(p) + "\n[pager]\n\tstatus = " + quoted(p) + "\n\tconfig = " + quoted(p) +
			"\n[log]\n\tshowSignature = true\n[gpg]\n\tprogram = " + quoted(p) + "\n[core]\n\talternateRefsCommand = " + quoted(p))
	}},
	"submodule": {prepare: func(r *rig, p string) {
		sub := filepath.Join(r.root, "sub")
		r.git(r.root, "clone", "--quiet", r.repo, sub)
		r.git(r.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "below")
		r.git(r.repo, "commit", "--quiet", "-m", "submodule")
		r.git(filepath.Join(r.repo, "below"), "config", "core.fsmonitor", p)
		r.configure("[submodule]\n\trecurse = true\n[submodule \"below\"]\n\tupdate = " + quoted("!"+p) + "\n[status]\n\tsubmoduleSummary = true")
	}},
	"environment": {prepare: func(r *rig, p string) {
		home := filepath.Join(r.root, "home")
		r.write(home, ".gitconfig", "[core]\n\tfsmonitor = "+quoted(p))
		r.Setenv("HOME", home)
		r.Setenv("XDG_CONFIG_HOME", home)
		r.Setenv("GIT_CONFIG_COUNT", "1")
		r.Setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
		r.Setenv("GIT_CONFIG_VALUE_0", p)
		r.Setenv("GIT_EXTERNAL_DIFF", p)
		r.Setenv("GIT_SSH_COMMAND", p)
		r.Setenv("GIT_TRACE2", filepath.Join(r.root, "marks", "trace"))
	}},
}

// TestD29_NothingThatARepositorySaysIsRun: for each attack, a working copy is
// made, looked at with changed files in it, and closed. The control is git as
// people run it, on a like repository: there the attack works.
func TestD29_NothingThatARepositorySaysIsRun(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(attacks)) {
		t.Run(name, func(t *testing.T) {
			r := project(t)
			marks := filepath.Join(r.root, "marks")
			program := filepath.Join(r.root, "evil")
			r.must(os.Mkdir(marks, 0o700))
			r.write(r.root, "evil", "#!/bin/sh\ntouch '"+marks+"/'$$\n")
			attacks[name].prepare(r, program)
			marked := func() bool {
				rows, err := os.ReadDir(marks)
				r.must(err)
				for _, row := range rows {
					r.must(os.RemoveAll(filepath.Join(marks, row.Name())))
				}
				return len(rows) > 0
			}
			marked()
			r.visit()
			if marked() {
				t.Error("the program was run")
			}
			r.carelessly("worktree", "add", "-b", "evil/control", filepath.Join(r.root, "control"), "HEAD")
			for _, dir := range []string{r.repo, filepath.Join(r.root, "control")} {
				r.write(dir, "readme.txt", "two\n")
				r.in(dir, "status", "--porcelain")
			}
			r.carelessly("worktree", "remove", filepath.Join(r.root, "control"))
			if !marked() && !attacks[name].idle {
				t.Error("git would not have run it either: the attack is none")
			}
		})
	}
}

// D29: files are written and taken away where the working copy is, whatever the
// configuration says about that.
func TestD29_TheConfigurationDoesNotSayWhereFilesAre(t *testing.T) {
	r := project(t)
	outside := real(t, t.TempDir())
	r.write(outside, "readme.txt", "theirs\n")
	elsewhere := "[core]\n\tworktree = " + quoted(outside) + "\n"
	r.configure("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n" + elsewhere)
	r.write(r.repo, ".git/config.worktree", elsewhere)
	w := r.open(agents.WorktreeInput{})
	if !exists(filepath.Join(w.Path, "readme.txt")) {
		t.Error("nothing was checked out")
	}
	dir := strings.TrimPrefix(strings.TrimSpace(string(r.read(w.Path, ".git"))), "gitdir: ")
	r.write(dir, "config.worktree", elsewhere) // and later, by whoever works there
	r.says(w, `0 dirty [], 0 ahead and 0 behind of main, last commit 3 hours ago`)
	r.write(w.Path, "new.txt", "x")
	_, err := r.w.Close(r.ctx, string(w.ID), false)
	r.is(err, dhruva.ErrConflict)
	_, err = r.w.Close(r.ctx, string(w.ID), true)
	r.must(err)
	if left, err := os.ReadDir(outside); err != nil || len(left) != 1 || string(r.read(outside, "readme.txt")) != "theirs\n" || exists(w.Path) {
		t.Errorf("%v %v", left, err)
	}
}

func (r *rig) read(dir, name string) []byte {
	r.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	r.must(err)
	return b
}

// visit does all that is done to working copies.
func (r *rig) visit() {
	r.Helper()
	w, err := r.w.Open(r.ctx, agents.WorktreeInput{Space: string(r.space.ID), Agent: "a", Branch: "evil/one"})
	if err != nil { // of a repository that lacks files
		r.Log(err)
		return
	}
	for _, text := range []string{"two\n", "one\n"} { // the second looks changed to git until it reads it
		r.write(w.Path, "readme.txt", text)
		r.must(os.Chtimes(filepath.Join(w.Path, "readme.txt"), start, start))
		r.clock.Advance(2 * time.Minute)
		views, _, err := r.w.List(r.ctx, string(r.space.ID), false, dhruva.Page{})
		r.must(err)
		if len(views) != 1 || views[0].Probe == nil || views[0].Probe.Ahead == nil {
			r.Errorf("not probed: %+v", views)
		}
	}
	r.write(w.Path, "readme.txt", "three\n")
	_, err = r.w.Close(r.ctx, string(w.ID), false)
	r.is(err, dhruva.ErrConflict)
	r.write(w.Path, "readme.txt", "one\n")
	if _, err = r.w.Close(r.ctx, string(w.ID), false); err != nil { // git keeps one with submodules
		r.is(err, dhruva.ErrConflict)
		_, err = r.w.Close(r.ctx, string(w.ID), true)
		r.must(err)
	}
}

// carelessly is git as people run it, with whatever it finds.
func (r *rig) carelessly(args ...string) { r.in(r.repo, args...) }

func (r *rig) in(dir string, args ...string) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Logf("git %v: %v %s", args, err, out)
	}
}
