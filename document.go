package dhruva

import "time"

// Document is a text kept beside a space's turns and checkpoints: a transcript
// that was pasted, what was drawn from it, a pack made of it, a draft that waits
// for a person. It is no source and is recalled by nothing.
type Document struct {
	Tenant TenantID
	Space  SpaceID
	ID     DocumentID
	// Kind says what it is and how Text is to be read.
	Kind string
	// Session is the conversation it was drawn from, "" when there is none.
	Session SessionID
	Title   string
	Text    string

	CreatedAt time.Time
	UpdatedAt time.Time
}

// DocumentQuery selects documents of a space, newest (CreatedAt, then ID) first.
type DocumentQuery struct {
	Space   SpaceID
	Kind    string    // "" means any
	Session SessionID // "" means any
	Page              // After is the id of the last one seen
}

// DocumentRows are the documents of the scope's spaces.
type DocumentRows interface {
	Document(DocumentID) (Document, error)
	// PutDocument inserts or replaces; it moves none to another space
	// (ErrConflict).
	PutDocument(Document) error
	ListDocuments(DocumentQuery) ([]Document, error)
	// DropDocument removes one; what is absent is left alone.
	DropDocument(DocumentID) error
}

// Validate is as said in row.go.
func (d Document) Validate() error {
	return firstError(validKey("document", string(d.Tenant), string(d.Space), string(d.ID), d.Kind),
		validRef("document", string(d.Session)), ValidText("document", d.Title, d.Text),
		validTime("document", d.CreatedAt, d.UpdatedAt))
}

// Canonical is as said in row.go.
func (d Document) Canonical() Document {
	d.CreatedAt, d.UpdatedAt = Micros(d.CreatedAt), Micros(d.UpdatedAt)
	return d
}
