package smriti

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
)

func sendRoutes() []route {
	return []route{{
		pattern: "POST /api/v4/chat/send", do: (*api).send, again: (*api).sentBefore, claim: modelTime,
		codes: codes{dhruva.ErrInvalid: http.StatusUnprocessableEntity},
	}}
}

// Reply is a model's answer.
type Reply struct {
	Reply     string           `json:"reply"`
	SessionID dhruva.SessionID `json:"session_id"`
	TurnCount int64            `json:"turn_count"`
	Provider  string           `json:"provider"`
	Model     string           `json:"model"`
}

type sendInput struct {
	SessionID id     `json:"session_id" need:""`
	Provider  string `json:"provider" need:""`
	Model     string `json:"model" need:""`
	Message   string `json:"message" need:""`
	RepoID    id     `json:"repo_id"`
	UseMock   bool   `json:"use_mock"`
	Scope     string `json:"memory_scope" one:"latest_1 latest_3"`
	Mounted   id     `json:"mounted_checkpoint_id"`
	Base      *int64 `json:"history_base_seq"`
}

// depth is how many checkpoints are shown; 0 leaves it to the mount.
func (in sendInput) depth() int {
	switch in.Scope {
	case "latest_1":
		return 1
	case "latest_3":
		return 3
	}
	return 0
}

// pairOf is a mount that a request names, nil when it names none.
func pairOf(mounted id, base *int64) *ledger.Pair {
	if mounted == "" && base == nil {
		return nil
	}
	return &ledger.Pair{Checkpoint: string(mounted), Base: base}
}

func (in sendInput) check() error {
	switch {
	case strings.TrimSpace(in.Model) == "":
		return bad("model must not be empty")
	case strings.TrimSpace(in.Message) == "":
		return bad("message must not be empty")
	case strings.TrimSpace(in.Provider) == "" && !in.UseMock:
		return unprocessable("provider must not be empty")
	}
	return nil
}

// contextTurns is how much of a conversation a model is given, as clients of this
// API expect: its latest turns.
const contextTurns = 20

func (a *api) send(c *call) (any, error) {
	in, err := body[sendInput](c)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	s, err := a.ledger.Session(c.ctx(), dhruva.SessionID(in.SessionID))
	if err != nil {
		return nil, err
	}
	if in.RepoID != "" && (s.Fresh || string(s.Space) != string(in.RepoID)) {
		return nil, conflict("repo_id is not the space of the session; attach the session to it first")
	}
	ask := memory.SendInput{
		Session: s.ID, Message: in.Message, Provider: in.Provider, Model: in.Model, Memory: "off", History: "session",
		Depth: in.depth(), Pair: pairOf(in.Mounted, in.Base), Turns: contextTurns,
	}
	if s.Fresh {
		ask.History = "none"
	}
	if in.UseMock {
		ask.Provider = memory.MockProvider
	}
	r, err := a.memory.Send(c.ctx(), ask, nil)
	if err != nil {
		return nil, err
	}
	return Reply{Reply: r.Reply, SessionID: s.ID, TurnCount: r.Turns[len(r.Turns)-1].Seq, Provider: r.Provider, Model: r.Model}, nil
}

// sentBefore is the answer of a send that was answered before.
func (a *api) sentBefore(c *call, done ledger.Outcome) (any, error) {
	in, err := body[sendInput](c)
	if err != nil {
		return nil, err
	}
	last := done.LastTurn()
	rows, err := a.ledger.ListTurns(c.ctx(), dhruva.SessionID(in.SessionID), last-1, 1)
	if err != nil {
		return nil, err
	}
	if last < 1 || len(rows) != 1 {
		return nil, fmt.Errorf("%w: no turn %d", dhruva.ErrNotFound, last)
	}
	t := rows[0]
	return Reply{Reply: t.Content, SessionID: t.Session, TurnCount: t.Seq, Provider: t.Provider, Model: t.Model}, nil
}
