package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// maxAttach is how many turns move with their sources in one Update.
const maxAttach = 150

// Attach moves a session to a space. Its turns go with it (a turn's space is
// its session's), what they said becomes sources of the new space, and those
// left behind are held there. The mount ends and the branch is main again. A
// session that a checkpoint was saved from stays where it is (ErrConflict); the
// same space again changes nothing. Needs state:write.
//
// Session and the first 150 turns' sources move in one Update over both
// spaces, those of a longer session in further ones: until then the rest is not
// recalled anywhere.
func (l *Ledger) Attach(ctx context.Context, id dhruva.SessionID, to dhruva.SpaceID) (dhruva.Session, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Session{}, wrap("attach", err)
	}
	at, err := l.locate(ctx, p, id)
	if err != nil {
		return dhruva.Session{}, wrap("attach", err)
	}
	out, err := l.attach(ctx, p, at, to)
	return out, wrap("attach", err)
}

func (l *Ledger) attach(ctx context.Context, p dhruva.Principal, at dhruva.Session, to dhruva.SpaceID) (out dhruva.Session, err error) {
	if at.Space == to {
		return at, nil
	}
	if to == "" {
		return out, fmt.Errorf("%w: no space", dhruva.ErrInvalid)
	}
	now, from := l.now(), at.Space
	err = l.both(ctx, p, from, to, func(tx dhruva.Tx) error {
		if out, err = moveable(tx, p, at.ID, from); err != nil {
			return err
		}
		out.Space, out.Fresh, out.Mount, out.Branch, out.UpdatedAt = to, false, nil, dhruva.MainBranch, now
		if err := tx.PutSession(out); err != nil {
			return err
		}
		return l.moveSources(tx, p, out, from, 0, now)
	})
	if err != nil {
		return dhruva.Session{}, err
	}
	for after := int64(maxAttach); after < out.LastSeq; after += maxAttach {
		err := l.both(ctx, p, from, to, func(tx dhruva.Tx) error {
			return l.moveSources(tx, p, out, from, after, now)
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// both is update over two spaces.
func (l *Ledger) both(ctx context.Context, p dhruva.Principal, a, b dhruva.SpaceID, fn func(dhruva.Tx) error) error {
	return l.Store.Update(ctx, []dhruva.Scope{p.In(a), p.In(b)}, func(tx dhruva.Tx) error {
		if _, err := liveSpace(tx, p, a); err != nil {
			return err
		}
		if err := notHome(tx, p, b); err != nil {
			return err
		}
		return fn(tx)
	})
}

// moveable is the session if it may leave its space. A fork may not: its source
// stays behind.
func moveable(tx dhruva.Tx, p dhruva.Principal, id dhruva.SessionID, from dhruva.SpaceID) (dhruva.Session, error) {
	s, err := liveSession(tx, p, id)
	if err != nil {
		return s, err
	}
	if s.Space != from {
		return s, fmt.Errorf("%w: the session was attached elsewhere meanwhile", dhruva.ErrConflict)
	}
	if !s.ForkedFrom.IsZero() || s.ForkedSession != "" {
		return s, fmt.Errorf("%w: a fork stays in the space of its source", dhruva.ErrConflict)
	}
	saved, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: from, Session: id, Page: dhruva.Page{Limit: 1}})
	if err == nil && len(saved) > 0 {
		err = fmt.Errorf("%w: checkpoint %s was saved from this session", dhruva.ErrConflict, saved[0].Hash.Short())
	}
	return s, err
}

// moveSources makes the sources of the next turns in the session's new space,
// with the class they had, and withdraws the old ones.
func (l *Ledger) moveSources(tx dhruva.Tx, p dhruva.Principal, s dhruva.Session, from dhruva.SpaceID, after int64, now time.Time) error {
	old, err := tx.Epoch(from)
	if err != nil {
		return err
	}
	e, err := tx.Epoch(s.Space)
	if err != nil {
		return err
	}
	through := min(after+maxAttach, s.LastSeq)
	turns, err := tx.ListTurns(dhruva.TurnQuery{Session: s.ID, After: after, Through: through})
	if err != nil || len(turns) == 0 {
		return err
	}
	for _, t := range turns {
		if err := l.moveSource(tx, p, t, from, old.Generation, e.Generation, now); err != nil {
			return err
		}
	}
	return withdraw(tx, from, s.ID, after, through, heldMoved, now)
}

// moveSource makes the source that a turn has in its new space. A turn whose
// text has no source where it comes from (trivial, purged) gets none.
func (l *Ledger) moveSource(tx dhruva.Tx, p dhruva.Principal, t dhruva.Turn, from dhruva.SpaceID, was, now int64, at time.Time) error {
	ids, err := tx.SourcesOfTurn(from, was, t.Session, t.Seq)
	if err != nil || t.Redacted {
		return err
	}
	for _, id := range ids {
		src, err := tx.Source(from, was, id)
		if err != nil {
			return err
		}
		_, _, err = l.capture(tx, p, said{
			space: t.Space, generation: now, role: t.Role, class: src.Class, text: t.Content, event: src.EventTime, now: at,
			ref: dhruva.Reference{Session: t.Session, Seq: t.Seq},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
