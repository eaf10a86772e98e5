package dhruva

import (
	"slices"
	"time"
)

// Replay is an entry of the conversation ledger: what a conversation was given
// once, so that it can be given again to the byte. It holds no memory text,
// only what renders it: evidence by span and digest, and the digest of the
// whole (memory-plane: conversation ledger).
type Replay struct {
	Tenant     TenantID
	Space      SpaceID
	ID         ReplayID
	Dialect    Dialect
	Generation int64
	Session    SessionID
	// Keys are the fingerprints by which a later request finds the entry.
	Keys []Hash
	// Evidence is what was injected, in order.
	Evidence []Span
	// Checkpoint is the mounted one whose block was injected; zero when none.
	Checkpoint Hash
	// Renderer is the version of the rules that rendered it, Rendered the digest
	// of the rendered bytes.
	Renderer int
	Rendered Hash
	// Removed are the fingerprints of what was cut out of the request.
	Removed   []Hash
	Receipt   ReceiptID
	CreatedAt time.Time
}

// Span is an exact part of a source: byte offsets in its text, and SHA-256 of
// the part.
type Span struct {
	Source     SourceID
	Start, End int
	Digest     Hash
}

// ReplayRows are the conversation ledger of the scope's spaces.
type ReplayRows interface {
	Replay(SpaceID, ReplayID) (Replay, error)
	// Replays returns the entries of a dialect that have this key, the newest
	// (CreatedAt, then ID) first, at most limit; none when that is not positive.
	Replays(s SpaceID, d Dialect, key Hash, limit int) ([]Replay, error)
	// ReplaysOf lists the entries that injected a source, by id, each once.
	ReplaysOf(SpaceID, SourceID, Page) ([]ReplayID, error)
	// PutReplay inserts or replaces. It counts Rows of the canonical entry.
	PutReplay(Replay) error
	// DropReplay removes an entry with its keys. What is absent is left alone.
	DropReplay(SpaceID, ReplayID) error
}

// Validate is as said in row.go.
func (r Replay) Validate() error {
	for _, s := range r.Evidence {
		if err := validKey("replay", string(s.Source)); err != nil {
			return err
		}
	}
	return firstError(validKey("replay", string(r.Tenant), string(r.Space), string(r.ID)),
		validRef("replay", string(r.Dialect)), ValidText("replay", string(r.Session), string(r.Receipt)), validTime("replay", r.CreatedAt))
}

// Canonical is as said in row.go; keys are sorted, each once.
func (r Replay) Canonical() Replay {
	r.CreatedAt = Micros(r.CreatedAt)
	r.Keys, r.Evidence, r.Removed = list(r.Keys), list(r.Evidence), list(r.Removed)
	slices.SortFunc(r.Keys, Hash.Compare)
	r.Keys = slices.Compact(r.Keys)
	return r
}

// Rows is how many rows an entry is: one more for each key and each span.
func (r Replay) Rows() int { return 1 + len(r.Keys) + len(r.Evidence) }
