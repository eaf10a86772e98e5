package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

// Every route that changes something is a change: with an Idempotency-Key it is
// done once, and repeated calls are answered from what the first one made. The
// others read, and take no notice of the header.

const keyDescription = "Makes the call repeatable: 1 to 255 visible ASCII characters, a new key for each thing to be done. " +
	"Repeated with the same key and the same request, for 24 hours, it has no second effect and is answered from what the first call made, as that is now."

// change is a route that writes, on I and answering T.
type change[I, T any] struct {
	// needs is the right that it needs; "" is told by what it is about. or is one
	// that some calls of it need in its place.
	needs, or dhruva.KeyScope
	// do does it, on an api that writes within the call.
	do func(*api, context.Context, *I) (T, error)
	// again answers a call that was done before.
	again func(*api, context.Context, *I, ledger.Outcome) (T, error)
	// summed: a call that was interrupted and went on is answered from all that was
	// made, as one that was done before.
	summed bool
	// claim: it does more than write, and takes at most so long.
	claim time.Duration
}

// changes registers a change that answers with a body.
func changes[I, T any](a *api, op huma.Operation, needs dhruva.KeyScope, do func(*api, context.Context, *I) (T, error),
	again func(*api, context.Context, *I, ledger.Outcome) (T, error)) {
	change[I, T]{needs: needs, do: do, again: again}.register(a, op)
}

// acts registers a change that answers 204.
func acts[I any](a *api, op huma.Operation, needs dhruva.KeyScope, do func(*api, context.Context, *I) error) {
	actsWithin(a, op, needs, 0, do)
}

// actsWithin is acts for what does more than write, and takes at most so long.
func actsWithin[I any](a *api, op huma.Operation, needs dhruva.KeyScope, claim time.Duration, do func(*api, context.Context, *I) error) {
	op.DefaultStatus = http.StatusNoContent
	op = a.repeatable(op)
	c := change[I, none]{
		needs: needs, claim: claim,
		do:    func(a *api, ctx context.Context, in *I) (none, error) { return none{}, do(a, ctx, in) },
		again: func(*api, context.Context, *I, ledger.Outcome) (none, error) { return none{}, nil },
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*none, error) {
		_, replayed, err := c.once(a, ctx, op, in)
		if err != nil {
			return nil, a.failure(ctx, err)
		}
		return &none{Replayed: header(replayed)}, nil
	})
}

func (c change[I, T]) register(a *api, op huma.Operation) {
	op = a.repeatable(op)
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*answer[T], error) {
		out, replayed, err := c.once(a, ctx, op, in)
		if err != nil {
			return nil, a.failure(ctx, err)
		}
		return &answer[T]{Replayed: header(replayed), Body: out}, nil
	})
}

func header(replayed bool) string {
	if replayed {
		return "true"
	}
	return ""
}

// repeatable describes the header of a change.
func (a *api) repeatable(op huma.Operation) huma.Operation {
	longest := ledger.MaxCallKey
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: client.HeaderIdempotencyKey, In: "header", Description: keyDescription,
		Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &longest, Pattern: "^[!-~]+$"},
	})
	return a.described(op)
}

// once does a change, or tells what it made when it was done before.
func (c change[I, T]) once(a *api, ctx context.Context, op huma.Operation, in *I) (out T, replayed bool, err error) {
	call, keyed, err := callOf(ctx, op, in, c.needs, c.or)
	if err != nil {
		return out, false, err
	}
	if !keyed {
		out, err = c.do(a, ctx, in)
		return out, false, err
	}
	call.Claim = c.claim
	done, err := a.ledger.Once(ctx, call, func(l *ledger.Ledger) (err error) {
		out, err = c.do(a.over(l), ctx, in)
		return err
	})
	if err == nil && (done.Replayed || c.summed) {
		out, err = c.again(a, ledger.AsMaker(ctx), in, done)
	}
	return out, done.Replayed, lost(err, done)
}

// callOf is the call that a request's header makes of it; false when there is
// none. What is asked is taken from what was read of the request, so that white
// space and the order of fields make no difference.
func callOf(ctx context.Context, op huma.Operation, in any, needs ...dhruva.KeyScope) (call ledger.Call, keyed bool, err error) {
	values, _ := ctx.Value(callKey{}).([]string)
	switch len(values) {
	case 0:
		return call, false, nil
	case 1:
	default:
		return call, true, fmt.Errorf("%w: %s stands twice", dhruva.ErrInvalid, client.HeaderIdempotencyKey)
	}
	request, err := json.Marshal(in)
	call = ledger.Call{Route: op.Method + " " + op.Path, Key: values[0], Request: request}
	for _, right := range needs {
		if right != "" {
			call.Rights = append(call.Rights, right)
		}
	}
	return call, true, err
}

// callKey is for the header's values in a request's context.
type callKey struct{}

// over is the api within a call.
func (a *api) over(l *ledger.Ledger) *api {
	trees := a.worktrees.Over(l)
	return &api{memory: a.memory.Over(l), ledger: l, keys: a.keys.Over(l.Store), huma: a.huma, worktrees: trees, agents: &agents.Agents{Ledger: l, Worktrees: trees}}
}

// lost is the answer of a call that was done before, when what it made is not
// there any more.
func lost(err error, done ledger.Outcome) error {
	if !done.Replayed || !gone(err) {
		return err
	}
	return &edge.Refusal{Status: http.StatusConflict, Code: "result_gone", Title: "Done before, and gone since",
		Detail: "the call was done before with this idempotency key; what it made was deleted, or is out of this key's reach",
		Hint:   "use a new idempotency key to do it anew"}
}

func gone(err error) bool { return errors.Is(err, dhruva.ErrNotFound) }

// The answers of calls that were done before. They show what was made as it is
// now.

func madeSpace[I any](a *api, ctx context.Context, _ *I, done ledger.Outcome) (client.Space, error) {
	s, err := a.ledger.Space(ctx, done.Last(ledger.MadeSpace))
	return spaceView(s), err
}

func madeSession[I any](a *api, ctx context.Context, _ *I, done ledger.Outcome) (client.Session, error) {
	s, err := a.ledger.Session(ctx, dhruva.SessionID(done.Last(ledger.MadeSession)))
	return sessionView(s), err
}

// thatSession is the answer of a call that is about the session of its path.
func thatSession[P interface{ session() dhruva.SessionID }](a *api, ctx context.Context, in P, _ ledger.Outcome) (client.Session, error) {
	s, err := a.ledger.Session(ctx, in.session())
	return sessionView(s), err
}

func madeCheckpoint[I any](a *api, ctx context.Context, _ *I, done ledger.Outcome) (client.Checkpoint, error) {
	c, err := a.ledger.Checkpoint(ctx, done.Last(ledger.MadeCheckpoint))
	return savedView(c, done.Redactions()), err
}

func madeNote[I any](a *api, ctx context.Context, _ *I, done ledger.Outcome) (client.Remembered, error) {
	r, err := a.memory.Remembered(ctx, done)
	return rememberedView(r), err
}

// releasedSource is without its text, as the first answer was.
func releasedSource[I any](a *api, ctx context.Context, _ *I, done ledger.Outcome) (client.Source, error) {
	space, id := done.Source()
	row, err := a.ledger.Source(ctx, space, id)
	return sourceView(ledger.SourceView{Source: row.Source}), err
}

func importedTurns(_ *api, _ context.Context, in *importIn, done ledger.Outcome) (client.Imported, error) {
	n := done.Turns()
	return client.Imported{Session: dhruva.SessionID(done.Last(ledger.MadeSession)), New: n, Skipped: len(in.Body.Turns) - n, Redactions: done.Redactions()}, nil
}

// shownKey: a key is shown once, and never stored.
func shownKey[I any](_ *api, _ context.Context, _ *I, done ledger.Outcome) (client.NewKey, error) {
	id := done.Last(ledger.MadeKey)
	return client.NewKey{}, &edge.Refusal{Status: http.StatusConflict, Code: "key_shown_once", Title: "A key is shown once",
		Detail: fmt.Sprintf("the call was done before with this idempotency key and made the key %s; a key is shown once, when it is made, and cannot be shown again", id),
		Hint:   fmt.Sprintf("if its text was lost, revoke it with DELETE %s/keys/%s and make another with a new idempotency key", client.Prefix, id)}
}
