package agents

import (
	"context"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// StatusExpired is what a claim is in JSON that was in force when its time ended.
const StatusExpired dhruva.ClaimStatus = "expired"

// Claim is a claim in the JSON of the compatible API.
type Claim struct {
	ID         dhruva.ClaimID     `json:"id"`
	RepoID     dhruva.SpaceID     `json:"repo_id"`
	Agent      string             `json:"agent"`
	Branch     string             `json:"branch_name"`
	BaseID     *string            `json:"base_commit_id"`
	TaskID     *string            `json:"task_id"`
	WorktreeID *string            `json:"worktree_id"`
	SessionID  *string            `json:"session_id"`
	Scope      string             `json:"scope"`
	Intent     string             `json:"intent_type"`
	Status     dhruva.ClaimStatus `json:"status"`
	ClaimedAt  time.Time          `json:"claimed_at"`
	ExpiresAt  time.Time          `json:"expires_at"`
	BaseHash   *string            `json:"base_commit_hash"` // its first 7 digits
	At         *Worktree          `json:"worktree"`
}

// Worktree is a working copy in short, and how it stands as far as is known.
type Worktree struct {
	ID           dhruva.WorktreeID     `json:"id"`
	Path         string                `json:"path"`
	Branch       string                `json:"branch"`
	Status       dhruva.WorktreeStatus `json:"status"`
	DirtyFiles   *int                  `json:"dirty_files"`
	Ahead        *int                  `json:"ahead"`
	Behind       *int                  `json:"behind"`
	Against      *string               `json:"against"`
	LastCommit   *string               `json:"last_commit_sha"`
	LastRelative *string               `json:"last_commit_relative"`
}

// ClaimOf is the JSON of a claim.
func ClaimOf(c ledger.ClaimView) Claim {
	out := Claim{
		ID: c.ID, RepoID: c.Space, Agent: c.Agent, Branch: c.Branch, TaskID: orNull(c.Task), WorktreeID: orNull(string(c.Worktree)),
		SessionID: orNull(string(c.Session)), Scope: c.Scope, Intent: c.Intent, Status: c.Status, ClaimedAt: c.ClaimedAt, ExpiresAt: c.ExpiresAt,
	}
	if c.Expired {
		out.Status = StatusExpired
	}
	if c.From != nil {
		out.BaseID, out.BaseHash = orNull(string(c.From.ID)), orNull(c.From.Hash.Short())
	}
	return out
}

func worktreeOf(w dhruva.Worktree, p *Probe) *Worktree {
	out := &Worktree{ID: w.ID, Path: w.Path, Branch: w.Branch, Status: w.Status}
	if p != nil {
		out.DirtyFiles, out.Ahead, out.Behind, out.Against = &p.DirtyFiles, p.Ahead, p.Behind, orNull(p.Against)
		out.LastCommit, out.LastRelative = orNull(p.LastCommit), orNull(p.Relative)
	}
	return out
}

// Claims lists the claims of a space, by id or name: those in force, or all,
// newest first. Needs state:read.
func (a *Agents) Claims(ctx context.Context, space string, all bool, page dhruva.Page) ([]Claim, string, error) {
	s, err := a.Ledger.Space(ctx, space)
	if err != nil {
		return nil, "", wrap("claims", err)
	}
	rows, next, err := a.Ledger.Claims(ctx, s.ID, all, page)
	if err != nil {
		return nil, "", wrap("claims", err)
	}
	out := []Claim{}
	for _, c := range rows {
		out = append(out, ClaimOf(c))
	}
	return out, next, nil
}
