package sqlstore

import (
	"math"

	"github.com/dhruva-memory/dhruva"
)

const (
	noteColumns       = "tenant, space, checkpoint, id, kind, author, text, redacted, created_at"
	selectNotes       = "SELECT " + noteColumns + " FROM notes WHERE tenant = $1 AND space = $2"
	notesOfSpace      = selectNotes + " AND (created_at, id) > ($3, $4) ORDER BY created_at, id LIMIT $5"
	notesOfCheckpoint = selectNotes + " AND checkpoint = $3 AND (created_at, id) > ($4, $5) ORDER BY created_at, id LIMIT $6"
	noteSpot          = "SELECT space, created_at FROM notes WHERE tenant = $1 AND id = $2"
	insertNote        = "INSERT INTO notes (" + noteColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING"
	redactNote        = "UPDATE notes SET text = '', redacted = 1 WHERE tenant = $1 AND id = $2 AND space = $3"
)

func scanNote(r scanner) (row dhruva.Note, err error) {
	return row, r.Scan(&row.Tenant, &row.Space, hash{&row.Checkpoint}, &row.ID, &row.Kind, &row.Author, &row.Text,
		boolean{&row.Redacted}, micros{&row.CreatedAt})
}

func (t *tx) PutNote(row dhruva.Note) error {
	if err := row.Validate(); err != nil {
		return invalid("note", err)
	}
	if err := t.allow("note", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	n, err := t.exec("put note", insertNote, string(row.Tenant), string(row.Space), digest(row.Checkpoint), string(row.ID), string(row.Kind),
		row.Author, row.Text, flag(row.Redacted), row.CreatedAt.UnixMicro())
	if err == nil && n == 0 {
		return conflict("note")
	}
	return err
}

func (t *tx) ListNotes(q dhruva.NoteQuery) ([]dhruva.Note, error) {
	if !t.reach.Holds(q.Space) {
		return nil, nil
	}
	at := int64(math.MinInt64)
	if q.After != "" {
		after, ok, err := t.spotOf(noteSpot, q.After)
		if !ok {
			return nil, err
		}
		at = after
	}
	tenant, space := string(t.reach.Tenant), string(q.Space)
	if q.Checkpoint.IsZero() {
		return collect(t, "notes", scanNote, notesOfSpace, tenant, space, at, q.After, q.Size())
	}
	return collect(t, "notes", scanNote, notesOfCheckpoint, tenant, space, digest(q.Checkpoint), at, q.After, q.Size())
}

func (t *tx) RedactNote(s dhruva.SpaceID, id dhruva.NoteID) error {
	if err := t.allow("note", t.reach.Holds(s), 1); err != nil {
		return err
	}
	n, err := t.exec("redact note", redactNote, string(t.reach.Tenant), string(id), string(s))
	if err == nil && n == 0 {
		_, err = absent[dhruva.Note]("note")
	}
	return err
}
