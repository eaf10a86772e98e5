package memory

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/recall"
)

// Prepare decides what memory does for a proxied request. It fails only for a
// bad request, a missing right, or when recall was required and did not work;
// any other trouble gives an empty Plan and a receipt that says why.
func (m *Memory) Prepare(ctx context.Context, in PrepareInput) (Prepared, error) {
	p, err := dhruva.PrincipalFrom(ctx)
	if err != nil {
		return Prepared{}, err
	}
	if !p.May(dhruva.ProxyUse) {
		return Prepared{}, fmt.Errorf("%w: the key lacks %s", dhruva.ErrDenied, dhruva.ProxyUse)
	}
	if err := in.validate(); err != nil {
		return Prepared{}, err
	}
	mode, lowered := Effective(p, in.Mode)
	out := Prepared{Mode: mode, Receipt: m.receipt(ctx, "proxy", or(in.Path, "hosted"), "")}
	r := &out.Receipt
	r.Dialect, r.Model, r.Stream, r.Provider = in.Projection.Dialect, in.Projection.Model, in.Projection.Stream, in.Provider
	r.ModeRequested, r.ModeEffective = string(in.Mode), string(mode)
	r.Tokens.Original, r.Tokens.Forwarded = in.Projection.Estimate, in.Projection.Estimate
	r.Memory, r.Continuity = dhruva.MemoryOff, dhruva.ContinuityNotApplicable
	if lowered {
		r.Memory = dhruva.MemoryLimitedByScope
	}
	if in.Require && !mode.recalls() {
		return Prepared{}, fmt.Errorf("%w: recall is required, and %s", dhruva.ErrDenied, whyNoRecall(p, in.Mode))
	}
	if mode == ModeOff {
		return out, nil
	}
	err = m.prepareInSpace(ctx, in, &out)
	return out, err
}

func whyNoRecall(p dhruva.Principal, asked Mode) string {
	if !p.May(dhruva.MemoryRead) {
		return "the key lacks " + string(dhruva.MemoryRead)
	}
	return "the memory mode is " + string(asked)
}

func (m *Memory) prepareInSpace(ctx context.Context, in PrepareInput, out *Prepared) error {
	sp, err := m.SpaceOf(ctx, in.Space)
	if err == nil {
		err = m.begin(ctx, sp.ID, in, out)
	}
	switch {
	case callerFault(err):
		return err
	case err != nil:
		m.log(ctx, "memory is not reachable; forwarding unchanged", err)
		out.Capture = false
		return m.degrade(in, out, err)
	}
	out.Space, out.Receipt.Space, out.Receipt.Generation = sp.ID, sp.ID, out.Generation
	return m.inject(ctx, in, out)
}

// begin captures the state that the request sees: the generation, and the
// session that its exchange will be stored in.
func (m *Memory) begin(ctx context.Context, space dhruva.SpaceID, in PrepareInput, out *Prepared) (err error) {
	out.Capture = out.Mode.ingests() && capturable(in.Projection)
	if out.Capture {
		out.Generation, out.Began, err = m.Ledger.BeginCapture(ctx, space, in.Hint, humanTexts(in.Projection))
	} else {
		out.Generation, err = m.Ledger.Generation(ctx, space)
	}
	return err
}

// degrade records that memory did not work, and fails only who asked for it.
func (m *Memory) degrade(in PrepareInput, out *Prepared, err error) error {
	out.Receipt.Recall = dhruva.RecallAccount{Status: dhruva.RecallDegraded, Reason: failure(err)}
	out.Receipt.Memory = dhruva.MemoryDegraded
	if in.Require {
		return fmt.Errorf("%w: recall was required and did not work (%s)", dhruva.ErrUnavailable, out.Receipt.Recall.Reason)
	}
	return nil
}

func (in PrepareInput) validate() error {
	switch in.Mode {
	case "", ModeOff, ModeRecall, ModeIngest, ModeBoth:
	default:
		return fmt.Errorf("%w: memory mode %q; use off, recall, ingest or both", dhruva.ErrInvalid, in.Mode)
	}
	switch in.Compression {
	case "", "passthrough":
	case "shadow", "deterministic":
		return fmt.Errorf("%w: compression %s is not in this version; use passthrough", dhruva.ErrInvalid, in.Compression)
	default:
		return fmt.Errorf("%w: compression %q; use passthrough", dhruva.ErrInvalid, in.Compression)
	}
	if in.RecallBudget < 0 {
		return fmt.Errorf("%w: recall budget is negative", dhruva.ErrInvalid)
	}
	return nil
}

func (mode Mode) recalls() bool { return mode == ModeRecall || mode == ModeBoth }
func (mode Mode) ingests() bool { return mode == ModeIngest || mode == ModeBoth }

// Effective is the requested mode and what the key allows of it: it only ever
// lowers. lowered tells that the caller asked for more.
func Effective(p dhruva.Principal, asked Mode) (mode Mode, lowered bool) {
	want := or(asked, ModeBoth)
	r, w := want.recalls() && p.May(dhruva.MemoryRead), want.ingests() && p.May(dhruva.MemoryWrite)
	switch {
	case r && w:
		mode = ModeBoth
	case r:
		mode = ModeRecall
	case w:
		mode = ModeIngest
	default:
		mode = ModeOff
	}
	return mode, asked != "" && mode != asked
}

// capturable: a real conversation turn whose answer comes with this response.
func capturable(p *dhruva.Projection) bool {
	return !p.SideRequest && !p.Background && p.LastHuman() >= 0
}

// inject plans the checkpoint's block and the evidence's block. Without the
// right or the wish to recall nothing is injected, a checkpoint neither.
func (m *Memory) inject(ctx context.Context, in PrepareInput, out *Prepared) error {
	if !out.Mode.recalls() {
		return nil
	}
	ask, blocks, err := m.mounted(ctx, in, out)
	if err != nil {
		return err
	}
	block, err := m.recallFor(ctx, in, ask, out)
	if err != nil {
		return err
	}
	if block != "" {
		blocks = append(blocks, block)
	}
	if len(blocks) > 0 {
		return m.plan(ctx, in, blocks, out)
	}
	return nil
}

// mounted is what a recall may see, and the block of the checkpoint that the
// request mounts, if it mounts one.
func (m *Memory) mounted(ctx context.Context, in PrepareInput, out *Prepared) (recall.Ask, []string, error) {
	limits := m.Limits.withDefaults()
	ask := recall.Ask{Space: out.Space, TopK: limits.InjectTopK, Floor: limits.InjectFloor, Visible: visibleIn(in.Projection)}
	if in.Checkpoint == "" {
		return ask, nil, nil
	}
	c, err := m.Ledger.Checkpoint(ctx, in.Checkpoint)
	if err == nil && c.Space != out.Space {
		err = fmt.Errorf("checkpoint %s: %w in this space", in.Checkpoint, dhruva.ErrNotFound)
	}
	if err == nil {
		_, err = m.withoutHeld(ctx, &c)
	}
	if err != nil {
		return ask, nil, err
	}
	ask.Allow = m.promptSet([]dhruva.Checkpoint{c}, nil)
	out.Receipt.Checkpoint = c.Hash
	if !injectable(in.Projection) {
		return ask, nil, nil
	}
	return ask, []string{m.checkpointBlock(&c, limits.CheckpointTokens)}, nil
}

func injectable(p *dhruva.Projection) bool {
	return p.Injectable >= 0 && !p.ProviderState && !p.SideRequest
}

// recallFor recalls for the last human turn and renders what was admitted.
func (m *Memory) recallFor(ctx context.Context, in PrepareInput, ask recall.Ask, out *Prepared) (string, error) {
	limits, r := m.Limits.withDefaults(), &out.Receipt
	if !injectable(in.Projection) {
		r.Recall = dhruva.RecallAccount{Status: dhruva.RecallOff, Note: notInjectable(in.Projection)}
		if in.Projection.ProviderState {
			r.Continuity = dhruva.ContinuityProviderState
		}
		return "", nil
	}
	ask.Text = query(in.Projection.Messages[in.Projection.Injectable].Text, limits.QueryBytes)
	began := time.Now()
	found := m.bounded(ctx, ask, limits.RecallTime)
	block, shown := m.evidenceBlock(r.Tenant, found.Evidence, or(in.RecallBudget, limits.RecallTokens))
	if found.Status == dhruva.RecallRecalled && len(shown) == 0 {
		found.Status, found.Reason = dhruva.RecallEmpty, dhruva.GateBudgetExceeded
	}
	found.Evidence = shown
	account(r, found, time.Since(began))
	r.Tokens.Recalled = dhruva.Estimate(block)
	if r.Memory != dhruva.MemoryLimitedByScope {
		r.Memory = stateOf(found.Status)
	}
	if in.Require && found.Status == dhruva.RecallDegraded {
		return "", fmt.Errorf("%w: recall was required and did not work (%s)", dhruva.ErrUnavailable, found.Reason)
	}
	return block, nil
}

func notInjectable(p *dhruva.Projection) string {
	switch {
	case p.ProviderState:
		return "the conversation is held by the provider"
	case p.SideRequest:
		return "not a conversation turn"
	}
	return or(p.NotInjectable, "no human turn is last")
}

func stateOf(s dhruva.RecallStatus) dhruva.MemoryState {
	switch s {
	case dhruva.RecallRecalled:
		return dhruva.MemoryRecalled
	case dhruva.RecallRefused:
		return dhruva.MemoryRefused
	case dhruva.RecallDegraded:
		return dhruva.MemoryDegraded
	}
	return dhruva.MemoryEmpty
}

// plan makes the blocks one injection, once the receipt is durable.
func (m *Memory) plan(ctx context.Context, in PrepareInput, blocks []string, out *Prepared) error {
	r := &out.Receipt
	text := strings.Join(blocks, "\n\n")
	planned := *r
	planned.Tokens.Forwarded += dhruva.Estimate(text)
	if planned.Memory == dhruva.MemoryEmpty { // a checkpoint's block alone is memory too
		planned.Memory = dhruva.MemoryRecalled
	}
	opened, err := m.Ledger.OpenReceipt(ctx, planned)
	if err == nil {
		*r = opened
		out.Plan.Edits = []dhruva.Edit{{Kind: dhruva.EditInject, Message: in.Projection.Injectable, Text: text}}
		return nil
	}
	m.log(ctx, "receipt could not be written; going on without memory", err)
	r.Memory, r.Tokens.Recalled = dhruva.MemorySkippedNoLedger, 0
	r.Recall.Evidence, r.Recall.Sources = 0, nil
	if in.Require {
		return fmt.Errorf("%w: recall was required, and its receipt could not be written", dhruva.ErrUnavailable)
	}
	return nil
}

// query bounds a human turn to what recall takes: its end, where people put
// the question.
func query(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-limit:], "")
}

// visibleIn reports texts that the request already shows the model.
func visibleIn(p *dhruva.Projection) func(string) bool {
	var shown []string
	for _, msg := range p.Messages {
		for _, part := range msg.Parts {
			shown = append(shown, dhruva.Normalize(part.Text))
		}
	}
	return containedIn(shown)
}

// containedIn reports texts that stand in one of the (normalised) others. What
// was stored without its secrets stands where a text has anything in their place.
func containedIn(shown []string) func(string) bool {
	return func(text string) bool {
		parts := placeholder.Split(dhruva.Normalize(text), -1)
		return slices.ContainsFunc(shown, func(s string) bool { return inOrder(s, parts) })
	}
}

// placeholder stands in stored texts in place of a secret.
var placeholder = regexp.MustCompile(`\[redacted:[a-z0-9-]+\]`)

func inOrder(text string, parts []string) bool {
	for _, part := range parts {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}
