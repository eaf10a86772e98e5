package agents

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
)

const (
	// probeKept is how long a probe stands, also one that failed.
	probeKept = time.Minute
	// probePaths is how many of the changed files are named.
	probePaths = 3
	// probesAtOnce bounds the runs of git.
	probesAtOnce = 4
)

// Probe is how a working copy stands. What could not be learnt is nil or "".
type Probe struct {
	DirtyFiles int
	// DirtyPaths are the first few of them.
	DirtyPaths []string
	// Ahead and Behind count commits against Against, a branch: the upstream of
	// the working copy's, else origin's HEAD, main or master, whichever exists.
	Ahead, Behind *int
	Against       string
	// LastCommit is an abbreviated hash.
	LastCommit string
	LastAt     time.Time
	// Relative says how long ago that was, when the probe was made.
	Relative string
}

// probes are what was learnt, by worktree.
type probes struct {
	mu    sync.Mutex
	known map[dhruva.WorktreeID]*probing
}

// probing is a probe that is being made, or was.
type probing struct {
	done  chan struct{} // closed when it was made
	at    time.Time
	probe *Probe
}

// Probe tells how open working copies stand, by id; those of which nothing is
// learnt within three seconds are left out.
func (w *Worktrees) Probe(ctx context.Context, rows ...dhruva.Worktree) map[dhruva.WorktreeID]*Probe {
	run, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var mu sync.Mutex
	var wait sync.WaitGroup
	out, slots := map[dhruva.WorktreeID]*Probe{}, make(chan struct{}, probesAtOnce)
	for _, row := range rows {
		if row.Status != dhruva.WorktreeOpen {
			continue
		}
		slots <- struct{}{} // none is held for longer than run lasts
		wait.Go(func() {
			defer func() { <-slots }()
			if p := w.first().probes.of(run, w, row); p != nil {
				mu.Lock()
				defer mu.Unlock()
				out[row.ID] = p
			}
		})
	}
	wait.Wait()
	return out
}

// of is what is known of a working copy, or is learnt now. Of several who ask at
// once one learns it. A probe that its caller gave up is not kept.
func (p *probes) of(ctx context.Context, w *Worktrees, row dhruva.Worktree) *Probe {
	for ctx.Err() == nil {
		now := w.now()
		entry, mine := p.entry(row.ID, now)
		if mine {
			probe, err := w.probe(ctx, row, now)
			if err != nil {
				w.log().Warn("a worktree could not be probed", "worktree", row.ID, "error", err)
			}
			gaveUp := err != nil && ctx.Err() == context.Canceled
			p.settle(row.ID, entry, probe, gaveUp)
			return probe
		}
		select {
		case <-entry.done:
		case <-ctx.Done():
			return nil
		}
		if now.Sub(entry.at) < probeKept {
			return entry.probe
		}
	}
	return nil // others took the time: it is not this one that failed
}

// entry is the one that stands, or a new one that the caller is to settle.
func (p *probes) entry(id dhruva.WorktreeID, now time.Time) (*probing, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.known[id]; e != nil && now.Sub(e.at) < probeKept {
		return e, false
	}
	if p.known == nil {
		p.known = map[dhruva.WorktreeID]*probing{}
	}
	for other, e := range p.known { // those of worktrees that nobody asks for any more
		if now.Sub(e.at) >= probeKept {
			delete(p.known, other)
		}
	}
	e := &probing{done: make(chan struct{}), at: now}
	p.known[id] = e
	return e, true
}

func (p *probes) settle(id dhruva.WorktreeID, e *probing, probe *Probe, forget bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.probe = probe
	if forget && p.known[id] == e {
		delete(p.known, id)
	}
	close(e.done)
}

// forget makes the next one who asks look again.
func (p *probes) forget(id dhruva.WorktreeID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, id)
}

// probe looks at a working copy with three calls of git.
func (w *Worktrees) probe(ctx context.Context, row dhruva.Worktree, now time.Time) (*Probe, error) {
	all := w.roots(row.Root)
	repo, err := all.repositoryAt(row.Root)
	if err != nil {
		return nil, err
	}
	there, dir, err := all.standsAt(row.Path, repo)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, os.ErrNotExist
	}
	g := w.git(row.Path)
	if g.config, err = g.filtersOff(ctx); err != nil {
		return nil, err
	}
	branches, err := g.branches(ctx, branchAt(dir))
	if err != nil {
		return nil, err
	}
	return g.status(ctx, branches, now)
}

// branches are those that a working copy may be compared with.
type branches struct {
	here     string    // its own, "" when it is on none
	at       time.Time // of its last commit
	upstream bool
	exist    map[string]bool // by full name
}

// branches asks for the working copy's branch, its last commit, and what there
// is to compare it with.
func (g *git) branches(ctx context.Context, here string) (branches, error) {
	b := branches{here: here, exist: map[string]bool{}}
	form := "%(refname)%00%(committerdate:unix)%00%(upstream)%00%(upstream:track)"
	names := []string{"refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"}
	if here != "" {
		names = append(names, here)
	}
	out, err := g.run(ctx, "list the branches", append([]string{"for-each-ref", "--format=" + form, "--"}, names...)...)
	if err != nil {
		return b, err
	}
	for line := range strings.SplitSeq(out, "\n") {
		f := strings.Split(line, "\x00")
		if len(f) != 4 {
			continue
		}
		b.exist[f[0]] = true
		if f[0] != here {
			continue
		}
		b.upstream = f[2] != "" && f[3] != "[gone]"
		if sec, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			b.at = time.Unix(sec, 0).UTC()
		}
	}
	return b, nil
}

// against is what a branch without an upstream is compared with, "" when there
// is nothing.
func (b branches) against() string {
	for _, name := range []string{"refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"} {
		if b.exist[name] && name != b.here {
			return name
		}
	}
	return ""
}

// status asks for the files that changed, and how the branch stands to its
// upstream. Of a branch that has none another one is taken for it.
func (g *git) status(ctx context.Context, b branches, now time.Time) (*Probe, error) {
	with := *g
	if own, ok := strings.CutPrefix(b.here, "refs/heads/"); ok && !b.upstream {
		if other := b.against(); other != "" {
			with.config = append(with.config, setting{"branch." + own + ".remote", "."}, setting{"branch." + own + ".merge", other})
		}
	}
	p := &Probe{LastAt: b.at}
	args := append(statusArgs("--porcelain=v2"), "--branch", "--ahead-behind")
	if err := with.stream(ctx, "look at the files", &records{fn: p.record}, args...); err != nil {
		return nil, err
	}
	if !p.LastAt.IsZero() {
		p.Relative = age(now.Sub(p.LastAt))
	}
	return p, nil
}

// record reads one record of git status.
func (p *Probe) record(s string) {
	kind, rest, _ := strings.Cut(s, " ")
	switch kind {
	case "#":
		p.header(rest)
	case "1", "2", "u", "?":
		p.DirtyFiles++
		if path := changedPath(kind, rest); len(p.DirtyPaths) < probePaths && path != "" {
			p.DirtyPaths = append(p.DirtyPaths, oneLine(path, 200))
		}
	}
}

func (p *Probe) header(s string) {
	name, value, _ := strings.Cut(s, " ")
	switch name {
	case "branch.oid":
		if len(value) >= 40 {
			p.LastCommit = value[:7]
		}
	case "branch.upstream":
		p.Against = oneLine(value, maxRef)
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		a, err := strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		b, err2 := strconv.Atoi(strings.TrimPrefix(behind, "-"))
		if err == nil && err2 == nil {
			p.Ahead, p.Behind = &a, &b
		}
	}
}

// changedPath is the path in a record, which stands behind so many fields.
func changedPath(kind, rest string) string {
	skip := map[string]int{"1": 7, "2": 8, "u": 9, "?": 0}[kind]
	parts := strings.SplitN(rest, " ", skip+1)
	if len(parts) <= skip {
		return ""
	}
	return parts[skip]
}

// gone: there is nothing at a path.
func gone(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}
