package smriti

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/memory"
)

func memoryRoutes() []route {
	return []route{
		{pattern: "POST /api/v2/memory/extract", status: http.StatusCreated, do: (*api).extractMemories, text: true, codes: codes{dhruva.ErrInvalid: http.StatusUnprocessableEntity}},
		{pattern: "GET /api/v2/memory", do: (*api).listMemories},
		{pattern: "PUT /api/v2/memory/{id}", do: (*api).changeMemory},
		{pattern: "DELETE /api/v2/memory/{id}", status: http.StatusNoContent, do: (*api).deleteMemory},
		{pattern: "POST /api/v2/context/build", do: (*api).packMemories},
	}
}

// kindMemory is the document that holds a memory. It lies in the home of whoever
// made it.
const kindMemory = "smriti_memory"

// The types of memories.
const (
	memoryEpisodic   = "episodic"
	memorySemantic   = "semantic"
	memoryTask       = "task"
	memoryPreference = "preference"
	memoryDecision   = "decision"
)

func memoryTypes() []string {
	return []string{memoryEpisodic, memorySemantic, memoryTask, memoryPreference, memoryDecision}
}

// Memory is one thing of the old API that is to be kept in mind. No embedding is
// made of it: it is found by its type.
type Memory struct {
	ID         dhruva.DocumentID `json:"id"`
	Type       string            `json:"type"`
	Content    string            `json:"content"`
	Confidence float64           `json:"confidence"`
	Importance float64           `json:"importance"`
	Embedding  []float64         `json:"embedding"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
}

// thought is a memory as its document holds it.
type thought struct {
	Type       string  `json:"type"`
	Content    string  `json:"content"`
	Confidence float64 `json:"confidence"`
	Importance float64 `json:"importance"`
}

func memoryOf(d dhruva.Document) (Memory, error) {
	var t thought
	err := readDocument(d, &t)
	return Memory{ID: d.ID, Type: t.Type, Content: t.Content, Confidence: t.Confidence, Importance: t.Importance, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt}, err
}

// middling is how sure of a memory, and how important, one is that nobody judged.
const middling = 0.5

func thoughts(d memory.Draft) (out []thought) {
	add := func(kind, content string) {
		if content != "" {
			out = append(out, thought{kind, content, middling, middling})
		}
	}
	add(memoryEpisodic, d.Summary)
	for _, l := range []struct {
		kind  string
		items []memory.DraftItem
	}{{memoryDecision, d.Decisions}, {memoryTask, d.Tasks}, {memorySemantic, d.Assumptions}, {memorySemantic, d.Entities}} {
		for _, i := range l.items {
			add(l.kind, i.Text)
		}
	}
	return out
}

func (a *api) extractMemories(c *call) (any, error) {
	in, err := body[struct {
		Content    string `json:"content" max:"200000"`
		Text       string `json:"text" max:"200000"`
		Transcript string `json:"raw_transcript" max:"200000"`
		UseMock    bool   `json:"use_mock"`
	}](c)
	if err != nil {
		return nil, err
	}
	text := or(in.Content, in.Text, in.Transcript)
	if strings.TrimSpace(text) == "" {
		return nil, faulty(fault{[]any{"body", "content"}, "Field required", "missing"})
	}
	d, err := a.memory.Extract(c.ctx(), memory.ExtractInput{Content: text, By: by(in.UseMock)})
	if err != nil {
		return nil, err
	}
	out := []Memory{}
	for _, t := range thoughts(d) {
		row, err := a.putDocument(c.ctx(), dhruva.Document{Kind: kindMemory}, t)
		if err != nil {
			return nil, err
		}
		m, err := memoryOf(row)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func (a *api) listMemories(c *call) (any, error) {
	kind, limit, err := c.memoryQuery()
	if err != nil {
		return nil, err
	}
	rows, err := every(func(p dhruva.Page) ([]dhruva.Document, string, error) {
		return a.ledger.ListDocuments(c.ctx(), dhruva.DocumentQuery{Kind: kindMemory, Page: p})
	})
	if err != nil {
		return nil, err
	}
	out := []Memory{}
	for _, d := range rows {
		m, err := memoryOf(d)
		if err != nil {
			return nil, err
		}
		if len(out) < limit && (kind == "" || m.Type == kind) {
			out = append(out, m)
		}
	}
	return out, nil
}

// mostMemories bounds a list; so many are listed when nobody says.
const mostMemories, someMemories = 1000, 100

func (c *call) memoryQuery() (kind string, limit int, err error) {
	q := c.query()
	kind, limit = q.Get("type"), someMemories
	if kind != "" && !slices.Contains(memoryTypes(), kind) {
		return "", 0, faulty(*judgeWord([]any{"query", "type"}, memoryTypes(), kind))
	}
	if s := q.Get("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 || limit > mostMemories {
			return "", 0, faulty(fault{[]any{"query", "limit"}, "Input should be an integer from 1 to " + strconv.Itoa(mostMemories), "int_parsing"})
		}
	}
	return kind, limit, nil
}

// memoryByID is a memory's document.
func (a *api) memoryByID(c *call, id string) (d dhruva.Document, err error) {
	d, err = a.ledger.Document(c.ctx(), dhruva.DocumentID(id))
	if err == nil && d.Kind != kindMemory {
		err = notFound("memory not found")
	}
	return d, err
}

func (a *api) memoryOfPath(c *call) (d dhruva.Document, err error) {
	id, err := c.pathID("id")
	if err != nil {
		return d, err
	}
	return a.memoryByID(c, id)
}

func (a *api) changeMemory(c *call) (any, error) {
	d, err := a.memoryOfPath(c)
	if err != nil {
		return nil, err
	}
	in, err := body[struct {
		Type       string  `json:"type" one:"episodic semantic task preference decision"`
		Content    *string `json:"content" blank:"no" max:"200000"`
		Confidence *number `json:"confidence"`
		Importance *number `json:"importance"`
	}](c)
	if err != nil {
		return nil, err
	}
	var t thought
	if err := readDocument(d, &t); err != nil {
		return nil, err
	}
	t.Type = or(in.Type, t.Type)
	if in.Content != nil {
		t.Content = *in.Content
	}
	for _, f := range []struct {
		name string
		in   *number
		out  *float64
	}{{"confidence", in.Confidence, &t.Confidence}, {"importance", in.Importance, &t.Importance}} {
		if f.in == nil {
			continue
		}
		if *f.in < 0 || *f.in > 1 {
			return nil, faulty(fault{[]any{"body", f.name}, "Input should be from 0 to 1", "less_than_equal"})
		}
		*f.out = float64(*f.in)
	}
	row, err := a.putDocument(c.ctx(), d, t)
	if err != nil {
		return nil, err
	}
	return memoryOf(row)
}

func (a *api) deleteMemory(c *call) (any, error) {
	d, err := a.memoryOfPath(c)
	if err != nil {
		return nil, err
	}
	return nil, a.ledger.DropDocument(c.ctx(), d.ID)
}

func (a *api) packMemories(c *call) (any, error) {
	in, err := body[struct {
		Target string `json:"target_tool" need:"" one:"generic chatgpt claude cursor"`
		IDs    []id   `json:"memory_ids" need:""`
	}](c)
	if err != nil {
		return nil, err
	}
	m := material{}
	for _, i := range in.IDs {
		d, err := a.memoryByID(c, string(i))
		if err != nil {
			return nil, err
		}
		one, err := memoryOf(d)
		if err != nil {
			return nil, err
		}
		m.remember(one)
	}
	return CommitPack{pack(in.Target, m), in.Target, formatMarkdown}, nil
}

// remember puts a memory where a pack shows its type.
func (m *material) remember(one Memory) {
	switch one.Type {
	case memoryDecision:
		m.decisions = append(m.decisions, one.Content)
	case memoryTask:
		m.tasks = append(m.tasks, one.Content)
	case memoryEpisodic:
		m.summary = strings.TrimSpace(m.summary + "\n\n" + one.Content)
	case memoryPreference:
		m.assumptions = append(m.assumptions, one.Content)
	default:
		m.entities = append(m.entities, one.Content)
	}
}
