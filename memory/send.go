package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/recall"
)

// Preview gives the exact prompt that Send would make now, without calling a
// model or writing anything.
func (m *Memory) Preview(ctx context.Context, in SendInput) (Preview, error) {
	out, err := m.compose(ctx, in)
	return out.Preview, err
}

// Send asks a model in a session and stores the pair of turns. onDelta, when
// not nil, is given the reply as it comes. A failed call stores neither turn.
func (m *Memory) Send(ctx context.Context, in SendInput, onDelta func(string) error) (SendResult, error) {
	if err := mayAsk(ctx); err != nil {
		return SendResult{}, err
	}
	made, err := m.compose(ctx, in)
	if err != nil {
		return SendResult{}, err
	}
	r := m.sendReceipt(ctx, &made.Preview, made.began)
	if len(made.Evidence) > 0 { // what a model is given from memory is accounted for before it is given
		if r, err = m.Ledger.OpenReceipt(ctx, r); err != nil {
			return SendResult{}, err
		}
	}
	reply, err := generate(ctx, made.provider.Generator, made.Preview, onDelta)
	if err != nil {
		m.failed(ctx, r, err)
		return SendResult{}, err
	}
	r.Tokens.Input, r.Tokens.Output, r.Tokens.UsageSource = reply.InputTokens, reply.OutputTokens, usage(reply)
	r.Upstream = dhruva.Upstream{Terminal: dhruva.TerminalCompleted}
	r.Ingest = "stored"
	m.finish(&r)
	// The reply has been paid for and shown: storing it does not hang on the
	// caller's patience.
	turns, err := m.Ledger.AppendExchange(context.WithoutCancel(ctx), made.began, made.exchange(in, reply, &r))
	if err != nil {
		m.lost(ctx, r, err)
		return SendResult{}, err
	}
	for _, t := range turns {
		r.TurnIDs = append(r.TurnIDs, t.ID)
	}
	return SendResult{Preview: made.Preview, Reply: reply.Text, Turns: turns, Receipt: r}, nil
}

// exchange is what is stored of a message and its reply. A reply that says back
// what the prompt held makes no source.
func (c *composed) exchange(in SendInput, reply llm.Response, r *dhruva.Receipt) ledger.Exchange {
	out := ledger.Exchange{
		User: ledger.Unit{Role: dhruva.RoleUser, Text: in.Message},
		Assistant: &ledger.Unit{Role: dhruva.RoleAssistant, Text: reply.Text, Truncated: reply.FinishReason == llm.FinishLength,
			NoSource: repeatsEvidence(reply.Text, snippets(c.Evidence)) || saysBack(reply.Text, c.Prompt)},
		Provider: c.Provider, Model: c.Model, Receipt: r, Regenerate: in.Regenerate,
	}
	if in.Edit > 0 {
		out.Parent = &c.follows
	}
	return out
}

func generate(ctx context.Context, g llm.Generator, view Preview, onDelta func(string) error) (llm.Response, error) {
	req := llm.Request{Model: view.Model, Messages: []llm.Message{{Role: "user", Content: view.Prompt}}}
	var out llm.Response
	var err error
	if onDelta == nil {
		out, err = g.Generate(ctx, req)
	} else {
		out, err = g.Stream(ctx, req, onDelta)
	}
	if err == nil && strings.TrimSpace(out.Text) == "" {
		err = llm.NewError(view.Provider, 200, "empty", "the answer is empty; nothing was stored", nil)
	}
	return out, err
}

func usage(r llm.Response) string {
	if r.InputTokens > 0 || r.OutputTokens > 0 {
		return "provider"
	}
	return "unknown"
}

// failed closes the receipt of a call that gave no answer; the error of the
// call is what the caller needs to see.
func (m *Memory) failed(ctx context.Context, r dhruva.Receipt, cause error) {
	r.Upstream = dhruva.Upstream{Terminal: dhruva.TerminalFailed}
	if known := (*llm.Error)(nil); errors.As(cause, &known) {
		r.Upstream.Status, r.Upstream.Error = known.Status, known.Code
	}
	if ctx.Err() != nil {
		r.Upstream.Terminal = dhruva.TerminalClientAbort
	}
	m.finish(&r)
	if err := m.Ledger.CloseReceipt(context.WithoutCancel(ctx), r); err != nil {
		m.log(ctx, "receipt of a failed send could not be written", fmt.Errorf("%w (after %w)", err, cause))
	}
}

// lost closes the receipt of an answer that could not be kept. After an unknown
// outcome it is left as it is: the pair and its receipt may be there.
func (m *Memory) lost(ctx context.Context, r dhruva.Receipt, cause error) {
	if errors.Is(cause, dhruva.ErrUnavailable) {
		return
	}
	r.Ingest = "dropped"
	if err := m.Ledger.CloseReceipt(context.WithoutCancel(ctx), r); err != nil {
		m.log(ctx, "receipt of an answer that was not kept could not be written", fmt.Errorf("%w (after %w)", err, cause))
	}
}

func (m *Memory) sendReceipt(ctx context.Context, view *Preview, began ledger.Began) dhruva.Receipt {
	r := m.receipt(ctx, "send", "api", began.Session.Space)
	r.Session, r.Generation, r.Provider, r.Model = began.Session.ID, began.Generation, view.Provider, view.Model
	account(&r, view.Recall, 0)
	r.Recall.Evidence, r.Recall.Sources = len(view.Evidence), sourceIDs(view.Evidence)
	r.Memory = dhruva.MemoryOff
	if view.Recall.Status != dhruva.RecallOff {
		r.Memory = stateOf(view.Recall.Status)
	}
	r.Tokens.Original, r.Tokens.Forwarded = view.Context.Tokens, view.Context.Tokens
	for _, s := range view.Sections {
		if s.Name == sectionEvidence {
			r.Tokens.Recalled = s.Tokens
		}
	}
	used := view.Context
	r.Context = &used
	return r
}

// composed is a prompt, and what is needed to have it answered and stored.
type composed struct {
	Preview
	began    ledger.Began
	provider Provider
	follows  int64 // the turn that the message follows
}

// compose resolves the session's context and renders the prompt. The state it
// saw is captured with it, for AppendExchange.
func (m *Memory) compose(ctx context.Context, in SendInput) (out composed, err error) {
	limits := m.Limits.withDefaults()
	if err := in.validate(limits); err != nil {
		return composed{}, err
	}
	req, replaced, err := m.placed(ctx, in)
	if err != nil {
		return composed{}, err
	}
	state, err := m.window(ctx, in.Session, req, in.Turns)
	if err != nil {
		return composed{}, err
	}
	if state.Question != nil {
		in.Message = state.Question.Content
	}
	held, err := m.withoutHeldIn(ctx, state.Checkpoints)
	if err != nil {
		return composed{}, err
	}
	out.began, out.follows, out.Badge, out.LeftOut = state.Began, state.Window.Through, state.Badge, leftOut(state.LeftOut, held)
	if out.provider, out.Model, err = m.provider(ctx, in, state.Session); err != nil {
		return composed{}, err
	}
	out.Provider = out.provider.Name
	turns, left := state.Turns, state.Cut
	if in.History == "none" {
		turns, left = nil, 0
	}
	if err := m.recallForSend(ctx, in, &state, append(replaced, turns...), &out.Preview); err != nil {
		return composed{}, err
	}
	if over := withinBudget(state.Checkpoints, limits.ArtifactTokens); over > 0 {
		out.LeftOut = also(out.LeftOut, fmt.Sprintf("%d artifacts are left out for their length.", over))
	}
	p := render(in.Message, &state, out.Evidence, turns, left)
	out.Prompt, out.Sections = p.String(), p.sections
	out.Context = used(&state, turns, left, out.Evidence, p.tokens())
	return out, nil
}

// window is the conversation that a model is given: of chat, preview and draft
// alike. most, when not 0, narrows it to its latest turns.
func (m *Memory) window(ctx context.Context, id dhruva.SessionID, req ledger.ContextRequest, most int) (ledger.Context, error) {
	limits := m.Limits.withDefaults()
	req.MaxTurns, req.MaxTokens = limits.HistoryTurns, limits.HistoryTokens
	if most > 0 {
		req.MaxTurns = min(most, req.MaxTurns)
	}
	return m.Ledger.Resolve(ctx, id, req)
}

// numbers are the numbers of turns.
func numbers(turns []dhruva.Turn) []int64 {
	out := make([]int64, len(turns))
	for i, t := range turns {
		out[i] = t.Seq
	}
	return out
}

func (m *Memory) withoutHeldIn(ctx context.Context, shown []dhruva.Checkpoint) (held int, err error) {
	for i := range shown {
		n, err := m.withoutHeld(ctx, &shown[i])
		if err != nil {
			return 0, err
		}
		held += n
	}
	return held, nil
}

func leftOut(words string, held int) string {
	if held == 0 {
		return words
	}
	return also(words, fmt.Sprintf("%d checkpoint items are held until a person releases them.", held))
}

func also(words, more string) string { return strings.TrimSpace(words + " " + more) }

func (in SendInput) validate(l Limits) error {
	switch {
	case in.Edit < 0 || in.Regenerate < 0 || in.Edit > 0 && in.Regenerate > 0:
		return fmt.Errorf("%w: a message is edited, or an answer is made again: name the number of one turn", dhruva.ErrInvalid)
	case in.Regenerate > 0 && in.Message != "":
		return fmt.Errorf("%w: an answer is made again to the message that there is; edit that one to change it", dhruva.ErrInvalid)
	case in.Regenerate == 0 && strings.TrimSpace(in.Message) == "":
		return fmt.Errorf("%w: message is empty", dhruva.ErrInvalid)
	case len(in.Message) > l.SendBytes:
		return fmt.Errorf("%w: message is longer than %d bytes", dhruva.ErrTooLarge, l.SendBytes)
	case in.History != "" && in.History != "none" && in.History != "session":
		return fmt.Errorf("%w: history %q; use none or session", dhruva.ErrInvalid, in.History)
	case in.Memory != "" && in.Memory != "off" && in.Memory != "recall":
		return fmt.Errorf("%w: memory %q; use off or recall", dhruva.ErrInvalid, in.Memory)
	case in.Depth != 0 && in.Depth != 1 && in.Depth != 3:
		return fmt.Errorf("%w: depth %d; use 1 or 3", dhruva.ErrInvalid, in.Depth)
	}
	return dhruva.ValidText("message", in.Message)
}

// provider chooses who answers: the one that the key is bound to, the one asked
// for, else the session's, else the default; likewise the model.
func (m *Memory) provider(ctx context.Context, in SendInput, s dhruva.Session) (Provider, string, error) {
	who, err := dhruva.PrincipalFrom(ctx)
	if err != nil {
		return Provider{}, "", err
	}
	if bound := who.Bound(); bound != "" {
		if in.Provider != "" && in.Provider != bound {
			return Provider{}, "", fmt.Errorf("%w: this key reaches only the provider %s", dhruva.ErrDenied, bound)
		}
		in.Provider = bound
	}
	p, err := m.Providers(or(in.Provider, s.Provider))
	if err != nil {
		return Provider{}, "", err
	}
	model := in.Model
	if model == "" && (in.Provider == "" || in.Provider == s.Provider) {
		model = s.Model
	}
	if model = or(model, p.DefaultModel); model == "" {
		return Provider{}, "", fmt.Errorf("%w: provider %s has no default model; name one", dhruva.ErrInvalid, p.Name)
	}
	return p, model, nil
}

// recallForSend recalls under the session's visible set what is not known anyway:
// what the prompt shows, and what the message or its answer replaces.
func (m *Memory) recallForSend(ctx context.Context, in SendInput, state *ledger.Context, known []dhruva.Turn, out *Preview) error {
	want := in.Memory
	if want == "" {
		want = "recall"
		if state.Mode == dhruva.ModeFresh {
			want = "off"
		}
	}
	out.Recall = dhruva.Recall{Status: dhruva.RecallOff}
	p, err := dhruva.PrincipalFrom(ctx)
	if err != nil || want == "off" {
		return err
	}
	if !p.May(dhruva.MemoryRead) {
		if in.Memory == "recall" {
			return fmt.Errorf("%w: the key lacks %s; send with memory off", dhruva.ErrDenied, dhruva.MemoryRead)
		}
		return nil
	}
	limits := m.Limits.withDefaults()
	allow, err := m.visibleSet(ctx, state)
	if err != nil {
		return err
	}
	ask := recall.Ask{
		Space: state.Session.Space, Text: query(in.Message, limits.QueryBytes), TopK: limits.InjectTopK, Floor: limits.InjectFloor,
		Budget: limits.RecallTokens, Allow: allow, Visible: shownIn(state, known),
	}
	out.Recall = m.bounded(ctx, ask, limits.RecallTime)
	out.Evidence = out.Recall.Evidence
	return nil
}

// visibleSet bounds automatic recall: nothing outside it may change the
// prompt. nil means the whole space.
func (m *Memory) visibleSet(ctx context.Context, state *ledger.Context) (map[dhruva.SourceID]bool, error) {
	if state.Mode == dhruva.ModeHead {
		return nil, nil
	}
	older, err := m.cutFrom(ctx, state)
	if err != nil {
		return nil, err
	}
	shown := state.Checkpoints
	if state.Mode == dhruva.ModeFresh {
		shown = nil
	}
	return m.promptSet(shown, append(older, state.Turns...)), nil
}

// mostOlder bounds how many turns before those shown may be brought back by recall.
const mostOlder = 10_000

// cutFrom reads the turns of a window that its budgets left out: the prompt does
// not show them, and recall may bring them back.
func (m *Memory) cutFrom(ctx context.Context, state *ledger.Context) (out []dhruva.Turn, err error) {
	if state.Cut == 0 {
		return nil, nil
	}
	q := dhruva.TurnQuery{Session: state.Session.ID, After: state.Window.Base, Through: state.Window.Through, Limit: mostOlder, Newest: true}
	if len(state.Turns) > 0 {
		q.Through = state.Turns[0].Seq - 1
	}
	err = m.Ledger.Store.View(ctx, dhruva.SpaceScope(state.Session.Tenant, state.Session.Space), func(tx dhruva.Tx) error {
		all, err := tx.ListTurns(q)
		out = slices.DeleteFunc(all, func(t dhruva.Turn) bool { return !state.Holds(t.Seq) })
		return err
	})
	return out, err
}

// shownIn reports texts that the prompt shows already.
func shownIn(state *ledger.Context, turns []dhruva.Turn) func(string) bool {
	var shown []string
	for _, t := range turns {
		shown = append(shown, dhruva.Normalize(t.Content))
	}
	for _, c := range state.Checkpoints {
		for _, i := range c.Items {
			switch i.Kind {
			case dhruva.KindSummary, dhruva.KindDecision, dhruva.KindAssumption, dhruva.KindTask, dhruva.KindArtifact:
				shown = append(shown, dhruva.Normalize(i.Text))
			}
		}
	}
	return containedIn(shown)
}

// render puts the sections in their order. A prompt that continues nothing is
// the message alone.
func render(message string, state *ledger.Context, ev []dhruva.Evidence, turns []dhruva.Turn, left int) *prompt {
	p := &prompt{}
	p.add("opening", "", opening)
	for n := range state.Checkpoints {
		p.checkpoint(n+1, &state.Checkpoints[n])
	}
	p.evidence(ev)
	p.history(turns, left)
	if len(p.sections) == 1 {
		p.sections = nil
		p.add("query", "", message)
		return p
	}
	p.add("query", "User Query:", message)
	return p
}

func used(state *ledger.Context, turns []dhruva.Turn, left int, ev []dhruva.Evidence, tokens int) dhruva.ContextUsed {
	c := dhruva.ContextUsed{Mode: state.Mode, Base: state.Base, Cut: left, Evidence: sourceIDs(ev), Tokens: tokens,
		Checkpoints: []dhruva.Hash{}, Turns: []int64{}}
	for _, k := range state.Checkpoints {
		c.Checkpoints = append(c.Checkpoints, k.Hash)
	}
	c.Turns = numbers(turns)
	return c
}

func snippets(ev []dhruva.Evidence) (texts []string) {
	for _, e := range ev {
		texts = append(texts, e.Snippet)
	}
	return texts
}
