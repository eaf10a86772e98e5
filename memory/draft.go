package memory

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/llm"
)

// Draft is a proposal for a checkpoint: of a conversation, of a text, or of a
// Markdown document. It is saved nowhere; who saves it has looked at it.
type Draft struct {
	Title, Objective, Summary                                         string
	Decisions, Assumptions, Tasks, OpenQuestions, Entities, Artifacts []DraftItem

	// Window is the chat window that it was drawn from, and Turns are the numbers
	// of the turns that the model was given; both are empty for a text.
	Window dhruva.Window
	Turns  []int64
	// Cut is how many turns of the window were left out; LeftOut says in words
	// what is not there although one may expect it.
	Cut     int
	LeftOut string
	// Redactions counts the secrets that were replaced in a text before a model
	// was given it.
	Redactions int
	// Provider, Model and Receipt are empty when no model was asked.
	Provider, Model string
	Receipt         dhruva.ReceiptID
}

// DraftItem is one thing that a draft proposes.
type DraftItem struct {
	Text string
	// Attrs are sorted by name: of a task id, intent_hint and blocked_by, of an
	// artifact id, type and label.
	Attrs []dhruva.Attr
	// Cites are the turns that say it, as the model named them and as far as they
	// are among those it was given. Uncited: there are none.
	Cites   []dhruva.Cite
	Uncited bool
}

// Attr returns the value of an attribute, "" when absent.
func (i DraftItem) Attr(name string) string { return dhruva.Item{Attrs: i.Attrs}.Attr(name) }

// DraftInput asks for a draft of a session.
type DraftInput struct {
	Session dhruva.SessionID
	// Turns narrows the window to its latest; 0 means all of it.
	Turns int
	// Depth and Pair are as in SendInput, so that the window is the chat's.
	Depth int
	Pair  *ledger.Pair
	By
}

// Draft asks the model for background work what a session's chat window
// concludes. It sees the turns of that window and nothing else, and keeps
// nothing. An empty window makes an empty draft and no call. An answer that
// cannot be read is an llm.Error with the code not_json. Needs state:write.
func (m *Memory) Draft(ctx context.Context, in DraftInput) (Draft, error) {
	if err := mayAsk(ctx); err != nil {
		return Draft{}, err
	}
	if in.Turns < 0 {
		return Draft{}, fmt.Errorf("%w: %d turns", dhruva.ErrInvalid, in.Turns)
	}
	state, err := m.window(ctx, in.Session, ledger.ContextRequest{Depth: in.Depth, Mount: in.Pair}, in.Turns)
	if err != nil {
		return Draft{}, err
	}
	out := Draft{Window: state.Window, Turns: numbers(state.Turns), Cut: state.Cut, LeftOut: state.LeftOut}
	switch {
	case state.Cut > 0 && len(state.Turns) == 0:
		return Draft{}, fmt.Errorf("%w: the latest turn alone is longer than the budget of a conversation", dhruva.ErrTooLarge)
	case len(state.Turns) == 0:
		return out, nil
	}
	p, err := m.by(ctx, in.By)
	if err != nil {
		return Draft{}, err
	}
	r := m.receipt(ctx, "draft", "api", state.Session.Space)
	r.Session, r.Generation = state.Session.ID, state.Began.Generation
	used := used(&state, state.Turns, state.Cut, nil, dhruva.Estimate(transcript(state.Turns, state.Cut)))
	used.Checkpoints = []dhruva.Hash{} // it sees none
	r.Context = &used
	return m.drafted(ctx, p, r, out, draftRequest(state.Turns, state.Cut), false)
}

// drafted asks and fills a draft.
func (m *Memory) drafted(ctx context.Context, p Provider, r dhruva.Receipt, out Draft, req llm.Request, artifacts bool) (Draft, error) {
	id, err := m.ask(ctx, p, r, req, func(res llm.Response) error {
		a, err := readAnswer(p.Name, res, draftFields()...)
		if err == nil {
			out.fill(a, artifacts)
		}
		return err
	})
	if err != nil {
		return Draft{}, err
	}
	out.Receipt, out.Provider, out.Model = id, p.Name, p.DefaultModel
	return out, nil
}

// The fields of a draft as a model gives them.
func draftFields() []string {
	return []string{"title", "objective", "summary", "decisions", "assumptions", "tasks", "open_questions", "entities"}
}

func (d *Draft) fill(a answer, artifacts bool) {
	d.Title, d.Objective, d.Summary = oneLine(a.text("title"), 200), a.text("objective"), a.text("summary")
	d.Decisions = a.items("decisions", d.Turns, nil)
	d.Assumptions = a.items("assumptions", d.Turns, nil)
	d.Tasks = a.items("tasks", d.Turns, taskAttrs)
	d.OpenQuestions = a.items("open_questions", d.Turns, nil)
	d.Entities = a.items("entities", d.Turns, nil)
	if artifacts {
		d.Artifacts = a.artifacts()
	}
	d.bound()
}

// lists are the lists of a draft, in the order of a checkpoint.
func (d *Draft) lists() []*[]DraftItem {
	return []*[]DraftItem{&d.Decisions, &d.Assumptions, &d.Tasks, &d.OpenQuestions, &d.Entities, &d.Artifacts}
}

// draftItems is the most that a draft proposes: a checkpoint holds no more.
const draftItems = 197

// bound leaves out what a checkpoint has no room for, and says so.
func (d *Draft) bound() {
	room, over := draftItems, 0
	for _, list := range d.lists() {
		if n := len(*list); n > room {
			over += n - room
			*list = (*list)[:room]
		}
		room -= len(*list)
	}
	if over > 0 {
		d.note("%d further items are left out: a checkpoint holds at most %d", over, draftItems)
	}
}

func (d *Draft) note(format string, args ...any) {
	if d.LeftOut != "" {
		d.LeftOut += "; "
	}
	d.LeftOut += fmt.Sprintf(format, args...)
}

// Commit is the draft as a checkpoint to be saved; session and space are the
// caller's to say.
func (d Draft) Commit() ledger.CommitInput {
	in := ledger.CommitInput{Session: d.Window.Session, Title: d.Title, Objective: d.Objective, Summary: d.Summary}
	to := []*[]ledger.ItemInput{&in.Decisions, &in.Assumptions, &in.Tasks, &in.OpenQuestions, &in.Entities, &in.Artifacts}
	for n, list := range d.lists() {
		for _, i := range *list {
			*to[n] = append(*to[n], ledger.ItemInput{Text: i.Text, Attrs: i.Attrs, Cites: i.Cites})
		}
	}
	return in
}

// ExtractInput is a text that a checkpoint is to be drawn from.
type ExtractInput struct {
	Content string
	By
}

// extractRunes is the most characters of a text.
const extractRunes = 200_000

// Extract asks the model for background work what a text concludes: a transcript,
// notes, a document. It keeps nothing but a receipt; secrets in the text are
// replaced before the model is given it. Needs state:write.
func (m *Memory) Extract(ctx context.Context, in ExtractInput) (Draft, error) {
	if err := mayAsk(ctx); err != nil {
		return Draft{}, err
	}
	if strings.TrimSpace(in.Content) == "" {
		return Draft{}, fmt.Errorf("%w: content is empty", dhruva.ErrInvalid)
	}
	if n := utf8.RuneCountInString(in.Content); n > extractRunes {
		return Draft{}, fmt.Errorf("%w: content has %d characters, the limit is %d", dhruva.ErrInvalid, n, extractRunes)
	}
	if err := dhruva.ValidText("content", in.Content); err != nil {
		return Draft{}, err
	}
	p, err := m.by(ctx, in.By)
	if err != nil {
		return Draft{}, err
	}
	text, secrets := m.Ledger.Redact(in.Content)
	return m.drafted(ctx, p, m.receipt(ctx, "extract", "api", ""), Draft{Redactions: secrets}, extractRequest(text), true)
}
