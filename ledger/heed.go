package ledger

import (
	"context"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// HideSession hides a session as of a time, with nobody asking: a store that was
// restored from a backup heeds that it was deleted since. Its sources are held as
// by DeleteSession, in chunks, and the last one hides it. One that is not there,
// or hidden, stays as it is; it reports whether it was hidden now.
func (l *Ledger) HideSession(ctx context.Context, s dhruva.Scope, id dhruva.SessionID, at time.Time) (hidden bool, err error) {
	now := l.now()
	for after, done := int64(0), false; !done; after += chunk {
		err := l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
			hidden, done = false, true
			row, err := tx.Session(id)
			if err != nil || !row.DeletedAt.IsZero() {
				return ignoreMissing(err)
			}
			if done = row.LastSeq <= after+chunk; done {
				row.DeletedAt, hidden = dhruva.Micros(at), true
			}
			return firstOf(withdraw(tx, row, after, min(after+chunk, row.LastSeq), now), tx.PutSession(row))
		})
		if err != nil {
			return false, wrap("hide session", err)
		}
	}
	return hidden, nil
}

// HideSpace hides a space as of a time, with nobody asking. One that is not
// there, or hidden, stays as it is; it reports whether it was hidden now.
func (l *Ledger) HideSpace(ctx context.Context, s dhruva.Scope, at time.Time) (hidden bool, err error) {
	scopes := []dhruva.Scope{dhruva.TenantScope(s.Tenant()), s}
	err = l.Store.Update(ctx, scopes, func(tx dhruva.Tx) error {
		hidden = false
		row, err := tx.Space(s.Space())
		if err != nil || !row.DeletedAt.IsZero() {
			return ignoreMissing(err)
		}
		row.DeletedAt, hidden = dhruva.Micros(at), true
		return tx.PutSpace(row)
	})
	return hidden, wrap("hide space", err)
}

// HideCheckpoint hides a checkpoint as of a time, with nobody asking: heads leave it
// and what only it says is held, as by DeleteCheckpoint. One that is not there, or
// hidden, stays as it is; it reports whether it was hidden now.
func (l *Ledger) HideCheckpoint(ctx context.Context, s dhruva.Scope, h dhruva.Hash, at time.Time) (hidden bool, err error) {
	d := deletion{ledger: l, p: dhruva.Principal{Tenant: s.Tenant()}, target: dhruva.Outline{Space: s.Space(), Hash: h}, now: dhruva.Micros(at)}
	err = l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
		hidden = false
		row, err := tx.Checkpoint(h)
		if err != nil || !row.HiddenAt.IsZero() {
			return ignoreMissing(err)
		}
		hidden = true
		return d.hide(tx, []dhruva.Checkpoint{row})
	})
	return hidden, wrap("hide checkpoint", err)
}

// ForgetDocument drops a document, with nobody asking; it reports whether it was
// there.
func (l *Ledger) ForgetDocument(ctx context.Context, s dhruva.Scope, id dhruva.DocumentID) (dropped bool, err error) {
	err = l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
		_, err := tx.Document(id)
		dropped = err == nil
		if err != nil {
			return ignoreMissing(err)
		}
		return tx.DropDocument(id)
	})
	return dropped, wrap("forget document", err)
}
