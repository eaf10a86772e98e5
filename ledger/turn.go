package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Unit is one visible text of one speaker.
type Unit struct {
	Role dhruva.Role
	Text string
	// Interim: the text stood beside a tool call. Truncated: it was cut.
	Interim, Truncated bool
	// NoSource: keep it as a turn only, for answers that say back what was
	// injected, so that memory does not feed on itself.
	NoSource bool
}

// Began is what a request captures when it begins, so that its writes can be
// judged by the state it saw.
type Began struct {
	Session dhruva.Session
	// After is the session's last turn number then.
	After int64
	// Generation is that of the session's space then.
	Generation int64
}

// Exchange is a message and its answer.
type Exchange struct {
	User Unit
	// Parent is the turn that the message follows, 0 for a new beginning: an edit
	// of the message that followed it then. Nil is the tip when it is stored.
	Parent *int64
	// Regenerate is an answer of the session that was made again: the new one is
	// stored alone, beside it, and User is not looked at.
	Regenerate int64
	// Assistant nil, or without text: the call failed and neither turn is stored.
	Assistant       *Unit
	Provider, Model string
	// Receipt, when given, is closed in the same Update. Its Redactions are set.
	Receipt *dhruva.Receipt
	// Title, when given, becomes the session's.
	Title string
}

// Begin captures the start of a request. Needs state:write.
func (l *Ledger) Begin(ctx context.Context, id dhruva.SessionID) (b Began, err error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return b, wrap("begin", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		b, err = begin(tx, p, id)
		return err
	})
	return b, wrap("begin", err)
}

func begin(tx dhruva.Tx, p dhruva.Principal, id dhruva.SessionID) (Began, error) {
	s, err := liveSession(tx, p, id)
	if err != nil {
		return Began{}, err
	}
	e, err := tx.Epoch(s.Space)
	return Began{Session: s, After: s.LastSeq, Generation: e.Generation}, err
}

// AppendExchange stores a message and its answer as two adjacent turns, makes
// their sources and closes the receipt, in one Update. They follow the tip of the
// session, also when it has moved since the request began, and the answer becomes
// the tip; only an edit (Parent) or a regeneration makes siblings. Without an answer it
// stores no turn and only closes the receipt. A session that moved, or a space
// that was cleared, since the request began is ErrFenced. Provider and model are
// cut to labels. Needs state:write; without memory:write no sources are made.
func (l *Ledger) AppendExchange(ctx context.Context, began Began, in Exchange) ([]dhruva.Turn, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return nil, wrap("append", err)
	}
	space := began.Session.Space
	in.Provider, in.Model, in.Title = l.named(in.Provider), l.named(in.Model), l.hide(in.Title)
	turns, n, err := l.draftTurns(p, began, in)
	if err != nil {
		return nil, wrap("append", err)
	}
	if in.Receipt != nil {
		in.Receipt.Redactions = n
	}
	receipt := l.finishing(ctx, p, in.Receipt, space)
	var out []dhruva.Turn
	err = l.update(ctx, p, space, func(tx dhruva.Tx) error {
		out, err = l.appendExchange(tx, p, began, in, turns)
		redacted(tx, n)
		if err != nil || receipt == nil {
			return err
		}
		r := *receipt
		r.Session, r.Generation, r.TurnIDs = began.Session.ID, began.Generation, turnIDs(out)
		return closeReceipt(tx, r)
	})
	if err != nil {
		return nil, wrap("append", l.moved(ctx, p, began, err))
	}
	return out, nil
}

// draftTurns are the turns without their numbers, and how many secrets were
// replaced in them; none when the call failed.
func (l *Ledger) draftTurns(p dhruva.Principal, began Began, in Exchange) (out []dhruva.Turn, secrets int, err error) {
	lim := l.limits()
	if in.Assistant == nil || in.Assistant.Text == "" {
		return nil, 0, nil
	}
	if in.Parent != nil && in.Regenerate != 0 {
		return nil, 0, fmt.Errorf("%w: a message follows a turn, or an answer is made again; not both", dhruva.ErrInvalid)
	}
	if in.Regenerate == 0 {
		if in.User.Text == "" {
			return nil, 0, fmt.Errorf("%w: the message is empty", dhruva.ErrInvalid)
		}
		if err := body("message", in.User.Text, lim.TurnBytes); err != nil {
			return nil, 0, err
		}
	}
	now := l.now()
	for i, u := range []Unit{in.User, *in.Assistant} {
		if i == 0 && in.Regenerate != 0 {
			continue
		}
		u.Role = []dhruva.Role{dhruva.RoleUser, dhruva.RoleAssistant}[i]
		t, n := l.turn(p, began.Session, u, now)
		t.Provider, t.Model = in.Provider, in.Model
		out, secrets = append(out, t), secrets+n
	}
	return out, secrets, nil
}

// turn is a captured text as a turn, without number and parent, and how many
// secrets were replaced in it. They go before the text is cut, so that none is
// cut in two.
func (l *Ledger) turn(p dhruva.Principal, s dhruva.Session, u Unit, at time.Time) (dhruva.Turn, int) {
	text, n := l.Redact(mend(u.Text))
	text, cut := clean(text, l.limits().TurnBytes)
	u.Text, u.Truncated = text, u.Truncated || cut
	return draftTurn(p, s, u, at), n
}

// capturedTurn is turn for what went through the proxy. It may have been cut
// before it came here, so that it is always cut first: the full text and the cut
// one make the same turn.
func (l *Ledger) capturedTurn(p dhruva.Principal, s dhruva.Session, u Unit, at time.Time) (dhruva.Turn, int) {
	text, cut := cleanEnds(u.Text, l.limits().CaptureBytes)
	if u.Truncated = u.Truncated || cut; u.Truncated {
		text = wholeEnds(text)
	}
	text, n := l.Redact(text)
	u.Text = text
	return draftTurn(p, s, u, at), n
}

func draftTurn(p dhruva.Principal, s dhruva.Session, u Unit, at time.Time) dhruva.Turn {
	return dhruva.Turn{
		Tenant: p.Tenant, Space: s.Space, Session: s.ID, ID: dhruva.TurnID(dhruva.NewID()), Role: u.Role, Content: u.Text,
		Interim: u.Interim, Truncated: u.Truncated, CreatedAt: at,
	}
}

func (l *Ledger) appendExchange(tx dhruva.Tx, p dhruva.Principal, began Began, in Exchange, drafts []dhruva.Turn) ([]dhruva.Turn, error) {
	s, err := liveSession(tx, p, began.Session.ID)
	if err != nil {
		return nil, err
	}
	if err := current(tx, s.Space, began.Generation); err != nil {
		return nil, err
	}
	if len(drafts) == 0 {
		return nil, nil
	}
	out := slices.Clone(drafts)
	parent, err := in.parent(tx, began, s)
	if err != nil {
		return nil, err
	}
	after, err := boundary(began, &s, int64(len(out)))
	if err != nil {
		return nil, err
	}
	for i := range out {
		s.LastSeq++
		out[i].Seq, out[i].Parent, out[i].BeganAfter = s.LastSeq, parent, after
		parent = s.LastSeq
		if err := tx.AppendTurn(out[i]); err != nil {
			return nil, err
		}
		answer := out[i].Role == dhruva.RoleAssistant
		if answer && in.Assistant.NoSource || !answer && in.User.NoSource || !p.May(dhruva.MemoryWrite) {
			continue
		}
		if err := l.captureTurn(tx, p, out[i], began.Generation); err != nil {
			return nil, err
		}
	}
	setTip(&s, s.LastSeq)
	s.Provider, s.Model = in.Provider, in.Model
	touch(&s, out[0].CreatedAt)
	if title, err := label("title", in.Title, maxTitle, true); err == nil && title != "" {
		s.Title = title
	}
	return out, tx.PutSession(s)
}

// parent is the turn that the first one of an exchange follows.
func (in Exchange) parent(tx dhruva.Tx, began Began, s dhruva.Session) (int64, error) {
	switch {
	case in.Parent != nil:
		return *in.Parent, followable(s, *in.Parent)
	case in.Regenerate == 0:
		return tipOf(s), nil
	}
	q, err := questionOf(tx, s, in.Regenerate)
	if err == nil && sameMount(s.Mount, began.Session.Mount) { // one that began before is stored as before
		err = answerable(&q, s.Mount)
	}
	return q.Seq, err
}

// boundary is the number after which a request counts as begun, for a session
// as it is when the request's turns are stored. A request that was on its way
// when a mount was made saw the state before it, also when no turn came between
// its beginning and the mount; so it counts as begun before the mount's base.
//
// No number comes before a mount in a session without turns. There the boundary
// itself moves behind the late turns, unless later ones have come already: then
// the late ones have no place and are ErrFenced.
func boundary(began Began, s *dhruva.Session, turns int64) (int64, error) {
	switch m := s.Mount; {
	case m == nil:
		return began.After, nil
	case sameMount(m, began.Session.Mount):
		return max(began.After, m.Base), nil
	case m.Base > 0:
		return min(began.After, m.Base-1), nil
	case s.LastSeq > 0:
		return 0, fmt.Errorf("%w: the session was mounted since this request began", dhruva.ErrFenced)
	}
	m := *s.Mount
	m.Base = turns
	s.Mount = &m
	return began.After, nil
}

// sameMount tells mounts by their moment, which differs within a session; the
// base may have moved.
func sameMount(a, b *dhruva.Mount) bool {
	return a != nil && b != nil && a.At.Equal(b.At) && a.Checkpoint == b.Checkpoint
}

// touch moves a session's time on, never back.
func touch(s *dhruva.Session, now time.Time) {
	if now.After(s.UpdatedAt) {
		s.UpdatedAt = now
	}
}

// moved tells a session that was attached elsewhere since the request began
// from one that is gone: the answer belongs to a context that has ended.
func (l *Ledger) moved(ctx context.Context, p dhruva.Principal, began Began, err error) error {
	if !errors.Is(err, dhruva.ErrNotFound) {
		return err
	}
	if s, e := l.locate(ctx, p, began.Session.ID); e == nil && s.Space != began.Session.Space {
		return fmt.Errorf("%w: the session was attached to another space since this request began", dhruva.ErrFenced)
	}
	return err
}

// captureTurn makes the source of a turn of a live conversation.
func (l *Ledger) captureTurn(tx dhruva.Tx, p dhruva.Principal, t dhruva.Turn, generation int64) error {
	_, _, err := l.capture(tx, p, said{
		space: t.Space, generation: generation, role: t.Role, class: visibleClass(t.Role), text: t.Content, event: t.CreatedAt, now: t.CreatedAt,
		ref: dhruva.Reference{Session: t.Session, Seq: t.Seq},
	})
	return err
}

// visibleClass is the class of what was said in a live conversation.
func visibleClass(r dhruva.Role) dhruva.SourceClass {
	if r == dhruva.RoleUser {
		return dhruva.ClassUserTyped
	}
	return dhruva.ClassAssistantVisible
}

func turnIDs(turns []dhruva.Turn) []dhruva.TurnID {
	var out []dhruva.TurnID
	for _, t := range turns {
		out = append(out, t.ID)
	}
	return out
}

// ListTurns lists a session's turns after a number, ascending; limit 0 means
// 100, at most 1,000. Needs state:read.
func (l *Ledger) ListTurns(ctx context.Context, id dhruva.SessionID, after int64, limit int) (out []dhruva.Turn, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, wrap("list turns", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if _, err := liveSession(tx, p, id); err != nil {
			return err
		}
		out, err = tx.ListTurns(dhruva.TurnQuery{Session: id, After: max(after, 0), Limit: dhruva.Page{Limit: limit}.Size()})
		return err
	})
	return out, wrap("list turns", err)
}
