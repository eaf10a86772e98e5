package agents

import (
	"context"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// Freshness says what happened on main since a checkpoint that somebody knows.
type Freshness struct {
	Changed bool `json:"changed"`
	// State is one of ledger's: current, behind, aside, deleted, unknown.
	State ledger.SinceState `json:"state"`
	// Note says it in a sentence.
	Note        string          `json:"note"`
	SinceHash   *string         `json:"since_commit_hash"` // 7 digits
	CurrentHead *string         `json:"current_head_hash"` // 7 digits
	NewCount    int             `json:"new_checkpoints_count"`
	New         []NewCheckpoint `json:"new_checkpoints"`
}

// NewCheckpoint is one of them, the newest first.
type NewCheckpoint struct {
	Hash      string    `json:"commit_hash"`
	Author    string    `json:"author_agent"`
	Message   string    `json:"message"`
	CreatedAt time.Time `json:"created_at"`
}

// Freshness tells what is new in a space, by id or name, since a checkpoint.
// Needs state:read.
func (a *Agents) Freshness(ctx context.Context, space, since string) (Freshness, error) {
	s, err := a.Ledger.Space(ctx, space)
	if err != nil {
		return Freshness{}, wrap("freshness", err)
	}
	f, err := a.Ledger.Freshness(ctx, s.ID, since)
	if err != nil {
		return Freshness{}, wrap("freshness", err)
	}
	return FreshnessOf(f), nil
}

// FreshnessOf is the JSON of a freshness.
func FreshnessOf(f ledger.Freshness) Freshness {
	out := Freshness{
		Changed: f.Changed(), State: f.State, Note: noteOf(f), SinceHash: short(f.Since), CurrentHead: short(f.Head), NewCount: f.New, New: []NewCheckpoint{},
	}
	for _, o := range f.Newest {
		out.New = append(out.New, NewCheckpoint{o.Hash.String(), o.Author, o.Title, o.CreatedAt})
	}
	return out
}

func short(h dhruva.Hash) *string {
	if h.IsZero() {
		return nil
	}
	return orNull(h.Short())
}

func noteOf(f ledger.Freshness) string {
	since, n := f.Since.Short(), checkpoints(f.New)
	switch f.State {
	case ledger.SinceCurrent:
		return fmt.Sprintf("Nothing is new on main since %s.", since)
	case ledger.SinceBehind:
		return fmt.Sprintf("Main has %s since %s.", n, since)
	case ledger.SinceAside:
		return fmt.Sprintf("%s is on %s, not on main; main has %s that it does not come from.", since, f.Branch, n)
	case ledger.SinceDeleted:
		return fmt.Sprintf("%s was deleted; main has %s since what it came from.", since, n)
	}
	return "This space has no such checkpoint; read its state anew."
}

func checkpoints(n int) string {
	switch n {
	case 0:
		return "no checkpoint"
	case 1:
		return "1 checkpoint"
	}
	return fmt.Sprintf("%d checkpoints", n)
}
