package smriti

import (
	"github.com/dhruva-memory/dhruva/agents"
)

func stateRoutes() []route {
	return []route{
		{pattern: "GET /api/v4/chat/spaces/{id}/head", do: (*api).spaceHead},
		{pattern: "GET /api/v4/chat/spaces/{id}/state", do: (*api).spaceState},
		{pattern: "GET /api/v4/chat/providers", do: (*api).listProviders},
		{pattern: "GET /api/v5/metrics/spaces/{id}", do: (*api).metrics},
	}
}

// Capabilities are what agents look for to tell an old server from a new one.
func Capabilities() []string {
	return []string{
		"claims", "structured_tasks", "task_ids", "checkpoint_notes", "branch_disposition", "freshness", "compact_state",
		"worktrees", "worktree_binding",
	}
}

// State is where the work in a space stands.
type State struct {
	agents.State
	Commit *Commit `json:"commit"`
}

func (a *api) spaceHead(c *call) (any, error) {
	s, err := a.spaceOfPath(c)
	if err != nil {
		return nil, err
	}
	state, err := a.agents.State(c.ctx(), agents.StateQuery{Space: string(s.ID), MainOnly: true})
	return state.Head, err
}

func (a *api) spaceState(c *call) (any, error) {
	s, err := a.spaceOfPath(c)
	if err != nil {
		return nil, err
	}
	since, err := c.queryID("since_commit_id")
	if err != nil {
		return nil, err
	}
	out := State{}
	if out.State, err = a.agents.State(c.ctx(), agents.StateQuery{Space: string(s.ID), Since: since}); err != nil || out.State.Commit == nil {
		return out, err
	}
	at, err := a.ledger.Checkpoint(c.ctx(), out.State.Commit.Hash)
	if err != nil {
		return nil, err
	}
	commit, err := a.commit(c.ctx(), at)
	out.Commit = &commit
	return out, err
}

func (a *api) metrics(c *call) (any, error) {
	s, err := a.spaceOfPath(c)
	if err != nil {
		return nil, err
	}
	return a.agents.Metrics(c.ctx(), string(s.ID))
}

// Provider is how a model company is configured. It never holds a key.
type Provider struct {
	Enabled    bool `json:"enabled"`
	HasKey     bool `json:"has_key"`
	Missing    bool `json:"missing_package"` // always false: nothing is to be installed
	Configured bool `json:"configured"`
	// Label is the status in words.
	Label        string `json:"status_label"`
	DefaultModel string `json:"default_model"`
}

// Background is the model for what is asked without a choice of one.
type Background struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Enabled    bool   `json:"enabled"`
	HasKey     bool   `json:"has_key"`
	Missing    bool   `json:"missing_package"`
	Configured bool   `json:"configured"`
	Label      string `json:"status_label"`
}

// Providers are the model companies by name, and the slot for background work.
type Providers struct {
	ByName     map[string]Provider
	Background Background
}

func (a *api) listProviders(*call) (any, error) {
	p := a.providers()
	out := map[string]any{"background_intelligence": p.Background}
	for name, one := range p.ByName {
		out[name] = one
	}
	return out, nil
}
