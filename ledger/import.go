package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// ImportInput is a conversation held elsewhere.
type ImportInput struct {
	Space dhruva.SpaceID
	// Key names the conversation in its origin; importing the same key again
	// adds only what is new.
	Key   string
	Title string
	Turns []ImportedTurn
}

// ImportedTurn is one message of it.
type ImportedTurn struct {
	Role dhruva.Role // user or assistant
	// Speaker is a person's name in conversations between people, else "".
	Speaker string
	Text    string
	Time    time.Time // zero: unknown
}

// ImportResult counts turns, and the secrets that were replaced in the new ones.
type ImportResult struct {
	Session      dhruva.SessionID
	New, Skipped int
	Redactions   int
}

// ImportTurns stores a conversation in the session of its key, in chunks. It
// may be repeated, also after a crash: a turn that is there (by role, speaker
// and text, counting repetitions) is skipped. Blank turns are skipped too. What
// users said is imported, what assistants said is derived. Needs memory:write.
func (l *Ledger) ImportTurns(ctx context.Context, in ImportInput) (ImportResult, error) {
	p, err := principal(ctx, dhruva.MemoryWrite)
	if err != nil {
		return ImportResult{}, wrap("import", err)
	}
	res, err := l.importTurns(ctx, p, in)
	return res, wrap("import", err)
}

func (l *Ledger) importTurns(ctx context.Context, p dhruva.Principal, in ImportInput) (ImportResult, error) {
	i, err := l.newImport(p, in)
	if err != nil {
		return ImportResult{}, err
	}
	res := ImportResult{Skipped: len(in.Turns)}
	if len(i.turns) == 0 {
		return res, nil
	}
	for {
		var st step
		err := l.update(ctx, p, in.Space, func(tx dhruva.Tx) error {
			st, err = i.step(tx)
			return err
		})
		if err != nil {
			return res, err
		}
		res.Session, res.New, res.Skipped = st.session, res.New+st.wrote, res.Skipped-st.wrote
		res.Redactions += st.secrets
		if len(st.rest) == 0 {
			return res, nil
		}
		i.last = st
	}
}

type importing struct {
	ledger    *Ledger
	principal dhruva.Principal
	in        ImportInput
	turns     []saidTurn
	fresh     dhruva.Session
	key       dhruva.Hash
	now       time.Time
	last      step
}

// saidTurn is a drafted turn and how it is told from others.
type saidTurn struct {
	dhruva.Turn
	by      saidBy
	secrets int // that were replaced
}

type saidBy struct {
	role    dhruva.Role
	speaker string
	digest  dhruva.Hash
}

func by(t dhruva.Turn) saidBy { return saidBy{t.Role, t.Speaker, dhruva.DigestText(t.Content)} }

// step is what one Update did. While nobody else writes to the session, the
// next one goes on with rest instead of comparing everything again.
type step struct {
	session dhruva.SessionID
	wrote   int
	secrets int   // replaced in what it wrote
	at      int64 // the session's last number
	rest    []saidTurn
}

func (l *Ledger) newImport(p dhruva.Principal, in ImportInput) (*importing, error) {
	key, err := label("key", in.Key, maxDetail, false)
	if err != nil {
		return nil, err
	}
	if max := l.limits().ImportTurns; len(in.Turns) > max {
		return nil, fmt.Errorf("%w: %d turns, the limit is %d", dhruva.ErrTooLarge, len(in.Turns), max)
	}
	title := clip(strings.TrimSpace(l.hide(strings.ToValidUTF8(in.Title, "\uFFFD"))), maxTitle)
	i := &importing{ledger: l, principal: p, in: in, now: l.now()}
	if i.fresh, err = l.newSession(p, SessionInput{Space: in.Space, Title: title}); err != nil {
		return nil, err
	}
	i.key = l.mac(p, "import", string(in.Space), key)
	for n, t := range in.Turns {
		if t.Role != dhruva.RoleUser && t.Role != dhruva.RoleAssistant {
			return nil, fmt.Errorf("%w: turn %d has role %q", dhruva.ErrInvalid, n+1, clip(string(t.Role), 80))
		}
		if strings.TrimSpace(t.Text) == "" {
			continue
		}
		i.turns = append(i.turns, i.draft(t))
	}
	return i, nil
}

func (i *importing) draft(in ImportedTurn) saidTurn {
	at := in.Time
	if at.IsZero() {
		at = i.now
	}
	t, secrets := i.ledger.turn(i.principal, i.fresh, Unit{Role: in.Role, Text: in.Text}, dhruva.Micros(at))
	t.Speaker = i.ledger.named(in.Speaker)
	return saidTurn{t, by(t), secrets}
}

// step appends the next turns that are not there, at most chunk of them.
func (i *importing) step(tx dhruva.Tx) (step, error) {
	s, isNew, err := i.session(tx)
	if err != nil {
		return step{}, err
	}
	e, err := tx.Epoch(i.in.Space)
	if err != nil {
		return step{}, err
	}
	rest := i.last.rest
	if isNew || s.ID != i.last.session || s.LastSeq != i.last.at {
		if rest, err = i.missing(tx, s); err != nil {
			return step{}, err
		}
	}
	wrote, secrets := 0, 0
	for len(rest) > 0 && wrote < chunk {
		t, found := rest[0].Turn, rest[0].secrets
		rest = rest[1:]
		// Nothing comes between two turns of one Update, so each begins after the
		// one before it; a window is found faster that way (see path.go).
		t.Session, t.Seq, t.Parent, t.BeganAfter = s.ID, s.LastSeq+1, tipOf(s), s.LastSeq
		ok, err := i.say(tx, t, e.Generation)
		if err != nil {
			return step{}, err
		}
		if ok {
			s.LastSeq, wrote, secrets = t.Seq, wrote+1, secrets+found
			setTip(&s, t.Seq)
		}
	}
	if isNew || wrote > 0 {
		touch(&s, i.now)
		err = tx.PutSession(s)
	}
	if isNew && err == nil {
		err = tx.BindHint(i.in.Space, i.key, s.ID)
	}
	if len(rest) > 0 {
		more(tx)
	}
	names(tx, MadeSession, string(s.ID)) // also when there was nothing new
	redacted(tx, secrets)
	return step{s.ID, wrote, secrets, s.LastSeq, rest}, err
}

func (i *importing) session(tx dhruva.Tx) (dhruva.Session, bool, error) {
	if err := notHome(tx, i.principal, i.in.Space); err != nil {
		return dhruva.Session{}, false, err
	}
	id, err := tx.SessionHint(i.in.Space, i.key)
	if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
		return dhruva.Session{}, false, err
	}
	if err == nil {
		if s, err := sessionOr(tx, i.principal, i.in.Space, id); err != nil || s.ID != "" {
			return s, false, err
		}
	}
	return i.fresh, true, nil
}

// missing are the turns that the session does not hold yet, in order.
func (i *importing) missing(tx dhruva.Tx, s dhruva.Session) ([]saidTurn, error) {
	have := map[saidBy]int{}
	rows, err := tx.ListTurns(dhruva.TurnQuery{Session: s.ID})
	if err != nil {
		return nil, err
	}
	for _, t := range rows {
		have[by(t)]++
	}
	var out []saidTurn
	for _, t := range i.turns {
		if have[t.by] > 0 {
			have[t.by]--
		} else {
			out = append(out, t)
		}
	}
	return out, nil
}

// say appends a turn and its source; false for a text that was purged in this
// generation, which is not brought back.
func (i *importing) say(tx dhruva.Tx, t dhruva.Turn, generation int64) (bool, error) {
	class := dhruva.ClassImported
	if t.Role == dhruva.RoleAssistant {
		class = dhruva.ClassDerived
	}
	id := dhruva.ContentID(i.ledger.Keys, i.principal.Tenant, t.Space, t.Role, t.Content)
	if gone, err := tombstoned(tx, t.Space, generation, id); err != nil || gone {
		return false, err
	}
	if err := tx.AppendTurn(t); err != nil {
		return false, err
	}
	_, _, err := i.ledger.capture(tx, i.principal, said{
		space: t.Space, generation: generation, role: t.Role, class: class, text: t.Content, event: t.CreatedAt, now: i.now,
		id: id, ref: dhruva.Reference{Session: t.Session, Seq: t.Seq},
	})
	return err == nil, err
}
