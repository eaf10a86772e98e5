package ledger

import (
	"context"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// RevertInput says what a branch is to be as it was.
type RevertInput struct {
	Space dhruva.SpaceID
	// Branch "" is main.
	Branch string
	// To is a checkpoint of the space: a hash, prefix or UUID.
	To string
	// Title "" is "Revert to <hash7>: <title>"; Author "" is the principal's name.
	Title, Author string
}

// Revert saves a checkpoint on a branch that says what an earlier one said, with
// the same ids; nothing in between is taken away. Its parent is the head. To revert
// to the head itself is ErrConflict. Needs state:write.
func (l *Ledger) Revert(ctx context.Context, in RevertInput) (dhruva.Checkpoint, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Checkpoint{}, wrap("revert", err)
	}
	k, err := l.newCarrier(p, in.Space, in.Title, in.Author)
	if err != nil {
		return dhruva.Checkpoint{}, wrap("revert", err)
	}
	in.Branch = firstText(in.Branch, dhruva.MainBranch)
	var out dhruva.Checkpoint
	err = l.update(ctx, p, in.Space, func(tx dhruva.Tx) error {
		out, err = l.saveRevert(tx, p, in, k)
		return err
	})
	if err != nil {
		return dhruva.Checkpoint{}, wrap("revert", err)
	}
	return out, nil
}

func (l *Ledger) saveRevert(tx dhruva.Tx, p dhruva.Principal, in RevertInput, k *carrier) (c dhruva.Checkpoint, err error) {
	b, head, err := headIn(tx, in.Space, in.Branch)
	if err != nil {
		return c, err
	}
	to, err := checkpointIn(tx, p, in.Space, in.To)
	if err != nil {
		return c, err
	}
	if to.Hash == head.Hash {
		return c, fmt.Errorf("%w: branch %q is at %s already", dhruva.ErrConflict, b.Name, head.Hash.Short())
	}
	e, err := tx.Epoch(in.Space)
	if err != nil {
		return c, err
	}
	title := fmt.Sprintf("Revert to %s: %s", to.Hash.Short(), to.Text(dhruva.KindTitle))
	if c, err = k.checkpoint(title, shownItems(to), e.Generation, head); err != nil {
		return c, err
	}
	c.Branch = b.Name
	at := placed{branch: b.Name, head: b.Head, row: b}
	return c, firstOf(l.putOnBranch(tx, p, c, at, MovedByRevert), l.carrySources(tx, p, c, to))
}
