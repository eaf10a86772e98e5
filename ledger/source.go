package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// The reasons in Source.HeldFor that the ledger itself takes back, when the text
// is said again somewhere else.
const (
	heldHidden  = "its session was deleted"
	heldUnsaved = "its checkpoint was deleted"
)

// withdrawn: it is held because of where it was said, not because of its text.
func withdrawn(src dhruva.Source) bool {
	return src.HeldFor == heldHidden || src.HeldFor == heldUnsaved
}

// said is a text at one place, from which a source is made.
type said struct {
	space      dhruva.SpaceID
	generation int64
	role       dhruva.Role
	class      dhruva.SourceClass
	text       string
	event      time.Time
	now        time.Time
	// id is the caller's own id (Remember); "" means the content id. always:
	// make a source of a trivial text too.
	id     dhruva.SourceID
	always bool
	ref    dhruva.Reference
}

// capture makes or extends the source of a text and announces it. The second
// result is false when there is none: trivial, empty or tombstoned text.
//
// The same text said again is the same source with one more reference. Its
// class rises to the highest that any path gave it and never sinks: what a
// person typed stays typed when an import says it too. (Taint as a minimum is
// about texts made from several inputs; those are captured as derived.)
func (l *Ledger) capture(tx dhruva.Tx, p dhruva.Principal, in said) (dhruva.Source, bool, error) {
	if in.text == "" || !in.always && Trivial(in.text) {
		return dhruva.Source{}, false, nil
	}
	if in.id == "" {
		in.id = dhruva.ContentID(l.Keys, p.Tenant, in.space, in.role, in.text)
	}
	if blocked, err := tombstoned(tx, in.space, in.generation, in.id); err != nil || blocked {
		return dhruva.Source{}, false, err
	}
	src, err := tx.Source(in.space, in.generation, in.id)
	switch {
	case errors.Is(err, dhruva.ErrNotFound):
		src = l.newSource(p, in)
	case err != nil:
		return dhruva.Source{}, false, err
	default:
		l.restate(&src, in)
	}
	in.ref.Space, in.ref.Generation, in.ref.Source = in.space, in.generation, in.id
	err = firstOf(tx.PutSource(src), tx.AddReference(in.ref), announce(tx, src, dhruva.ChangeSource, in.now))
	return src, err == nil, err
}

func (l *Ledger) newSource(p dhruva.Principal, in said) dhruva.Source {
	src := dhruva.Source{
		Tenant: p.Tenant, Space: in.space, Generation: in.generation, ID: in.id,
		Class: in.class, Role: in.role, Digest: dhruva.DigestText(in.text), Size: len(in.text),
		EventTime: in.event, CreatedAt: in.now,
	}
	judge(&src, in)
	dhruva.SignSource(l.Keys, &src)
	return src
}

// restate is what hearing a text again does to its source.
func (l *Ledger) restate(src *dhruva.Source, in said) {
	if in.class.Trust() > src.Class.Trust() {
		src.Class = in.class
		if src.State == dhruva.SourceHeld {
			judge(src, in)
		}
		dhruva.SignSource(l.Keys, src)
	}
	if src.State == dhruva.SourceHeld && withdrawn(*src) {
		judge(src, said{text: in.text, class: src.Class})
	}
}

// judge sets a source's state from its text and class.
func judge(src *dhruva.Source, in said) {
	src.State, src.HeldFor = dhruva.SourceReady, flagged(in.text, in.class)
	if src.HeldFor != "" {
		src.State = dhruva.SourceHeld
	}
}

func tombstoned(tx dhruva.Tx, s dhruva.SpaceID, generation int64, id dhruva.SourceID) (bool, error) {
	_, err := tx.Tombstone(s, generation, id)
	if errors.Is(err, dhruva.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func announce(tx dhruva.Tx, src dhruva.Source, kind dhruva.ChangeKind, at time.Time) error {
	_, err := tx.AppendChange(src.Space, dhruva.Change{Kind: kind, Ref: string(src.ID), At: at})
	return err
}

// SourceView is a source as people see it. In lists Text is a snippet.
type SourceView struct {
	dhruva.Source
	// Text is "" when no reference stands any more, and when where it was said was
	// deleted: what is hidden is not read.
	Text       string
	References []dhruva.Reference
}

// snippet is how many bytes of a source's text a list shows.
const snippet = 240

// Source shows a source of the current generation. Needs memory:read.
func (l *Ledger) Source(ctx context.Context, space dhruva.SpaceID, id dhruva.SourceID) (out SourceView, err error) {
	p, err := principal(ctx, dhruva.MemoryRead)
	if err != nil {
		return out, wrap("source", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		e, err := readable(tx, p, space)
		if err != nil {
			return err
		}
		src, err := tx.Source(space, e.Generation, id)
		if err != nil {
			return notFound(err, "source", string(id))
		}
		out, err = sourceView(tx, src)
		return err
	})
	return out, wrap("source", err)
}

// ListSources lists sources by id with snippets; generation 0 means the current
// one, and no other can be listed. Needs memory:read.
func (l *Ledger) ListSources(ctx context.Context, q dhruva.SourceQuery) (out []SourceView, next string, err error) {
	p, err := principal(ctx, dhruva.MemoryRead)
	if err != nil {
		return nil, "", wrap("list sources", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		e, err := readable(tx, p, q.Space)
		if err != nil {
			return err
		}
		if q.Generation != 0 && q.Generation != e.Generation {
			return fmt.Errorf("%w: generation %d is not the current one", dhruva.ErrInvalid, q.Generation)
		}
		out, next, err = listSources(tx, q, e.Generation)
		return err
	})
	return out, next, wrap("list sources", err)
}

func listSources(tx dhruva.Tx, q dhruva.SourceQuery, generation int64) ([]SourceView, string, error) {
	fetch := func(page dhruva.Page) ([]dhruva.Source, error) {
		q := q
		q.Page, q.Generation = page, generation
		return tx.ListSources(q)
	}
	rows, next, err := filled(q.Page, fetch, func(s dhruva.Source) string { return string(s.ID) }, always[dhruva.Source])
	if err != nil {
		return nil, "", err
	}
	out := make([]SourceView, len(rows))
	for i, src := range rows {
		if out[i], err = sourceView(tx, src); err != nil {
			return nil, "", err
		}
		out[i].Text = clip(out[i].Text, snippet)
	}
	return out, next, nil
}

func sourceView(tx dhruva.Tx, src dhruva.Source) (SourceView, error) {
	refs, err := tx.References(src.Space, src.Generation, src.ID)
	if err != nil {
		return SourceView{}, err
	}
	if withdrawn(src) {
		return SourceView{Source: src, References: refs}, nil
	}
	text, _, err := dhruva.SourceText(tx, src)
	if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
		return SourceView{}, err
	}
	return SourceView{Source: src, Text: text, References: refs}, nil
}

// readable is the epoch of a live space whose current generation is not fenced.
func readable(tx dhruva.Tx, p dhruva.Principal, id dhruva.SpaceID) (dhruva.Epoch, error) {
	if _, err := liveSpace(tx, p, id); err != nil {
		return dhruva.Epoch{}, err
	}
	e, err := tx.Epoch(id)
	if err == nil && e.Generation <= e.Fence {
		err = fmt.Errorf("%w: generation %d is closed", dhruva.ErrFenced, e.Generation)
	}
	return e, err
}
