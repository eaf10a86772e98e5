package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// Two visible sets belong to a checkpoint (contracts: visible sets). The prompt
// set is what prompts and automatic recall see: items of the checkpoints shown
// and the session's turns after the boundary. The known set is what explicit
// recall as of a checkpoint sees: all ancestors and their source windows.

// promptSet names the sources of the items and turns that a prompt may show.
// Items are sources in the role of who saved them, so both are named.
func (m *Memory) promptSet(shown []dhruva.Checkpoint, turns []dhruva.Turn) map[dhruva.SourceID]bool {
	set := map[dhruva.SourceID]bool{}
	for _, c := range shown {
		for _, i := range c.Items {
			if i.Redacted {
				continue
			}
			for _, id := range m.itemSources(&c, i) {
				set[id] = true
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

// itemSources are the ids under which an item's text may be a source.
func (m *Memory) itemSources(c *dhruva.Checkpoint, i dhruva.Item) [2]dhruva.SourceID {
	return [2]dhruva.SourceID{
		dhruva.ContentID(m.Keys, c.Tenant, c.Space, dhruva.RoleUser, i.Text),
		dhruva.ContentID(m.Keys, c.Tenant, c.Space, dhruva.RoleAssistant, i.Text),
	}
}

// withoutHeld takes the items out of a checkpoint whose text is held for a
// person to look at: held text is neither recalled nor put into a prompt. It
// tells how many there were.
func (m *Memory) withoutHeld(ctx context.Context, c *dhruva.Checkpoint) (held int, err error) {
	var kept []dhruva.Item
	err = m.Ledger.Store.View(ctx, dhruva.SpaceScope(c.Tenant, c.Space), func(tx dhruva.Tx) error {
		epoch, err := tx.Epoch(c.Space)
		if err != nil {
			return err
		}
		kept, held = nil, 0
		for _, i := range c.Items {
			isHeld, err := m.held(tx, epoch.Generation, c, i)
			switch {
			case err != nil:
				return err
			case isHeld:
				held++
			default:
				kept = append(kept, i)
			}
		}
		return nil
	})
	if err == nil {
		c.Items = kept
	}
	return held, err
}

// held reports an item of whose sources none is ready and one is held.
func (m *Memory) held(tx dhruva.Tx, generation int64, c *dhruva.Checkpoint, i dhruva.Item) (bool, error) {
	found := false
	for _, id := range m.itemSources(c, i) {
		src, err := tx.Source(c.Space, generation, id)
		switch {
		case errors.Is(err, dhruva.ErrNotFound):
		case err != nil:
			return false, err
		case src.State == dhruva.SourceReady:
			return false, nil
		case src.State == dhruva.SourceHeld:
			found = true
		}
	}
	return found, nil
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
		turns, err := m.Ledger.WindowTurns(ctx, c.Window) // they only name what a recall may find, and each find passes the gate
		if err != nil {
			return nil, err
		}
		for id := range m.promptSet([]dhruva.Checkpoint{c}, turns) {
			set[id] = true
		}
	}
	return set, nil
}
