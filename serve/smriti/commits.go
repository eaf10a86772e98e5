package smriti

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/ledger"
)

func commitRoutes() []route {
	return []route{
		{pattern: "GET /api/v2/repos/{id}/commits", do: (*api).listCommits},
		{pattern: "GET /api/v2/repos/{id}/commits/latest", do: (*api).latestCommit},
		{pattern: "POST /api/v2/commits", status: http.StatusCreated, do: (*api).createCommit, again: (*api).madeCommit},
		{pattern: "POST /api/v4/chat/commit", status: http.StatusCreated, do: (*api).saveSession, again: (*api).madeCommit},
		{pattern: "GET /api/v2/commits/{id}", do: (*api).showCommit},
		{pattern: "DELETE /api/v2/commits/{id}", status: http.StatusNoContent, do: (*api).deleteCommit},
	}
}

// Commit is a checkpoint with all that is known of it.
type Commit struct {
	agents.Commit
	AuthorType  string         `json:"author_type"`
	ProjectRoot *string        `json:"project_root"`
	ContextBlob any            `json:"context_blob"`
	RawSource   *string        `json:"raw_source_text"`
	Metadata    map[string]any `json:"metadata"`
}

// Note is a remark on a checkpoint.
type Note struct {
	ID        dhruva.NoteID   `json:"id"`
	Author    string          `json:"author"`
	Text      string          `json:"text"`
	Kind      dhruva.NoteKind `json:"kind"`
	CreatedAt time.Time       `json:"created_at"`
}

func noteOf(n dhruva.Note) Note { return Note{n.ID, n.Author, n.Text, n.Kind, n.CreatedAt} }

// authorModel is the type of an author of whom nothing else was said.
const authorModel = "llm"

// extras are what a commit says beyond its checkpoint.
type extras struct {
	Hash        string         `json:"hash"`
	AuthorType  string         `json:"author_type,omitempty"`
	ProjectRoot string         `json:"project_root,omitempty"`
	ContextBlob any            `json:"context_blob,omitempty"`
	RawSource   string         `json:"raw_source_text,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

func (e extras) empty() bool {
	return e.AuthorType == "" && e.ProjectRoot == "" && e.ContextBlob == nil && e.RawSource == "" && len(e.Metadata) == 0
}

// kindCommit is the document that holds extras.
const kindCommit = "smriti_commit"

// keepExtras keeps what a commit says beyond its checkpoint, once. The first
// project root that is named becomes that of the space.
func (a *api) keepExtras(ctx context.Context, c dhruva.Checkpoint, e extras) error {
	s, err := a.ledger.Space(ctx, string(c.Space))
	if err != nil {
		return err
	}
	if e.ProjectRoot != "" && s.ProjectRoot == "" {
		if s, err = a.ledger.UpdateSpace(ctx, s.ID, ledger.SpacePatch{ProjectRoot: &e.ProjectRoot}); err != nil {
			return err
		}
	}
	if e.ProjectRoot == s.ProjectRoot {
		e.ProjectRoot = ""
	}
	if e.AuthorType == authorModel {
		e.AuthorType = ""
	}
	if e.empty() {
		return nil
	}
	known, err := a.extrasOf(ctx, c.Space)
	if _, kept := known[c.Hash.String()]; err != nil || kept {
		return err
	}
	e.Hash = c.Hash.String()
	_, err = a.putDocument(ctx, dhruva.Document{Space: c.Space, Kind: kindCommit, Title: e.Hash}, e)
	return err
}

// extrasOf are those of a space, by the hash of the checkpoint.
func (a *api) extrasOf(ctx context.Context, space dhruva.SpaceID) (map[string]extras, error) {
	rows, err := every(func(p dhruva.Page) ([]dhruva.Document, string, error) {
		return a.ledger.ListDocuments(ctx, dhruva.DocumentQuery{Space: space, Kind: kindCommit, Page: p})
	})
	out := map[string]extras{}
	for _, d := range rows {
		var e extras
		if err := readDocument(d, &e); err != nil {
			return nil, err
		}
		out[e.Hash] = e
	}
	return out, err
}

// commits shows checkpoints of a space.
type commits struct {
	*api
	ids    *checkpointIDs
	extras map[string]extras
	root   string
}

func (a *api) commits(ctx context.Context, space dhruva.SpaceID) (*commits, error) {
	s, err := a.ledger.Space(ctx, string(space))
	if err != nil {
		return nil, err
	}
	e, err := a.extrasOf(ctx, space)
	return &commits{a, a.checkpointIDs(), e, s.ProjectRoot}, err
}

func (s *commits) of(ctx context.Context, c dhruva.Checkpoint) (Commit, error) {
	e := s.extras[c.Hash.String()]
	out := Commit{
		Commit: agents.CommitOf(c, nil, ""), AuthorType: or(e.AuthorType, authorModel), ProjectRoot: orNull(or(e.ProjectRoot, s.root)),
		ContextBlob: e.ContextBlob, RawSource: orNull(e.RawSource), Metadata: map[string]any{},
	}
	parent, err := s.ids.of(ctx, c.Parent())
	if err != nil {
		return out, err
	}
	if parent != nil {
		out.ParentID = orNull(string(*parent))
	}
	for k, v := range e.Metadata {
		out.Metadata[k] = v
	}
	out.Metadata["session_id"] = out.Commit.Metadata.SessionID
	if out.Commit.Metadata.SessionID != nil {
		out.Metadata["base_seq"], out.Metadata["through_seq"] = c.Window.Base, c.Window.Through
	}
	out.Metadata["notes"], err = s.notes(ctx, c.Hash)
	return out, err
}

// notes are the remarks on a checkpoint, oldest first.
func (s *commits) notes(ctx context.Context, h dhruva.Hash) ([]Note, error) {
	rows, err := every(func(p dhruva.Page) ([]dhruva.Note, string, error) { return s.ledger.Remarks(ctx, h.String(), p) })
	return each(rows, noteOf), err
}

// commit answers with one checkpoint.
func (a *api) commit(ctx context.Context, c dhruva.Checkpoint) (Commit, error) {
	s, err := a.commits(ctx, c.Space)
	if err != nil {
		return Commit{}, err
	}
	return s.of(ctx, c)
}

func (a *api) listCommits(c *call) (any, error) {
	space, err := a.spaceOfPath(c)
	if err != nil {
		return nil, err
	}
	rows, err := every(func(p dhruva.Page) ([]dhruva.Checkpoint, string, error) {
		return a.ledger.ListCheckpoints(c.ctx(), dhruva.CheckpointQuery{Space: space.ID, Branch: c.query().Get("branch"), Page: p})
	})
	if err != nil {
		return nil, err
	}
	s, err := a.commits(c.ctx(), space.ID)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		s.ids.known[r.Hash] = orNull(r.ID)
	}
	out := []Commit{}
	for _, r := range rows {
		v, err := s.of(c.ctx(), r)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (a *api) latestCommit(c *call) (any, error) {
	space, err := a.spaceOfPath(c)
	if err != nil {
		return nil, err
	}
	at, err := a.head(c.ctx(), space.ID, or(c.query().Get("branch"), dhruva.MainBranch))
	if err != nil {
		return nil, err
	}
	if at == nil {
		return nil, notFound("the branch has no commits")
	}
	return a.commit(c.ctx(), *at)
}

// checkpointOfPath is the checkpoint that the path names.
func (a *api) checkpointOfPath(c *call) (dhruva.Checkpoint, error) {
	id, err := c.pathID("id")
	if err != nil {
		return dhruva.Checkpoint{}, err
	}
	return a.ledger.Checkpoint(c.ctx(), id)
}

func (a *api) showCommit(c *call) (any, error) {
	at, err := a.checkpointOfPath(c)
	if err != nil {
		return nil, err
	}
	return a.commit(c.ctx(), at)
}

// content is what a checkpoint says, in both routes that save one.
type content struct {
	summary, objective                          string
	decisions, assumptions, questions, entities texts
	tasks                                       tasks
	artifacts                                   artifacts
}

func (in content) commit() ledger.CommitInput {
	return ledger.CommitInput{
		Summary: in.summary, Objective: in.objective, Decisions: in.decisions.items(), Assumptions: in.assumptions.items(),
		Tasks: in.tasks.items(), OpenQuestions: in.questions.items(), Entities: in.entities.items(), Artifacts: in.artifacts.items(),
	}
}

type commitInput struct {
	RepoID        id             `json:"repo_id" need:""`
	Parent        id             `json:"parent_commit_id"`
	Branch        string         `json:"branch_name"`
	Author        string         `json:"author_agent"`
	AuthorType    string         `json:"author_type"`
	ProjectRoot   string         `json:"project_root"`
	Message       string         `json:"message" need:"" blank:"no"`
	Summary       string         `json:"summary"`
	Objective     string         `json:"objective"`
	Decisions     texts          `json:"decisions"`
	Assumptions   texts          `json:"assumptions"`
	Tasks         tasks          `json:"tasks"`
	OpenQuestions texts          `json:"open_questions"`
	Entities      texts          `json:"entities"`
	Artifacts     artifacts      `json:"artifacts"`
	ContextBlob   any            `json:"context_blob"`
	RawSource     string         `json:"raw_source_text"`
	Metadata      map[string]any `json:"metadata"`
}

func (in commitInput) extras() extras {
	return extras{AuthorType: in.AuthorType, ProjectRoot: in.ProjectRoot, ContextBlob: in.ContextBlob, RawSource: in.RawSource, Metadata: in.Metadata}
}

// byModel reports whether a model saves on its own: whoever names an agent as the
// author is one, unless its type says otherwise.
func byModel(agent, kind string) bool {
	return kind == authorModel || kind == "agent" || kind == "" && agent != ""
}

func (a *api) createCommit(c *call) (any, error) {
	in, err := body[commitInput](c)
	if err != nil {
		return nil, err
	}
	space, err := a.space(c.ctx(), string(in.RepoID))
	if err != nil {
		return nil, err
	}
	save := content{in.Summary, in.Objective, in.Decisions, in.Assumptions, in.OpenQuestions, in.Entities, in.Tasks, in.Artifacts}.commit()
	save.Space, save.Branch, save.Title, save.Author = space.ID, in.Branch, in.Message, in.Author
	save.ByModel = byModel(in.Author, in.AuthorType)
	if in.Parent != "" {
		parent, err := a.ledger.Checkpoint(c.ctx(), string(in.Parent))
		if errors.Is(err, dhruva.ErrNotFound) || err == nil && parent.Space != space.ID {
			return nil, bad("parent_commit_id names no commit of this space")
		}
		if err != nil {
			return nil, err
		}
		save.Parents = []string{parent.Hash.String()}
	}
	return a.saved(c, save, in.extras())
}

// saved saves a checkpoint, and keeps what else was said with it.
func (a *api) saved(c *call, in ledger.CommitInput, e extras) (any, error) {
	at, err := a.ledger.Commit(c.ctx(), in)
	if err != nil {
		return nil, err
	}
	if err := c.plain.keepExtras(ledger.AsMaker(c.ctx()), at, e); err != nil {
		return nil, fmt.Errorf("smriti: commit %s was saved; what it says beyond its state was not: %w", at.Hash.Short(), err)
	}
	return c.plain.commit(ledger.AsMaker(c.ctx()), at)
}

// madeCommit: a first call that ended before its extras were kept is mended.
func (a *api) madeCommit(c *call, done ledger.Outcome) (any, error) {
	at, err := a.ledger.Checkpoint(c.ctx(), done.Last(ledger.MadeCheckpoint))
	if err != nil {
		return nil, err
	}
	in, err := body[commitInput](c) // what both ways of saving take
	if err != nil {
		return nil, err
	}
	if err := a.keepExtras(c.ctx(), at, in.extras()); err != nil {
		return nil, err
	}
	return a.commit(c.ctx(), at)
}

type saveInput struct {
	RepoID        id        `json:"repo_id" need:""`
	SessionID     id        `json:"session_id" need:""`
	Message       string    `json:"message" need:"" blank:"no"`
	Summary       string    `json:"summary"`
	Objective     string    `json:"objective"`
	Decisions     texts     `json:"decisions"`
	Assumptions   texts     `json:"assumptions"`
	Tasks         tasks     `json:"tasks"`
	OpenQuestions texts     `json:"open_questions"`
	Entities      texts     `json:"entities"`
	Artifacts     artifacts `json:"artifacts"`
	Author        string    `json:"author_agent"`
	ProjectRoot   string    `json:"project_root"`
}

// saveSession saves a checkpoint of a session.
func (a *api) saveSession(c *call) (any, error) {
	in, err := body[saveInput](c)
	if err != nil {
		return nil, err
	}
	space, err := a.space(c.ctx(), string(in.RepoID))
	if err != nil {
		return nil, err
	}
	s, err := a.ledger.Session(c.ctx(), dhruva.SessionID(in.SessionID))
	if err != nil {
		return nil, err
	}
	save := content{in.Summary, in.Objective, in.Decisions, in.Assumptions, in.OpenQuestions, in.Entities, in.Tasks, in.Artifacts}.commit()
	save.Space, save.Session, save.Title = space.ID, s.ID, in.Message
	save.Author, save.ByModel = or(in.Author, s.Provider), byModel(in.Author, "")
	return a.saved(c, save, extras{ProjectRoot: in.ProjectRoot})
}
