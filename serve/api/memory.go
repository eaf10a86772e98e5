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

// path is how receipts name this edge.
const path = "api"

func (a *api) recall() {
	tags := []string{"memory"}
	route(a, huma.Operation{OperationID: "recall", Method: http.MethodPost, Path: "/spaces/{space}/recall", Summary: "Search a space for evidence", Tags: tags}, a.recallIn)
	route(a, huma.Operation{OperationID: "read", Method: http.MethodPost, Path: "/read", Summary: "Read exact spans by their tokens", Tags: tags}, a.read)
	changes(a, huma.Operation{OperationID: "remember", Method: http.MethodPost, Path: "/spaces/{space}/remember", Summary: "Store a text outside a conversation", Tags: tags, DefaultStatus: http.StatusCreated}, dhruva.MemoryWrite, (*api).remember, madeNote)
	change[importIn, client.Imported]{needs: dhruva.MemoryWrite, do: (*api).importTurns, again: importedTurns, summed: true}.register(a, huma.Operation{OperationID: "import", Method: http.MethodPost, Path: "/spaces/{space}/import", Summary: "Store a conversation held elsewhere; may be repeated", Tags: tags})
	route(a, huma.Operation{OperationID: "list-sources", Method: http.MethodGet, Path: "/spaces/{space}/sources", Summary: "List the sources of a space", Tags: tags}, a.listSources)
	route(a, huma.Operation{OperationID: "show-source", Method: http.MethodGet, Path: "/spaces/{space}/sources/{id}", Summary: "Show a source and what said it", Tags: tags}, a.showSource)
	changes(a, huma.Operation{OperationID: "release-source", Method: http.MethodPost, Path: "/spaces/{space}/sources/{id}/release", Summary: "Let a held text be recalled, after a person has looked at it", Tags: tags}, dhruva.MemoryAttest, (*api).release, releasedSource)
}

func (a *api) recallIn(ctx context.Context, in *struct {
	InSpace
	Body client.RecallInput
}) (client.Recall, error) {
	space, err := a.named(ctx, in.Space)
	if err != nil {
		return client.Recall{}, err
	}
	r, err := a.memory.RecallIn(ctx, memory.RecallInput{
		Space: space, Query: in.Body.Query, TopK: in.Body.TopK, AsOf: in.Body.AsOf, Path: path,
	})
	return recallView(r), err
}

// named is a path's space as memory takes it: an id, "" for the key's own.
func (a *api) named(ctx context.Context, space string) (string, error) {
	if space == ownSpace {
		return "", nil
	}
	s, err := a.called(ctx, space)
	return string(s.ID), err
}

func (a *api) read(ctx context.Context, in *struct{ Body client.ReadInput }) (client.ReadResults, error) {
	rows, err := a.memory.Read(ctx, in.Body.Tokens)
	return client.ReadResults{Results: each(rows, readView)}, err
}

func (a *api) remember(ctx context.Context, in *struct {
	InSpace
	Body client.RememberInput
}) (client.Remembered, error) {
	space, err := a.named(ctx, in.Space)
	if err != nil {
		return client.Remembered{}, err
	}
	r, err := a.memory.RememberIn(ctx, memory.RememberInput{
		Space: space, Text: in.Body.Text, SourceID: string(in.Body.SourceID), Authority: in.Body.Authority, Path: path,
	})
	return rememberedView(r), err
}

func rememberedView(r memory.Remembered) client.Remembered {
	s := r.Source
	return client.Remembered{Source: s.ID, Class: s.Class, State: s.State, HeldFor: s.HeldFor, Trust: s.Class.Trust(), Receipt: r.Receipt, Redactions: r.Redactions}
}

type importIn struct {
	InSpace
	Body client.ImportInput
}

func (a *api) importTurns(ctx context.Context, in *importIn) (client.Imported, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Imported{}, err
	}
	r, err := a.ledger.ImportTurns(ctx, ledger.ImportInput{
		Space: s.ID, Key: in.Body.Key, Title: in.Body.Title,
		Turns: each(in.Body.Turns, func(t client.ImportTurn) ledger.ImportedTurn { return ledger.ImportedTurn(t) }),
	})
	return client.Imported{Session: r.Session, New: r.New, Skipped: r.Skipped, Redactions: r.Redactions}, err
}

func (a *api) listSources(ctx context.Context, in *struct {
	InSpace
	Paging
	State dhruva.SourceState `query:"state" enum:"ready,held,purge_pending"`
	Class dhruva.SourceClass `query:"class" enum:"user_committed,user_typed,observed,imported,assistant_visible,derived,external"`
}) (client.List[client.Source], error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.List[client.Source]{}, err
	}
	rows, next, err := a.ledger.ListSources(ctx, dhruva.SourceQuery{Space: s.ID, State: in.State, Class: in.Class, Page: in.page()})
	return list(rows, next, sourceView), err
}

// InSource is the path of a source.
type InSource struct {
	InSpace
	ID dhruva.SourceID `path:"id" doc:"Id of the source."`
}

func (a *api) showSource(ctx context.Context, in *InSource) (client.Source, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Source{}, err
	}
	row, err := a.ledger.Source(ctx, s.ID, in.ID)
	return sourceView(row), err
}

// release answers without the text: the right to release is not one to read.
func (a *api) release(ctx context.Context, in *InSource) (client.Source, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Source{}, err
	}
	row, err := a.ledger.Release(ctx, s.ID, in.ID)
	return sourceView(ledger.SourceView{Source: row}), err
}

func recallView(r dhruva.Recall) client.Recall {
	return client.Recall{
		Status: r.Status, Reason: r.Reason, Answer: r.Answer, Evidence: each(r.Evidence, evidenceView),
		Searched: r.Searched, Receipt: r.Receipt,
	}
}

func evidenceView(e dhruva.Evidence) client.EvidenceRef {
	return client.EvidenceRef{
		Token: e.Token, Source: e.Source, Class: e.Class, Role: e.Role, Trust: e.Trust, Time: e.Time, Session: e.Session, Seq: e.Seq,
		Span: client.Span{Start: e.Start, End: e.End}, Snippet: e.Snippet, Score: e.Score, Why: append([]dhruva.Reason{}, e.Why...),
	}
}

func readView(r dhruva.ReadResult) client.ReadResult {
	if !r.Found {
		return client.ReadResult{Status: "not_found"}
	}
	return client.ReadResult{
		Status: "ok", Text: r.Text, Source: r.Source, Span: client.Span{Start: r.Start, End: r.End}, Role: r.Role, Time: r.Time,
	}
}

func sourceView(s ledger.SourceView) client.Source {
	return client.Source{
		ID: s.ID, SpaceID: s.Space, Class: s.Class, Trust: s.Class.Trust(), State: s.State, HeldFor: s.HeldFor, Role: s.Role,
		Digest: s.Digest, Size: s.Size, Time: s.EventTime, CreatedAt: s.CreatedAt,
		Text: s.Text, References: each(s.References, referenceView),
	}
}

func referenceView(r dhruva.Reference) client.Reference {
	return client.Reference{Session: r.Session, Seq: r.Seq, Checkpoint: r.Checkpoint, Item: r.Item}
}
