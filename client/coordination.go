package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// ClaimInput says that an agent is at work on something.
type ClaimInput struct {
	Agent    string            `json:"agent" minLength:"1"`
	Scope    string            `json:"scope" minLength:"1" doc:"What is worked on, in words."`
	Intent   string            `json:"intent_type,omitempty" enum:"implement,review,investigate,docs,test" doc:"Default: implement."`
	Branch   string            `json:"branch,omitempty" doc:"Default: main."`
	Base     string            `json:"base,omitempty" doc:"Checkpoint it starts from: hash or unique prefix."`
	Session  dhruva.SessionID  `json:"session_id,omitempty"`
	Task     string            `json:"task_id,omitempty" doc:"The task's own id."`
	Worktree dhruva.WorktreeID `json:"worktree_id,omitempty"`
	Hours    float64           `json:"ttl_hours,omitempty" doc:"Default: 4."`
}

// Claim is an agent's claim to a piece of work. It is advice: two may stand side
// by side.
type Claim struct {
	ID        dhruva.ClaimID     `json:"id"`
	SpaceID   dhruva.SpaceID     `json:"space_id"`
	Agent     string             `json:"agent"`
	Scope     string             `json:"scope"`
	Intent    string             `json:"intent_type"`
	Branch    string             `json:"branch"`
	Base      dhruva.Hash        `json:"base"`
	Session   dhruva.SessionID   `json:"session_id"`
	Task      string             `json:"task_id"`
	Worktree  dhruva.WorktreeID  `json:"worktree_id"`
	Status    dhruva.ClaimStatus `json:"status" doc:"active, done or abandoned."`
	Expired   bool               `json:"expired" doc:"It is active no more, because nobody ended it in time."`
	ClaimedAt time.Time          `json:"claimed_at"`
	ExpiresAt time.Time          `json:"expires_at"`
}

// ClaimPatch ends a claim.
type ClaimPatch struct {
	Status dhruva.ClaimStatus `json:"status" enum:"done,abandoned"`
}

// WorktreeInput asks for a working copy of the space's project.
type WorktreeInput struct {
	Agent  string `json:"agent" minLength:"1"`
	Branch string `json:"branch,omitempty" doc:"Branch to make in the project's repository. Default: dhruva/AGENT/ and 8 digits."`
	Base   string `json:"base,omitempty" doc:"Commit of the project's repository to start from. Default: HEAD."`
	Path   string `json:"path,omitempty" doc:"Absolute directory to make it in. Default: in the state directory."`
}

// Worktree is a working copy made for an agent.
type Worktree struct {
	ID        dhruva.WorktreeID     `json:"id"`
	SpaceID   dhruva.SpaceID        `json:"space_id"`
	Agent     string                `json:"agent"`
	Branch    string                `json:"branch"`
	Base      string                `json:"base"`
	Root      string                `json:"root"`
	Path      string                `json:"path"`
	Status    dhruva.WorktreeStatus `json:"status"`
	Probe     *Probe                `json:"probe" doc:"How it stands; null when that is not known."`
	CreatedAt time.Time             `json:"created_at"`
	ClosedAt  *time.Time            `json:"closed_at" nullable:"true"`
}

// Probe is how a working copy stands.
type Probe struct {
	DirtyFiles   int      `json:"dirty_files"`
	DirtyPaths   []string `json:"dirty_paths" doc:"At most 3 of them."`
	Ahead        *int     `json:"ahead" nullable:"true" doc:"Commits ahead of the branch it is compared with; null when there is none."`
	Behind       *int     `json:"behind" nullable:"true"`
	Against      string   `json:"against" doc:"That branch."`
	LastCommit   string   `json:"last_commit_sha"`
	LastRelative string   `json:"last_commit_relative"`
}

// StateQuery says how much of a space's state is told.
type StateQuery struct {
	// Since is a checkpoint that the asker knows: what came after it is told.
	Since string
	// MainOnly leaves out what is not of the main branch; Compact is short.
	MainOnly, Compact bool
}

func (q StateQuery) values() url.Values {
	v := url.Values{}
	setIf(v, "since", q.Since)
	for name, on := range map[string]bool{"main_only": q.MainOnly, "compact": q.Compact} {
		if on {
			v.Set(name, strconv.FormatBool(on))
		}
	}
	return v
}

// State is where a space stands, as the server's JSON.
func (c *Client) State(ctx context.Context, space string, q StateQuery) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, c, http.MethodGet, spacePath(space)+"/state"+pageQuery(dhruva.Page{}, q.values()), nil)
}

// StateText is State for reading, in Markdown.
func (c *Client) StateText(ctx context.Context, space string, q StateQuery) (string, error) {
	res, err := c.do(ctx, http.MethodGet, spacePath(space)+"/state"+pageQuery(dhruva.Page{}, q.values()), nil, "text/markdown")
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return "", badAnswer(err)
	}
	return string(b), nil
}

// Metrics are counts of a space's coordination, as the server's JSON.
func (c *Client) Metrics(ctx context.Context, space string) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, c, http.MethodGet, spacePath(space)+"/metrics", nil)
}

// Claims lists the claims of a space, newest first: those in force, or all.
func (c *Client) Claims(ctx context.Context, space string, all bool, p dhruva.Page) (List[Claim], error) {
	q := url.Values{}
	if all {
		q.Set("all", "true")
	}
	return call[List[Claim]](ctx, c, http.MethodGet, spacePath(space)+"/claims"+pageQuery(p, q), nil)
}

// Claim makes a claim.
func (c *Client) Claim(ctx context.Context, space string, in ClaimInput) (Claim, error) {
	return call[Claim](ctx, c, http.MethodPost, spacePath(space)+"/claims", in)
}

// EndClaim ends a claim; one that is not in force is dhruva.ErrConflict.
func (c *Client) EndClaim(ctx context.Context, id dhruva.ClaimID, status dhruva.ClaimStatus) (Claim, error) {
	return call[Claim](ctx, c, http.MethodPatch, "/claims/"+url.PathEscape(string(id)), ClaimPatch{status})
}

// Worktrees lists the working copies of a space, newest first: open ones, or
// all.
func (c *Client) Worktrees(ctx context.Context, space string, all bool) (List[Worktree], error) {
	q := url.Values{}
	if all {
		q.Set("all", "true")
	}
	return call[List[Worktree]](ctx, c, http.MethodGet, spacePath(space)+"/worktrees"+pageQuery(dhruva.Page{}, q), nil)
}

// OpenWorktree makes a working copy.
func (c *Client) OpenWorktree(ctx context.Context, space string, in WorktreeInput) (Worktree, error) {
	return call[Worktree](ctx, c, http.MethodPost, spacePath(space)+"/worktrees", in)
}

// Worktree finds one by id, or a unique prefix of at least 4 characters.
func (c *Client) Worktree(ctx context.Context, id string) (Worktree, error) {
	return call[Worktree](ctx, c, http.MethodGet, "/worktrees/"+url.PathEscape(id), nil)
}

// CloseWorktree removes a working copy; one with changes only when forced.
func (c *Client) CloseWorktree(ctx context.Context, id string, force bool) error {
	path := "/worktrees/" + url.PathEscape(id)
	if force {
		path += "?force=true"
	}
	return c.none(ctx, http.MethodDelete, path)
}
