package dhruva

import (
	"time"

	"github.com/google/uuid"
)

// Identifiers are types, so that one cannot be passed where another is meant.
// All but SourceID and Hash are UUIDs (version 7 where we mint them, so that
// they sort by time).
type (
	// TenantID names an isolation account; it is first in every key.
	TenantID string
	// SpaceID names a memory namespace.
	SpaceID string
	// SessionID names one conversation.
	SessionID string
	// TurnID names one message of a session.
	TurnID string
	// CheckpointID is the UUID of a checkpoint; its identity is its Hash.
	CheckpointID string
	// ItemID names a decision, task, ... and is kept down the lineage.
	ItemID string
	// SourceID is content-stable: base32 of a keyed hash of space, role and
	// normalised text (Ledger computes it), or the caller's own id for remember.
	SourceID string
	// RecordID names a fact extracted from a source.
	RecordID string
	// ReceiptID names the durable account of one request.
	ReceiptID string
	// KeyID names a Dhruva key; it is not secret.
	KeyID string
	// PrincipalID names who acts: a user or a key.
	PrincipalID string
	// ReplayID names what a conversation was given once.
	ReplayID string
	// JobID names a piece of background work.
	JobID string
	// NodeID names a running process of the installation.
	NodeID string
	// NoteID names a remark on a checkpoint.
	NoteID string
	// ClaimID names an agent's claim to a piece of work.
	ClaimID string
	// WorktreeID names a working copy made for an agent.
	WorktreeID string
	// DocumentID names a text kept beside turns and checkpoints.
	DocumentID string
	// LeafID names a leaf of the audit log: the id of what it attests.
	LeafID string
)

// NewID mints a UUID version 7. It must be called outside a store's Update
// function, which may run more than once.
func NewID() string {
	id, err := uuid.NewV7()
	if err != nil { // the system's random source is broken: nothing can be minted safely
		panic("dhruva: no randomness: " + err.Error())
	}
	return id.String()
}

// Micros truncates to what every store keeps: UTC microseconds.
func Micros(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
