package dhruva

import (
	"time"
)

// SourceClass says how a text came to be known. It is set by the path that
// captured it, never by a model.
type SourceClass string

// The classes, highest trust first.
const (
	ClassUserCommitted    SourceClass = "user_committed"
	ClassUserTyped        SourceClass = "user_typed"
	ClassObserved         SourceClass = "observed"
	ClassImported         SourceClass = "imported"
	ClassAssistantVisible SourceClass = "assistant_visible"
	ClassDerived          SourceClass = "derived"
	ClassExternal         SourceClass = "external"
)

// Trust is the weight of a class in [0,1]. Unknown classes have none.
func (c SourceClass) Trust() float64 {
	switch c {
	case ClassUserCommitted:
		return .95
	case ClassUserTyped:
		return .90
	case ClassObserved:
		return .68
	case ClassImported:
		return .60
	case ClassAssistantVisible:
		return .35
	case ClassDerived:
		return .30
	}
	return 0
}

// SourceState is where a source stands.
type SourceState string

// The states. Only ready sources are recalled. Held ones wait for a person:
// their text is flagged (it instructs, imitates our delimiters or hides
// characters).
const (
	SourceReady        SourceState = "ready"
	SourceHeld         SourceState = "held"
	SourcePurgePending SourceState = "purge_pending"
)

// Source is a captured text, identified by what it says. It owns no text:
// References name the turns (or checkpoint items) that said it.
type Source struct {
	Tenant TenantID
	Space  SpaceID
	// (tenant, space, generation, id) is the primary key.
	Generation int64
	ID         SourceID
	Class      SourceClass
	State      SourceState
	// HeldFor says why a source is held.
	HeldFor string
	Role    Role
	// Digest is SHA-256 of the normalised text.
	Digest Hash
	// Size is the length of the text in bytes, as first said.
	Size int
	// EventTime is when it was said, CreatedAt when we learned it.
	EventTime time.Time
	CreatedAt time.Time
	// MAC signs tenant, space, generation, id, role, class, digest (Provenance)
	// under key KID.
	MAC []byte
	KID string
}

// Reference is one place where a source's text stands: a turn, or an item of
// a checkpoint.
type Reference struct {
	Space      SpaceID
	Generation int64
	Source     SourceID
	// Session and Seq name a turn.
	Session SessionID
	Seq     int64
	// Checkpoint and Item name an item; Session is empty then.
	Checkpoint Hash
	Item       ItemID
}

// Tombstone blocks a source id in one generation.
type Tombstone struct {
	Space      SpaceID
	Generation int64
	Source     SourceID
	State      string // pending | completed | not_found
	CreatedAt  time.Time
}
