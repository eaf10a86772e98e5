package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// conversation is a captured request made ready. The message and the answer are
// drafted before the first Update, and of a history, which is mostly known, what
// turns out to be new: once, so that an Update may run again.
type conversation struct {
	ledger    *Ledger
	principal dhruva.Principal
	in        CaptureInput
	links     []dhruva.Hash
	units     []*placedUnit // history, then the message, then the answer
	fresh     dhruva.Session
	receipt   *dhruva.Receipt
	now       time.Time
	event     time.Time
	// backfilled and redacted count what earlier chunks stored.
	backfilled, redacted int
}

// placedUnit is a unit with its turn, once it is drafted.
type placedUnit struct {
	Unit
	turn dhruva.Turn
	same string // normalised text
	// human is the position of a user's unit in the chain, from 1; 0 for others.
	human int
	// last: this is the exchange itself, not history.
	last bool
	// silent: it makes no source.
	silent bool
	// secrets is how many were replaced in it.
	secrets int
}

func (l *Ledger) conversation(ctx context.Context, p dhruva.Principal, in CaptureInput) (*conversation, error) {
	in.Provider, in.Model = l.named(in.Provider), l.named(in.Model)
	c := &conversation{ledger: l, principal: p, in: in, now: l.now()}
	c.event = in.EventTime
	if c.event.IsZero() {
		c.event = c.now
	}
	fresh, err := l.newSession(p, SessionInput{Space: in.Space, Kind: dhruva.SessionProxy})
	if err != nil {
		return nil, err
	}
	c.fresh = fresh
	c.receipt = l.finishing(ctx, p, in.Receipt, in.Space)
	if err := c.arrange(); err != nil {
		return nil, err
	}
	c.links = l.links(p, in.Space, c.in.Chain)
	return c, nil
}

// arrange puts history, message and answer in one row and finds each human
// turn's position in the chain. Only the latest of a long history are taken;
// then the earlier positions have no unit.
func (c *conversation) arrange() error {
	history, humans := c.in.History, 0
	for _, u := range history {
		if u.Role == dhruva.RoleUser {
			humans++
		}
	}
	if len(c.in.Chain) == 0 {
		c.in.Chain = append(userTexts(history), c.in.User.Text)
	}
	contains := humans == len(c.in.Chain) // a tool loop: the message is in it
	if humans > len(c.in.Chain) {
		return fmt.Errorf("%w: %d human turns in the history of a chain of %d", dhruva.ErrInvalid, humans, len(c.in.Chain))
	}
	units := append([]Unit(nil), history...)
	if !contains {
		units, humans = append(units, c.in.User), humans+1
	}
	units = append(units, *c.in.Assistant)
	at := len(c.in.Chain) - humans
	cut := max(0, len(units)-2-c.ledger.limits().History)
	for i, u := range units {
		pu := &placedUnit{Unit: u, last: i == len(units)-1, silent: u.NoSource}
		if u.Role == dhruva.RoleUser {
			at++
			pu.human, pu.last = at, at == len(c.in.Chain)
		}
		if i < cut && !pu.last || u.Text == "" || u.Role != dhruva.RoleUser && u.Role != dhruva.RoleAssistant {
			continue
		}
		if c.units = append(c.units, pu); pu.last {
			c.draft(pu)
		}
	}
	return nil
}

// draft makes the turn of a unit, without its place.
func (c *conversation) draft(u *placedUnit) {
	if u.turn.ID != "" {
		return
	}
	u.turn, u.secrets = c.ledger.capturedTurn(c.principal, c.fresh, u.Unit, c.event)
	u.turn.Backfill = !u.last
	if u.last {
		u.turn.Provider, u.turn.Model = c.in.Provider, c.in.Model
	}
	u.same = dhruva.Normalize(u.turn.Content)
}

func userTexts(units []Unit) (out []string) {
	for _, u := range units {
		if u.Role == dhruva.RoleUser {
			out = append(out, u.Text)
		}
	}
	return out
}

// writing is one run of an Update over a conversation.
type writing struct {
	*conversation
	tx      dhruva.Tx
	session dhruva.Session
	isNew   bool
	after   int64         // the boundary of this request
	later   []dhruva.Turn // turns after the last known human turn, and new ones
	prev    int64         // number of the turn that the next one follows
	// sliding: the client's window slid, so positions say nothing; what the
	// session says already is known by its text.
	sliding bool
	out     Captured
	wrote   int
}

// store writes the next chunk; more means that history is left.
func (c *conversation) store(tx dhruva.Tx) (Captured, bool, error) {
	w := &writing{conversation: c, tx: tx}
	if err := w.open(); err != nil {
		return Captured{}, false, err
	}
	units, err := w.unknown()
	if err != nil {
		return Captured{}, false, err
	}
	for _, u := range units {
		if w.wrote == chunk {
			return w.out, true, w.close()
		}
		if err := w.unit(u); err != nil {
			return Captured{}, false, err
		}
	}
	w.session.Provider, w.session.Model = c.in.Provider, c.in.Model
	w.out.Backfilled, w.out.Redactions = w.out.Backfilled+c.backfilled, w.out.Redactions+c.redacted
	if w.wrote == 0 && c.backfilled == 0 && w.out.Skipped == "" {
		w.out.Skipped = SkippedKnown
	}
	return w.out, false, firstOf(w.close(), w.settle())
}

// open finds or makes the session.
func (w *writing) open() (err error) {
	l, in := w.ledger, w.in
	if w.session, err = l.find(w.tx, w.principal, in.Space, in.Hint, w.links); err != nil {
		return err
	}
	if w.session.ID == "" { // an earlier chunk may have made it
		if w.session, err = sessionOr(w.tx, w.principal, in.Space, w.fresh.ID); err != nil {
			return err
		}
	}
	if w.isNew = w.session.ID == ""; w.isNew {
		w.session = w.fresh
	}
	w.out.Session = w.session.ID
	began := Began{Session: dhruva.Session{ID: w.session.ID}} // nothing was there
	if in.Began != nil && in.Began.Session.ID == w.session.ID {
		began = *in.Began
	}
	w.after, err = boundary(began, &w.session, min(int64(len(w.units)), chunk))
	return err
}

// unknown skips the units up to the last human turn that the session holds.
func (w *writing) unknown() ([]*placedUnit, error) {
	n, seq, err := w.ledger.known(w.tx, w.principal, w.session, w.links)
	if err != nil {
		return nil, err
	}
	w.sliding = n == 0 && w.session.LastSeq > 0
	w.prev = seq
	if w.sliding {
		w.prev = tipOf(w.session)
	}
	if !w.isNew && !w.sliding {
		if w.later, err = w.tx.ListTurns(dhruva.TurnQuery{Session: w.session.ID, After: seq}); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return w.units, nil
	}
	for i, u := range w.units {
		if u.human > n { // the window begins later than what is known
			return w.units[i:], nil
		}
		if u.human == n {
			return w.units[i+1:], w.seen(u, seq)
		}
	}
	return w.units, nil
}

// seen notes the message of this exchange when it is known already: the answer
// is then another answer to it.
func (w *writing) seen(u *placedUnit, seq int64) error {
	if !u.last {
		return nil
	}
	t, err := w.tx.Turn(w.session.ID, seq)
	if err == nil {
		w.out.Turns = append(w.out.Turns, t.ID)
	}
	return err
}

// unit stores one unit unless it is there.
func (w *writing) unit(u *placedUnit) error {
	w.draft(u)
	if u.human == 0 {
		if t, ok := w.child(u); ok {
			w.prev = t.Seq
			if u.last {
				w.out.Turns = append(w.out.Turns, t.ID)
			}
			return nil
		}
	}
	if w.sliding && !u.last {
		if there, err := w.saidHere(u); err != nil || there {
			return err
		}
	}
	return w.append(u)
}

// child is a turn that follows prev and says the same.
func (w *writing) child(u *placedUnit) (dhruva.Turn, bool) {
	for _, t := range w.later {
		if t.Parent == w.prev && t.Role == u.turn.Role && !t.Redacted && dhruva.Normalize(t.Content) == u.same {
			return t, true
		}
	}
	return dhruva.Turn{}, false
}

// saidHere reports whether the session says a text already, or the text is too
// slight to tell.
func (w *writing) saidHere(u *placedUnit) (bool, error) {
	if Trivial(u.turn.Content) {
		return true, nil
	}
	id := dhruva.ContentID(w.ledger.Keys, w.principal.Tenant, w.in.Space, u.turn.Role, u.turn.Content)
	refs, err := w.tx.References(w.in.Space, w.in.Generation, id)
	for _, r := range refs {
		if r.Session == w.session.ID {
			return true, nil
		}
	}
	return false, err
}

// append stores a unit as the next turn, with its links and its source. A text
// that was purged in this generation keeps its place without its words.
func (w *writing) append(u *placedUnit) error {
	t, secrets := u.turn, u.secrets
	t.Session, t.Parent, t.BeganAfter = w.session.ID, w.prev, w.after
	w.session.LastSeq++
	t.Seq = w.session.LastSeq
	setTip(&w.session, t.Seq)
	id := dhruva.ContentID(w.ledger.Keys, w.principal.Tenant, w.in.Space, t.Role, t.Content)
	gone, err := tombstoned(w.tx, w.in.Space, w.in.Generation, id)
	if err != nil {
		return err
	}
	if gone {
		t.Content, t.Redacted, w.out.Skipped = "", true, SkippedTombstoned
		secrets = 0
	}
	if err := w.tx.AppendTurn(t); err != nil {
		return err
	}
	if u.human > 0 {
		if err := w.ledger.link(w.tx, w.principal, t, w.links[u.human-1]); err != nil {
			return err
		}
	}
	w.wrote, w.prev, w.later = w.wrote+1, t.Seq, append(w.later, t)
	w.out.Redactions += secrets
	redacted(w.tx, secrets)
	if u.last {
		w.out.Turns = append(w.out.Turns, t.ID)
	} else {
		w.out.Backfilled++
	}
	if u.silent {
		return nil
	}
	return w.source(t)
}

func (w *writing) source(t dhruva.Turn) error {
	src, made, err := w.ledger.capture(w.tx, w.principal, said{
		space: w.in.Space, generation: w.in.Generation, role: t.Role, class: proxyClass(t), text: t.Content,
		event: w.event, now: w.now, ref: dhruva.Reference{Session: t.Session, Seq: t.Seq},
	})
	if made {
		w.out.Sources = append(w.out.Sources, src.ID)
	}
	return err
}

// proxyClass: an answer known only from a later request's history was not seen
// coming from the model.
func proxyClass(t dhruva.Turn) dhruva.SourceClass {
	if t.Backfill && t.Role == dhruva.RoleAssistant {
		return dhruva.ClassDerived
	}
	return visibleClass(t.Role)
}

// close writes the session and binds the hint.
func (w *writing) close() error {
	touch(&w.session, w.now)
	if err := w.tx.PutSession(w.session); err != nil || !w.isNew || w.in.Hint == "" {
		return err
	}
	return w.tx.BindHint(w.in.Space, w.ledger.hintKey(w.principal, w.in.Hint), w.session.ID)
}

// settle closes the receipt.
func (w *writing) settle() error { return settle(w.tx, w.receipt, w.in, w.out) }

func settle(tx dhruva.Tx, receipt *dhruva.Receipt, in CaptureInput, out Captured) error {
	if receipt == nil {
		return nil
	}
	r := *receipt
	r.Session, r.TurnIDs, r.Generation, r.Redactions = out.Session, out.Turns, in.Generation, out.Redactions
	r.Ingest = firstText(out.Skipped, IngestStored)
	return closeReceipt(tx, r)
}
