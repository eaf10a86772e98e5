package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/llm"
)

// MockProvider is the built-in provider that answers where no model is. It is
// asked only when a caller names it.
const MockProvider = "mock"

// By says who answers: the slot for background work, unless a caller names a
// provider. A model alone is another one of the slot's provider.
type By struct{ Provider, Model string }

// NoBackground is the error of Draft, Extract, Review and Title where no model is
// configured for them. It is dhruva.ErrUnavailable, whatever Cause is.
type NoBackground struct {
	// Cause is what is wrong with the slot; nil when nothing is configured.
	Cause error
}

// Error says what is missing.
func (e *NoBackground) Error() string {
	const what = "no model is configured for background work"
	if e.Cause == nil {
		return what
	}
	return what + ": " + e.Cause.Error()
}

// Unwrap is dhruva.ErrUnavailable alone: the cause is about the configuration,
// not about the request.
func (e *NoBackground) Unwrap() error { return dhruva.ErrUnavailable }

// Advice is the problem's code and what to do.
func (e *NoBackground) Advice() (code, hint string) {
	const slot = "name a provider and a model under background_intelligence in providers.yaml"
	var known interface{ Advice() (code, hint string) }
	if errors.As(e.Cause, &known) {
		if _, hint := known.Advice(); hint != "" {
			return "no_background", hint + "; or " + slot
		}
	}
	return "no_background", slot
}

// by finds who answers. A key that is bound to a provider reaches no other one;
// the mock is everybody's. What comes back has the model as its DefaultModel.
func (m *Memory) by(ctx context.Context, by By) (Provider, error) {
	who, err := dhruva.PrincipalFrom(ctx)
	if err != nil {
		return Provider{}, err
	}
	p, err := m.slot(by.Provider)
	if err != nil {
		return Provider{}, err
	}
	if bound := who.Bound(); bound != "" && bound != p.Name && p.Name != MockProvider {
		return Provider{}, fmt.Errorf("%w: this key reaches only the provider %s", dhruva.ErrDenied, bound)
	}
	p.DefaultModel = or(by.Model, p.DefaultModel)
	switch {
	case p.DefaultModel != "":
		return p, nil
	case by.Provider == "":
		return Provider{}, &NoBackground{Cause: fmt.Errorf("%w: provider %s has no default model", dhruva.ErrInvalid, p.Name)}
	}
	return Provider{}, fmt.Errorf("%w: provider %s has no default model; name one", dhruva.ErrInvalid, p.Name)
}

// slot is the provider of a name, or that of background work.
func (m *Memory) slot(name string) (Provider, error) {
	if name != "" {
		return m.Providers(name)
	}
	if m.Background == nil {
		return Provider{}, &NoBackground{}
	}
	p, err := m.Background()
	if err != nil {
		return Provider{}, &NoBackground{Cause: err}
	}
	return p, nil
}

// mayAsk: asking a model costs, so that it needs the right to store what comes
// of it.
func mayAsk(ctx context.Context) error {
	p, err := dhruva.PrincipalFrom(ctx)
	if err == nil && !p.May(dhruva.StateWrite) {
		err = fmt.Errorf("%w: the key lacks %s", dhruva.ErrDenied, dhruva.StateWrite)
	}
	return err
}

// ask asks a model once. The receipt is durable before the call and closed after
// it, whatever came of it; read takes the answer, and may refuse it.
func (m *Memory) ask(ctx context.Context, p Provider, r dhruva.Receipt, req llm.Request, read func(llm.Response) error) (dhruva.ReceiptID, error) {
	r.Provider, r.Model, req.Model = p.Name, p.DefaultModel, p.DefaultModel
	for _, message := range req.Messages {
		r.Tokens.Original += dhruva.Estimate(message.Content) + dhruva.MessageOverhead
	}
	r.Tokens.Forwarded = r.Tokens.Original
	r, err := m.Ledger.OpenReceipt(ctx, r)
	if err != nil {
		return "", err
	}
	res, err := p.Generator.Generate(ctx, req)
	r.Tokens.Input, r.Tokens.Output, r.Tokens.UsageSource = res.InputTokens, res.OutputTokens, usage(res)
	if err == nil {
		err = read(res)
	}
	if err != nil {
		m.failed(ctx, r, err)
		return "", err
	}
	r.Upstream = dhruva.Upstream{Terminal: dhruva.TerminalCompleted}
	m.finish(&r)
	return r.ID, m.Ledger.CloseReceipt(context.WithoutCancel(ctx), r)
}
