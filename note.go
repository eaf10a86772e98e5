package dhruva

import "time"

// NoteKind says what a note is.
type NoteKind string

// The kinds of notes.
const (
	NotePlain     NoteKind = "note"
	NoteMilestone NoteKind = "milestone"
	NoteNoise     NoteKind = "noise"
)

// Note is a remark on a checkpoint, outside its hash. Notes are added and never
// changed; only a purge takes their text.
type Note struct {
	Tenant     TenantID
	Space      SpaceID
	Checkpoint Hash
	ID         NoteID
	Kind       NoteKind
	Author     string
	Text       string
	// Redacted: the text was purged.
	Redacted  bool
	CreatedAt time.Time
}

// NoteQuery selects notes of a space, oldest (CreatedAt, then ID) first.
type NoteQuery struct {
	Space      SpaceID
	Checkpoint Hash // zero means any
	Page
}

// NoteRows are the notes of the scope's spaces.
type NoteRows interface {
	// PutNote inserts; an id that exists in the tenant is ErrConflict.
	PutNote(Note) error
	ListNotes(NoteQuery) ([]Note, error)
	// RedactNote takes the text of a note away for good. A note that is not in the
	// space is ErrNotFound, a space that is not covered ErrDenied.
	RedactNote(SpaceID, NoteID) error
}

// Validate is as said in row.go.
func (n Note) Validate() error {
	return firstError(validKey("note", string(n.Tenant), string(n.Space), string(n.ID), string(n.Kind)),
		ValidText("note", n.Author, n.Text), validTime("note", n.CreatedAt))
}

// Canonical is as said in row.go.
func (n Note) Canonical() Note {
	n.CreatedAt = Micros(n.CreatedAt)
	return n
}
