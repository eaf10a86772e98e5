package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// SessionInput describes a new session.
type SessionInput struct {
	// Space "" makes a FRESH session, in the principal's hidden home. A key that is
	// limited to named spaces has none: ErrDenied.
	Space dhruva.SpaceID
	Kind  dhruva.SessionKind // "" is chat
	Title string             // "" is made from the time
	// Provider and Model may be empty until the first message.
	Provider, Model string
	// Seeded is informational.
	Seeded dhruva.Hash
}

// CreateSession makes a session on the main branch. Needs state:write.
func (l *Ledger) CreateSession(ctx context.Context, in SessionInput) (dhruva.Session, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Session{}, wrap("create session", err)
	}
	s, err := l.newSession(p, in)
	if err != nil {
		return dhruva.Session{}, wrap("create session", err)
	}
	if in.Space == "" {
		home, err := l.home(ctx, p)
		if err != nil {
			return dhruva.Session{}, wrap("create session", err)
		}
		s.Space, s.Fresh = home.ID, true
	}
	err = l.update(ctx, p, s.Space, func(tx dhruva.Tx) error {
		if in.Space != "" {
			if err := notHome(tx, p, in.Space); err != nil {
				return err
			}
		}
		return tx.PutSession(s)
	})
	if err != nil {
		return dhruva.Session{}, wrap("create session", err)
	}
	return s, nil
}

// notHome refuses the id of a home where a space is meant: homes have no name
// outside.
func notHome(tx dhruva.Tx, p dhruva.Principal, id dhruva.SpaceID) error {
	s, err := liveSpace(tx, p, id)
	if err == nil && s.Home {
		err = missing("space", string(id))
	}
	return err
}

func (l *Ledger) newSession(p dhruva.Principal, in SessionInput) (dhruva.Session, error) {
	now := l.now()
	s := dhruva.Session{
		Tenant: p.Tenant, Space: in.Space, ID: dhruva.SessionID(dhruva.NewID()), Kind: in.Kind, Branch: dhruva.MainBranch,
		Seeded: in.Seeded, Owner: p.ID, CreatedAt: now, UpdatedAt: now,
	}
	switch in.Kind {
	case "":
		s.Kind = dhruva.SessionChat
	case dhruva.SessionChat, dhruva.SessionProxy, dhruva.SessionNotes:
	default:
		return s, fmt.Errorf("%w: session kind %q", dhruva.ErrInvalid, clip(string(in.Kind), 80))
	}
	return s, l.dress(&s, in.Title, in.Provider, in.Model, now)
}

// dress checks and sets what people see of a session.
func (l *Ledger) dress(s *dhruva.Session, title, provider, model string, now time.Time) (err error) {
	if s.Title, err = label("title", l.hide(title), maxTitle, true); err != nil {
		return err
	}
	if s.Title == "" {
		s.Title = now.Format("Session Mon 02 Jan 15:04")
	}
	if s.Provider, err = plainLabel("provider", l.hide(provider)); err != nil {
		return err
	}
	s.Model, err = plainLabel("model", l.hide(model))
	return err
}

// Session finds a session. Needs state:read.
func (l *Ledger) Session(ctx context.Context, id dhruva.SessionID) (dhruva.Session, error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return dhruva.Session{}, wrap("session", err)
	}
	s, err := l.locate(ctx, p, id)
	return s, wrap("session", err)
}

// ListSessions lists the sessions the principal may see, last used first.
// Needs state:read.
func (l *Ledger) ListSessions(ctx context.Context, q dhruva.SessionQuery) (out []dhruva.Session, next string, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, "", wrap("list sessions", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if q.Space != "" {
			if _, err := liveSpace(tx, p, q.Space); err != nil {
				return err
			}
		}
		fetch := func(page dhruva.Page) ([]dhruva.Session, error) {
			q := q
			q.Page = page
			return tx.ListSessions(q)
		}
		out, next, err = filled(q.Page, fetch, func(s dhruva.Session) string { return string(s.ID) }, seesSession(tx, p))
		return err
	})
	return out, next, wrap("list sessions", err)
}

func seesSession(tx dhruva.Tx, p dhruva.Principal) func(dhruva.Session) (bool, error) {
	known := map[dhruva.SpaceID]bool{}
	return func(s dhruva.Session) (bool, error) {
		if ok, seen := known[s.Space]; seen {
			return ok, nil
		}
		_, err := liveSpace(tx, p, s.Space)
		if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
			return false, err
		}
		known[s.Space] = err == nil
		return err == nil, nil
	}
}

// SetTitle renames a session. Needs state:write.
func (l *Ledger) SetTitle(ctx context.Context, id dhruva.SessionID, title string) (dhruva.Session, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Session{}, wrap("set title", err)
	}
	if title, err = label("title", l.hide(title), maxTitle, false); err != nil {
		return dhruva.Session{}, wrap("set title", err)
	}
	now := l.now()
	s, err := l.editSession(ctx, p, id, func(_ dhruva.Tx, s *dhruva.Session) error {
		s.Title = title
		touch(s, now)
		return nil
	})
	return s, wrap("set title", err)
}

// DeleteSession hides a session; its turns stay and are no longer read, its
// checkpoints stay. Sources that nothing else says are held, so that they are
// not recalled either. A second time it is not found. Needs state:write.
//
// The sources of a long session are held in chunks, and the last one hides it:
// when one fails, the session is still there and the call can be repeated.
func (l *Ledger) DeleteSession(ctx context.Context, id dhruva.SessionID) error {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return wrap("delete session", err)
	}
	return wrap("delete session", l.endSession(ctx, p, id, nil))
}

// withdraw holds the sources of a range of a session's turns that no other live
// session and no checkpoint says.
func withdraw(tx dhruva.Tx, s dhruva.Session, after, through int64, now time.Time) error {
	e, err := tx.Epoch(s.Space)
	if err != nil {
		return err
	}
	for seq := after + 1; seq <= through; seq++ {
		ids, err := tx.SourcesOfTurn(s.Space, e.Generation, s.ID, seq)
		if err != nil {
			return err
		}
		for _, source := range ids {
			if err := withdrawSource(tx, s, e.Generation, source, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func withdrawSource(tx dhruva.Tx, s dhruva.Session, generation int64, id dhruva.SourceID, now time.Time) error {
	src, err := tx.Source(s.Space, generation, id)
	if err != nil || src.State != dhruva.SourceReady {
		return ignoreMissing(err)
	}
	refs, err := tx.References(s.Space, generation, id)
	if err != nil {
		return err
	}
	for _, r := range refs {
		if r.Session == s.ID {
			continue
		}
		if ok, err := stands(tx, r); err != nil || ok {
			return err
		}
	}
	src.State, src.HeldFor = dhruva.SourceHeld, heldHidden
	return firstOf(tx.PutSource(src), announce(tx, src, dhruva.ChangeSource, now))
}

// stands reports whether a reference is to something that may still be read in
// its space: a checkpoint that is not hidden, or a session that is neither hidden
// nor moved away.
func stands(tx dhruva.Tx, r dhruva.Reference) (bool, error) {
	if r.Session == "" {
		at, err := shownOutline(tx, r.Space, r.Checkpoint)
		return at != nil, err
	}
	s, err := tx.Session(r.Session)
	if err != nil {
		return false, ignoreMissing(err)
	}
	return s.DeletedAt.IsZero() && s.Space == r.Space, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, dhruva.ErrNotFound) {
		return nil
	}
	return err
}
