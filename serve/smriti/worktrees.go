package smriti

import (
	"errors"
	"net/http"
	"path/filepath"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/ledger"
)

func worktreeRoutes() []route {
	const all, one = "/api/v5/worktrees", "/api/v5/worktrees/{id}"
	return []route{
		{pattern: "POST " + all, status: http.StatusCreated, do: (*api).openWorktree, again: (*api).madeWorktree, claim: modelTime, keyed: true},
		{pattern: "GET " + all, do: (*api).listWorktrees, keyed: true},
		{pattern: "GET " + one, do: (*api).showWorktree, keyed: true, codes: codes{dhruva.ErrConflict: http.StatusUnprocessableEntity}},
		{pattern: "DELETE " + one, do: (*api).closeWorktree, keyed: true},
	}
}

// worktreePrefix is the first part of the branches that are made.
const worktreePrefix = "smriti"

// Worktree is a working copy.
type Worktree struct {
	ID          dhruva.WorktreeID     `json:"id"`
	SpaceID     dhruva.SpaceID        `json:"space_id"`
	RepoID      dhruva.SpaceID        `json:"repo_id"`
	Agent       string                `json:"agent"`
	Branch      string                `json:"branch_name"`
	Base        string                `json:"base_commit_sha"`
	ProjectRoot string                `json:"project_root"`
	Path        string                `json:"path"`
	Status      dhruva.WorktreeStatus `json:"status"`
	CreatedAt   time.Time             `json:"created_at"`
	ClosedAt    *time.Time            `json:"closed_at"`
	Probe       *Probe                `json:"probe"`
}

// Probe is how a working copy stands.
type Probe struct {
	DirtyFiles   int      `json:"dirty_files"`
	DirtyPaths   []string `json:"dirty_paths"`
	Ahead        *int     `json:"ahead"`
	Behind       *int     `json:"behind"`
	LastCommit   *string  `json:"last_commit_sha"`
	LastRelative *string  `json:"last_commit_relative"`
}

func worktreeOf(w agents.WorktreeView) Worktree {
	out := Worktree{
		ID: w.ID, SpaceID: w.Space, RepoID: w.Space, Agent: w.Agent, Branch: w.Branch, Base: w.Base, ProjectRoot: w.Root, Path: w.Path,
		Status: w.Status, CreatedAt: w.CreatedAt,
	}
	if !w.ClosedAt.IsZero() {
		out.ClosedAt = &w.ClosedAt
	}
	if p := w.Probe; p != nil {
		out.Probe = &Probe{
			DirtyFiles: p.DirtyFiles, DirtyPaths: append([]string{}, p.DirtyPaths...), Ahead: p.Ahead, Behind: p.Behind,
			LastCommit: orNull(p.LastCommit), LastRelative: orNull(p.Relative),
		}
	}
	return out
}

// trees makes working copies, or says that none are made.
func (a *api) trees() (*agents.Worktrees, error) {
	if a.worktrees == nil {
		return nil, &refusal{status: http.StatusForbidden, detail: "this server makes no worktrees: it was given no directory for them"}
	}
	w := a.worktrees.Over(a.ledger)
	w.Prefix = worktreePrefix
	return w, nil
}

// gitFailed is 500 here, with git's own reason.
func gitFailed(err error) error {
	var git *agents.GitFailed
	if errors.As(err, &git) {
		return &refusal{status: http.StatusInternalServerError, detail: "git could not " + git.Doing + ": " + git.Reason, err: err}
	}
	return err
}

func (a *api) openWorktree(c *call) (any, error) {
	in, err := body[struct {
		SpaceID id     `json:"space_id" need:""`
		Agent   string `json:"agent" need:"" blank:"no"`
		Branch  string `json:"branch_name"`
		Base    string `json:"base_commit_sha"`
		Path    string `json:"base_path"`
	}](c)
	if err != nil {
		return nil, err
	}
	trees, err := a.trees()
	if err != nil {
		return nil, err
	}
	space, err := a.space(c.ctx(), string(in.SpaceID))
	if err != nil {
		return nil, err
	}
	if in.Path != "" && !filepath.IsAbs(in.Path) {
		return nil, bad("base_path must be an absolute path")
	}
	row, err := trees.Open(c.ctx(), agents.WorktreeInput{Space: string(space.ID), Agent: in.Agent, Branch: in.Branch, Base: in.Base, Path: in.Path})
	return worktreeOf(agents.WorktreeView{Worktree: row}), gitFailed(err)
}

func (a *api) madeWorktree(c *call, done ledger.Outcome) (any, error) {
	row, err := a.ledger.Worktree(c.ctx(), done.Last(ledger.MadeWorktree))
	return worktreeOf(agents.WorktreeView{Worktree: row}), err
}

func (a *api) listWorktrees(c *call) (any, error) {
	id, err := c.needQueryID("space_id")
	if err != nil {
		return nil, err
	}
	all, err := c.queryFlag("include_closed")
	if err != nil {
		return nil, err
	}
	trees, err := a.trees()
	if err != nil {
		return nil, err
	}
	space, err := a.space(c.ctx(), id)
	if err != nil {
		return nil, err
	}
	rows, err := every(func(p dhruva.Page) ([]agents.WorktreeView, string, error) {
		return trees.List(c.ctx(), string(space.ID), all, p)
	})
	return each(rows, worktreeOf), err
}

func (a *api) showWorktree(c *call) (any, error) {
	trees, err := a.trees()
	if err != nil {
		return nil, err
	}
	w, err := trees.Show(c.ctx(), c.PathValue("id"))
	return worktreeOf(w), err
}

func (a *api) closeWorktree(c *call) (any, error) {
	force, err := c.queryFlag("force")
	if err != nil {
		return nil, err
	}
	trees, err := a.trees()
	if err != nil {
		return nil, err
	}
	row, err := a.ledger.Worktree(c.ctx(), c.PathValue("id"))
	if err != nil {
		return nil, codes{dhruva.ErrConflict: http.StatusUnprocessableEntity}.of(err)
	}
	row, err = trees.Close(c.ctx(), string(row.ID), force)
	return worktreeOf(agents.WorktreeView{Worktree: row}), gitFailed(err)
}
