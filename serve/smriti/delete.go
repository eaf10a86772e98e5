package smriti

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// Dependents is what hangs on a commit. Seeded sessions block nothing.
type Dependents struct {
	CheckpointID dhruva.CheckpointID `json:"checkpoint_id"`
	Children     []Dependent         `json:"child_commits"`
	Forked       []Dependent         `json:"forked_sessions"`
	Seeded       []Dependent         `json:"seeded_sessions"`
	Blocking     int                 `json:"blocking_count"`
}

// Dependent is one of them.
type Dependent struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	Label string `json:"label"`
}

// The kinds of dependents.
const (
	dependentCommit  = "commit"
	dependentSession = "session"
)

func dependentsOf(d ledger.Dependents) Dependents {
	session := func(s dhruva.Session) Dependent { return Dependent{dependentSession, string(s.ID), s.Title} }
	return Dependents{
		CheckpointID: d.Checkpoint.ID,
		Children: each(d.Children, func(o dhruva.Outline) Dependent {
			return Dependent{dependentCommit, string(o.ID), o.Hash.Short() + " " + o.Title}
		}),
		Forked: each(d.Forked, session), Seeded: each(d.Seeded, session), Blocking: d.Blocking(),
	}
}

func (a *api) deleteCommit(c *call) (any, error) {
	at, err := a.checkpointOfPath(c)
	if err != nil {
		return nil, err
	}
	cascade, err := c.queryFlag("cascade")
	if err != nil {
		return nil, err
	}
	_, err = a.ledger.DeleteCheckpoint(c.ctx(), at.Hash.String(), cascade)
	var blocked *ledger.Blocked
	if errors.As(err, &blocked) {
		d := dependentsOf(blocked.Dependents)
		return nil, &refusal{status: http.StatusConflict, err: err, detail: map[string]any{
			"message":    fmt.Sprintf("commit %s has %d dependents; delete them too with cascade=true", at.Hash.Short(), d.Blocking),
			"dependents": d,
		}}
	}
	return nil, err
}
