package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// A session's turns are a tree: each one follows its parent, whose number is
// smaller. The conversation is the path from the tip to the root. Almost every
// turn follows the one before it, so that a path is a few stretches of numbers,
// and the seams between them (dhruva.Seam) are all that is read to know them: a
// path of 100,000 turns is found without reading one of them.

// stretch is an unbroken range of numbers, both ends included.
type stretch struct{ from, through int64 }

// tipOf is the turn that the next one follows, 0 in a session without turns.
func tipOf(s dhruva.Session) int64 {
	if s.Tip > 0 && s.Tip < s.LastSeq {
		return s.Tip
	}
	return s.LastSeq
}

// setTip makes a turn the tip. The last turn is the tip of whoever says none.
func setTip(s *dhruva.Session, seq int64) {
	if s.Tip = seq; seq >= s.LastSeq {
		s.Tip = 0
	}
}

// breaks are the seams at which a turn does not follow the one before it.
func breaks(seams []dhruva.Seam) (out []dhruva.Seam) {
	for _, s := range seams {
		if s.Parent != s.Seq-1 {
			out = append(out, s)
		}
	}
	return out
}

// pathOf is the path from a turn towards the root, as far as the numbers are
// greater than base: the newest stretch first. broken are all breaks between base
// and the turn, ascending.
func pathOf(broken []dhruva.Seam, at, base int64) (out []stretch) {
	for at > base {
		n, _ := slices.BinarySearchFunc(broken, at+1, func(s dhruva.Seam, seq int64) int { return cmp.Compare(s.Seq, seq) })
		broken = broken[:n]
		if n == 0 {
			return append(out, stretch{base + 1, at})
		}
		last := broken[n-1]
		out = append(out, stretch{last.Seq, at})
		if last.Parent >= last.Seq { // no ledger writes that
			return out
		}
		at = last.Parent
	}
	return out
}

// on reports whether a number is on a path.
func on(path []stretch, seq int64) bool {
	n, _ := slices.BinarySearchFunc(path, seq, func(s stretch, seq int64) int { return cmp.Compare(seq, s.from) })
	// n is the first stretch that begins at seq or before it.
	return n < len(path) && path[n].from <= seq && seq <= path[n].through
}

// below is the greatest number on a path that is smaller than seq, 0 when there
// is none.
func below(path []stretch, seq int64) int64 {
	n, _ := slices.BinarySearchFunc(path, seq-1, func(s stretch, seq int64) int { return cmp.Compare(seq, s.from) })
	if n == len(path) {
		return 0
	}
	return min(path[n].through, seq-1)
}

// following are the turns that a turn leads to, itself included, ascending. broken
// are the breaks after it.
func following(broken []dhruva.Seam, seq, last int64) []stretch {
	end := func(n int) int64 { // of the stretch before the n-th break
		if n < len(broken) {
			return broken[n].Seq - 1
		}
		return last
	}
	out := []stretch{{seq, end(0)}}
	for n, s := range broken {
		i, _ := slices.BinarySearchFunc(out, s.Parent, func(s stretch, seq int64) int { return cmp.Compare(s.through, seq) })
		if i < len(out) && out[i].from <= s.Parent {
			out = append(out, stretch{s.Seq, end(n + 1)})
		}
	}
	return out
}

// breaksAfter are the breaks after a turn.
func breaksAfter(broken []dhruva.Seam, seq int64) []dhruva.Seam {
	n, _ := slices.BinarySearchFunc(broken, seq+1, func(s dhruva.Seam, seq int64) int { return cmp.Compare(s.Seq, seq) })
	return broken[n:]
}

// pathTurns reads the turns of a closed window that are on the path to its end,
// ascending, those that were purged too.
func pathTurns(tx dhruva.Tx, w dhruva.Window) ([]dhruva.Turn, error) {
	if w.Through <= w.Base {
		return nil, nil
	}
	seams, err := tx.Seams(w.Session, w.Base, w.Through)
	if err != nil {
		return nil, err
	}
	path := pathOf(breaks(seams), w.Through, w.Base)
	rows, err := tx.ListTurns(dhruva.TurnQuery{Session: w.Session, After: w.Base, Through: w.Through})
	return slices.DeleteFunc(rows, func(t dhruva.Turn) bool { return !w.Contains(t) || !on(path, t.Seq) }), err
}

// SelectTip makes a conversation go through a turn: its tip becomes the newest of
// the turns that this one leads to, so that choosing between the siblings of an
// edit or a regeneration shows what was said after each of them. The next turn
// follows the tip. Needs state:write.
func (l *Ledger) SelectTip(ctx context.Context, id dhruva.SessionID, seq int64) (dhruva.Session, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Session{}, wrap("select tip", err)
	}
	now := l.now()
	s, err := l.editSession(ctx, p, id, func(tx dhruva.Tx, s *dhruva.Session) error {
		if seq < 1 || seq > s.LastSeq {
			return noTurn(seq)
		}
		seams, err := tx.Seams(id, seq, s.LastSeq)
		if err != nil {
			return err
		}
		lead := following(breaks(seams), seq, s.LastSeq)
		if tip := lead[len(lead)-1].through; tip != tipOf(*s) {
			setTip(s, tip)
			touch(s, now)
		}
		return nil
	})
	return s, wrap("select tip", err)
}

func noTurn(seq int64) error { return fmt.Errorf("%w: no turn %d", dhruva.ErrNotFound, seq) }

// turnOf is a turn of a session; one that is not there is ErrNotFound.
func turnOf(tx dhruva.Tx, id dhruva.SessionID, seq int64) (dhruva.Turn, error) {
	if seq < 1 {
		return dhruva.Turn{}, noTurn(seq)
	}
	t, err := tx.Turn(id, seq)
	return t, notFound(err, "turn", fmt.Sprint(seq))
}

// Siblings lists the other turns that follow the same turn in the same role: the
// versions that edits and regenerations made, ascending. Needs state:read.
func (l *Ledger) Siblings(ctx context.Context, id dhruva.SessionID, seq int64) (out []dhruva.Turn, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, wrap("siblings", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out = nil
		s, err := liveSession(tx, p, id)
		if err != nil {
			return err
		}
		t, err := turnOf(tx, id, seq)
		if err != nil {
			return err
		}
		seams, err := tx.Seams(id, t.Parent, s.LastSeq)
		if err != nil {
			return err
		}
		all, err := siblingsOf(tx, s, breaks(seams), t)
		out = slices.DeleteFunc(all, func(o dhruva.Turn) bool { return o.Seq == seq })
		return err
	})
	return out, wrap("siblings", err)
}

// siblingsOf are the turns in a turn's place, itself included. broken are the
// breaks after its parent, or more.
func siblingsOf(tx dhruva.Tx, s dhruva.Session, broken []dhruva.Seam, t dhruva.Turn) (out []dhruva.Turn, err error) {
	for _, n := range childrenOf(broken, t.Parent, s.LastSeq) {
		o, err := tx.Turn(s.ID, n)
		if err != nil {
			return nil, err
		}
		if o.Role == t.Role {
			out = append(out, o)
		}
	}
	return out, nil
}

// childrenOf are the numbers of the turns that follow a turn, ascending. broken
// are the breaks after it, or more.
func childrenOf(broken []dhruva.Seam, parent, last int64) (out []int64) {
	next := func(s dhruva.Seam) bool { return s.Seq == parent+1 }
	if parent < last && !slices.ContainsFunc(broken, next) {
		out = append(out, parent+1)
	}
	for _, s := range broken {
		if s.Parent == parent {
			out = append(out, s.Seq)
		}
	}
	return out
}

// PathTurn is a turn of a conversation, and the numbers of all turns that stand in
// its place, itself included: the versions that one may choose between.
type PathTurn struct {
	dhruva.Turn
	Versions []int64
}

// Path lists the latest turns of a session's conversation, ascending: those on
// the way from its tip to the root, those before a number when it is not 0. limit 0
// means 100, at most 1,000. Needs state:read.
func (l *Ledger) Path(ctx context.Context, id dhruva.SessionID, before int64, limit int) (out []PathTurn, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, wrap("path", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		s, err := liveSession(tx, p, id)
		if err != nil {
			return err
		}
		seams, err := tx.Seams(id, 0, s.LastSeq)
		if err != nil {
			return err
		}
		out, err = latestOf(tx, s, breaks(seams), before, dhruva.Page{Limit: limit}.Size())
		return err
	})
	return out, wrap("path", err)
}

func latestOf(tx dhruva.Tx, s dhruva.Session, broken []dhruva.Seam, before int64, limit int) ([]PathTurn, error) {
	way := shown{session: s.ID, path: pathOf(broken, tipOf(s), 0)}
	if before > 0 {
		way.path = pathOf(broken, below(way.path, before), 0)
	}
	turns, err := way.newest(tx, limit, 0)
	if err != nil {
		return nil, err
	}
	out := make([]PathTurn, 0, len(turns))
	placesOf := versionsOf(tx, s, broken)
	for _, t := range turns {
		versions, err := placesOf(t)
		if err != nil {
			return nil, err
		}
		out = append(out, PathTurn{t, versions})
	}
	return out, nil
}

// versionsOf tells the numbers of the turns that stand in a turn's place.
func versionsOf(tx dhruva.Tx, s dhruva.Session, broken []dhruva.Seam) func(dhruva.Turn) ([]int64, error) {
	others := map[int64][]dhruva.Seam{}
	for _, at := range broken {
		others[at.Parent] = append(others[at.Parent], at)
	}
	return func(t dhruva.Turn) ([]int64, error) {
		if len(others[t.Parent]) == 0 {
			return []int64{t.Seq}, nil
		}
		same, err := siblingsOf(tx, s, broken, t)
		out := make([]int64, len(same))
		for i, o := range same {
			out[i] = o.Seq
		}
		return out, err
	}
}
