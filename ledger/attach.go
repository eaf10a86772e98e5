package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// maxAttach is how many turns move with their sources in one Update. Each takes
// six rows at most.
const maxAttach = 120

// Attach moves a session to a space. Its turns go with it (a turn's space is
// its session's), what they said becomes sources of the new space, and the
// old sources go, unless something else says them. They keep their classes, and
// none is made that was not there, so that state:write is enough. The mount ends
// and the branch is main again. A session that a checkpoint was saved from stays where it is (ErrConflict); the
// same space again changes nothing. Needs state:write.
//
// Session and the first 120 turns' sources move in one Update over both spaces.
// That of a longer session leaves a job for the rest, which this call drives on;
// when it cannot, a worker does (FinishAttach), or the same call again. Until then the
// rest is recalled in neither space.
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
		return at, l.resumeMoves(ctx, at)
	}
	if to == "" {
		return out, fmt.Errorf("%w: no space", dhruva.ErrInvalid)
	}
	now, from := l.now(), at.Space
	draft := l.newMove(at, to, now)
	var rest dhruva.Job
	err = l.both(ctx, p, from, to, func(tx dhruva.Tx) error {
		rest = dhruva.Job{}
		if out, err = moveable(tx, p, at.ID, from); err != nil {
			return err
		}
		out.Space, out.Fresh, out.Mount, out.Branch = to, false, nil, dhruva.MainBranch
		out.ForkedSession, out.ForkedSeq = "", 0 // of a FRESH one; what it was taken from stays behind
		touch(&out, now)
		if err := tx.PutSession(out); err != nil {
			return err
		}
		if out.LastSeq > maxAttach {
			more(tx)
			if rest, err = leaveRest(tx, draft, move{at.ID, from, maxAttach, out.LastSeq}); err != nil {
				return err
			}
		}
		return l.moveSources(tx, p, out, from, 0, now)
	})
	if err != nil {
		return dhruva.Session{}, err
	}
	if rest.ID != "" {
		err = l.driveMove(ctx, rest)
	}
	return out, err
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
	if !s.ForkedFrom.IsZero() || s.ForkedSession != "" && !s.Fresh {
		return s, fmt.Errorf("%w: a fork stays in the space of its source", dhruva.ErrConflict)
	}
	saved, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: from, Session: id, Page: dhruva.Page{Limit: 1}})
	if err == nil && len(saved) > 0 {
		err = fmt.Errorf("%w: checkpoint %s was saved from this session", dhruva.ErrConflict, saved[0].Hash.Short())
	}
	return s, err
}

// moving is one step of a move from one space to another.
type moving struct {
	ledger    *Ledger
	principal dhruva.Principal
	tx        dhruva.Tx
	from, to  dhruva.Epoch
	now       time.Time
}

// moveSources makes the sources of the next turns in the session's new space,
// with the class they had, and takes away the old ones.
func (l *Ledger) moveSources(tx dhruva.Tx, p dhruva.Principal, s dhruva.Session, from dhruva.SpaceID, after int64, now time.Time) (err error) {
	m := moving{ledger: l, principal: p, tx: tx, now: now}
	if m.from, err = tx.Epoch(from); err != nil {
		return err
	}
	if m.to, err = tx.Epoch(s.Space); err != nil || s.LastSeq == 0 {
		return err
	}
	turns, err := tx.ListTurns(dhruva.TurnQuery{Session: s.ID, After: after, Through: min(after+maxAttach, s.LastSeq)})
	if err != nil {
		return err
	}
	for _, t := range turns {
		err := m.each(t.Session, t.Seq, func(old dhruva.Source) error { return m.source(t, old) })
		if err != nil {
			return err
		}
	}
	return nil
}

// takeSources takes away the sources of the next turns of a session that is read
// nowhere any more.
func takeSources(tx dhruva.Tx, id dhruva.SessionID, from dhruva.SpaceID, after, through int64, now time.Time) (err error) {
	m := moving{tx: tx, now: now}
	if m.from, err = tx.Epoch(from); err != nil {
		return err
	}
	for seq := after + 1; seq <= min(after+maxAttach, through); seq++ {
		err := m.each(id, seq, func(old dhruva.Source) error { return m.leave(id, seq, old) })
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls fn for the old sources of a turn.
func (m moving) each(id dhruva.SessionID, seq int64, fn func(dhruva.Source) error) error {
	ids, err := m.tx.SourcesOfTurn(m.from.Space, m.from.Generation, id, seq)
	if err != nil {
		return err
	}
	for _, id := range ids {
		old, err := m.tx.Source(m.from.Space, m.from.Generation, id)
		if err != nil {
			return err
		}
		if err := fn(old); err != nil {
			return err
		}
	}
	return nil
}

// source moves what a turn says. A turn without a source (trivial, purged) has
// none in its new space either.
func (m moving) source(t dhruva.Turn, old dhruva.Source) error {
	if !t.Redacted {
		_, _, err := m.ledger.capture(m.tx, m.principal, said{
			space: m.to.Space, generation: m.to.Generation, role: t.Role, class: old.Class, text: t.Content,
			event: old.EventTime, now: m.now, ref: dhruva.Reference{Session: t.Session, Seq: t.Seq},
		})
		if err != nil {
			return err
		}
	}
	return m.leave(t.Session, t.Seq, old)
}

// leave takes away what a turn says of a source.
func (m moving) leave(id dhruva.SessionID, seq int64, old dhruva.Source) error {
	place := dhruva.Reference{Space: old.Space, Generation: old.Generation, Source: old.ID, Session: id, Seq: seq}
	if err := m.tx.DropReference(place); err != nil {
		return err
	}
	return m.left(old)
}

// left removes a source that nothing says any more.
func (m moving) left(old dhruva.Source) error {
	refs, err := m.tx.References(old.Space, old.Generation, old.ID)
	if err != nil {
		return err
	}
	if len(refs) > 0 {
		return announce(m.tx, old, dhruva.ChangeSource, m.now)
	}
	return firstOf(m.tx.DropSource(old.Space, old.Generation, old.ID), announce(m.tx, old, dhruva.ChangeSourceGone, m.now))
}
