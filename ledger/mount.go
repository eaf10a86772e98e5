package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Mount makes a session hold a checkpoint of its own space: from now on its
// context is that checkpoint, its nearest ancestors up to depth (1 or 3; 0 is
// 1) and the turns after this moment. One Update takes the boundary, so that an
// answer still on its way falls before it. A FRESH session is ErrInvalid.
// Needs state:write.
func (l *Ledger) Mount(ctx context.Context, id dhruva.SessionID, checkpoint string, depth int) (dhruva.Session, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Session{}, wrap("mount", err)
	}
	if depth == 0 {
		depth = 1
	}
	if depth != 1 && depth != 3 {
		return dhruva.Session{}, wrap("mount", fmt.Errorf("%w: depth %d, want 1 or 3", dhruva.ErrInvalid, depth))
	}
	now := l.now()
	s, err := l.editSession(ctx, p, id, func(tx dhruva.Tx, s *dhruva.Session) error {
		if s.Fresh {
			return fmt.Errorf("%w: a FRESH session has no space to mount from; attach it first", dhruva.ErrInvalid)
		}
		c, err := checkpointIn(tx, p, s.Space, checkpoint)
		if err != nil {
			return err
		}
		at := now
		if !at.After(s.UpdatedAt) { // no two mounts of a session are of one moment
			at = s.UpdatedAt.Add(time.Microsecond)
		}
		s.Mount = &dhruva.Mount{Checkpoint: c.Hash, Depth: depth, Base: s.LastSeq, At: at}
		touch(s, at)
		return nil
	})
	return s, wrap("mount", err)
}

// Unmount ends a mount; without one it changes nothing. Needs state:write.
func (l *Ledger) Unmount(ctx context.Context, id dhruva.SessionID) (dhruva.Session, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Session{}, wrap("unmount", err)
	}
	now := l.now()
	s, err := l.editSession(ctx, p, id, func(_ dhruva.Tx, s *dhruva.Session) error {
		if s.Mount != nil {
			s.Mount = nil
			touch(s, now)
		}
		return nil
	})
	return s, wrap("unmount", err)
}
