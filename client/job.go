package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Job is a piece of background work.
type Job struct {
	ID       dhruva.JobID    `json:"id"`
	Space    dhruva.SpaceID  `json:"space_id"`
	Kind     string          `json:"kind"`
	State    dhruva.JobState `json:"state" enum:"queued,leased,done,dead"`
	Attempts int             `json:"attempts"`
	// Done of Total steps of its own are done, for kinds that count them.
	Done  int64 `json:"done,omitempty"`
	Total int64 `json:"total,omitempty"`
	// NotBefore is when a job that waits is tried next.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Error is how the last attempt ended.
	Error     string    `json:"error,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// JobFilter narrows a list of jobs.
type JobFilter struct {
	Space string
	Kind  string
	State dhruva.JobState
	dhruva.Page
}

// Jobs lists background work by id. Needs admin.
func (c *Client) Jobs(ctx context.Context, f JobFilter) (List[Job], error) {
	q := url.Values{}
	setIf(q, "space", f.Space)
	setIf(q, "kind", f.Kind)
	setIf(q, "state", string(f.State))
	return call[List[Job]](ctx, c, http.MethodGet, "/jobs"+pageQuery(f.Page, q), nil)
}

// RetryJob gives a job that was given up its attempts again. Needs admin.
func (c *Client) RetryJob(ctx context.Context, id dhruva.JobID) (Job, error) {
	return call[Job](ctx, c, http.MethodPost, "/jobs/"+url.PathEscape(string(id))+"/retry", nil)
}
