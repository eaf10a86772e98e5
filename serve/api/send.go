package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/memory"
)

const eventStream = "text/event-stream"

type sendIn struct {
	InSession
	Accept string `header:"Accept" hidden:"true"`
	Body   client.SendInput
}

func (in *sendIn) input() memory.SendInput {
	b := in.Body
	return memory.SendInput{
		Session: in.ID, Message: b.Message, Provider: b.Provider, Model: b.Model, History: b.History, Memory: b.Memory, Depth: b.Depth,
	}
}

func (a *api) preview(ctx context.Context, in *sendIn) (client.Preview, error) {
	p, err := a.memory.Preview(ctx, in.input())
	if err != nil {
		return client.Preview{}, err
	}
	sent, err := a.sent(ctx, in.ID, p)
	return client.Preview{Prompt: p.Prompt, Sections: each(p.Sections, func(s memory.Section) client.Section { return client.Section(s) }), Sent: sent}, err
}

// sendRoute is one operation with two forms: JSON, or a stream of events.
func (a *api) sendRoute(tags []string) {
	op := a.described(huma.Operation{
		OperationID: "send", Method: http.MethodPost, Path: "/sessions/{id}/send", Tags: tags, Summary: "Ask a model in a session",
		Description: "With Accept: text/event-stream the reply is streamed: events delta {text}, then done with the whole result, or error with a problem.",
	})
	schema := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[client.SendResult](), true, "SendResult")
	op.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{
		"application/json": {Schema: schema},
		eventStream:        {Schema: &huma.Schema{Type: huma.TypeString, Description: "Events delta, done, error."}},
	}}
	huma.Register(a.huma, op, a.send)
}

func (a *api) send(ctx context.Context, in *sendIn) (*huma.StreamResponse, error) {
	if !wantsEvents(in.Accept) {
		res, err := a.sendWhole(ctx, in, nil)
		if err != nil {
			return nil, a.failure(ctx, err)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			hc.SetHeader("Content-Type", "application/json")
			_ = json.NewEncoder(hc.BodyWriter()).Encode(res) // a client that has gone cannot be told
		}}, nil
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) { a.sendEvents(ctx, hc, in) }}, nil
}

func wantsEvents(accept string) bool { return strings.Contains(accept, eventStream) }

func (a *api) sendWhole(ctx context.Context, in *sendIn, onDelta func(string) error) (client.SendResult, error) {
	r, err := a.memory.Send(ctx, in.input(), onDelta)
	if err != nil {
		return client.SendResult{}, err
	}
	sent, err := a.sent(ctx, in.ID, r.Preview)
	return client.SendResult{Reply: r.Reply, Sent: sent, Turns: each(r.Turns, turnView), ReceiptID: r.Receipt.ID}, err
}

// sendEvents begins the stream with the first piece of the reply, so that what
// is refused before it is an ordinary problem with its own status.
func (a *api) sendEvents(ctx context.Context, hc huma.Context, in *sendIn) {
	r, w := humago.Unwrap(hc)
	e := &events{w: w}
	res, err := a.sendWhole(ctx, in, func(text string) error { return e.send("delta", client.Delta{Text: text}) })
	switch {
	case err != nil && !e.begun:
		refuse(w, r, err)
	case err != nil:
		_ = e.send("error", a.failure(ctx, err).Problem) // a client that has gone cannot be told
	default:
		_ = e.send("done", res)
	}
}

// events writes server-sent events, each flushed.
type events struct {
	w     http.ResponseWriter
	begun bool
}

func (e *events) send(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if !e.begun {
		e.begun = true
		e.w.Header().Set("Content-Type", eventStream)
		e.w.Header().Set("Cache-Control", "no-store")
	}
	if _, err := e.w.Write(slices.Concat([]byte("event: "+name+"\ndata: "), data, []byte("\n\n"))); err != nil {
		return err
	}
	return http.NewResponseController(e.w).Flush()
}

// sent says what a prompt was made of.
func (a *api) sent(ctx context.Context, id dhruva.SessionID, p memory.Preview) (client.Sent, error) {
	ids, err := a.turnIDs(ctx, id, p.Context.Turns)
	return client.Sent{
		Mode: p.Context.Mode, Badge: p.Badge, Checkpoints: append([]dhruva.Hash{}, p.Context.Checkpoints...),
		TurnIDs: ids, Numbers: append([]int64{}, p.Context.Turns...), Base: p.Context.Base, Cut: p.Context.Cut, LeftOut: p.LeftOut,
		Tokens: p.Context.Tokens, Provider: p.Provider, Model: p.Model, Evidence: each(p.Evidence, evidenceView),
		Recall: client.RecallState{Status: p.Recall.Status, Reason: p.Recall.Reason},
	}, err
}

// turnIDs finds the ids of turns by their numbers; turns are append-only, so
// reading them after the prompt was made gives the same ones.
func (a *api) turnIDs(ctx context.Context, id dhruva.SessionID, numbers []int64) ([]dhruva.TurnID, error) {
	ids := make([]dhruva.TurnID, 0, len(numbers))
	if len(numbers) == 0 {
		return ids, nil
	}
	first, last := slices.Min(numbers), slices.Max(numbers)
	rows, err := a.ledger.ListTurns(ctx, id, first-1, int(last-first)+1)
	for _, t := range rows {
		if slices.Contains(numbers, t.Seq) {
			ids = append(ids, t.ID)
		}
	}
	return ids, err
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
