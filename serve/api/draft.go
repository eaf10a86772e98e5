package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
)

// drafts are the routes that ask a model in the background, and save nothing but
// a receipt: each call is one of its own, so that they take no Idempotency-Key.
func (a *api) drafts() {
	tags := []string{"drafts"}
	route(a, huma.Operation{OperationID: "draft-checkpoint", Method: http.MethodPost, Path: "/sessions/{id}/draft", Summary: "Ask a model to draft a checkpoint; nothing is saved", Tags: tags,
		Description: "Drawn from the turns that the session's next send would show, and from nothing else."}, a.draft)
	route(a, huma.Operation{OperationID: "extract-checkpoint", Method: http.MethodPost, Path: "/extract", Summary: "Ask a model to draft a checkpoint from a text; nothing is saved", Tags: tags}, a.extract)
	route(a, huma.Operation{OperationID: "review-checkpoint", Method: http.MethodPost, Path: "/checkpoints/{hash}/review", Summary: "Ask a model what is wrong with a checkpoint; nothing is saved", Tags: tags}, a.review)
	route(a, huma.Operation{OperationID: "list-path", Method: http.MethodGet, Path: "/sessions/{id}/path", Summary: "List the latest turns of a session's conversation, without the versions that were left aside", Tags: []string{"sessions"}}, a.path)
	route(a, huma.Operation{OperationID: "list-siblings", Method: http.MethodGet, Path: "/sessions/{id}/turns/{seq}/siblings", Summary: "List the other versions of a turn", Tags: []string{"sessions"}}, a.siblings)
	changes(a, huma.Operation{OperationID: "select-tip", Method: http.MethodPut, Path: "/sessions/{id}/tip", Summary: "Go on from another version of a turn", Tags: []string{"sessions"}}, dhruva.StateWrite, (*api).selectTip, thatSession)
}

func (a *api) draft(ctx context.Context, in *struct {
	InSession
	Body client.DraftInput
}) (client.Draft, error) {
	d, err := a.memory.Draft(ctx, memory.DraftInput{Session: in.ID, Turns: in.Body.Turns, By: memory.By{Provider: in.Body.Provider, Model: in.Body.Model}})
	if err != nil {
		return client.Draft{}, err
	}
	v := draftView(d)
	v.Session = in.ID
	return v, nil
}

func (a *api) extract(ctx context.Context, in *struct{ Body client.ExtractInput }) (client.Draft, error) {
	d, err := a.memory.Extract(ctx, memory.ExtractInput{Content: in.Body.Content, By: memory.By{Provider: in.Body.Provider, Model: in.Body.Model}})
	return draftView(d), err
}

func draftView(d memory.Draft) client.Draft {
	v := client.Draft{
		CheckpointInput: client.CheckpointInput{
			Title: d.Title, Objective: d.Objective, Summary: d.Summary, Decisions: each(d.Decisions, draftItem), Assumptions: each(d.Assumptions, draftItem),
			Tasks: each(d.Tasks, draftTask), Questions: each(d.OpenQuestions, draftItem), Entities: each(d.Entities, draftItem), Artifacts: each(d.Artifacts, draftArtifact),
		},
		Window: windowView(d.Window), Turns: append([]int64{}, d.Turns...), Cut: d.Cut, LeftOut: d.LeftOut, Uncited: []string{},
		Provider: d.Provider, Model: d.Model, ReceiptID: d.Receipt,
	}
	for _, items := range [][]memory.DraftItem{d.Decisions, d.Assumptions, d.Tasks, d.OpenQuestions, d.Entities, d.Artifacts} {
		for _, i := range items {
			if i.Uncited {
				v.Uncited = append(v.Uncited, i.Text)
			}
		}
	}
	return v
}

// item is a drafted item as one that was saved, whose views are these.
func item(i memory.DraftItem) dhruva.Item {
	return dhruva.Item{Text: i.Text, Attrs: i.Attrs, Cites: i.Cites}
}

func draftItem(i memory.DraftItem) client.Item { return itemView(item(i)) }

func draftTask(i memory.DraftItem) client.Task { return taskView(item(i)) }

func draftArtifact(i memory.DraftItem) client.Artifact { return artifactView(item(i)) }

func (a *api) review(ctx context.Context, in *struct {
	InCheckpoint
	Body client.ModelInput
}) (client.Review, error) {
	r, err := a.memory.Review(ctx, memory.ReviewInput{Checkpoint: in.Ref, By: memory.By{Provider: in.Body.Provider, Model: in.Body.Model}})
	return client.Review{
		Checkpoint: r.Checkpoint.Hash, Issues: each(r.Issues, func(i memory.Issue) client.ReviewIssue { return client.ReviewIssue(i) }),
		Suggestions: append([]string{}, r.Suggestions...), LeftOut: r.LeftOut, Provider: r.Provider, Model: r.Model, At: r.At, ReceiptID: r.Receipt,
	}, err
}

func (a *api) path(ctx context.Context, in *struct {
	InSession
	Before int64 `query:"before" minimum:"0" doc:"Only turns before this sequence number."`
	Limit  int   `query:"limit" minimum:"0" maximum:"1000" doc:"At most this many; default 100."`
}) (client.List[client.Turn], error) {
	rows, err := a.ledger.Path(ctx, in.ID, in.Before, in.Limit)
	return list(rows, "", func(t ledger.PathTurn) client.Turn {
		v := turnView(t.Turn)
		v.Versions = t.Versions
		return v
	}), err
}

func (a *api) siblings(ctx context.Context, in *InTurn) (client.List[client.Turn], error) {
	rows, err := a.ledger.Siblings(ctx, in.ID, in.Seq)
	return list(rows, "", turnView), err
}

func (a *api) selectTip(ctx context.Context, in *struct {
	InSession
	Body client.TipInput
}) (client.Session, error) {
	s, err := a.ledger.SelectTip(ctx, in.ID, in.Body.Turn)
	return sessionView(s), err
}
