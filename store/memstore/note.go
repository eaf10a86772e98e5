package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

// PutNote: the id is unique within the tenant.
func (t *tx) PutNote(row dhruva.Note) error {
	if err := row.Validate(); err != nil {
		return invalid("note", err)
	}
	if err := t.write("note", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	key := noteKey{row.Tenant, row.ID}
	if _, exists := t.notes[key]; exists {
		return conflict("note")
	}
	put(t, t.notes, key, row.Canonical())
	return nil
}

// oldestNote orders by (CreatedAt, ID).
func oldestNote(a, b dhruva.Note) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

func (t *tx) ListNotes(q dhruva.NoteQuery) ([]dhruva.Note, error) {
	after := t.notes[noteKey{t.reach.Tenant, dhruva.NoteID(q.After)}]
	if q.After != "" && !t.reach.Covers(after.Tenant, after.Space) {
		return nil, nil
	}
	var out []dhruva.Note
	for _, row := range t.notes {
		if t.reach.Covers(row.Tenant, row.Space) && row.Space == q.Space && (q.Checkpoint.IsZero() || row.Checkpoint == q.Checkpoint) &&
			(q.After == "" || oldestNote(after, row) < 0) {
			out = append(out, row)
		}
	}
	return page(out, oldestNote, q.Size()), nil
}

func (t *tx) RedactNote(s dhruva.SpaceID, id dhruva.NoteID) error {
	if err := t.write("note", t.reach.Holds(s), 1); err != nil {
		return err
	}
	key := noteKey{t.reach.Tenant, id}
	row, ok := t.notes[key]
	if !ok || row.Space != s {
		_, err := absent[dhruva.Note]("note")
		return err
	}
	row.Text, row.Redacted = "", true
	put(t, t.notes, key, row)
	return nil
}
