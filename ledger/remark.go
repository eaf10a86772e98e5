package ledger

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// MaxRemark is how long a remark may be, in characters.
const MaxRemark = 2000

// MadeRemark is the kind under which an Outcome names a remark.
const MadeRemark = "remark"

// RemarkInput is something to be said about a checkpoint.
type RemarkInput struct {
	// Checkpoint is a hash, prefix or UUID.
	Checkpoint string
	Text       string
	// Author "" is the principal's name.
	Author string
	Kind   dhruva.NoteKind // "" is a note
}

// AddRemark puts a remark beside a checkpoint. Remarks are outside the
// checkpoint's hash, are added and never changed, and each is a row of its own:
// any number at once lose none. Each leaves a receipt with an audit leaf, which
// names it and holds no text. Needs state:write.
func (l *Ledger) AddRemark(ctx context.Context, in RemarkInput) (dhruva.Note, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Note{}, wrap("add remark", err)
	}
	n, err := l.addRemark(ctx, p, in)
	return n, wrap("add remark", err)
}

func (l *Ledger) addRemark(ctx context.Context, p dhruva.Principal, in RemarkInput) (dhruva.Note, error) {
	n, secrets, err := l.draftRemark(p, in)
	if err != nil {
		return n, err
	}
	var about dhruva.Checkpoint
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		about, err = checkpointIn(tx, p, "", in.Checkpoint)
		return err
	})
	if err != nil {
		return dhruva.Note{}, err
	}
	n.Space, n.Checkpoint = about.Space, about.Hash
	r := l.act(ctx, p, dhruva.ActRemark, n.Space, string(n.ID))
	r.Checkpoint, r.Redactions = n.Checkpoint, secrets
	err = l.update(ctx, p, n.Space, func(tx dhruva.Tx) error {
		redacted(tx, secrets)
		if _, err := checkpointIn(tx, p, n.Space, n.Checkpoint.String()); err != nil { // deleted meanwhile
			return err
		}
		return firstOf(tx.PutNote(n), dhruva.Attest(tx, r))
	})
	if err != nil {
		return dhruva.Note{}, err
	}
	return n, nil
}

func (l *Ledger) draftRemark(p dhruva.Principal, in RemarkInput) (n dhruva.Note, secrets int, err error) {
	n = dhruva.Note{Tenant: p.Tenant, ID: dhruva.NoteID(dhruva.NewID()), Kind: in.Kind, CreatedAt: l.now()}
	switch in.Kind {
	case "":
		n.Kind = dhruva.NotePlain
	case dhruva.NotePlain, dhruva.NoteMilestone, dhruva.NoteNoise:
	default:
		return n, 0, fmt.Errorf("%w: remark kind %q; use note, milestone or noise", dhruva.ErrInvalid, clip(string(in.Kind), 80))
	}
	if n.Author, err = oneLine("author", l.hide(in.Author), true); err != nil {
		return n, 0, err
	}
	n.Author = firstText(n.Author, p.Name, string(p.ID))
	if utf8.RuneCountInString(in.Text) > 4*MaxRemark { // before it is looked through for secrets
		return n, 0, fmt.Errorf("%w: a remark has at most %d characters", dhruva.ErrTooLarge, MaxRemark)
	}
	text, secrets := l.Redact(in.Text)
	n.Text, err = label("remark", text, MaxRemark, false)
	return n, secrets, err
}

// Remarks lists the remarks on a checkpoint, oldest first. Needs state:read.
func (l *Ledger) Remarks(ctx context.Context, ref string, page dhruva.Page) (out []dhruva.Note, next string, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, "", wrap("remarks", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		c, err := checkpointIn(tx, p, "", ref)
		if err != nil {
			return err
		}
		fetch := func(page dhruva.Page) ([]dhruva.Note, error) {
			return tx.ListNotes(dhruva.NoteQuery{Space: c.Space, Checkpoint: c.Hash, Page: page})
		}
		out, next, err = filled(page, fetch, func(n dhruva.Note) string { return string(n.ID) }, always[dhruva.Note])
		return err
	})
	return out, next, wrap("remarks", err)
}

// RemarkCount says how many remarks of each kind a checkpoint has.
type RemarkCount map[dhruva.NoteKind]int

// Total counts the remarks of all kinds.
func (c RemarkCount) Total() (n int) {
	for _, k := range c {
		n += k
	}
	return n
}

func remarksOf(tx dhruva.Tx, c dhruva.Outline) (RemarkCount, time.Time, error) {
	out, last := RemarkCount{}, time.Time{}
	for q := (dhruva.NoteQuery{Space: c.Space, Checkpoint: c.Hash, Page: dhruva.Page{Limit: 1000}}); ; {
		rows, err := tx.ListNotes(q)
		if err != nil {
			return nil, last, err
		}
		for _, n := range rows {
			out[n.Kind]++
			last = n.CreatedAt
		}
		if len(rows) < q.Limit {
			return out, last, nil
		}
		q.After = string(rows[len(rows)-1].ID)
	}
}

// PutNote notes the remark.
func (r *recorder) PutNote(n dhruva.Note) error {
	names(r, MadeRemark, string(n.ID))
	return r.Tx.PutNote(n)
}
