package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// GitFailed says that git did not do what it was asked. It is ErrUnavailable.
type GitFailed struct {
	// Doing is what was asked, in words; Reason is git's own, on one line.
	Doing, Reason string
}

// Error is what a caller is told.
func (g *GitFailed) Error() string {
	return fmt.Sprintf("%v: git could not %s: %s", dhruva.ErrUnavailable, g.Doing, g.Reason)
}

// Unwrap is ErrUnavailable.
func (g *GitFailed) Unwrap() error { return dhruva.ErrUnavailable }

// Advice is a name for it and what to do.
func (g *GitFailed) Advice() (code, hint string) {
	return "git_failed", "look at the project's repository on the server's machine"
}

// Bounds of a run of git.
const (
	openTime  = 2 * time.Minute // checks out a whole project
	gitTime   = 20 * time.Second
	probeTime = 3 * time.Second
	// maxOutput bounds what is kept of git's output, in bytes.
	maxOutput = 1 << 20
	maxReason = 400
)

// git runs one program in one directory.
type git struct {
	program string
	dir     string
	// config overrides the repository's own, in the order given.
	config []setting
}

type setting struct{ name, value string }

// settled is the configuration that every run has. What a repository's own
// configuration may name as a program is either overridden here, or concerns a
// command that is never run (editors, merges, diffs, submodules, signatures).
func settled() []setting {
	return []setting{
		{"core.hooksPath", os.DevNull},
		{"core.fsmonitor", "false"},
		{"core.attributesFile", os.DevNull},
		{"core.sshCommand", "false"},
		{"core.gitProxy", ""},
		{"core.askPass", ""},
		{"core.pager", "cat"},
		{"core.editor", "false"},
		{"credential.helper", ""},
		{"diff.external", ""},
		{"log.showSignature", "false"},
		{"gpg.program", "false"},
		{"protocol.allow", "never"},
		{"safe.bareRepository", "explicit"},
		{"submodule.recurse", "false"},
		{"fetch.recurseSubmodules", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"advice.detachedHead", "false"},
	}
}

// environment is all that git sees of ours. GIT_ALLOW_PROTOCOL is a list of
// transports that replaces all configuration of them, and names none;
// GIT_WORK_TREE is where files are, whatever core.worktree says.
func (g *git) environment() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_SSH_COMMAND=false", "GIT_PAGER=cat", "GIT_EDITOR=false",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_PROTOCOL_FROM_USER=0",
		"GIT_WORK_TREE=" + g.dir, "GIT_CEILING_DIRECTORIES=" + filepath.Dir(g.dir), "GIT_DISCOVERY_ACROSS_FILESYSTEM=0",
		"GIT_AUTHOR_NAME=Dhruva", "GIT_AUTHOR_EMAIL=dhruva@localhost", "GIT_COMMITTER_NAME=Dhruva", "GIT_COMMITTER_EMAIL=dhruva@localhost",
	}
	all := append(settled(), g.config...)
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(all)))
	for n, s := range all {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, s.name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, s.value))
	}
	return env
}

// run is what git writes, without the last line's end.
func (g *git) run(ctx context.Context, doing string, args ...string) (string, error) {
	var out bounded
	err := g.stream(ctx, doing, &out, args...)
	if err == nil && out.cut {
		err = &GitFailed{doing, "it wrote too much"}
	}
	return strings.TrimRight(out.String(), "\r\n"), err
}

// stream runs git, and hands on what it writes.
func (g *git) stream(ctx context.Context, doing string, to io.Writer, args ...string) error {
	program, err := g.find()
	if err != nil {
		return &GitFailed{doing, err.Error()}
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"--no-pager", "--literal-pathspecs"}, args...)...)
	var complaint bounded
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.dir, g.environment(), to, &complaint
	cmd.WaitDelay = time.Second // what git started may hold its pipes
	err = cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &GitFailed{doing, "it took too long, or the caller left"}
	}
	reason := oneLine(firstOf(complaint.String(), err.Error()), maxReason)
	return &exited{GitFailed{doing, reason}, exitCode(err)}
}

func (g *git) find() (string, error) {
	if g.program != "" {
		return g.program, nil
	}
	return exec.LookPath("git")
}

// exited is a run that ended by itself, and not well.
type exited struct {
	GitFailed
	code int
}

// Unwrap is the failure.
func (e *exited) Unwrap() error { return &e.GitFailed }

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// answers reports whether git said no with an exit code that means no.
func saidNo(err error) bool {
	var e *exited
	return errors.As(err, &e) && e.code == 1
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	cut bool
}

// Write never fails: git is not to be stopped by it.
func (b *bounded) Write(p []byte) (int, error) {
	room := maxOutput - b.Len()
	if len(p) > room {
		b.cut = true
		b.Buffer.Write(p[:room])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// records calls fn for each piece of what is written to it that ends in NUL.
type records struct {
	rest []byte
	fn   func(string)
}

// Write never fails. A piece that has no end within bounds is cut.
func (r *records) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, 0)
		if i < 0 {
			r.rest = append(r.rest, p[:min(len(p), max(0, maxOutput-len(r.rest)))]...)
			return n, nil
		}
		r.fn(string(append(r.rest, p[:i]...)))
		r.rest, p = r.rest[:0], p[i+1:]
	}
}

// filtersOff overrides every filter that the configuration defines, as git reads
// it in this directory: what is conditional on the place or the branch is then
// in it. Files that a filter would change stay as they are stored.
func (g *git) filtersOff(ctx context.Context) ([]setting, error) {
	seen := map[string]bool{}
	var off []setting
	err := g.stream(ctx, "read the configuration", &records{fn: func(name string) {
		key, ok := filterKey(name)
		if !ok || seen[key] {
			return
		}
		seen[key] = true
		for _, part := range []string{"clean", "smudge", "process"} {
			off = append(off, setting{key + "." + part, ""})
		}
		off = append(off, setting{key + ".required", "false"})
	}}, "config", "--list", "--name-only", "-z", "--includes")
	return off, err
}

// filterKey is the section of a filter's setting: "filter.<name>". The name may
// hold anything.
func filterKey(name string) (string, bool) {
	last := strings.LastIndexByte(name, '.')
	if last < 0 || !strings.EqualFold(name[:min(len(name), len("filter."))], "filter.") || last < len("filter.") {
		return "", false
	}
	return name[:last], true
}

// oneLine is a text of a program's for a message: on one line, cut, and without
// what is not seen.
func oneLine(s string, max int) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))), " ")
	return cut(s, max)
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}
