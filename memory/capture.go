package memory

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// Capture closes a proxied request: it appends what was visibly said, with its
// sources, and finalises the receipt in the same Update. It returns when that
// is durable. What cannot be captured (a generation that was cleared in the
// meantime, text that was purged) is said in the receipt and is no error.
func (m *Memory) Capture(ctx context.Context, in CaptureInput) (dhruva.Receipt, error) {
	r := in.Prepared.Receipt
	settle(&r, in.Observation)
	m.finish(&r)
	if !in.Prepared.Capture {
		return r, m.Ledger.CloseReceipt(ctx, r)
	}
	r.Ingest = "stored"
	got, err := m.Ledger.Capture(ctx, captureInput(in, &r))
	switch {
	case errors.Is(err, dhruva.ErrFenced):
		r.Ingest = "skipped_stale_generation"
		return r, m.Ledger.CloseReceipt(ctx, r)
	case err != nil:
		r.Ingest = "dropped"
		return r, errors.Join(err, m.Ledger.CloseReceipt(ctx, r))
	}
	r.Session, r.TurnIDs, r.Redactions = got.Session, got.Turns, got.Redactions
	r.Ingest = or(got.Skipped, r.Ingest)
	return r, nil
}

// settle writes what was seen of the answer into the receipt.
func settle(r *dhruva.Receipt, o dhruva.Observation) {
	r.Upstream.Terminal = or(r.Upstream.Terminal, o.Terminal)
	r.Tokens.Input, r.Tokens.Output, r.Tokens.UsageSource = o.InputTokens, o.OutputTokens, "provider"
	if o.InputTokens == 0 && o.OutputTokens == 0 {
		r.Tokens.UsageSource = "unknown"
		if o.Text != "" {
			r.Tokens.Output, r.Tokens.UsageSource = dhruva.Estimate(o.Text), "estimated"
		}
	}
}

func captureInput(in CaptureInput, r *dhruva.Receipt) ledger.CaptureInput {
	proj := in.Projection
	last := proj.LastHuman()
	out := ledger.CaptureInput{
		Space: in.Prepared.Space, Generation: in.Prepared.Generation, Began: in.Prepared.Began, Hint: in.Hint,
		User:     ledger.Unit{Role: dhruva.RoleUser, Text: proj.Messages[last].Text},
		Provider: r.Provider, Model: r.Model, Receipt: r, EventTime: r.CreatedAt,
	}
	out.Chain = humanTexts(proj)
	for i, msg := range proj.Messages {
		if unit, ok := said(msg); ok && (i < last || spokenAfter(proj.Messages, last)) {
			out.History = append(out.History, unit)
		}
	}
	o := in.Observation
	if o.Terminal == dhruva.TerminalCompleted && strings.TrimSpace(o.Text) != "" {
		out.Assistant = &ledger.Unit{Role: dhruva.RoleAssistant, Text: o.Text, Interim: o.Interim, Truncated: o.Truncated,
			NoSource: repeatsEvidence(o.Text, injected(in.Prepared.Plan)) || saysBack(o.Text, out.User.Text)}
	}
	return out
}

// humanTexts are the human turns of a request in order: what a conversation is
// recognised by.
func humanTexts(p *dhruva.Projection) (texts []string) {
	for _, msg := range p.Messages {
		if msg.Human {
			texts = append(texts, msg.Text)
		}
	}
	return texts
}

// said is what a resent message visibly says, if it is a human's or the
// assistant's.
func said(msg dhruva.Message) (ledger.Unit, bool) {
	switch {
	case msg.Human:
		return ledger.Unit{Role: dhruva.RoleUser, Text: msg.Text}, true
	case msg.Role == dhruva.RoleAssistant && strings.TrimSpace(msg.Text) != "":
		return ledger.Unit{Role: dhruva.RoleAssistant, Text: msg.Text, Interim: msg.ToolCall}, true
	}
	return ledger.Unit{}, false
}

// spokenAfter reports assistant text after the last human turn: a tool loop,
// whose answer follows that text and not the human turn.
func spokenAfter(msgs []dhruva.Message, last int) bool {
	return slices.ContainsFunc(msgs[last+1:], func(m dhruva.Message) bool {
		_, ok := said(m)
		return ok
	})
}

func injected(plan dhruva.Plan) (texts []string) {
	for _, e := range plan.Edits {
		texts = append(texts, e.Text)
	}
	return texts
}

// repeatsEvidence reports an answer with a sentence that stands in what memory
// put before the model. Such an answer is kept as a turn and makes no source:
// memory must not feed on itself, and what was deleted must not live on in an
// answer that quoted it.
func repeatsEvidence(text string, given []string) bool {
	if len(given) == 0 {
		return false
	}
	stands := containedIn(lowered(given))
	return slices.ContainsFunc(claims(text), stands)
}

// saysBack reports an answer that holds nothing but what it was told.
func saysBack(text string, told ...string) bool {
	said, stands := claims(text), containedIn(lowered(told))
	return len(said) > 0 && !slices.ContainsFunc(said, func(s string) bool { return !stands(s) })
}

// claims are the sentences of a text that carry something, lower case and
// without the marks and labels around them.
func claims(text string) (out []string) {
	for _, s := range sentenceEnd.Split(text, -1) {
		s = strings.Trim(strings.ToLower(dhruva.Normalize(s)), " .!?\"'`*_->:,;()[]")
		s = leadingLabel.ReplaceAllString(s, "")
		if len(strings.Fields(s)) > 2 {
			out = append(out, s)
		}
	}
	return out
}

func lowered(texts []string) (out []string) {
	for _, t := range texts {
		out = append(out, strings.ToLower(dhruva.Normalize(t)))
	}
	return out
}

var (
	sentenceEnd  = regexp.MustCompile(`[.!?]["'*_)]*\s+|\n+`)
	leadingLabel = regexp.MustCompile(`^(?:\[?\d+\]?\s+)?[\p{L}\d_]+(?: [\p{L}\d_]+)?(?:, [\d-]+)?: `)
)

// callerFault reports errors that are about the request, not about memory.
func callerFault(err error) bool {
	for _, e := range []error{dhruva.ErrNotFound, dhruva.ErrDenied, dhruva.ErrInvalid, dhruva.ErrConflict, dhruva.ErrUnauthenticated, dhruva.ErrTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
