package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// MaxDocument bounds the text of a document, in bytes.
const MaxDocument = 4 << 20

// MadeDocument is the kind under which an Outcome names a document.
const MadeDocument = "document"

// DocumentInput is a document to be stored.
type DocumentInput struct {
	// ID names the document of the space that this one takes the place of; "" is
	// a new one.
	ID dhruva.DocumentID
	// Space "" is the principal's hidden home.
	Space dhruva.SpaceID
	// Kind is a word in small letters, digits and underscores; it stays what it
	// was.
	Kind string
	// Session is one of the space; "" when none.
	Session     dhruva.SessionID
	Title, Text string
	// Redactions, when given, is set to how many secrets were replaced.
	Redactions *int
}

// PutDocument stores a document, or another text in place of one. It makes no
// source. Needs state:write.
func (l *Ledger) PutDocument(ctx context.Context, in DocumentInput) (dhruva.Document, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Document{}, wrap("put document", err)
	}
	if in.Space == "" {
		home, err := l.home(ctx, p)
		if err != nil {
			return dhruva.Document{}, wrap("put document", err)
		}
		in.Space = home.ID
	}
	draft, secrets, err := l.draftDocument(p, in)
	if err != nil {
		return dhruva.Document{}, wrap("put document", err)
	}
	var out dhruva.Document
	err = l.update(ctx, p, in.Space, func(tx dhruva.Tx) error {
		redacted(tx, secrets)
		if out, err = placeDocument(tx, p, in, draft); err != nil {
			return err
		}
		return tx.PutDocument(out)
	})
	if err != nil {
		return dhruva.Document{}, wrap("put document", err)
	}
	if in.Redactions != nil {
		*in.Redactions = secrets
	}
	return out, nil
}

func (l *Ledger) draftDocument(p dhruva.Principal, in DocumentInput) (d dhruva.Document, secrets int, err error) {
	d = dhruva.Document{Tenant: p.Tenant, Space: in.Space, ID: in.ID, Session: in.Session, CreatedAt: l.now()}
	if d.UpdatedAt = d.CreatedAt; d.ID == "" {
		d.ID = dhruva.DocumentID(dhruva.NewID())
	}
	if d.Kind, err = documentKind(in.Kind); err != nil {
		return d, 0, err
	}
	title, n := l.Redact(in.Title)
	if d.Title, err = label("title", title, maxTitle, true); err != nil {
		return d, 0, err
	}
	if err := body("document", in.Text, MaxDocument); err != nil {
		return d, 0, err
	}
	d.Text, secrets = l.Redact(in.Text)
	return d.Canonical(), n + secrets, nil
}

func documentKind(kind string) (string, error) {
	if kind == "" || len(kind) > 64 || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "", fmt.Errorf("%w: kind %q of a document is not a word in small letters", dhruva.ErrInvalid, clip(kind, 80))
	}
	return kind, nil
}

// placeDocument checks session and predecessor.
func placeDocument(tx dhruva.Tx, p dhruva.Principal, in DocumentInput, d dhruva.Document) (dhruva.Document, error) {
	if d.Session != "" {
		s, err := liveSession(tx, p, d.Session)
		if err == nil && s.Space != d.Space {
			err = missing("session", string(d.Session))
		}
		if err != nil {
			return d, err
		}
	}
	if in.ID == "" {
		return d, nil
	}
	old, err := liveDocument(tx, p, in.ID)
	switch {
	case err != nil:
		return d, err
	case old.Space != d.Space:
		return d, missing("document", string(in.ID))
	case old.Kind != d.Kind:
		return d, fmt.Errorf("%w: document %s is of kind %s, not %s", dhruva.ErrConflict, old.ID, old.Kind, d.Kind)
	}
	d.CreatedAt = old.CreatedAt
	return d, nil
}

// liveDocument is a document that is there for the principal. One that was drawn
// from a session goes when the session goes.
func liveDocument(tx dhruva.Tx, p dhruva.Principal, id dhruva.DocumentID) (dhruva.Document, error) {
	d, err := tx.Document(id)
	if err != nil {
		return d, notFound(err, "document", string(id))
	}
	if _, err := liveSpace(tx, p, d.Space); err != nil {
		return dhruva.Document{}, notOf(err, "document", string(id))
	}
	if ok, err := showsDocument(tx, p)(d); err != nil || !ok {
		return dhruva.Document{}, firstOf(err, missing("document", string(id)))
	}
	return d, nil
}

// showsDocument tells whether the session of a document is still there.
func showsDocument(tx dhruva.Tx, p dhruva.Principal) func(dhruva.Document) (bool, error) {
	return func(d dhruva.Document) (bool, error) {
		if d.Session == "" {
			return true, nil
		}
		_, err := liveSession(tx, p, d.Session)
		return err == nil, ignoreMissing(err)
	}
}

// Document finds one document. Needs state:read.
func (l *Ledger) Document(ctx context.Context, id dhruva.DocumentID) (out dhruva.Document, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return out, wrap("document", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out, err = liveDocument(tx, p, id)
		return err
	})
	return out, wrap("document", err)
}

// ListDocuments lists documents of a space, or of the principal's home when none
// is named, newest first. Needs state:read.
func (l *Ledger) ListDocuments(ctx context.Context, q dhruva.DocumentQuery) (out []dhruva.Document, next string, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, "", wrap("list documents", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if q.Space == "" {
			home, err := tx.HomeSpace(p.ID)
			if err != nil {
				return ignoreMissing(err)
			}
			q.Space = home.ID
		}
		if _, err := liveSpace(tx, p, q.Space); err != nil {
			return err
		}
		fetch := func(page dhruva.Page) ([]dhruva.Document, error) {
			q := q
			q.Page = page
			return tx.ListDocuments(q)
		}
		out, next, err = filled(q.Page, fetch, func(d dhruva.Document) string { return string(d.ID) }, showsDocument(tx, p))
		return err
	})
	return out, next, wrap("list documents", err)
}

// DropDocument removes a document. Needs state:write.
func (l *Ledger) DropDocument(ctx context.Context, id dhruva.DocumentID) error {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return wrap("drop document", err)
	}
	var at dhruva.Document
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		at, err = liveDocument(tx, p, id)
		return err
	})
	if err != nil {
		return wrap("drop document", err)
	}
	return wrap("drop document", l.update(ctx, p, at.Space, func(tx dhruva.Tx) error {
		if _, err := liveDocument(tx, p, id); err != nil {
			return err
		}
		return tx.DropDocument(id)
	}))
}

// PutDocument notes the document.
func (r *recorder) PutDocument(d dhruva.Document) error {
	names(r, MadeDocument, string(d.ID))
	return r.Tx.PutDocument(d)
}
