package smriti

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

func lineageRoutes() []route {
	return []route{
		{pattern: "POST /api/v5/lineage/sessions/fork", status: http.StatusCreated, do: (*api).fork, again: (*api).madeFork},
		{pattern: "GET /api/v5/lineage/spaces/{id}", do: (*api).lineage},
		{pattern: "GET /api/v5/lineage/checkpoints/{a}/compare/{b}", do: (*api).compare},
		{pattern: "GET /api/v5/lineage/sessions/{id}/checkpoints", do: (*api).reachable},
		{pattern: "PATCH /api/v5/lineage/branches/disposition", do: (*api).setDisposition},
		{pattern: "POST /api/v5/checkpoint/{id}/notes", status: http.StatusCreated, do: (*api).addNote, again: (*api).madeNote},
	}
}

// Forked is a new session on a branch of its own.
type Forked struct {
	SessionID  dhruva.SessionID    `json:"session_id"`
	Branch     string              `json:"branch_name"`
	ForkedFrom dhruva.CheckpointID `json:"forked_from_checkpoint_id"`
	Base       int64               `json:"history_base_seq"`
}

func (a *api) fork(c *call) (any, error) {
	in, err := body[struct {
		SpaceID      id     `json:"space_id" need:""`
		CheckpointID id     `json:"checkpoint_id" need:""`
		Branch       string `json:"branch_name"`
		Provider     string `json:"provider"`
		Model        string `json:"model"`
	}](c)
	if err != nil {
		return nil, err
	}
	space, err := a.space(c.ctx(), string(in.SpaceID))
	if err != nil {
		return nil, err
	}
	at, err := a.ledger.Checkpoint(c.ctx(), string(in.CheckpointID))
	if err != nil {
		return nil, err
	}
	if at.Space != space.ID {
		return nil, bad("the checkpoint is not of this space")
	}
	s, err := a.ledger.Fork(c.ctx(), ledger.ForkInput{Checkpoint: at.Hash.String(), Branch: in.Branch, Provider: in.Provider, Model: in.Model})
	return Forked{SessionID: s.ID, Branch: s.Branch, ForkedFrom: at.ID}, err
}

func (a *api) madeFork(c *call, done ledger.Outcome) (any, error) {
	s, err := a.ledger.Session(c.ctx(), dhruva.SessionID(done.Last(ledger.MadeSession)))
	if err != nil {
		return nil, err
	}
	at, err := a.ledger.Checkpoint(c.ctx(), s.ForkedFrom.String())
	return Forked{SessionID: s.ID, Branch: s.Branch, ForkedFrom: at.ID}, err
}

// Lineage is the graph of a space, oldest first.
type Lineage struct {
	SpaceID     dhruva.SpaceID   `json:"space_id"`
	Checkpoints []LineageNode    `json:"checkpoints"`
	Sessions    []LineageSession `json:"sessions"`
}

// LineageNode is a checkpoint of the graph.
type LineageNode struct {
	ID        dhruva.CheckpointID  `json:"id"`
	Hash      string               `json:"commit_hash"`
	Message   string               `json:"message"`
	Branch    string               `json:"branch_name"`
	Parent    *dhruva.CheckpointID `json:"parent_checkpoint_id"`
	CreatedAt time.Time            `json:"created_at"`
	Summary   string               `json:"summary"`
	Objective string               `json:"objective"`
	Author    string               `json:"author_agent"`
	NoteCount int                  `json:"note_count"`
	NoteKinds []dhruva.NoteKind    `json:"note_kinds"`
}

// LineageSession is a session of the graph.
type LineageSession struct {
	ID          dhruva.SessionID     `json:"id"`
	Title       string               `json:"title"`
	Branch      string               `json:"branch_name"`
	ForkedFrom  *dhruva.CheckpointID `json:"forked_from_checkpoint_id"`
	Seeded      *dhruva.CheckpointID `json:"seeded_commit_id"`
	Disposition string               `json:"branch_disposition"`
	CreatedAt   time.Time            `json:"created_at"`
}

func (a *api) lineage(c *call) (any, error) {
	space, err := a.spaceOfPath(c)
	if err != nil {
		return nil, err
	}
	var branches []ledger.BranchLine
	rows, err := every(func(p dhruva.Page) ([]ledger.LineageNode, string, error) {
		l, err := a.ledger.Lineage(c.ctx(), space.ID, ledger.LineageQuery{Page: p})
		branches = l.Branches
		return l.Nodes, l.Next, err
	})
	if err != nil {
		return nil, err
	}
	g := graph{api: a, ids: a.checkpointIDs(), dispositions: map[string]string{}}
	for _, b := range branches {
		g.dispositions[b.Name] = b.Disposition
	}
	if err := g.readTexts(c.ctx(), space.ID); err != nil {
		return nil, err
	}
	out := Lineage{SpaceID: space.ID}
	slices.Reverse(rows)
	for _, n := range rows {
		g.ids.known[n.Hash] = orNull(n.ID)
	}
	if out.Checkpoints, err = g.nodes(c.ctx(), rows); err != nil {
		return nil, err
	}
	out.Sessions, err = g.sessions(c.ctx(), space.ID)
	return out, err
}

// graph is what is known while a lineage is put together.
type graph struct {
	*api
	ids          *checkpointIDs
	dispositions map[string]string
	texts        map[dhruva.Hash][2]string // summary and objective
}

// readTexts reads what the nodes of a lineage do not have.
func (g *graph) readTexts(ctx context.Context, space dhruva.SpaceID) error {
	g.texts = map[dhruva.Hash][2]string{}
	_, err := every(func(p dhruva.Page) ([]struct{}, string, error) {
		rows, next, err := g.ledger.ListCheckpoints(ctx, dhruva.CheckpointQuery{Space: space, Page: p})
		for _, r := range rows {
			g.texts[r.Hash] = [2]string{r.Text(dhruva.KindSummary), r.Text(dhruva.KindObjective)}
		}
		return nil, next, err
	})
	return err
}

func (g *graph) nodes(ctx context.Context, rows []ledger.LineageNode) ([]LineageNode, error) {
	out := []LineageNode{}
	for _, n := range rows {
		parent, err := g.ids.of(ctx, n.Parent())
		if err != nil {
			return nil, err
		}
		v := nodeOf(n.Outline, parent, g.texts[n.Hash])
		v.NoteCount = n.Remarks.Total()
		for _, k := range []dhruva.NoteKind{dhruva.NotePlain, dhruva.NoteMilestone, dhruva.NoteNoise} {
			if n.Remarks[k] > 0 {
				v.NoteKinds = append(v.NoteKinds, k)
			}
		}
		out = append(out, v)
	}
	return out, nil
}

func nodeOf(o dhruva.Outline, parent *dhruva.CheckpointID, texts [2]string) LineageNode {
	return LineageNode{
		ID: o.ID, Hash: o.Hash.String(), Message: o.Title, Branch: o.Branch, Parent: parent, CreatedAt: o.CreatedAt,
		Summary: texts[0], Objective: texts[1], Author: o.Author, NoteKinds: []dhruva.NoteKind{},
	}
}

func (g *graph) sessions(ctx context.Context, space dhruva.SpaceID) ([]LineageSession, error) {
	rows, err := every(func(p dhruva.Page) ([]dhruva.Session, string, error) {
		return g.ledger.ListSessions(ctx, dhruva.SessionQuery{Space: space, Kind: dhruva.SessionChat, Page: p})
	})
	slices.SortStableFunc(rows, func(x, y dhruva.Session) int { return x.CreatedAt.Compare(y.CreatedAt) })
	out := []LineageSession{}
	for _, s := range rows {
		v, err := g.ids.session(ctx, s)
		if err != nil {
			return nil, err
		}
		out = append(out, LineageSession{
			ID: s.ID, Title: s.Title, Branch: s.Branch, ForkedFrom: v.ForkedFrom, Seeded: v.Seeded,
			Disposition: or(g.dispositions[s.Branch], "active"), CreatedAt: s.CreatedAt,
		})
	}
	return out, err
}

// reachable is what a session can go back to, newest first.
func (a *api) reachable(c *call) (any, error) {
	s, err := a.sessionOfPath(c)
	if err != nil {
		return nil, err
	}
	rows, err := every(func(p dhruva.Page) ([]dhruva.Outline, string, error) { return a.ledger.Reachable(c.ctx(), s.ID, p) })
	if err != nil {
		return nil, err
	}
	out := []Commit{}
	if len(rows) == 0 {
		return out, nil
	}
	show, err := a.commits(c.ctx(), s.Space)
	if err != nil {
		return nil, err
	}
	for _, o := range rows {
		show.ids.known[o.Hash] = orNull(o.ID)
	}
	for _, o := range rows {
		at, err := a.ledger.Checkpoint(c.ctx(), o.Hash.String())
		if errors.Is(err, dhruva.ErrNotFound) { // deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		v, err := show.of(c.ctx(), at)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// Disposition is what became of a branch.
type Disposition struct {
	SpaceID     dhruva.SpaceID `json:"space_id"`
	Branch      string         `json:"branch_name"`
	Disposition string         `json:"disposition"`
	Sessions    int            `json:"sessions_updated"`
}

func (a *api) setDisposition(c *call) (any, error) {
	in, err := body[struct {
		SpaceID     id     `json:"space_id" need:""`
		Branch      string `json:"branch_name" need:""`
		Disposition string `json:"disposition" need:""`
	}](c)
	if err != nil {
		return nil, err
	}
	space, err := a.space(c.ctx(), string(in.SpaceID))
	if err != nil {
		return nil, err
	}
	b, err := a.ledger.SetDisposition(c.ctx(), space.ID, in.Branch, in.Disposition)
	if err != nil {
		return nil, err
	}
	out := Disposition{SpaceID: space.ID, Branch: b.Name, Disposition: b.Disposition}
	l, err := a.ledger.Lineage(ledger.AsMaker(c.ctx()), space.ID, ledger.LineageQuery{Page: dhruva.Page{Limit: 1}})
	for _, line := range l.Branches {
		if line.Name == b.Name {
			out.Sessions = line.Sessions
		}
	}
	return out, err
}

// Remark is a note with what it is about.
type Remark struct {
	Note
	CheckpointID dhruva.CheckpointID `json:"checkpoint_id"`
}

// defaultAuthor is who writes a note that names nobody.
const defaultAuthor = "founder"

func (a *api) addNote(c *call) (any, error) {
	at, err := a.checkpointOfPath(c)
	if err != nil {
		return nil, err
	}
	in, err := body[struct {
		Text   string `json:"text" need:"" blank:"no" max:"2000"`
		Author string `json:"author"`
		Kind   string `json:"kind"`
	}](c)
	if err != nil {
		return nil, err
	}
	n, err := a.ledger.AddRemark(c.ctx(), ledger.RemarkInput{
		Checkpoint: at.Hash.String(), Text: in.Text, Author: or(in.Author, defaultAuthor), Kind: dhruva.NoteKind(in.Kind),
	})
	return Remark{noteOf(n), at.ID}, err
}

func (a *api) madeNote(c *call, done ledger.Outcome) (any, error) {
	at, err := a.checkpointOfPath(c)
	if err != nil {
		return nil, err
	}
	rows, err := every(func(p dhruva.Page) ([]dhruva.Note, string, error) {
		return a.ledger.Remarks(c.ctx(), at.Hash.String(), p)
	})
	for _, n := range rows {
		if string(n.ID) == done.Last(ledger.MadeRemark) {
			return Remark{noteOf(n), at.ID}, nil
		}
	}
	return nil, errors.Join(err, notFound("the note is not there any more"))
}
