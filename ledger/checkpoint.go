package ledger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// minPrefix is how many digits of a hash name a checkpoint at least.
const minPrefix = 7

// Checkpoint finds a checkpoint by its hash, a unique prefix of at least seven
// digits, or its UUID. An ambiguous prefix is ErrConflict. Needs state:read or
// memory:read.
func (l *Ledger) Checkpoint(ctx context.Context, ref string) (out dhruva.Checkpoint, err error) {
	p, err := principal(ctx, dhruva.StateRead, dhruva.MemoryRead)
	if err != nil {
		return out, wrap("checkpoint", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out, err = checkpointIn(tx, p, "", ref)
		return err
	})
	return out, wrap("checkpoint", err)
}

// checkpointIn finds a checkpoint within a space, or in any space the principal
// sees when space is "". A prefix is judged among those alone.
func checkpointIn(tx dhruva.Tx, p dhruva.Principal, space dhruva.SpaceID, ref string) (dhruva.Checkpoint, error) {
	ref = strings.ToLower(strings.TrimSpace(ref))
	rows, err := matching(tx, ref)
	if err != nil {
		return dhruva.Checkpoint{}, notFound(err, "checkpoint", ref)
	}
	var seen []dhruva.Checkpoint
	for _, c := range rows {
		if space != "" && c.Space != space || !c.HiddenAt.IsZero() {
			continue
		}
		_, err := liveSpace(tx, p, c.Space)
		if err == nil {
			seen = append(seen, c)
		} else if !errors.Is(err, dhruva.ErrNotFound) {
			return dhruva.Checkpoint{}, err
		}
	}
	switch len(seen) {
	case 0:
		return dhruva.Checkpoint{}, missing("checkpoint", ref)
	case 1:
		return seen[0], nil
	}
	return dhruva.Checkpoint{}, fmt.Errorf("%w: %q is the beginning of %d checkpoints' hashes", dhruva.ErrConflict, ref, len(seen))
}

// matching are the checkpoints that a reference may mean.
func matching(tx dhruva.Tx, ref string) ([]dhruva.Checkpoint, error) {
	one := func(c dhruva.Checkpoint, err error) ([]dhruva.Checkpoint, error) {
		return []dhruva.Checkpoint{c}, err
	}
	hex := digits(ref)
	switch {
	case hex && len(ref) == 2*len(dhruva.Hash{}):
		h, err := dhruva.ParseHash(ref)
		if err != nil {
			return nil, err
		}
		return one(tx.Checkpoint(h))
	case hex && len(ref) >= minPrefix && len(ref) < 2*len(dhruva.Hash{}):
		return tx.CheckpointsByPrefix(ref, 100)
	case uuid(ref):
		return one(tx.CheckpointByID(dhruva.CheckpointID(ref)))
	}
	return nil, fmt.Errorf("%w: %q is not a checkpoint: want a hash, at least %d digits of one, or a UUID", dhruva.ErrInvalid, clip(ref, 80), minPrefix)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdef") == "" }

// uuid reports whether s has the shape of one, in lower case.
func uuid(s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	return digits(strings.ReplaceAll(s, "-", ""))
}

// ListCheckpoints lists the checkpoints of a space, newest first. Needs
// state:read.
func (l *Ledger) ListCheckpoints(ctx context.Context, q dhruva.CheckpointQuery) (out []dhruva.Checkpoint, next string, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, "", wrap("list checkpoints", err)
	}
	if _, err := dhruva.ParseHash(q.After); err != nil {
		return nil, "", wrap("list checkpoints", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if _, err := liveSpace(tx, p, q.Space); err != nil {
			return err
		}
		out, next, err = listCheckpoints(tx, q)
		return err
	})
	return out, next, wrap("list checkpoints", err)
}

func listCheckpoints(tx dhruva.Tx, q dhruva.CheckpointQuery) ([]dhruva.Checkpoint, string, error) {
	fetch := func(page dhruva.Page) ([]dhruva.Checkpoint, error) {
		q := q
		q.Page = page
		return tx.ListCheckpoints(q)
	}
	return filled(q.Page, fetch, func(c dhruva.Checkpoint) string { return c.Hash.String() }, always[dhruva.Checkpoint])
}

// CheckpointTurns lists the turns that a checkpoint was drawn from. Purged ones
// stand without text. A hidden session's turns are not read: then the list is
// empty. Needs state:read.
func (l *Ledger) CheckpointTurns(ctx context.Context, ref string) (out []dhruva.Turn, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, wrap("checkpoint turns", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		c, err := checkpointIn(tx, p, "", ref)
		if err != nil {
			return err
		}
		out, err = windowTurns(tx, p, c.Window)
		return err
	})
	return out, wrap("checkpoint turns", err)
}

// WindowTurns lists the turns of a checkpoint's window, as CheckpointTurns does, for
// whoever has the checkpoint. Needs state:read or memory:read.
func (l *Ledger) WindowTurns(ctx context.Context, w dhruva.Window) (out []dhruva.Turn, err error) {
	p, err := principal(ctx, dhruva.StateRead, dhruva.MemoryRead)
	if err != nil {
		return nil, wrap("window turns", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out, err = windowTurns(tx, p, w)
		return err
	})
	return out, wrap("window turns", err)
}

// windowTurns reads a checkpoint's closed window; a Through of 0 is a session
// that had no turns.
func windowTurns(tx dhruva.Tx, p dhruva.Principal, w dhruva.Window) ([]dhruva.Turn, error) {
	if w.Session == "" || w.Through == 0 {
		return nil, nil
	}
	if _, err := liveSession(tx, p, w.Session); err != nil {
		return nil, ignoreMissing(err)
	}
	return pathTurns(tx, w)
}

// Branches lists the branches of a space by name. Needs state:read.
func (l *Ledger) Branches(ctx context.Context, space dhruva.SpaceID) (out []dhruva.Branch, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, wrap("branches", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if _, err := liveSpace(tx, p, space); err != nil {
			return err
		}
		out, err = tx.ListBranches(space)
		return err
	})
	return out, wrap("branches", err)
}

// Ancestors walks first parents from a checkpoint, itself included, and returns
// up to n of them oldest first; n of 0 or less means all. Needs state:read or
// memory:read.
func (l *Ledger) Ancestors(ctx context.Context, ref string, n int) (out []dhruva.Checkpoint, err error) {
	p, err := principal(ctx, dhruva.StateRead, dhruva.MemoryRead)
	if err != nil {
		return nil, wrap("ancestors", err)
	}
	if n <= 0 {
		n = math.MaxInt
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		c, err := checkpointIn(tx, p, "", ref)
		if err != nil {
			return err
		}
		out, err = ancestors(tx, c.Space, c.Hash, n)
		return err
	})
	return out, wrap("ancestors", err)
}
