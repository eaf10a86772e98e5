package agents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// DefaultPrefix is the first part of the branches that are made.
const DefaultPrefix = "dhruva"

// Worktrees makes and takes away working copies of projects' repositories. The
// zero optional fields work; without Roots and Dir nothing is allowed.
type Worktrees struct {
	Ledger *ledger.Ledger
	// Roots are the directories, as absolute paths, below which repositories and
	// working copies may lie.
	Roots []string
	// Dir is where working copies are made that are given no path; it is a root
	// too. "" makes a path necessary.
	Dir string
	// ProjectRoots makes the project root of each space a root of its own. It is
	// for one person's own machine: whoever may change a space may change it.
	ProjectRoots bool
	// Prefix is the first part of a branch that is given no name; "" is
	// DefaultPrefix.
	Prefix string
	Now    func() time.Time // nil: time.Now; of probes
	Log    *slog.Logger     // nil: discards
	// Git is the program; "" looks for it in PATH.
	Git string

	probes probes
	of     *Worktrees // whose probes are kept; nil: its own
}

// Over is this over another ledger, such as one that ledger.Once gives. What was
// probed is known to both.
func (w *Worktrees) Over(l *ledger.Ledger) *Worktrees {
	return &Worktrees{
		Ledger: l, Roots: w.Roots, Dir: w.Dir, ProjectRoots: w.ProjectRoots, Prefix: w.Prefix, Now: w.Now, Log: w.Log, Git: w.Git, of: w.first(),
	}
}

func (w *Worktrees) first() *Worktrees {
	if w.of != nil {
		return w.of
	}
	return w
}

func (w *Worktrees) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}

func (w *Worktrees) log() *slog.Logger {
	if w.Log != nil {
		return w.Log
	}
	return slog.New(slog.DiscardHandler)
}

// roots are those that hold for a project.
func (w *Worktrees) roots(project string) roots {
	dirs := append([]string{w.Dir}, w.Roots...)
	if w.ProjectRoots {
		dirs = append(dirs, project)
	}
	return allowed(dirs)
}

func (w *Worktrees) git(dir string, config ...setting) *git {
	return &git{program: w.Git, dir: dir, config: config}
}

// WorktreeInput asks for a working copy.
type WorktreeInput struct {
	// Space names the space, by id or name; its project root is the repository.
	Space string
	Agent string
	// Branch is made; it must not exist. "" is <prefix>/<agent>/<8 hex>.
	Branch string
	// Base is a commit or a branch; "" is the HEAD of the project root.
	Base string
	// Path is an absolute path to a directory that does not exist. "" is below
	// Dir.
	Path string
}

// WorktreeView is a working copy as it stands.
type WorktreeView struct {
	dhruva.Worktree
	// Probe is nil when it is closed, or when nothing could be learnt of it.
	Probe *Probe
}

// Open makes a working copy on a new branch, and its row. A branch or path that
// exists is ErrConflict, a repository or path outside the roots ErrDenied, a
// failure of git a GitFailed. Needs state:write.
func (w *Worktrees) Open(ctx context.Context, in WorktreeInput) (dhruva.Worktree, error) {
	row, err := w.open(ctx, in)
	return row, wrap("open worktree", err)
}

func (w *Worktrees) open(ctx context.Context, in WorktreeInput) (dhruva.Worktree, error) {
	plan, err := w.plan(ctx, in)
	if err != nil {
		return dhruva.Worktree{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	if err := plan.resolve(ctx); err != nil {
		return dhruva.Worktree{}, err
	}
	if err := plan.make(ctx); err != nil {
		return dhruva.Worktree{}, err
	}
	row, err := w.Ledger.OpenWorktree(ctx, plan.row)
	if err == nil {
		return row, nil
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), gitTime)
	defer cancel()
	if errors.Is(err, dhruva.ErrUnavailable) { // it may be there nevertheless
		if row, err := w.Ledger.Worktree(ledger.AsMaker(ctx), string(plan.row.ID)); err == nil {
			return row, nil
		}
	}
	plan.undo(ctx)
	return dhruva.Worktree{}, err
}

// writer refuses whoever may not change a space, before git is run.
func writer(ctx context.Context) error {
	p, err := dhruva.PrincipalFrom(ctx)
	if err == nil && !p.May(dhruva.StateWrite) {
		err = fmt.Errorf("%w: this needs %s", dhruva.ErrDenied, dhruva.StateWrite)
	}
	return err
}

// plan is a working copy that is to be made.
type plan struct {
	row   ledger.WorktreeInput
	repo  repository
	place *place
	git   *git // in the repository
	w     *Worktrees
	// keepBranch: the branch is somebody else's.
	keepBranch bool
}

// plan checks all that can be checked without git.
func (w *Worktrees) plan(ctx context.Context, in WorktreeInput) (*plan, error) {
	if err := writer(ctx); err != nil {
		return nil, err
	}
	space, err := w.Ledger.Space(ctx, in.Space)
	if err != nil {
		return nil, err
	}
	p := &plan{w: w, row: ledger.WorktreeInput{ID: ledger.NewWorktreeID(), Space: space.ID, Agent: in.Agent, Branch: in.Branch, Base: in.Base}}
	short := string(p.row.ID[:8])
	if firstOf(in.Agent) == "" {
		return nil, fmt.Errorf("%w: no agent", dhruva.ErrInvalid)
	}
	if p.row.Branch == "" {
		p.row.Branch = firstOf(w.Prefix, DefaultPrefix) + "/" + slug(in.Agent, "agent") + "/" + short
	}
	if p.row.Base == "" {
		p.row.Base = "HEAD"
	} else if err := checkRef("base", in.Base); err != nil {
		return nil, err
	}
	if err := checkRef("branch", p.row.Branch); err != nil {
		return nil, err
	}
	if space.ProjectRoot == "" {
		return nil, fmt.Errorf("%w: the space %q has no project root: set it to the directory of the project's repository", dhruva.ErrInvalid, space.Name)
	}
	return p, p.put(space, in.Path, slug(in.Agent, "agent")+"-"+short)
}

// put finds the repository, and where the working copy goes.
func (p *plan) put(space dhruva.Space, path, name string) (err error) {
	if path == "" && p.w.Dir == "" {
		return fmt.Errorf("%w: no path, and no directory for worktrees is configured", dhruva.ErrInvalid)
	}
	if path == "" { // a directory that is not there yet is no root
		if err := os.MkdirAll(p.w.Dir, 0o700); err != nil {
			return fmt.Errorf("%w: the directory for worktrees: %w", dhruva.ErrUnavailable, err)
		}
	}
	all := p.w.roots(space.ProjectRoot)
	if p.repo, err = all.repositoryAt(space.ProjectRoot); err != nil {
		return err
	}
	if path == "" {
		path = filepath.Join(p.w.Dir, slug(space.Name, "space"), name)
	}
	if p.place, err = all.placeAt(path, p.repo); err != nil {
		return err
	}
	p.row.Root, p.row.Path, p.git = p.repo.top, p.place.path(), p.w.git(p.repo.top)
	return nil
}

// resolve asks git for the commit to start from, and that the branch is new.
func (p *plan) resolve(ctx context.Context) error {
	_, err := p.git.run(ctx, "look for the branch", "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+p.row.Branch)
	switch {
	case err == nil:
		return fmt.Errorf("%w: branch %q exists", dhruva.ErrConflict, p.row.Branch)
	case !saidNo(err):
		return err
	}
	commit, err := p.git.run(ctx, "find the base", "rev-parse", "--verify", "--quiet", "--end-of-options", p.row.Base+"^{commit}")
	switch {
	case saidNo(err) && p.row.Base == "HEAD":
		return fmt.Errorf("%w: the project's repository has no commit yet", dhruva.ErrConflict)
	case saidNo(err):
		return fmt.Errorf("%w: the project's repository has no commit %q", dhruva.ErrInvalid, cut(p.row.Base, 80))
	case err != nil:
		return err
	}
	p.row.Base = commit
	return nil
}

// make makes directory, branch and working copy, or nothing. Files are checked
// out in a step of its own, when all filters of the new place are known.
func (p *plan) make(ctx context.Context) error {
	if err := p.place.make(); err != nil {
		return err
	}
	_, err := p.git.run(ctx, "make the worktree", "worktree", "add", "--quiet", "--no-checkout", "--no-track", "-b", p.row.Branch, "--", p.row.Path, p.row.Base)
	if err == nil {
		err = p.checkOut(ctx)
	}
	if err == nil {
		return nil
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), gitTime)
	defer cancel()
	var no *exited
	if errors.As(err, &no) && strings.Contains(no.Reason, "exists") { // somebody made the branch, or one whose name begins so
		p.keepBranch = true
		err = fmt.Errorf("%w: %s", dhruva.ErrConflict, no.Reason)
	}
	p.undo(undo)
	return err
}

func (p *plan) checkOut(ctx context.Context) error {
	here := p.w.git(p.row.Path)
	off, err := here.filtersOff(ctx)
	if err != nil {
		return err
	}
	here.config = off
	_, err = here.run(ctx, "check out the files", "reset", "--hard", "--quiet", "--no-recurse-submodules")
	return err
}

// undo takes away what make made. The branch goes only if it is where it was
// made, so that nobody's work is lost.
func (p *plan) undo(ctx context.Context) {
	failed := func(what string, err error) {
		p.w.log().Warn("something is left of a worktree that could not be made", "worktree", p.row.ID, "what", what, "error", err)
	}
	_, unknown := p.git.run(ctx, "take the worktree away", "worktree", "remove", "--force", "--force", "--", p.row.Path)
	if err := p.place.remove(); err != nil {
		failed("directory", err)
	}
	if p.keepBranch {
		return
	}
	_, err := p.git.run(ctx, "take the branch away", "update-ref", "--no-deref", "-d", "refs/heads/"+p.row.Branch, p.row.Base)
	if err != nil && unknown == nil {
		failed("branch", err)
	}
}

// List lists the working copies of a space, open ones or all, newest first, with
// how the open ones stand as far as that is learnt in time. Needs state:read.
func (w *Worktrees) List(ctx context.Context, space string, all bool, page dhruva.Page) ([]WorktreeView, string, error) {
	s, err := w.Ledger.Space(ctx, space)
	if err != nil {
		return nil, "", wrap("worktrees", err)
	}
	rows, next, err := w.Ledger.Worktrees(ctx, s.ID, all, page)
	if err != nil {
		return nil, "", wrap("worktrees", err)
	}
	known := w.Probe(ctx, rows...)
	out := make([]WorktreeView, 0, len(rows))
	for _, row := range rows {
		out = append(out, WorktreeView{row, known[row.ID]})
	}
	return out, next, nil
}

// Show is one working copy, by its id or at least four characters of it. Needs
// state:read.
func (w *Worktrees) Show(ctx context.Context, ref string) (WorktreeView, error) {
	row, err := w.Ledger.Worktree(ctx, ref)
	if err != nil {
		return WorktreeView{}, wrap("worktree", err)
	}
	return WorktreeView{row, w.Probe(ctx, row)[row.ID]}, nil
}

// Close takes a working copy away, and notes that. One that is closed, or that
// holds what is not committed, is ErrConflict; force takes that with it. The
// branch stays. Of one whose directory is gone only the row is closed. Needs
// state:write.
func (w *Worktrees) Close(ctx context.Context, ref string, force bool) (dhruva.Worktree, error) {
	row, err := w.close(ctx, ref, force)
	return row, wrap("close worktree", err)
}

func (w *Worktrees) close(ctx context.Context, ref string, force bool) (dhruva.Worktree, error) {
	if err := writer(ctx); err != nil {
		return dhruva.Worktree{}, err
	}
	row, err := w.Ledger.Worktree(ledger.AsMaker(ctx), ref)
	if err != nil {
		return row, err
	}
	if row.Status != dhruva.WorktreeOpen {
		return row, fmt.Errorf("%w: the worktree is closed already", dhruva.ErrConflict)
	}
	run, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	if err := w.takeAway(run, row, force); err != nil {
		return row, err
	}
	w.first().probes.forget(row.ID)
	return w.Ledger.CloseWorktree(ctx, row.ID)
}

// takeAway removes the directory of a working copy with git's own record of it.
func (w *Worktrees) takeAway(ctx context.Context, row dhruva.Worktree, force bool) error {
	all := w.roots(row.Root)
	repo, err := all.repositoryAt(row.Root)
	if err != nil {
		if gone(row.Path) && !errors.Is(err, dhruva.ErrDenied) { // with the whole repository
			return nil
		}
		return err
	}
	there, _, err := all.standsAt(row.Path, repo)
	if err != nil {
		return err
	}
	args := []string{"worktree", "remove", "--force", "--", row.Path}
	at := w.git(repo.top)
	if there && !force {
		here := w.git(row.Path)
		if here.config, err = here.filtersOff(ctx); err != nil {
			return err
		}
		if err := here.clean(ctx); err != nil {
			return err
		}
		args, at.config = []string{"worktree", "remove", "--", row.Path}, here.config
	}
	_, err = at.run(ctx, "remove the worktree", args...)
	var no *exited
	switch {
	case err == nil || !errors.As(err, &no):
		return err
	case !there: // git knows nothing of it either
		return nil
	}
	return fmt.Errorf("%w: git does not remove the worktree: %s", dhruva.ErrConflict, no.Reason)
}

// clean refuses a working copy that holds what is not committed.
func (g *git) clean(ctx context.Context) error {
	dirty := 0
	err := g.stream(ctx, "look at the files", &records{fn: func(string) { dirty++ }}, statusArgs("--porcelain=v1")...)
	if err == nil && dirty > 0 {
		err = fmt.Errorf("%w: the worktree has %d files that are not committed; force takes them away with it", dhruva.ErrConflict, dirty)
	}
	return err
}

// statusArgs asks for every file that is not as it was committed, whatever the
// configuration says about what is shown.
func statusArgs(form string) []string {
	return []string{"status", form, "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"}
}

// wrap marks an error as this package's, once.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("agents: %s: %w", op, err)
}
