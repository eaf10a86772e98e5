package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// copying is a fork from a turn. Ids and the session are made once, so that its
// Update may run again.
type copying struct {
	ledger *Ledger
	in     ForkInput
	fresh  dhruva.Session
	ids    []dhruva.TurnID
}

// forkTurn is Fork from a turn.
func (l *Ledger) forkTurn(ctx context.Context, p dhruva.Principal, in ForkInput) (out dhruva.Session, err error) {
	switch in.Scope {
	case "":
		in.Scope = ForkPath
	case ForkPath, ForkRelated, ForkAll:
	default:
		return out, fmt.Errorf("%w: fork scope %q; use path, related or all", dhruva.ErrInvalid, clip(string(in.Scope), 80))
	}
	source, err := l.locate(ctx, p, in.Session)
	if err != nil {
		return out, err
	}
	if in.Branch, err = l.freshBranch(in.Branch); err != nil {
		return out, err
	}
	if source.Fresh && in.Branch != "" {
		return out, fmt.Errorf("%w: a FRESH session has no branches; attach it first", dhruva.ErrInvalid)
	}
	if in.Provider == "" && in.Model == "" {
		in.Provider, in.Model = source.Provider, source.Model
	}
	if strings.TrimSpace(in.Title) == "" {
		in.Title = string([]rune("Fork of " + source.Title)[:min(maxTitle, len([]rune("Fork of "+source.Title)))])
	}
	c := copying{ledger: l, in: in}
	if c.fresh, err = l.newSession(p, SessionInput{Space: source.Space, Title: in.Title, Provider: in.Provider, Model: in.Model}); err != nil {
		return out, err
	}
	c.fresh.ForkedSession, c.fresh.ForkedSeq = in.Session, in.Seq
	err = l.update(ctx, p, source.Space, func(tx dhruva.Tx) error {
		out, err = c.run(tx, p)
		return err
	})
	if err != nil {
		return dhruva.Session{}, err
	}
	return out, nil
}

// run makes the fork: branch, copies, boundary, session.
func (c *copying) run(tx dhruva.Tx, p dhruva.Principal) (out dhruva.Session, err error) {
	out = c.fresh
	source, err := liveSession(tx, p, c.in.Session)
	if err != nil {
		return out, err
	}
	if source.Space != out.Space {
		return out, fmt.Errorf("%w: the session was attached to another space meanwhile", dhruva.ErrConflict)
	}
	end, err := forkEnd(tx, source, c.in)
	if err != nil {
		return out, err
	}
	state, err := resolve(tx, p, source, ContextRequest{At: &end})
	if err != nil {
		return out, err
	}
	out.Fresh = source.Fresh
	if n := len(state.Checkpoints); n > 0 {
		out.ForkedFrom = state.Checkpoints[n-1].Hash
		err = branchOff(tx, &out, c.in.Branch)
	} else if !out.Fresh {
		out.Branch, err = rootlessBranch(tx, out, c.in.Branch)
	}
	if err != nil {
		return out, err
	}
	turns, err := c.selected(tx, source, end)
	if err != nil {
		return out, err
	}
	return out, firstOf(c.copies(tx, &out, state.Window.Base, end, turns), tx.PutSession(out))
}

// forkEnd is the last turn of the path that a fork begins with.
func forkEnd(tx dhruva.Tx, source dhruva.Session, in ForkInput) (int64, error) {
	t, err := turnOf(tx, source.ID, in.Seq)
	if err != nil {
		return 0, err
	}
	end := t.Seq
	if t.Role == dhruva.RoleUser {
		end = t.Parent
	}
	if end == 0 && in.Scope == ForkAll {
		return 0, fmt.Errorf("%w: nothing comes before turn %d; fork with the scope path", dhruva.ErrInvalid, in.Seq)
	}
	return end, nil
}

// rootlessBranch names the branch of a fork in a space that has no checkpoint
// yet. No row can hold it before there is one, so that a name of our own is told
// apart by the session's.
func rootlessBranch(tx dhruva.Tx, s dhruva.Session, name string) (string, error) {
	if name == "" {
		id := string(s.ID)
		return s.CreatedAt.Format("branch-2006-01-02-") + id[max(0, len(id)-8):], nil
	}
	return forkBranch(tx, s.Space, name, s.CreatedAt)
}

// selected reads the turns that the scope names, ascending.
func (c *copying) selected(tx dhruva.Tx, source dhruva.Session, end int64) (out []dhruva.Turn, err error) {
	seams, err := tx.Seams(source.ID, 0, source.LastSeq)
	if err != nil {
		return nil, err
	}
	parts, total := c.in.Scope.parts(breaks(seams), end, source.LastSeq), int64(0)
	for _, s := range parts {
		total += s.through - s.from + 1
	}
	if most := int64(c.ledger.limits().ForkTurns); total > most {
		return nil, fmt.Errorf("%w: this fork would copy %d turns, the limit is %d; fork from an earlier turn, or from a checkpoint", dhruva.ErrTooLarge, total, most)
	}
	for _, s := range parts {
		rows, err := tx.ListTurns(dhruva.TurnQuery{Session: source.ID, After: s.from - 1, Through: s.through})
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// parts are the numbers of the turns that a scope names, ascending.
func (s ForkScope) parts(broken []dhruva.Seam, end, last int64) []stretch {
	switch {
	case s == ForkAll:
		return []stretch{{1, last}}
	case s == ForkRelated && end > 0:
		return beside(broken, end, last)
	}
	out := pathOf(broken, end, 0)
	slices.Reverse(out)
	return out
}

// beside are all turns but those that a turn leads to.
func beside(broken []dhruva.Seam, seq, last int64) (out []stretch) {
	lead := following(breaksAfter(broken, seq), seq, last)
	lead[0].from++ // the turn itself stays
	at := int64(1)
	for _, s := range lead {
		if s.from > at {
			out = append(out, stretch{at, s.from - 1})
		}
		at = s.through + 1
	}
	if at <= last {
		out = append(out, stretch{at, last})
	}
	return out
}

// copies appends copies of the turns to the fork, and keeps what of them lies
// before the boundary of the context that they were said in.
func (c *copying) copies(tx dhruva.Tx, s *dhruva.Session, base, end int64, turns []dhruva.Turn) error {
	e, err := tx.Epoch(s.Space)
	if err != nil {
		return err
	}
	place, hidden := map[int64]int64{}, int64(0)
	for _, t := range turns {
		old := t.Seq
		if c.in.Scope != ForkAll {
			place[old] = place[t.Parent] // what follows it follows what it follows
			if t.Seq > base && t.BeganAfter < base {
				continue
			}
			t.Seq, t.Parent, t.BeganAfter = s.LastSeq+1, place[t.Parent], s.LastSeq
		}
		if place[old] = t.Seq; old <= base {
			hidden = t.Seq
		}
		t.Session, t.ID = s.ID, c.id(len(place)-1)
		if err := c.unsay(tx, &t, e); err != nil {
			return err
		}
		if err := firstOf(tx.AppendTurn(t), refer(tx, c.in.Session, old, t, e)); err != nil {
			return err
		}
		s.LastSeq = t.Seq
	}
	if c.in.Scope == ForkAll {
		hidden = base
	}
	if place[end] == 0 && s.LastSeq > 0 {
		return fmt.Errorf("%w: nothing that leads to turn %d is in the session's context; fork from a later turn", dhruva.ErrConflict, c.in.Seq)
	}
	setTip(s, place[end])
	return keepForkBase(tx, *s, hidden)
}

// id is the n-th copy's, made when it is first asked for.
func (c *copying) id(n int) dhruva.TurnID {
	for len(c.ids) <= n {
		c.ids = append(c.ids, dhruva.TurnID(dhruva.NewID()))
	}
	return c.ids[n]
}

// unsay takes the words of a copy whose text was purged in this generation, when
// the purge has not come to its original yet.
func (c *copying) unsay(tx dhruva.Tx, t *dhruva.Turn, e dhruva.Epoch) error {
	id := dhruva.ContentID(c.ledger.Keys, t.Tenant, t.Space, t.Role, t.Content)
	gone, err := tombstoned(tx, t.Space, e.Generation, id)
	if gone {
		t.Content, t.Redacted = "", true
	}
	return err
}

// refer adds a copy to the places of the sources that its original is a place of.
func refer(tx dhruva.Tx, session dhruva.SessionID, seq int64, t dhruva.Turn, e dhruva.Epoch) error {
	ids, err := tx.SourcesOfTurn(t.Space, e.Generation, session, seq)
	for _, id := range ids {
		err = firstOf(err, tx.AddReference(dhruva.Reference{Space: t.Space, Generation: e.Generation, Source: id, Session: t.Session, Seq: t.Seq}))
	}
	return err
}

// A fork's boundary is kept as a link that no conversation has: it ends at the
// last copy that the fork's context does not show.

func forkLink(s dhruva.Session) dhruva.Hash {
	return dhruva.DigestText("dhruva.fork.v1\n" + string(s.ID))
}

func keepForkBase(tx dhruva.Tx, s dhruva.Session, base int64) error {
	if base == 0 {
		return nil
	}
	return tx.PutChain(dhruva.Chain{Space: s.Space, Hash: forkLink(s), Session: s.ID, Seq: base})
}

// forkBase is the last copy that a fork's context does not show.
func forkBase(tx dhruva.Tx, s dhruva.Session) (int64, error) {
	if s.ForkedSession == "" {
		return 0, nil
	}
	c, err := tx.Chain(s.Space, forkLink(s))
	return c.Seq, ignoreMissing(err)
}
