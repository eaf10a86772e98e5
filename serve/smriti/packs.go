package smriti

import (
	"errors"

	"github.com/dhruva-memory/dhruva"
)

func packRoutes() []route {
	return []route{
		{pattern: "POST /api/v2/context/from-commit", do: (*api).packCommit},
		{pattern: "GET /api/v2/context/parent-delta/{id}", do: (*api).parentDelta},
	}
}

// CommitPack is a checkpoint for another tool.
type CommitPack struct {
	Content string `json:"content"`
	Target  string `json:"target_tool"`
	Format  string `json:"format"`
}

// formatMarkdown is said of every pack, also of one in tags.
const formatMarkdown = "markdown"

func (a *api) packCommit(c *call) (any, error) {
	in, err := body[struct {
		CommitID id     `json:"commit_id" need:""`
		Target   string `json:"target" one:"generic chatgpt claude cursor"`
	}](c)
	if err != nil {
		return nil, err
	}
	at, err := a.ledger.Checkpoint(c.ctx(), string(in.CommitID))
	if err != nil {
		return nil, err
	}
	shown, err := a.commit(c.ctx(), at)
	if err != nil {
		return nil, err
	}
	target := or(in.Target, targetGeneric)
	render := target
	if target == targetCursor { // a checklist is for what was drawn from a transcript
		render = targetGeneric
	}
	return CommitPack{pack(render, materialOf(shown.Commit)), target, formatMarkdown}, nil
}

// Delta is a checkpoint beside its parent.
type Delta struct {
	Current Commit  `json:"current"`
	Parent  *Commit `json:"parent"`
}

func (a *api) parentDelta(c *call) (any, error) {
	at, err := a.checkpointOfPath(c)
	if err != nil {
		return nil, err
	}
	s, err := a.commits(c.ctx(), at.Space)
	if err != nil {
		return nil, err
	}
	var out Delta
	if out.Current, err = s.of(c.ctx(), at); err != nil || at.Parent().IsZero() {
		return out, err
	}
	up, err := a.ledger.Checkpoint(c.ctx(), at.Parent().String())
	if errors.Is(err, dhruva.ErrNotFound) { // it was deleted
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	parent, err := s.of(c.ctx(), up)
	out.Parent = &parent
	return out, err
}
