package dhruva

import "time"

// ClaimStatus is where a claim stands. One that is active is in force until it
// expires.
type ClaimStatus string

// The states.
const (
	ClaimActive    ClaimStatus = "active"
	ClaimDone      ClaimStatus = "done"
	ClaimAbandoned ClaimStatus = "abandoned"
)

// Claim says that an agent is at work on something. It is advice: two claims of
// the same thing may stand side by side.
type Claim struct {
	Tenant TenantID
	Space  SpaceID
	ID     ClaimID
	Agent  string
	// Scope says in words what is worked on.
	Scope    string
	Intent   string // implement, review, investigate, docs, test
	Branch   string
	Base     Hash      // of the checkpoint it starts from; zero when unknown
	Session  SessionID // "" when none
	Task     string    // the slug of a task, "" when none
	Worktree WorktreeID
	Status   ClaimStatus

	ClaimedAt time.Time
	ExpiresAt time.Time
	UpdatedAt time.Time
}

// ClaimQuery selects claims of a space, newest (ClaimedAt, then ID) first.
type ClaimQuery struct {
	Space  SpaceID
	Status ClaimStatus // "" means any
	// Live, when set, selects those that expire after it.
	Live time.Time
	Page // After is the id of the last one seen
}

// ClaimRows are the claims of the scope's spaces.
type ClaimRows interface {
	Claim(ClaimID) (Claim, error)
	// PutClaim inserts or replaces; it moves none to another space (ErrConflict).
	PutClaim(Claim) error
	ListClaims(ClaimQuery) ([]Claim, error)
}

// Validate is as said in row.go.
func (c Claim) Validate() error {
	return firstError(validKey("claim", string(c.Tenant), string(c.Space), string(c.ID), string(c.Status)),
		ValidText("claim", c.Agent, c.Scope, c.Intent, c.Branch, string(c.Session), c.Task, string(c.Worktree)),
		validTime("claim", c.ClaimedAt, c.ExpiresAt, c.UpdatedAt))
}

// Canonical is as said in row.go.
func (c Claim) Canonical() Claim {
	c.ClaimedAt, c.ExpiresAt, c.UpdatedAt = Micros(c.ClaimedAt), Micros(c.ExpiresAt), Micros(c.UpdatedAt)
	return c
}
