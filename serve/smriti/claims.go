package smriti

import (
	"math"
	"net/http"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/ledger"
)

func claimRoutes() []route {
	return []route{
		{pattern: "POST /api/v5/claims", status: http.StatusCreated, do: (*api).claim, again: (*api).madeClaim},
		{pattern: "PATCH /api/v5/claims/{id}", do: (*api).endClaim},
		{pattern: "GET /api/v5/claims", do: (*api).listClaims},
	}
}

type claimInput struct {
	SpaceID    id      `json:"space_id" need:""`
	Agent      string  `json:"agent" need:"" blank:"no"`
	Scope      string  `json:"scope" need:"" blank:"no"`
	Branch     string  `json:"branch_name"`
	Base       id      `json:"base_commit_id"`
	SessionID  id      `json:"session_id"`
	TaskID     string  `json:"task_id"`
	WorktreeID id      `json:"worktree_id"`
	Intent     string  `json:"intent_type"`
	Hours      *number `json:"ttl_hours"`
}

// ttl is how long the claim is to stand; nil is the default.
func (in claimInput) ttl() *time.Duration {
	if in.Hours == nil {
		return nil
	}
	hours := math.Max(math.Min(float64(*in.Hours), 1e6), -1e6) // within a Duration; the ledger has its bounds
	d := time.Duration(hours * float64(time.Hour))
	return &d
}

func (a *api) claim(c *call) (any, error) {
	in, err := body[claimInput](c)
	if err != nil {
		return nil, err
	}
	space, err := a.space(c.ctx(), string(in.SpaceID))
	if err != nil {
		return nil, err
	}
	v, err := a.ledger.Claim(c.ctx(), ledger.ClaimInput{
		Space: space.ID, Agent: in.Agent, Scope: in.Scope, Intent: in.Intent, Branch: in.Branch, Base: string(in.Base),
		Session: dhruva.SessionID(in.SessionID), Task: in.TaskID, Worktree: dhruva.WorktreeID(in.WorktreeID), TTL: in.ttl(),
	})
	return agents.ClaimOf(v), err
}

func (a *api) madeClaim(c *call, done ledger.Outcome) (any, error) {
	v, err := a.ledger.ClaimByID(c.ctx(), dhruva.ClaimID(done.Last(ledger.MadeClaim)))
	return agents.ClaimOf(v), err
}

func (a *api) endClaim(c *call) (any, error) {
	claim, err := c.pathID("id")
	if err != nil {
		return nil, err
	}
	in, err := body[struct {
		Status string `json:"status" need:""`
	}](c)
	if err != nil {
		return nil, err
	}
	v, err := a.ledger.EndClaim(c.ctx(), dhruva.ClaimID(claim), dhruva.ClaimStatus(in.Status))
	return agents.ClaimOf(v), err
}

func (a *api) listClaims(c *call) (any, error) {
	id, err := c.needQueryID("space_id")
	if err != nil {
		return nil, err
	}
	all, err := c.queryFlag("include_expired")
	if err != nil {
		return nil, err
	}
	space, err := a.space(c.ctx(), id)
	if err != nil {
		return nil, err
	}
	rows, err := every(func(p dhruva.Page) ([]agents.Claim, string, error) {
		return a.agents.Claims(c.ctx(), string(space.ID), all, p)
	})
	return append([]agents.Claim{}, rows...), err
}
