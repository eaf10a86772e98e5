package agents

import (
	"context"
	"math"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// Metrics are figures about the work in a space, in the JSON of the compatible
// API.
type Metrics struct {
	SpaceID      dhruva.SpaceID `json:"space_id"`
	SpaceName    string         `json:"space_name"`
	ComputedAt   time.Time      `json:"computed_at"`
	Coordination Coordination   `json:"coordination"`
	StateQuality StateQuality   `json:"state_quality"`
	Branches     BranchCounts   `json:"branches"`
}

// Coordination counts who did what.
type Coordination struct {
	TotalCheckpoints int            `json:"total_checkpoints"`
	UniqueAgents     int            `json:"unique_agents"`
	AgentCheckpoints map[string]int `json:"agent_checkpoints"`
	CrossAgent       int            `json:"cross_agent_continuations"`
	TotalClaims      int            `json:"total_claims"`
	ClaimsActive     int            `json:"claims_active"`
	ClaimsDone       int            `json:"claims_done"`
	ClaimsAbandoned  int            `json:"claims_abandoned"`
	ClaimsExpired    int            `json:"claims_expired"`
	ClaimsWithTask   int            `json:"claims_with_task_id"`
	// CompletionRate is done of those that somebody ended; claims that expired
	// are counted apart. Null when nobody ended one.
	CompletionRate *float64 `json:"claim_completion_rate"`
}

// StateQuality counts what checkpoints say.
type StateQuality struct {
	AvgDecisions    float64 `json:"avg_decisions_per_checkpoint"`
	AvgTasks        float64 `json:"avg_tasks_per_checkpoint"`
	StructuredTasks int     `json:"checkpoints_with_structured_tasks"`
	TaskIDs         int     `json:"checkpoints_with_task_ids"`
	Milestones      int     `json:"milestone_count"`
	Noise           int     `json:"noise_count"`
}

// BranchCounts counts branches besides main, by disposition.
type BranchCounts struct {
	Active     int `json:"active"`
	Integrated int `json:"integrated"`
	Abandoned  int `json:"abandoned"`
}

// Metrics counts what a space, by id or name, holds. Needs state:read.
func (a *Agents) Metrics(ctx context.Context, space string) (Metrics, error) {
	s, err := a.Ledger.Space(ctx, space)
	if err != nil {
		return Metrics{}, wrap("metrics", err)
	}
	m, err := a.Ledger.Metrics(ctx, s.ID)
	if err != nil {
		return Metrics{}, wrap("metrics", err)
	}
	return metricsOf(m), nil
}

func metricsOf(m ledger.Metrics) Metrics {
	out := Metrics{
		SpaceID: m.Space.ID, SpaceName: m.Space.Name, ComputedAt: m.At,
		Coordination: Coordination{
			TotalCheckpoints: m.Checkpoints, UniqueAgents: len(m.Authors), AgentCheckpoints: m.Authors, CrossAgent: m.Continued,
			TotalClaims: m.Claims, ClaimsActive: m.ClaimsActive, ClaimsDone: m.ClaimsDone, ClaimsAbandoned: m.ClaimsAbandoned,
			ClaimsExpired: m.ClaimsExpired, ClaimsWithTask: m.ClaimsOfTasks,
		},
		StateQuality: StateQuality{
			AvgDecisions: mean(m.Decisions, m.Checkpoints, 1), AvgTasks: mean(m.Tasks, m.Checkpoints, 1),
			StructuredTasks: m.Structured, TaskIDs: m.Named, Milestones: m.Milestones, Noise: m.Noise,
		},
		Branches: BranchCounts{m.Branches["active"], m.Branches["integrated"], m.Branches["abandoned"]},
	}
	if ended := m.ClaimsDone + m.ClaimsAbandoned; ended > 0 {
		rate := mean(m.ClaimsDone, ended, 2)
		out.Coordination.CompletionRate = &rate
	}
	return out
}

// mean is a quotient, rounded; 0 of nothing.
func mean(sum, n, places int) float64 {
	if n == 0 {
		return 0
	}
	unit := math.Pow10(places)
	return math.Round(float64(sum)/float64(n)*unit) / unit
}
