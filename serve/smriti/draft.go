package smriti

import (
	"net/http"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/memory"
)

func draftRoutes() []route {
	unprocessable := codes{dhruva.ErrInvalid: http.StatusUnprocessableEntity}
	return []route{
		{pattern: "POST /api/v5/checkpoint/draft", do: (*api).draft, codes: unprocessable},
		{pattern: "POST /api/v5/checkpoint/extract", do: (*api).extract, text: true, codes: unprocessable},
		{pattern: "POST /api/v5/checkpoint/{id}/review", do: (*api).review},
	}
}

// draft proposes a checkpoint of a session's chat window, which num_turns only
// narrows.
func (a *api) draft(c *call) (any, error) {
	in, err := body[struct {
		SessionID id     `json:"session_id" need:""`
		Turns     *int64 `json:"num_turns" min:"1" max:"100"`
		Mounted   id     `json:"mounted_checkpoint_id"`
		Base      *int64 `json:"history_base_seq"`
		UseMock   bool   `json:"use_mock"`
	}](c)
	if err != nil {
		return nil, err
	}
	ask := memory.DraftInput{Session: dhruva.SessionID(in.SessionID), Pair: pairOf(in.Mounted, in.Base), By: by(in.UseMock)}
	if in.Turns != nil {
		ask.Turns = int(*in.Turns)
	}
	d, err := a.memory.Draft(c.ctx(), ask)
	return draftOf(d), err
}

// by is who answers: the slot for background work, unless the mock is asked for.
func by(mock bool) memory.By {
	if mock {
		return memory.By{Provider: memory.MockProvider}
	}
	return memory.By{}
}

// Extract is a proposal for a checkpoint, drawn from a text.
type Extract struct {
	Draft
	Artifacts []agents.Artifact `json:"artifacts"`
}

func (a *api) extract(c *call) (any, error) {
	in, err := body[struct {
		Content string `json:"content" need:"" blank:"no" max:"200000"`
		UseMock bool   `json:"use_mock"`
	}](c)
	if err != nil {
		return nil, err
	}
	d, err := a.memory.Extract(c.ctx(), memory.ExtractInput{Content: in.Content, By: by(in.UseMock)})
	return Extract{draftOf(d), each(d.Artifacts, draftArtifact)}, err
}

// Review is what a model has to say about a checkpoint.
type Review struct {
	CheckpointID dhruva.CheckpointID `json:"checkpoint_id"`
	Issues       []Issue             `json:"issues"`
	Suggestions  []string            `json:"suggestions"`
}

// Issue is one thing that is wrong with it.
type Issue struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}

func (a *api) review(c *call) (any, error) {
	id, err := c.pathID("id")
	if err != nil {
		return nil, err
	}
	r, err := a.memory.Review(c.ctx(), memory.ReviewInput{Checkpoint: id})
	if err != nil {
		return nil, err
	}
	return Review{
		CheckpointID: r.Checkpoint.ID, Suggestions: append([]string{}, r.Suggestions...),
		Issues: each(r.Issues, func(i memory.Issue) Issue { return Issue{i.Type, i.Description} }),
	}, nil
}
