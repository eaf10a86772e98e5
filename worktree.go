package dhruva

import "time"

// WorktreeStatus is open or closed.
type WorktreeStatus string

// The states.
const (
	WorktreeOpen   WorktreeStatus = "open"
	WorktreeClosed WorktreeStatus = "closed"
)

// Worktree is a working copy of a project's repository that was made for an
// agent.
type Worktree struct {
	Tenant    TenantID
	Space     SpaceID
	ID        WorktreeID
	Agent     string
	Branch    string // of the project's repository
	Base      string // the commit it was made from, as git names it
	Root      string // the repository
	Path      string
	Status    WorktreeStatus
	CreatedAt time.Time
	ClosedAt  time.Time // zero while open
}

// WorktreeQuery selects worktrees of a space, newest (CreatedAt, then ID) first.
type WorktreeQuery struct {
	Space  SpaceID
	Status WorktreeStatus // "" means any
	Page
}

// WorktreeRows are the worktrees of the scope's spaces.
type WorktreeRows interface {
	Worktree(WorktreeID) (Worktree, error)
	// PutWorktree inserts or replaces; it moves none to another space
	// (ErrConflict).
	PutWorktree(Worktree) error
	ListWorktrees(WorktreeQuery) ([]Worktree, error)
}

// Validate is as said in row.go.
func (w Worktree) Validate() error {
	return firstError(validKey("worktree", string(w.Tenant), string(w.Space), string(w.ID), string(w.Status)),
		ValidText("worktree", w.Agent, w.Branch, w.Base, w.Root, w.Path), validTime("worktree", w.CreatedAt, w.ClosedAt))
}

// Canonical is as said in row.go.
func (w Worktree) Canonical() Worktree {
	w.CreatedAt, w.ClosedAt = Micros(w.CreatedAt), Micros(w.ClosedAt)
	return w
}
