package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
)

const eventStream = "text/event-stream"

// sendTime is how long a model may take until a send with an Idempotency-Key is
// taken for dead and may be made again. One that is late then stores nothing.
const sendTime = 10 * time.Minute

type sendIn struct {
	InSession
	Accept string `header:"Accept" hidden:"true" json:"-"`
	Body   client.SendInput
}

func (in *sendIn) input() memory.SendInput {
	b := in.Body
	return memory.SendInput{
		Session: in.ID, Message: b.Message, Provider: b.Provider, Model: b.Model, History: b.History, Memory: b.Memory, Depth: b.Depth,
		Edit: b.Edit, Regenerate: b.Regenerate,
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
	op := a.repeatable(huma.Operation{
		OperationID: "send", Method: http.MethodPost, Path: "/sessions/{id}/send", Tags: tags, Summary: "Ask a model in a session",
		Description: "With Accept: text/event-stream the reply is streamed: events delta {text}, then done with the whole result, or error with a problem. " +
			"Repeated with its Idempotency-Key, a send that was answered is answered again without asking the model, streamed or not; " +
			"its evidence is then named by source alone, and left_out is empty.",
	})
	schema := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[client.SendResult](), true, "SendResult")
	op.Responses["200"] = &huma.Response{
		Description: "OK",
		Headers: map[string]*huma.Param{client.HeaderReplayed: {
			Description: "true when the answer is about what an earlier call with this Idempotency-Key did.", Schema: &huma.Schema{Type: huma.TypeString},
		}},
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: schema},
			eventStream:        {Schema: &huma.Schema{Type: huma.TypeString, Description: "Events delta, done, error."}},
		},
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *sendIn) (*huma.StreamResponse, error) { return a.send(ctx, op, in) })
}

func (a *api) send(ctx context.Context, op huma.Operation, in *sendIn) (*huma.StreamResponse, error) {
	if wantsEvents(in.Accept) {
		return &huma.StreamResponse{Body: func(hc huma.Context) { a.sendEvents(ctx, hc, op, in) }}, nil
	}
	res, replayed, err := sending(nil).once(a, ctx, op, in)
	if err != nil {
		return nil, a.failure(ctx, err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "application/json")
		if replayed {
			hc.SetHeader(client.HeaderReplayed, header(replayed))
		}
		_ = json.NewEncoder(hc.BodyWriter()).Encode(res) // a client that has gone cannot be told
	}}, nil
}

func wantsEvents(accept string) bool { return strings.Contains(accept, eventStream) }

// sending is a send as a change. onDelta, when not nil, is given the reply as it
// comes.
func sending(onDelta func(string) error) change[sendIn, client.SendResult] {
	return change[sendIn, client.SendResult]{
		needs: dhruva.StateWrite, claim: sendTime, again: sentBefore,
		do: func(a *api, ctx context.Context, in *sendIn) (client.SendResult, error) {
			return a.sendNow(ctx, in, onDelta)
		},
	}
}

func (a *api) sendNow(ctx context.Context, in *sendIn, onDelta func(string) error) (client.SendResult, error) {
	r, err := a.memory.Send(ctx, in.input(), onDelta)
	if err != nil {
		return client.SendResult{}, err
	}
	sent, err := a.sent(ctx, in.ID, r.Preview)
	return client.SendResult{Reply: r.Reply, Sent: sent, Turns: each(r.Turns, turnView), ReceiptID: r.Receipt.ID, Redactions: r.Receipt.Redactions}, err
}

// sendEvents begins the stream with the first piece of the reply, so that what
// is refused before it is an ordinary problem with its own status.
func (a *api) sendEvents(ctx context.Context, hc huma.Context, op huma.Operation, in *sendIn) {
	r, w := humago.Unwrap(hc)
	e := &events{w: w}
	delta := func(text string) error { return e.send("delta", client.Delta{Text: text}) }
	res, replayed, err := sending(delta).once(a, ctx, op, in)
	if replayed && err == nil {
		err = e.replay(res)
	}
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

// replay writes the reply of a send that was answered before, in one piece. When
// pieces of another one are out already, it is too late for that.
func (e *events) replay(res client.SendResult) error {
	if e.begun {
		return fmt.Errorf("%w: this send took so long that it was taken for dead and made again; the reply so far was not kept", dhruva.ErrConflict)
	}
	e.w.Header().Set(client.HeaderReplayed, header(true))
	return e.send("delta", client.Delta{Text: res.Reply})
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

// sentBefore is the answer of a send that was answered before: its receipt says
// what was sent, and its turns what was said.
func sentBefore(a *api, ctx context.Context, in *sendIn, done ledger.Outcome) (client.SendResult, error) {
	r, err := a.ledger.Receipt(ctx, dhruva.ReceiptID(done.Last(ledger.MadeReceipt)))
	if err == nil && r.Context == nil {
		err = fmt.Errorf("%w: receipt %s does not say what was sent", dhruva.ErrNotFound, r.ID)
	}
	if err != nil {
		return client.SendResult{}, err
	}
	turns, err := a.pair(ctx, in.ID, done)
	if err != nil {
		return client.SendResult{}, err
	}
	reply := turns[len(turns)-1]
	evidence, err := a.evidence(ctx, r)
	if err != nil {
		return client.SendResult{}, err
	}
	sent, err := a.sent(ctx, in.ID, memory.Preview{
		Context: *r.Context, Badge: ledger.Badge(*r.Context), Provider: reply.Provider, Model: reply.Model, Evidence: evidence,
		Recall: dhruva.Recall{Status: r.Recall.Status, Reason: r.Recall.Reason},
	})
	return client.SendResult{Reply: reply.Content, Sent: sent, Turns: each(turns, turnView), ReceiptID: r.ID, Redactions: r.Redactions}, err
}

// pair are the two turns of a send, or the one of a regeneration.
func (a *api) pair(ctx context.Context, id dhruva.SessionID, done ledger.Outcome) ([]dhruva.Turn, error) {
	last, n := done.LastTurn(), done.Turns()
	if n == 0 || last < int64(n) {
		return nil, fmt.Errorf("%w: no turns", dhruva.ErrNotFound)
	}
	rows, err := a.ledger.ListTurns(ctx, id, last-int64(n), n)
	if err == nil && len(rows) != n {
		err = fmt.Errorf("%w: no turns up to %d", dhruva.ErrNotFound, last)
	}
	return rows, err
}

// evidence names what was recalled for a prompt, as far as it is still there.
func (a *api) evidence(ctx context.Context, r dhruva.Receipt) (out []dhruva.Evidence, err error) {
	for _, id := range r.Context.Evidence {
		s, err := a.ledger.Source(ctx, r.Space, id)
		if err != nil {
			if gone(err) {
				continue
			}
			return nil, err
		}
		out = append(out, dhruva.Evidence{Source: s.ID, Class: s.Class, Role: s.Role, Trust: s.Class.Trust(), Time: s.EventTime})
	}
	return out, nil
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
