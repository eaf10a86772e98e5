package dhruva

import "time"

// Record is a fact extracted from a source: a span of its text, and what kind
// of statement it is. It holds no text and resolves to its source.
type Record struct {
	Tenant     TenantID
	Space      SpaceID
	Generation int64
	ID         RecordID
	Source     SourceID
	Start, End int // byte offsets in the source's text
	// Kind is decision, preference, fact, date, instruction, ...
	Kind string
	// Extractor names the rule and its version.
	Extractor string
	// Digest is SHA-256 of the span.
	Digest    Hash
	EventTime time.Time
	CreatedAt time.Time
	// MAC signs the above under key KID.
	MAC []byte
	KID string
}

// RecordQuery selects records of one generation, by id.
type RecordQuery struct {
	Space      SpaceID
	Generation int64
	Source     SourceID // "" means any
	Kind       string   // "" means any
	Page
}

// RecordRows are the records of the scope's spaces.
type RecordRows interface {
	Record(SpaceID, int64, RecordID) (Record, error)
	// PutRecord inserts or replaces.
	PutRecord(Record) error
	ListRecords(RecordQuery) ([]Record, error)
	// DropRecords removes all records of a source; it counts as one row.
	DropRecords(SpaceID, int64, SourceID) error
}

// Validate is as said in row.go.
func (r Record) Validate() error {
	return firstError(validKey("record", string(r.Tenant), string(r.Space), string(r.ID), string(r.Source)),
		validRef("record", r.Kind), ValidText("record", r.Extractor, r.KID), validTime("record", r.EventTime, r.CreatedAt))
}

// Canonical is as said in row.go.
func (r Record) Canonical() Record {
	r.EventTime, r.CreatedAt, r.MAC = Micros(r.EventTime), Micros(r.CreatedAt), list(r.MAC)
	return r
}
