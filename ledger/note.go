package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// Notes: what is said outside any conversation (Remember, and the user's text
// of a failed call) stands as turns of the space's one notes session, so that
// every source refers to a turn.

// Authorities of Remember.
const (
	AuthorityUser      = "user"
	AuthorityAssistant = "assistant"
)

// RememberInput is a text to be remembered.
type RememberInput struct {
	Space dhruva.SpaceID
	Text  string
	// SourceID is the caller's own id; "" is the content id.
	SourceID dhruva.SourceID
	// Authority user says that a person said it and needs memory:attest;
	// assistant, the default, is what a model notes down.
	Authority string
	// Receipt, when given, is closed in the same Update. Its Redactions are set.
	Receipt *dhruva.Receipt
}

// Remember stores a text as a note and makes its source. The same text under
// the same id again is the same source and no second note; another text under
// an id in use is ErrConflict, and so is an id that was purged in this
// generation (SOURCE_ID_PURGED). Needs memory:write.
func (l *Ledger) Remember(ctx context.Context, in RememberInput) (dhruva.Source, error) {
	p, err := principal(ctx, dhruva.MemoryWrite)
	if err != nil {
		return dhruva.Source{}, wrap("remember", err)
	}
	src, err := l.remember(ctx, p, in)
	return src, wrap("remember", err)
}

func (l *Ledger) remember(ctx context.Context, p dhruva.Principal, in RememberInput) (out dhruva.Source, err error) {
	n := note{said: said{space: in.Space, id: in.SourceID, always: true, now: l.now()}}
	switch in.Authority {
	case AuthorityUser:
		if !p.May(dhruva.MemoryAttest) {
			return out, fmt.Errorf("%w: authority user needs %s", dhruva.ErrDenied, dhruva.MemoryAttest)
		}
		n.role, n.class = dhruva.RoleUser, dhruva.ClassUserTyped
	case AuthorityAssistant, "":
		n.role, n.class = dhruva.RoleAssistant, dhruva.ClassAssistantVisible
	default:
		return out, fmt.Errorf("%w: authority %q, want user or assistant", dhruva.ErrInvalid, clip(in.Authority, 80))
	}
	if err := l.rememberable(in); err != nil {
		return out, err
	}
	n.event = n.now
	n.text, n.secrets = l.Redact(in.Text)
	if n.id == "" {
		n.id = dhruva.ContentID(l.Keys, p.Tenant, in.Space, n.role, n.text)
	}
	receipt := l.finishing(ctx, p, in.Receipt, in.Space)
	draft, err := l.notesDraft(p, in.Space)
	if err != nil {
		return out, err
	}
	turn, _ := l.turn(p, draft, Unit{Role: n.role, Text: n.text}, n.now)
	err = l.update(ctx, p, in.Space, func(tx dhruva.Tx) error {
		n := n
		if n.generation, err = generation(tx, p, in.Space); err != nil {
			return err
		}
		var captured Captured
		if out, captured, err = l.note(tx, p, n, draft, turn); err != nil {
			return err
		}
		names(tx, MadeSource, sourceRef(out))
		redacted(tx, n.secrets)
		captured.Redactions = n.secrets
		return settle(tx, receipt, CaptureInput{Generation: n.generation}, captured)
	})
	if err != nil {
		return dhruva.Source{}, err
	}
	if in.Receipt != nil {
		in.Receipt.Redactions = n.secrets
	}
	return out, nil
}

// generation is the current one of a space that may be written to by name.
func generation(tx dhruva.Tx, p dhruva.Principal, space dhruva.SpaceID) (int64, error) {
	if err := notHome(tx, p, space); err != nil {
		return 0, err
	}
	e, err := tx.Epoch(space)
	return e.Generation, err
}

func (l *Ledger) rememberable(in RememberInput) error {
	if strings.TrimSpace(in.Text) == "" {
		return fmt.Errorf("%w: the text is blank", dhruva.ErrInvalid)
	}
	if err := body("text", in.Text, l.limits().RememberBytes); err != nil {
		return err
	}
	if id, err := label("source id", string(in.SourceID), maxName, true); err != nil || id != string(in.SourceID) {
		return firstOf(err, fmt.Errorf("%w: source id has spaces around it", dhruva.ErrInvalid))
	}
	return l.notSecret("source id", string(in.SourceID))
}

// note is a text said outside any conversation.
type note struct {
	said
	secrets         int // that were replaced in its text
	provider, model string
}

func (l *Ledger) notesDraft(p dhruva.Principal, space dhruva.SpaceID) (dhruva.Session, error) {
	return l.newSession(p, SessionInput{Space: space, Kind: dhruva.SessionNotes, Title: "Notes"})
}

// note stores a note as a turn, unless its source is there already and stands.
func (l *Ledger) note(tx dhruva.Tx, p dhruva.Principal, n note, draft dhruva.Session, t dhruva.Turn) (src dhruva.Source, out Captured, err error) {
	if gone, err := tombstoned(tx, n.space, n.generation, n.id); err != nil || gone {
		return src, out, firstOf(err, fmt.Errorf("%w: SOURCE_ID_PURGED: source %s was purged in this generation", dhruva.ErrConflict, n.id))
	}
	old, err := tx.Source(n.space, n.generation, n.id)
	if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
		return src, out, err
	}
	if err == nil {
		if src, out, done, err := l.noted(tx, p, n, old); done || err != nil {
			return src, out, err
		}
	}
	s, err := l.notes(tx, p, n.space, draft)
	if err != nil {
		return src, out, err
	}
	t.Session, t.BeganAfter, t.Parent = s.ID, s.LastSeq, s.LastSeq
	s.LastSeq++
	touch(&s, n.now)
	t.Seq, t.Provider, t.Model = s.LastSeq, n.provider, n.model
	n.ref = dhruva.Reference{Session: s.ID, Seq: t.Seq}
	if err := firstOf(tx.AppendTurn(t), tx.PutSession(s)); err != nil {
		return src, out, err
	}
	src, _, err = l.capture(tx, p, n.said)
	return src, Captured{Session: s.ID, Turns: []dhruva.TurnID{t.ID}, Sources: []dhruva.SourceID{src.ID}}, err
}

// noted deals with a source that is there: another text is a conflict; the same
// text at a place that stands needs no second note, only its class may rise.
func (l *Ledger) noted(tx dhruva.Tx, p dhruva.Principal, n note, old dhruva.Source) (src dhruva.Source, out Captured, done bool, err error) {
	if old.Digest != dhruva.DigestText(n.text) || old.Role != n.role {
		return src, out, true, fmt.Errorf("%w: source %s says something else", dhruva.ErrConflict, n.id)
	}
	_, ref, err := dhruva.SourceText(tx, old)
	if err == nil {
		var ok bool
		if ok, err = stands(tx, ref); !ok {
			return src, out, false, err
		}
	}
	if err != nil {
		return src, out, false, ignoreMissing(err)
	}
	n.ref = ref
	src, _, err = l.capture(tx, p, n.said)
	return src, Captured{Session: ref.Session, Sources: []dhruva.SourceID{src.ID}, Skipped: SkippedKnown}, true, err
}

// notes is the space's notes session, made on first use and again when it was
// deleted.
func (l *Ledger) notes(tx dhruva.Tx, p dhruva.Principal, space dhruva.SpaceID, draft dhruva.Session) (dhruva.Session, error) {
	key := l.mac(p, "notes", string(space))
	id, err := tx.SessionHint(space, key)
	if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
		return dhruva.Session{}, err
	}
	if err == nil {
		if s, err := sessionOr(tx, p, space, id); err != nil || s.ID != "" {
			return s, err
		}
	}
	return draft, firstOf(tx.PutSession(draft), tx.BindHint(space, key, draft.ID))
}

// captureFailed keeps the user's text of a call that failed or was cut, once.
func (l *Ledger) captureFailed(ctx context.Context, p dhruva.Principal, in CaptureInput) (out Captured, err error) {
	now := l.now()
	n := note{provider: l.named(in.Provider), model: l.named(in.Model), said: said{
		space: in.Space, generation: in.Generation, role: dhruva.RoleUser, class: dhruva.ClassUserTyped, event: in.EventTime, now: now,
	}}
	if n.event.IsZero() {
		n.event = now
	}
	receipt := l.finishing(ctx, p, in.Receipt, in.Space)
	draft, err := l.notesDraft(p, in.Space)
	if err != nil {
		return out, err
	}
	turn, secrets := l.capturedTurn(p, draft, Unit{Role: dhruva.RoleUser, Text: in.User.Text, Truncated: in.User.Truncated}, n.event)
	n.text, n.secrets, n.id = turn.Content, secrets, dhruva.ContentID(l.Keys, p.Tenant, in.Space, dhruva.RoleUser, turn.Content)
	err = l.update(ctx, p, in.Space, func(tx dhruva.Tx) error {
		if err := current(tx, in.Space, in.Generation); err != nil {
			return err
		}
		if out, err = l.noteOnce(tx, p, n, draft, turn); err != nil {
			return err
		}
		return settle(tx, receipt, in, out)
	})
	if err != nil {
		return Captured{}, err
	}
	return out, nil
}

// noteOnce is note for captured text: what may not be stored is skipped in
// silence, because the model call must not learn of it.
func (l *Ledger) noteOnce(tx dhruva.Tx, p dhruva.Principal, n note, draft dhruva.Session, t dhruva.Turn) (Captured, error) {
	if Trivial(n.text) {
		return Captured{Skipped: SkippedTrivial}, nil
	}
	if gone, err := tombstoned(tx, n.space, n.generation, n.id); err != nil || gone {
		return Captured{Skipped: SkippedTombstoned}, err
	}
	_, out, err := l.note(tx, p, n, draft, t)
	if out.Skipped == "" {
		out.Redactions = n.secrets
		redacted(tx, n.secrets)
	}
	return out, err
}
