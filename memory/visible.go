package memory

import (
	"context"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// Two visible sets belong to a checkpoint (contracts: visible sets). The prompt
// set is what prompts and automatic recall see: items of the checkpoints shown
// and the session's turns after the boundary. The known set is what explicit
// recall as of a checkpoint sees: all ancestors and their source windows.

// promptSet names the sources of the items and turns that a prompt may show.
func (m *Memory) promptSet(shown []dhruva.Checkpoint, turns []dhruva.Turn) map[dhruva.SourceID]bool {
	set := map[dhruva.SourceID]bool{}
	for _, c := range shown {
		for _, i := range c.Items {
			if !i.Redacted {
				set[dhruva.ContentID(m.Keys, c.Tenant, c.Space, dhruva.RoleUser, i.Text)] = true
			}
		}
	}
	for _, t := range turns {
		if !t.Redacted {
			set[dhruva.ContentID(m.Keys, t.Tenant, t.Space, t.Role, t.Content)] = true
		}
	}
	return set
}

// maxAncestors bounds the walk of knownAt.
const maxAncestors = 10_000

// knownAt names the sources that could be known at a checkpoint of the space.
func (m *Memory) knownAt(ctx context.Context, space dhruva.SpaceID, ref string) (map[dhruva.SourceID]bool, error) {
	at, err := m.Ledger.Checkpoint(ctx, ref)
	if err != nil {
		return nil, err
	}
	if at.Space != space {
		return nil, fmt.Errorf("checkpoint %s: %w in this space", ref, dhruva.ErrNotFound)
	}
	line, err := m.Ledger.Ancestors(ctx, at.Hash.String(), maxAncestors)
	if err != nil {
		return nil, err
	}
	set := map[dhruva.SourceID]bool{}
	for _, c := range line {
		turns, err := m.Ledger.CheckpointTurns(ctx, c.Hash.String())
		if err != nil {
			return nil, err
		}
		for id := range m.promptSet([]dhruva.Checkpoint{c}, turns) {
			set[id] = true
		}
	}
	return set, nil
}
