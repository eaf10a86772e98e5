package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/recall"
)

// DefaultSpace is the name of the space that a key without one works in; it is
// made on first use.
const DefaultSpace = "default"

// SpaceOf resolves a space by id or name; "" is the key's own, else the space
// named default.
func (m *Memory) SpaceOf(ctx context.Context, nameOrID string) (dhruva.Space, error) {
	p, err := dhruva.PrincipalFrom(ctx)
	if err != nil {
		return dhruva.Space{}, err
	}
	switch {
	case nameOrID != "":
		return m.Ledger.Space(ctx, nameOrID)
	case p.Space != "":
		return m.Ledger.Space(ctx, string(p.Space))
	case len(p.Spaces) > 0:
		return m.Ledger.Space(ctx, string(p.Spaces[0]))
	}
	return m.Ledger.EnsureSpace(ctx, DefaultSpace)
}

// RecallIn answers an explicit recall and leaves a receipt. A degraded recall
// is an error that wraps dhruva.ErrUnavailable.
func (m *Memory) RecallIn(ctx context.Context, in RecallInput) (dhruva.Recall, error) {
	limits := m.Limits.withDefaults()
	query, topK, err := in.validate(limits)
	if err != nil {
		return dhruva.Recall{}, err
	}
	sp, err := m.SpaceOf(ctx, in.Space)
	if err != nil {
		return dhruva.Recall{}, err
	}
	ask := recall.Ask{Space: sp.ID, Text: query, TopK: topK}
	if in.AsOf != "" {
		if ask.Allow, err = m.knownAt(ctx, sp.ID, in.AsOf); err != nil {
			return dhruva.Recall{}, err
		}
	}
	r := m.receipt(ctx, "recall", or(in.Path, "api"), sp.ID)
	began := time.Now()
	m.first().captures.wait(ctx, dhruva.SpaceScope(r.Tenant, sp.ID))
	out, err := m.Recall.Recall(ctx, ask)
	if err != nil {
		return out, err
	}
	account(&r, out, time.Since(began))
	if err := m.Ledger.CloseReceipt(ctx, r); err != nil {
		return dhruva.Recall{}, err
	}
	out.Receipt = r.ID
	return out, nil
}

func (in RecallInput) validate(l Limits) (query string, topK int, err error) {
	query = strings.TrimSpace(in.Query)
	switch {
	case query == "":
		return "", 0, fmt.Errorf("%w: query is empty", dhruva.ErrInvalid)
	case len(query) > l.QueryBytes:
		return "", 0, fmt.Errorf("%w: query is longer than %d bytes; ask for what is missing in a sentence", dhruva.ErrInvalid, l.QueryBytes)
	case in.TopK < 0 || in.TopK > l.MaxTopK:
		return "", 0, fmt.Errorf("%w: top_k is %d; it must be 1 to %d", dhruva.ErrInvalid, in.TopK, l.MaxTopK)
	}
	return query, or(in.TopK, l.TopK), dhruva.ValidText("query", query)
}

// Read resolves read tokens; results are aligned with the input.
func (m *Memory) Read(ctx context.Context, tokens []string) ([]dhruva.ReadResult, error) {
	const most = 100
	if len(tokens) == 0 || len(tokens) > most {
		return nil, fmt.Errorf("%w: give 1 to %d tokens", dhruva.ErrInvalid, most)
	}
	return m.Recall.Read(ctx, tokens)
}

// receipt begins the account of a request.
func (m *Memory) receipt(ctx context.Context, kind, path string, space dhruva.SpaceID) dhruva.Receipt {
	p, _ := dhruva.PrincipalFrom(ctx)
	return dhruva.Receipt{
		Tenant: p.Tenant, Space: space, ID: dhruva.ReceiptID(dhruva.NewID()), RequestID: dhruva.RequestIDFrom(ctx),
		Principal: p.ID, Key: p.Key, Kind: kind, State: "open", Path: path, CreatedAt: m.now(),
	}
}

func (m *Memory) finish(r *dhruva.Receipt) {
	r.State, r.FinishedAt = "final", m.now()
}

// account writes a recall's outcome into a receipt: ids and counts, no text.
func account(r *dhruva.Receipt, out dhruva.Recall, took time.Duration) {
	r.Recall = dhruva.RecallAccount{
		Status: out.Status, Reason: out.Reason, Evidence: len(out.Evidence), LatencyUs: took.Microseconds(),
		Sources: sourceIDs(out.Evidence),
	}
}

func sourceIDs(ev []dhruva.Evidence) []dhruva.SourceID {
	var ids []dhruva.SourceID
	for _, e := range ev {
		ids = append(ids, e.Source)
	}
	return ids
}

// bounded runs a recall within a time of its own, so that neither a slow
// dependency nor one that ignores its context holds up the caller.
func (m *Memory) bounded(ctx context.Context, ask recall.Ask, limit time.Duration) dhruva.Recall {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		out dhruva.Recall
		err error
	}
	ch := make(chan answer, 1)
	go func() {
		p, err := dhruva.PrincipalFrom(ctx)
		if err != nil {
			ch <- answer{err: err}
			return
		}
		m.first().captures.wait(ctx, p.In(ask.Space))
		out, err := m.Recall.Recall(ctx, ask)
		ch <- answer{out, err}
	}()
	select {
	case a := <-ch:
		if a.err != nil {
			m.log(ctx, "recall failed", a.err)
			a.out = dhruva.Recall{Status: dhruva.RecallDegraded, Reason: failure(a.err)}
		}
		return a.out
	case <-ctx.Done():
		return dhruva.Recall{Status: dhruva.RecallDegraded, Reason: dhruva.GateDependencyTimeout}
	}
}

func failure(err error) dhruva.GateReason {
	if errors.Is(err, context.DeadlineExceeded) {
		return dhruva.GateDependencyTimeout
	}
	return dhruva.GateDependencyError
}
