package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
)

// InCheckpoint is the path of a checkpoint.
type InCheckpoint struct {
	Ref string `path:"hash" doc:"Hash of the checkpoint, or a unique prefix of at least 7 digits."`
}

func (a *api) checkpoints() {
	tags := []string{"checkpoints"}
	route(a, huma.Operation{OperationID: "list-checkpoints", Method: http.MethodGet, Path: "/spaces/{space}/checkpoints", Summary: "List the checkpoints of a space, newest first", Tags: tags}, a.listCheckpoints)
	changes(a, huma.Operation{OperationID: "create-checkpoint", Method: http.MethodPost, Path: "/spaces/{space}/checkpoints", Summary: "Save what was concluded", Tags: tags, DefaultStatus: http.StatusCreated}, dhruva.StateWrite, (*api).createCheckpoint, madeCheckpoint)
	route(a, huma.Operation{OperationID: "show-checkpoint", Method: http.MethodGet, Path: "/checkpoints/{hash}", Summary: "Show a checkpoint", Tags: tags}, a.showCheckpoint)
	route(a, huma.Operation{OperationID: "list-checkpoint-turns", Method: http.MethodGet, Path: "/checkpoints/{hash}/turns", Summary: "List the turns a checkpoint was drawn from", Tags: tags}, a.checkpointTurns)
	changes(a, huma.Operation{OperationID: "fork-checkpoint", Method: http.MethodPost, Path: "/checkpoints/{hash}/fork", Summary: "Start a new session from a checkpoint", Tags: tags, DefaultStatus: http.StatusCreated}, dhruva.StateWrite, (*api).forkCheckpoint, madeSession)
}

func (a *api) listCheckpoints(ctx context.Context, in *struct {
	InSpace
	Paging
	Branch  string           `query:"branch"`
	Session dhruva.SessionID `query:"session" doc:"Only those drawn from this session."`
}) (client.List[client.Checkpoint], error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.List[client.Checkpoint]{}, err
	}
	page, err := in.byHash()
	if err != nil {
		return client.List[client.Checkpoint]{}, err
	}
	rows, next, err := a.ledger.ListCheckpoints(ctx, dhruva.CheckpointQuery{Space: s.ID, Branch: in.Branch, Session: in.Session, Page: page})
	if err == nil && len(rows) == 0 {
		err = cmp.Or(a.branch(ctx, s.ID, in.Branch), a.known(ctx, in.Session))
	}
	return list(rows, next, checkpointView), err
}

// branch refuses a filter by a branch that is not there, and says which are.
func (a *api) branch(ctx context.Context, space dhruva.SpaceID, name string) error {
	if name == "" {
		return nil
	}
	rows, err := a.ledger.Branches(ctx, space)
	if err != nil {
		return err
	}
	names := each(rows, func(b dhruva.Branch) string { return b.Name })
	switch {
	case slices.Contains(names, name):
		return nil
	case len(names) == 0:
		return fmt.Errorf("%w: no branch %q: the space has none yet", dhruva.ErrNotFound, name)
	}
	return fmt.Errorf("%w: no branch %q; there are %s", dhruva.ErrNotFound, name, strings.Join(names, ", "))
}

func (a *api) createCheckpoint(ctx context.Context, in *struct {
	InSpace
	Body client.CheckpointInput
}) (client.Checkpoint, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Checkpoint{}, err
	}
	secrets, save := 0, commitInput(s.ID, in.Body)
	save.Redactions = &secrets
	c, err := a.ledger.Commit(ctx, save)
	return savedView(c, secrets), err
}

func (a *api) showCheckpoint(ctx context.Context, in *InCheckpoint) (client.Checkpoint, error) {
	c, err := a.ledger.Checkpoint(ctx, in.Ref)
	return checkpointView(c), err
}

func (a *api) checkpointTurns(ctx context.Context, in *InCheckpoint) (client.List[client.Turn], error) {
	rows, err := a.ledger.CheckpointTurns(ctx, in.Ref)
	return list(rows, "", turnView), err
}

func (a *api) forkCheckpoint(ctx context.Context, in *struct {
	InCheckpoint
	Body client.ForkInput
}) (client.Session, error) {
	return a.forked(ctx, ledger.ForkInput{Checkpoint: in.Ref}, in.Body)
}

// savedView is a checkpoint in the answer to saving it.
func savedView(c dhruva.Checkpoint, secrets int) client.Checkpoint {
	out := checkpointView(c)
	out.Redactions = secrets
	return out
}

func checkpointView(c dhruva.Checkpoint) client.Checkpoint {
	return client.Checkpoint{
		ID: c.ID, Hash: c.Hash, SpaceID: c.Space, Session: c.Window.Session, Branch: c.Branch, Parents: append([]dhruva.Hash{}, c.Parents...),
		Title: c.Text(dhruva.KindTitle), Objective: c.Text(dhruva.KindObjective), Summary: c.Text(dhruva.KindSummary),
		Decisions: each(c.Of(dhruva.KindDecision), itemView), Assumptions: each(c.Of(dhruva.KindAssumption), itemView),
		Tasks: each(c.Of(dhruva.KindTask), taskView), Questions: each(c.Of(dhruva.KindQuestion), itemView),
		Entities: each(c.Of(dhruva.KindEntity), itemView), Artifacts: each(c.Of(dhruva.KindArtifact), artifactView),
		Author: c.Author, Window: windowView(c.Window), CreatedAt: c.CreatedAt, Items: each(c.Items, detailView),
	}
}

func windowView(w dhruva.Window) *client.Window {
	if w.Session == "" {
		return nil
	}
	return &client.Window{Session: w.Session, Base: w.Base, Through: w.Through}
}
