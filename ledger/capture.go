package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// CaptureInput is an exchange that went through the proxy.
type CaptureInput struct {
	Space dhruva.SpaceID
	// Generation is that of the space when the request began.
	Generation int64
	// Hint is the client's opaque conversation hint, or "".
	Hint string
	// Chain are the texts of all human turns of the request in order; the last
	// one is User's.
	Chain []string
	// History are the visible messages that the client resent, in order. It may
	// end before User or contain it: in a tool loop assistant texts follow the
	// last human turn, and they belong here too.
	History []Unit
	User    Unit
	// Assistant nil, or without text: the call failed or was cut. Then no turn
	// is stored in a conversation, and the user's text is kept once as a note.
	Assistant *Unit

	Provider, Model string
	Dialect         dhruva.Dialect
	Path            string // hosted | local
	// Receipt, when given, is closed in the same Update.
	Receipt *dhruva.Receipt
	// EventTime is when it was said; zero is now.
	EventTime time.Time
	// Began is what BeginCapture answered. Nil, or of another session than the
	// one found now, says that the request saw nothing of that session: its turns
	// then count as begun before all that happened in it.
	Began *Began
}

// Values of Captured.Skipped.
const (
	// SkippedTombstoned: a text was purged in this generation; its turn stands
	// without text and has no source.
	SkippedTombstoned = "skipped_tombstoned"
	// SkippedKnown: everything was there already.
	SkippedKnown = "skipped_known"
	// SkippedTrivial: the user's text of a failed call carries no fact.
	SkippedTrivial = "skipped_trivial"
)

// IngestStored is what a receipt says of a capture that stored something.
const IngestStored = "stored"

// Captured is what a capture stored.
type Captured struct {
	Session dhruva.SessionID
	// Turns are the message and the answer, whether stored now or known before.
	Turns []dhruva.TurnID
	// Sources are those made or extended now, in the order of the turns.
	Sources []dhruva.SourceID
	// Backfilled counts history turns that were stored now.
	Backfilled int
	// Redactions counts the secrets that were replaced in what was stored now.
	Redactions int
	// Skipped says why something was not stored, "" otherwise.
	Skipped string
}

// Capture stores a proxied exchange in the session it belongs to, backfills
// what of the resent history is not known there, makes the sources and closes
// the receipt. All of it is one Update, except that a long history is stored
// ahead in chunks. A generation that has ended is ErrFenced and leaves nothing
// behind; the receipt then stays open. Needs memory:write.
func (l *Ledger) Capture(ctx context.Context, in CaptureInput) (Captured, error) {
	p, err := principal(ctx, dhruva.MemoryWrite)
	if err != nil {
		return Captured{}, wrap("capture", err)
	}
	c, err := l.captureExchange(ctx, p, in)
	return c, wrap("capture", err)
}

func (l *Ledger) captureExchange(ctx context.Context, p dhruva.Principal, in CaptureInput) (Captured, error) {
	if in.User.Text == "" {
		return Captured{}, fmt.Errorf("%w: no human text", dhruva.ErrInvalid)
	}
	if in.Assistant == nil || in.Assistant.Text == "" {
		return l.captureFailed(ctx, p, in)
	}
	c, err := l.conversation(ctx, p, in)
	if err != nil {
		return Captured{}, err
	}
	for {
		out, left := Captured{}, false
		err := l.update(ctx, p, in.Space, func(tx dhruva.Tx) error {
			if err := current(tx, in.Space, in.Generation); err != nil {
				return err
			}
			if out, left, err = c.store(tx); left {
				more(tx)
			}
			return err
		})
		if err != nil || !left {
			return out, err
		}
		c.backfilled, c.redacted = c.backfilled+out.Backfilled, c.redacted+out.Redactions
	}
}

// BeginCapture is Begin for a proxied request: the space's generation, and what
// Begin gives of the session that the request belongs to, in one snapshot. Began
// is nil when it would be a new session. Both belong in the CaptureInput, so
// that a reply which is on its way while the session is mounted or saved is
// stored as begun before that. Needs memory:write.
func (l *Ledger) BeginCapture(ctx context.Context, space dhruva.SpaceID, hint string, chain []string) (generation int64, began *Began, err error) {
	p, err := principal(ctx, dhruva.MemoryWrite)
	if err != nil {
		return 0, nil, wrap("begin capture", err)
	}
	links := l.links(p, space, chain)
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		generation, began, err = l.beginCapture(tx, p, space, hint, links)
		return err
	})
	if err != nil {
		return 0, nil, wrap("begin capture", err)
	}
	return generation, began, nil
}

func (l *Ledger) beginCapture(tx dhruva.Tx, p dhruva.Principal, space dhruva.SpaceID, hint string, links []dhruva.Hash) (int64, *Began, error) {
	if _, err := liveSpace(tx, p, space); err != nil {
		return 0, nil, err
	}
	e, err := tx.Epoch(space)
	if err != nil {
		return 0, nil, err
	}
	s, err := l.find(tx, p, space, hint, links)
	if err != nil || s.ID == "" {
		return e.Generation, nil, err
	}
	return e.Generation, &Began{Session: s, After: s.LastSeq, Generation: e.Generation}, nil
}

// SessionOf tells which session a request would belong to; false when it would
// be a new one. Needs memory:write or memory:read.
func (l *Ledger) SessionOf(ctx context.Context, space dhruva.SpaceID, hint string, chain []string) (dhruva.SessionID, bool, error) {
	p, err := principal(ctx, dhruva.MemoryWrite, dhruva.MemoryRead)
	if err != nil {
		return "", false, wrap("session of", err)
	}
	links := l.links(p, space, chain)
	var s dhruva.Session
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if _, err := liveSpace(tx, p, space); err != nil {
			return err
		}
		s, err = l.find(tx, p, space, hint, links)
		return err
	})
	return s.ID, s.ID != "" && err == nil, wrap("session of", err)
}
