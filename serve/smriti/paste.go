package smriti

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
)

func pasteRoutes() []route {
	return []route{
		{pattern: "POST /api/v1/sessions", status: http.StatusCreated, do: (*api).paste, again: (*api).pasted, claim: modelTime, text: true},
		{pattern: "GET /api/v1/sessions/{id}", do: (*api).showPasted},
		{pattern: "GET /api/v1/sessions/{id}/artifacts", do: (*api).pastedArtifacts},
		{pattern: "POST /api/v1/sessions/{id}/context-packs", status: http.StatusCreated, do: (*api).packPasted, again: (*api).madePack},
		{pattern: "GET /api/v1/context-packs/{id}", do: (*api).showPack},
	}
}

// The kinds of the documents of the first API. They lie in the home of whoever
// made them.
const (
	kindSession = "smriti_session"
	kindPack    = "smriti_pack"
)

// Pasted is a transcript that was pasted.
type Pasted struct {
	ID         dhruva.DocumentID `json:"id"`
	Title      string            `json:"title"`
	Source     *string           `json:"source_tool"`
	Status     string            `json:"status"`
	Error      *string           `json:"error"` // why it failed
	Transcript string            `json:"raw_transcript"`
	CreatedAt  time.Time         `json:"created_at"`
}

// The states of a pasted transcript. Drawing artifacts from it is part of the
// request that pastes it, so that none is seen processing.
const (
	pasteCompleted = "completed"
	pasteFailed    = "failed"
)

// Artifacts are what was drawn from a transcript.
type Artifacts struct {
	Summary   string     `json:"summary"`
	Decisions []Decision `json:"decisions"`
	Tasks     []Todo     `json:"tasks"`
	Questions []Question `json:"open_questions"`
	Entities  []Entity   `json:"entities"`
	Snippets  []Snippet  `json:"code_snippets"`
}

// Decision is something that was decided.
type Decision struct {
	Description string `json:"description"`
	Context     string `json:"context"`
}

// Todo is a task.
type Todo struct {
	Description string `json:"description"`
	Status      string `json:"status"`
}

// Question is an open question.
type Question struct {
	Question string `json:"question"`
	Context  string `json:"context"`
}

// Entity is something that was named.
type Entity struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Context string `json:"context"`
}

// Snippet is a text that is kept word for word.
type Snippet struct {
	Language    string `json:"language"`
	Code        string `json:"code"`
	Description string `json:"description"`
}

// paper is a pasted transcript as its document holds it.
type paper struct {
	Title      string     `json:"title"`
	Source     string     `json:"source_tool"`
	Error      string     `json:"error,omitempty"`
	Transcript string     `json:"raw_transcript"`
	Objective  string     `json:"objective"`
	Messages   int        `json:"messages"`
	Artifacts  *Artifacts `json:"artifacts"` // nil: it failed
}

func pastedOf(d dhruva.Document, p paper) Pasted {
	out := Pasted{ID: d.ID, Title: p.Title, Source: orNull(p.Source), Status: pasteCompleted, Transcript: p.Transcript, CreatedAt: d.CreatedAt}
	if p.Artifacts == nil {
		out.Status, out.Error = pasteFailed, orNull(p.Error)
	}
	return out
}

// paste keeps a transcript with what a model draws from it. When none can be
// asked, the transcript is kept, and says why it has no artifacts.
func (a *api) paste(c *call) (any, error) {
	in, err := body[struct {
		Transcript string `json:"raw_transcript" need:"" blank:"no"`
		Title      string `json:"title" max:"255"`
		Source     string `json:"source_tool" max:"100"`
		UseMock    bool   `json:"use_mock"`
	}](c)
	if err != nil {
		return nil, err
	}
	messages := ParseTranscript(in.Transcript)
	p := paper{Title: in.Title, Source: in.Source, Transcript: in.Transcript, Messages: len(messages)}
	// The model is asked outside of the call, which only the document belongs to.
	d, err := c.plain.memory.Extract(c.ctx(), memory.ExtractInput{Content: conversation(messages), By: by(in.UseMock)})
	switch {
	case err == nil:
		p.fill(d)
	case errors.Is(err, dhruva.ErrDenied) || errors.Is(err, dhruva.ErrUnauthenticated) || c.ctx().Err() != nil:
		return nil, err
	default:
		_, detail := table(err)
		p.Error, _ = detail.(string)
	}
	p.Title = or(p.Title, firstWords(messages))
	row, err := a.putDocument(c.ctx(), dhruva.Document{Kind: kindSession, Title: cut(p.Title, 255)}, p)
	if err != nil {
		return nil, err
	}
	if err := readDocument(row, &p); err != nil { // as it is kept, without secrets
		return nil, err
	}
	return pastedOf(row, p), nil
}

// conversation is a transcript in one form, whatever it was pasted in.
func conversation(messages []Message) string {
	names := map[string]string{roleHuman: "Human: ", roleAssistant: "Assistant: "}
	return strings.Join(each(messages, func(m Message) string { return names[m.Role] + m.Content }), "\n\n")
}

// firstWords name a transcript that nobody named.
func firstWords(messages []Message) string {
	if len(messages) == 0 {
		return "Pasted transcript"
	}
	return cut(oneLine(messages[0].Content), 60)
}

// cut is the beginning of a text, at most max characters.
func cut(s string, max int) string {
	if r := []rune(s); len(r) > max {
		return strings.TrimSpace(string(r[:max-1])) + "…"
	}
	return s
}

func (p *paper) fill(d memory.Draft) {
	p.Title, p.Objective = or(p.Title, d.Title), d.Objective
	p.Artifacts = &Artifacts{
		Summary:   d.Summary,
		Decisions: each(d.Decisions, func(i memory.DraftItem) Decision { return Decision{Description: i.Text} }),
		Tasks:     each(d.Tasks, func(i memory.DraftItem) Todo { return Todo{i.Text, or(i.Attr(dhruva.AttrStatus), "open")} }),
		Questions: each(d.OpenQuestions, func(i memory.DraftItem) Question { return Question{Question: i.Text} }),
		Entities:  each(d.Entities, func(i memory.DraftItem) Entity { return Entity{Name: i.Text} }),
		Snippets: each(d.Artifacts, func(i memory.DraftItem) Snippet {
			return Snippet{i.Attr(dhruva.AttrType), i.Text, i.Attr(dhruva.AttrLabel)}
		}),
	}
}

func (a *api) pasted(c *call, done ledger.Outcome) (any, error) {
	d, p, err := a.paper(c, done.Last(ledger.MadeDocument))
	return pastedOf(d, p), err
}

// paper is the document of a pasted transcript.
func (a *api) paper(c *call, id string) (d dhruva.Document, p paper, err error) {
	d, err = a.ledger.Document(c.ctx(), dhruva.DocumentID(id))
	if err == nil && d.Kind != kindSession {
		err = notFound("session not found")
	}
	if err != nil {
		return d, p, err
	}
	return d, p, readDocument(d, &p)
}

// paperOfPath is the one that the path names.
func (a *api) paperOfPath(c *call) (d dhruva.Document, p paper, err error) {
	id, err := c.pathID("id")
	if err != nil {
		return d, p, err
	}
	return a.paper(c, id)
}

func (a *api) showPasted(c *call) (any, error) {
	d, p, err := a.paperOfPath(c)
	return pastedOf(d, p), err
}

// drawn are the artifacts of a transcript from which some could be drawn.
func (p paper) drawn() (Artifacts, error) {
	if p.Artifacts == nil {
		return Artifacts{}, conflict("nothing was drawn from this transcript: " + p.Error)
	}
	return *p.Artifacts, nil
}

func (a *api) pastedArtifacts(c *call) (any, error) {
	_, p, err := a.paperOfPath(c)
	if err != nil {
		return nil, err
	}
	return p.drawn()
}

// Pack is what was drawn from a transcript, for another tool.
type Pack struct {
	ID        dhruva.DocumentID `json:"id"`
	SessionID string            `json:"session_id"`
	Target    string            `json:"target_tool"`
	Content   string            `json:"content"`
	Format    string            `json:"format"`
	CreatedAt time.Time         `json:"created_at"`
}

// sheet is a pack as its document holds it.
type sheet struct {
	SessionID string `json:"session_id"`
	Target    string `json:"target_tool"`
	Content   string `json:"content"`
}

func packOf(d dhruva.Document, s sheet) Pack {
	return Pack{d.ID, s.SessionID, s.Target, s.Content, formatMarkdown, d.CreatedAt}
}

// materialOfPaper is what was drawn from a transcript.
func materialOfPaper(p paper, a Artifacts) material {
	m := material{title: p.Title, objective: p.Objective, summary: a.Summary}
	about := func(text, context string) string {
		if context == "" {
			return text
		}
		return text + " (" + context + ")"
	}
	m.decisions = each(a.Decisions, func(d Decision) string { return about(d.Description, d.Context) })
	m.questions = each(a.Questions, func(q Question) string { return about(q.Question, q.Context) })
	m.entities = each(a.Entities, func(e Entity) string { return about(e.Name, e.Type) })
	m.pieces = each(a.Snippets, func(s Snippet) piece { return piece{or(s.Description, "Code"), s.Language, s.Code} })
	for _, t := range a.Tasks {
		if !strings.EqualFold(t.Status, "done") {
			m.tasks = append(m.tasks, t.Description)
		}
	}
	return m
}

func (a *api) packPasted(c *call) (any, error) {
	d, p, err := a.paperOfPath(c)
	if err != nil {
		return nil, err
	}
	in, err := body[struct {
		Target string `json:"target_tool" need:"" one:"generic chatgpt claude cursor"`
	}](c)
	if err != nil {
		return nil, err
	}
	drawn, err := p.drawn()
	if err != nil {
		return nil, err
	}
	s := sheet{string(d.ID), in.Target, pack(in.Target, materialOfPaper(p, drawn))}
	row, err := a.putDocument(c.ctx(), dhruva.Document{Space: d.Space, Kind: kindPack, Title: d.Title}, s)
	return packOf(row, s), err
}

func (a *api) madePack(c *call, done ledger.Outcome) (any, error) {
	return a.pack(c, done.Last(ledger.MadeDocument))
}

func (a *api) showPack(c *call) (any, error) {
	id, err := c.pathID("id")
	if err != nil {
		return nil, err
	}
	return a.pack(c, id)
}

func (a *api) pack(c *call, id string) (any, error) {
	d, err := a.ledger.Document(c.ctx(), dhruva.DocumentID(id))
	if err == nil && d.Kind != kindPack {
		err = notFound("context pack not found")
	}
	if err != nil {
		return nil, err
	}
	var s sheet
	err = readDocument(d, &s)
	return packOf(d, s), err
}
