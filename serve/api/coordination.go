package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
)

const markdown = "text/markdown"

func (a *api) coordination() {
	tags := []string{"coordination"}
	a.stateRoute(tags)
	route(a, huma.Operation{OperationID: "show-metrics", Method: http.MethodGet, Path: "/spaces/{space}/metrics", Summary: "Count how agents work together in a space", Tags: tags}, a.metrics)
	route(a, huma.Operation{OperationID: "list-claims", Method: http.MethodGet, Path: "/spaces/{space}/claims", Summary: "List who works on what, newest first", Tags: tags}, a.listClaims)
	changes(a, huma.Operation{OperationID: "create-claim", Method: http.MethodPost, Path: "/spaces/{space}/claims", Summary: "Claim a piece of work", Tags: tags, DefaultStatus: http.StatusCreated}, dhruva.StateWrite, (*api).claim, madeClaim)
	route(a, huma.Operation{OperationID: "show-claim", Method: http.MethodGet, Path: "/claims/{id}", Summary: "Show a claim", Tags: tags}, a.showClaim)
	changes(a, huma.Operation{OperationID: "end-claim", Method: http.MethodPatch, Path: "/claims/{id}", Summary: "End a claim", Tags: tags}, dhruva.StateWrite, (*api).endClaim, thatClaim)
	route(a, huma.Operation{OperationID: "list-worktrees", Method: http.MethodGet, Path: "/spaces/{space}/worktrees", Summary: "List the working copies of a space's project", Tags: tags}, a.listWorktrees)
	change[worktreeIn, client.Worktree]{needs: dhruva.StateWrite, do: (*api).openWorktree, again: madeWorktree, claim: worktreeTime}.register(a,
		huma.Operation{OperationID: "open-worktree", Method: http.MethodPost, Path: "/spaces/{space}/worktrees", Summary: "Make a working copy on a branch of its own", Tags: tags, DefaultStatus: http.StatusCreated,
			Description: "git runs where the server runs, below directories that its operator allows."})
	route(a, huma.Operation{OperationID: "show-worktree", Method: http.MethodGet, Path: "/worktrees/{id}", Summary: "Show a working copy", Tags: tags}, a.showWorktree)
	actsWithin(a, huma.Operation{OperationID: "close-worktree", Method: http.MethodDelete, Path: "/worktrees/{id}", Summary: "Remove a working copy; its branch stays", Tags: tags}, dhruva.StateWrite, worktreeTime, (*api).closeWorktree)
}

// worktreeTime is how long making or removing a working copy may take until a call
// with an Idempotency-Key is taken for dead.
const worktreeTime = 2 * time.Minute

type stateIn struct {
	InSpace
	Accept   string `header:"Accept" hidden:"true" json:"-"`
	Since    string `query:"since" doc:"A checkpoint that is known: what came after it is told."`
	MainOnly bool   `query:"main_only" doc:"Only the main branch."`
	Compact  bool   `query:"compact" doc:"Markdown: short."`
	Preview  bool   `query:"preview" doc:"Markdown: artifacts are cut."`
}

// stateRoute is one operation with two forms: JSON, or Markdown for reading.
func (a *api) stateRoute(tags []string) {
	op := a.described(huma.Operation{OperationID: "show-state", Method: http.MethodGet, Path: "/spaces/{space}/state", Tags: tags,
		Summary: "Show where a space stands: what an agent reads first", Description: "With Accept: text/markdown it is a text for reading."})
	op.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{
		"application/json": {Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}},
		markdown:           {Schema: &huma.Schema{Type: huma.TypeString}},
	}}
	huma.Register(a.huma, op, func(ctx context.Context, in *stateIn) (*huma.StreamResponse, error) {
		kind, body, err := a.state(ctx, in)
		if err != nil {
			return nil, a.failure(ctx, err)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			hc.SetHeader("Content-Type", kind)
			_, _ = hc.BodyWriter().Write(body) // a client that has gone cannot be told
		}}, nil
	})
}

func (a *api) state(ctx context.Context, in *stateIn) (kind string, body []byte, err error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return "", nil, err
	}
	state, err := a.agents.State(ctx, agents.StateQuery{Space: string(s.ID), Since: in.Since, MainOnly: in.MainOnly})
	if err != nil {
		return "", nil, err
	}
	if strings.Contains(in.Accept, markdown) {
		return markdown + "; charset=utf-8", []byte(state.Markdown(agents.View{Compact: in.Compact, Preview: in.Preview, MainOnly: in.MainOnly})), nil
	}
	body, err = json.Marshal(state)
	return "application/json", append(body, '\n'), err
}

func (a *api) metrics(ctx context.Context, in *InSpace) (agents.Metrics, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return agents.Metrics{}, err
	}
	return a.agents.Metrics(ctx, string(s.ID))
}

func (a *api) listClaims(ctx context.Context, in *struct {
	InSpace
	Paging
	All bool `query:"all" doc:"Also those that ended or expired."`
}) (client.List[client.Claim], error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.List[client.Claim]{}, err
	}
	page, err := in.byID()
	if err != nil {
		return client.List[client.Claim]{}, err
	}
	rows, next, err := a.ledger.Claims(ctx, s.ID, in.All, page)
	return list(rows, next, claimView), err
}

func claimView(c ledger.ClaimView) client.Claim {
	return client.Claim{
		ID: c.ID, SpaceID: c.Space, Agent: c.Agent, Scope: c.Scope, Intent: c.Intent, Branch: c.Branch, Base: c.Base, Session: c.Session,
		Task: c.Task, Worktree: c.Worktree, Status: c.Status, Expired: c.Expired, ClaimedAt: c.ClaimedAt, ExpiresAt: c.ExpiresAt,
	}
}

func (a *api) claim(ctx context.Context, in *struct {
	InSpace
	Body client.ClaimInput
}) (client.Claim, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Claim{}, err
	}
	b := in.Body
	claim := ledger.ClaimInput{Space: s.ID, Agent: b.Agent, Scope: b.Scope, Intent: b.Intent, Branch: b.Branch, Base: b.Base, Session: b.Session, Task: b.Task, Worktree: b.Worktree}
	if claim.TTL, err = ttl(b.Hours); err != nil {
		return client.Claim{}, err
	}
	c, err := a.ledger.Claim(ctx, claim)
	return claimView(c), err
}

// ttl is a number of hours as a time; the bounds are the ledger's, what no time
// can hold is refused here.
func ttl(hours float64) (*time.Duration, error) {
	if hours == 0 {
		return nil, nil
	}
	if hours < -1e6 || hours > 1e6 {
		return nil, fmt.Errorf("%w: ttl_hours %v", dhruva.ErrInvalid, hours)
	}
	d := time.Duration(hours * float64(time.Hour))
	return &d, nil
}

func madeClaim[I any](a *api, ctx context.Context, _ *I, done ledger.Outcome) (client.Claim, error) {
	c, err := a.ledger.ClaimByID(ctx, dhruva.ClaimID(done.Last(ledger.MadeClaim)))
	return claimView(c), err
}

// InClaim is the path of a claim.
type InClaim struct {
	ID dhruva.ClaimID `path:"id" doc:"Id of the claim."`
}

func (a *api) showClaim(ctx context.Context, in *InClaim) (client.Claim, error) {
	c, err := a.ledger.ClaimByID(ctx, in.ID)
	return claimView(c), err
}

type endClaimIn struct {
	InClaim
	Body client.ClaimPatch
}

func (a *api) endClaim(ctx context.Context, in *endClaimIn) (client.Claim, error) {
	c, err := a.ledger.EndClaim(ctx, in.ID, in.Body.Status)
	return claimView(c), err
}

func thatClaim(a *api, ctx context.Context, in *endClaimIn, _ ledger.Outcome) (client.Claim, error) {
	return a.showClaim(ctx, &in.InClaim)
}

func (a *api) listWorktrees(ctx context.Context, in *struct {
	InSpace
	Paging
	All bool `query:"all" doc:"Also closed ones."`
}) (client.List[client.Worktree], error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.List[client.Worktree]{}, err
	}
	page, err := in.byID()
	if err != nil {
		return client.List[client.Worktree]{}, err
	}
	rows, next, err := a.worktrees.List(ctx, string(s.ID), in.All, page)
	return list(rows, next, worktreeView), err
}

func worktreeView(t agents.WorktreeView) client.Worktree {
	v := client.Worktree{
		ID: t.ID, SpaceID: t.Space, Agent: t.Agent, Branch: t.Branch, Base: t.Base, Root: t.Root, Path: t.Path, Status: t.Status, CreatedAt: t.CreatedAt,
	}
	if !t.ClosedAt.IsZero() {
		v.ClosedAt = &t.ClosedAt
	}
	if p := t.Probe; p != nil {
		v.Probe = &client.Probe{DirtyFiles: p.DirtyFiles, DirtyPaths: append([]string{}, p.DirtyPaths...), Ahead: p.Ahead, Behind: p.Behind, Against: p.Against,
			LastCommit: p.LastCommit, LastRelative: p.Relative}
	}
	return v
}

type worktreeIn struct {
	InSpace
	Body client.WorktreeInput
}

func (a *api) openWorktree(ctx context.Context, in *worktreeIn) (client.Worktree, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Worktree{}, err
	}
	b := in.Body
	row, err := a.worktrees.Open(ctx, agents.WorktreeInput{Space: string(s.ID), Agent: b.Agent, Branch: b.Branch, Base: b.Base, Path: b.Path})
	return worktreeView(agents.WorktreeView{Worktree: row}), err
}

// madeWorktree is without a probe, as the first answer was.
func madeWorktree(a *api, ctx context.Context, _ *worktreeIn, done ledger.Outcome) (client.Worktree, error) {
	row, err := a.ledger.Worktree(ctx, done.Last(ledger.MadeWorktree))
	return worktreeView(agents.WorktreeView{Worktree: row}), err
}

// InWorktree is the path of a working copy.
type InWorktree struct {
	Ref string `path:"id" doc:"Id of the working copy, or a unique prefix of at least 4 characters."`
}

func (a *api) showWorktree(ctx context.Context, in *InWorktree) (client.Worktree, error) {
	t, err := a.worktrees.Show(ctx, in.Ref)
	return worktreeView(t), err
}

func (a *api) closeWorktree(ctx context.Context, in *struct {
	InWorktree
	Force bool `query:"force" doc:"Also with changes that are not committed, which are lost."`
}) error {
	_, err := a.worktrees.Close(ctx, in.Ref, in.Force)
	return err
}
