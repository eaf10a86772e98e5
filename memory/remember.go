package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// RememberIn stores a text outside a conversation and leaves a receipt. With an
// idempotency key it does so once: repeated, it tells what became of the text.
func (m *Memory) RememberIn(ctx context.Context, in RememberInput) (out Remembered, err error) {
	if in.IdempotencyKey == "" {
		return m.remember(ctx, in)
	}
	request, err := json.Marshal(in)
	if err != nil {
		return Remembered{}, err
	}
	call := ledger.Call{
		Route: or(in.Path, "api") + " remember", Key: in.IdempotencyKey, Request: request, Rights: []dhruva.KeyScope{dhruva.MemoryWrite},
	}
	done, err := m.Ledger.Once(ctx, call, func(l *ledger.Ledger) error {
		out, err = m.Over(l).remember(ctx, in)
		return err
	})
	if err != nil || !done.Replayed {
		return out, err
	}
	if out, err = m.Remembered(ctx, done); errors.Is(err, dhruva.ErrNotFound) {
		err = fmt.Errorf("%w: it was remembered before with this idempotency key, and is gone since", dhruva.ErrConflict)
	}
	return out, err
}

// Remembered is the outcome of a Remember that was done before, as the text is
// kept now.
func (m *Memory) Remembered(ctx context.Context, done ledger.Outcome) (Remembered, error) {
	space, id := done.Source()
	src, err := m.Ledger.Source(ledger.AsMaker(ctx), space, id)
	return Remembered{Source: src.Source, Receipt: dhruva.ReceiptID(done.Last(ledger.MadeReceipt)), Redactions: done.Redactions(), Replayed: true}, err
}

func (m *Memory) remember(ctx context.Context, in RememberInput) (Remembered, error) {
	sp, err := m.SpaceOf(ctx, in.Space)
	if err != nil {
		return Remembered{}, err
	}
	r := m.receipt(ctx, "remember", or(in.Path, "api"), sp.ID)
	r.Ingest = "stored"
	m.finish(&r)
	src, err := m.Ledger.Remember(ctx, ledger.RememberInput{
		Space: sp.ID, Text: in.Text, SourceID: dhruva.SourceID(in.SourceID), Authority: in.Authority, Receipt: &r,
	})
	if err != nil {
		return Remembered{}, err
	}
	return Remembered{Source: src, Receipt: r.ID, Redactions: r.Redactions}, nil
}
