package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// CheckpointInput saves what was concluded.
type CheckpointInput struct {
	Session     dhruva.SessionID `json:"session_id,omitempty" doc:"Session it is drawn from; its window is recorded."`
	Branch      string           `json:"branch,omitempty" doc:"Default: the session's branch, else main."`
	Parents     []string         `json:"parents,omitempty" doc:"Hashes or unique prefixes; default: what the session stands on, else the branch's head."`
	Title       string           `json:"title,omitempty"`
	Objective   string           `json:"objective,omitempty"`
	Summary     string           `json:"summary,omitempty"`
	Decisions   []Item           `json:"decisions,omitempty"`
	Assumptions []Item           `json:"assumptions,omitempty"`
	Tasks       []Task           `json:"tasks,omitempty"`
	Questions   []Item           `json:"open_questions,omitempty"`
	Entities    []Item           `json:"entities,omitempty"`
	Artifacts   []Artifact       `json:"artifacts,omitempty"`
	Author      string           `json:"author,omitempty" doc:"Default: the name of the key."`
}

// Checkpoint is an immutable, hash-linked snapshot of what was concluded.
type Checkpoint struct {
	ID          dhruva.CheckpointID `json:"id"`
	Hash        dhruva.Hash         `json:"hash"`
	SpaceID     dhruva.SpaceID      `json:"space_id"`
	Session     dhruva.SessionID    `json:"session_id"`
	Branch      string              `json:"branch"`
	Parents     []dhruva.Hash       `json:"parents"`
	Title       string              `json:"title"`
	Objective   string              `json:"objective"`
	Summary     string              `json:"summary"`
	Decisions   []Item              `json:"decisions"`
	Assumptions []Item              `json:"assumptions"`
	Tasks       []Task              `json:"tasks"`
	Questions   []Item              `json:"open_questions"`
	Entities    []Item              `json:"entities"`
	Artifacts   []Artifact          `json:"artifacts"`
	Author      string              `json:"author"`
	Window      *Window             `json:"window" doc:"Turns it was drawn from; null when none."`
	CreatedAt   time.Time           `json:"created_at"`
	Items       []ItemDetail        `json:"items" doc:"Everything stored, in canonical order."`
	Redactions  int                 `json:"redactions,omitempty" doc:"In the answer to saving it: how many secrets were replaced by placeholders."`
}

// Window is a range of a session's turns: after Base up to Through.
type Window struct {
	Session dhruva.SessionID `json:"session_id"`
	Base    int64            `json:"base"`
	Through int64            `json:"through"`
}

// CheckpointFilter narrows a list of checkpoints.
type CheckpointFilter struct {
	Branch  string
	Session dhruva.SessionID
	dhruva.Page
}

// Checkpoints lists the checkpoints of a space, newest first.
func (c *Client) Checkpoints(ctx context.Context, space string, f CheckpointFilter) (List[Checkpoint], error) {
	q := url.Values{}
	setIf(q, "branch", f.Branch)
	setIf(q, "session", string(f.Session))
	return call[List[Checkpoint]](ctx, c, http.MethodGet, spacePath(space)+"/checkpoints"+pageQuery(f.Page, q), nil)
}

// CreateCheckpoint saves a checkpoint; a branch that has moved on meanwhile is
// dhruva.ErrConflict.
func (c *Client) CreateCheckpoint(ctx context.Context, space string, in CheckpointInput) (Checkpoint, error) {
	return call[Checkpoint](ctx, c, http.MethodPost, spacePath(space)+"/checkpoints", in)
}

// Checkpoint finds a checkpoint by its hash or a unique prefix of it.
func (c *Client) Checkpoint(ctx context.Context, ref string) (Checkpoint, error) {
	return call[Checkpoint](ctx, c, http.MethodGet, "/checkpoints/"+url.PathEscape(ref), nil)
}

// CheckpointTurns lists the turns a checkpoint was drawn from.
func (c *Client) CheckpointTurns(ctx context.Context, ref string) (List[Turn], error) {
	return call[List[Turn]](ctx, c, http.MethodGet, "/checkpoints/"+url.PathEscape(ref)+"/turns", nil)
}
