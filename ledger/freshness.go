package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// SinceState is how a checkpoint that somebody knows stands to the head of main.
type SinceState string

// The states. What is new is counted along the first parents of main's head.
const (
	// SinceCurrent: it is the head, or goes on from it.
	SinceCurrent SinceState = "current"
	// SinceBehind: it is on main, and main has moved on.
	SinceBehind SinceState = "behind"
	// SinceAside: it is not on main. New is what main has that it does not come
	// from.
	SinceAside SinceState = "aside"
	// SinceDeleted: it was deleted. New is what main has since the last checkpoint
	// before it that still stands.
	SinceDeleted SinceState = "deleted"
	// SinceUnknown: the space has no such checkpoint. Nothing is counted.
	SinceUnknown SinceState = "unknown"
)

// Freshness says what happened on main since a checkpoint.
type Freshness struct {
	State SinceState
	// Since is zero when it is unknown; Branch is the one it was saved on.
	Since  dhruva.Hash
	Branch string
	// Head is that of main, zero when there is none.
	Head dhruva.Hash
	// New counts all of them; Newest are the first few, newest first.
	New    int
	Newest []dhruva.Outline
}

// Changed reports whether somebody who knows that checkpoint has something to
// read: main has moved on, or what they know does not stand.
func (f *Freshness) Changed() bool {
	return f.New > 0 || f.State == SinceDeleted || f.State == SinceUnknown
}

// Freshness tells what happened on main of a space since a checkpoint, named by
// its hash, a prefix or its UUID. Needs state:read.
func (l *Ledger) Freshness(ctx context.Context, space dhruva.SpaceID, since string) (out Freshness, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return out, wrap("freshness", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if _, err := liveSpace(tx, p, space); err != nil {
			return err
		}
		head, err := tx.Branch(space, dhruva.MainBranch)
		if err := ignoreMissing(err); err != nil {
			return err
		}
		f, err := freshness(tx, space, head.Head, since)
		if err == nil {
			out = *f
		}
		return err
	})
	return out, wrap("freshness", err)
}

func freshness(tx dhruva.Tx, space dhruva.SpaceID, head dhruva.Hash, ref string) (*Freshness, error) {
	f := &Freshness{State: SinceUnknown, Head: head}
	since, err := knownCheckpoint(tx, space, ref)
	if err != nil || since == nil {
		return f, err
	}
	f.Since, f.Branch = since.Hash, since.Branch
	line, main := newLine(tx, space), mainLine{places: map[dhruva.Hash]int{}}
	if err := main.walk(line, head, since.Hash); err != nil {
		return f, err
	}
	at, onMain := main.places[since.Hash]
	switch {
	case !since.HiddenAt.IsZero():
		f.State = SinceDeleted
	case onMain && at == 0:
		f.State = SinceCurrent
	case onMain:
		f.State = SinceBehind
	default:
		f.State = SinceAside
	}
	if !onMain {
		if at, err = main.meets(line, since.Hash); err != nil {
			return f, err
		}
		if at == 0 && f.State == SinceAside && !head.IsZero() {
			f.State = SinceCurrent
		}
	}
	f.New, f.Newest = at, main.newest[:min(at, len(main.newest))]
	return f, nil
}

// knownCheckpoint finds a checkpoint of the space, a hidden one too; nil when
// there is none. A prefix that fits several is ErrConflict.
func knownCheckpoint(tx dhruva.Tx, space dhruva.SpaceID, ref string) (*dhruva.Checkpoint, error) {
	rows, err := matching(tx, strings.ToLower(strings.TrimSpace(ref)))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var found *dhruva.Checkpoint
	for _, c := range rows {
		switch {
		case c.Space != space:
		case found != nil:
			return nil, fmt.Errorf("%w: %q is the beginning of several checkpoints' hashes", dhruva.ErrConflict, clip(ref, 80))
		default:
			found = &c
		}
	}
	return found, nil
}

// mainLine is the line of first parents from a head.
type mainLine struct {
	places map[dhruva.Hash]int // how many are newer
	newest []dhruva.Outline
}

// walk goes down the line to a checkpoint, or to its end.
func (m *mainLine) walk(l *line, from, to dhruva.Hash) error {
	return l.each(from, func(o dhruva.Outline) bool {
		if !o.HiddenAt.IsZero() {
			return false
		}
		m.places[o.Hash] = len(m.places)
		if len(m.newest) < BriefNew {
			m.newest = append(m.newest, o)
		}
		return o.Hash != to
	})
}

// meets is where the line from another checkpoint reaches this one: how many
// are newer; all of them when it never does.
func (m *mainLine) meets(l *line, from dhruva.Hash) (at int, err error) {
	at = len(m.places)
	err = l.each(from, func(o dhruva.Outline) bool {
		n, met := m.places[o.Hash]
		if met {
			at = n
		}
		return !met
	})
	return at, err
}

// lineBegin is how many checkpoints of a line are asked for at first.
const lineBegin = 64

// line walks first parents, hidden ones too. The beginning of a walk is asked
// for by itself. What is further down is looked up in pages of all checkpoints,
// newest first: a store lists many much faster than it follows them.
type line struct {
	tx    dhruva.Tx
	space dhruva.SpaceID
	known map[dhruva.Hash]dhruva.Outline
	page  dhruva.Page
	dry   bool
}

func newLine(tx dhruva.Tx, space dhruva.SpaceID) *line {
	return &line{tx: tx, space: space, known: map[dhruva.Hash]dhruva.Outline{}, page: dhruva.Page{Limit: 1000}}
}

// each walks from a checkpoint, itself included, until fn has seen enough.
func (l *line) each(from dhruva.Hash, fn func(dhruva.Outline) bool) error {
	if from.IsZero() {
		return nil
	}
	rows, err := l.tx.Ancestry(from, lineBegin)
	if err != nil {
		return err
	}
	l.learn(rows)
	for seen := map[dhruva.Hash]bool{}; !from.IsZero() && !seen[from]; {
		seen[from] = true
		o, there, err := l.at(from)
		if err != nil || !there || !fn(o) {
			return err
		}
		from = o.Parent()
	}
	return nil
}

// at is one checkpoint of the space.
func (l *line) at(h dhruva.Hash) (dhruva.Outline, bool, error) {
	for {
		if o, there := l.known[h]; there || l.dry {
			return o, there, nil
		}
		rows, err := l.tx.ListOutlines(dhruva.OutlineQuery{Space: l.space, Page: l.page})
		if err != nil {
			return dhruva.Outline{}, false, err
		}
		l.learn(rows)
		if l.dry = len(rows) < l.page.Limit; !l.dry {
			l.page.After = rows[len(rows)-1].Hash.String()
		}
	}
}

func (l *line) learn(rows []dhruva.Outline) {
	for _, o := range rows {
		if o.Space == l.space {
			l.known[o.Hash] = o
		}
	}
}
