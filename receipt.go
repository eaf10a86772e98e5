package dhruva

import "time"

// MemoryState is the closed list of X-Dhruva-Memory-State.
type MemoryState string

// The memory states (docs/format.md).
const (
	MemoryOff             MemoryState = "off"
	MemoryRecalled        MemoryState = "recalled"
	MemoryReplayed        MemoryState = "replayed"
	MemoryEmpty           MemoryState = "empty"
	MemoryRefused         MemoryState = "refused"
	MemoryDegraded        MemoryState = "degraded"
	MemoryLimitedByScope  MemoryState = "limited_by_scope"
	MemoryReplaySuspended MemoryState = "replay_suspended"
	MemoryReplayRevoked   MemoryState = "replay_revoked"
	MemorySkippedNoLedger MemoryState = "skipped_ledger_unavailable"
)

// ContinuityState is the closed list of X-Dhruva-Continuity-State.
type ContinuityState string

// The continuity states (memory-plane: request receipt).
const (
	ContinuityNotApplicable      ContinuityState = "not_applicable"
	ContinuityNotNeeded          ContinuityState = "not_needed"
	ContinuityShadowOnly         ContinuityState = "shadow_only"
	ContinuityCommitted          ContinuityState = "committed"
	ContinuityRecallEmpty        ContinuityState = "bypassed_recall_empty"
	ContinuityRecallDegraded     ContinuityState = "bypassed_recall_degraded"
	ContinuityRecallUnrelated    ContinuityState = "bypassed_recall_unrelated"
	ContinuityRecallNotPermitted ContinuityState = "bypassed_recall_not_permitted"
	ContinuityNotStored          ContinuityState = "bypassed_not_stored"
	ContinuityThinkingBound      ContinuityState = "bypassed_thinking_bound"
	ContinuityCacheUneconomic    ContinuityState = "bypassed_cache_uneconomic"
	ContinuityProviderState      ContinuityState = "bypassed_provider_state"
	ContinuityUnprojectable      ContinuityState = "bypassed_unprojectable"
	ContinuityReplayUnavailable  ContinuityState = "bypassed_replay_unavailable"
	ContinuityValidator          ContinuityState = "bypassed_validator"
)

// Receipt is the durable account of one request. It holds no text, no tokens
// and no secrets: ids, counts, hashes and states only.
type Receipt struct {
	Tenant    TenantID    `json:"tenant"`
	Space     SpaceID     `json:"space,omitempty"`
	ID        ReceiptID   `json:"id"`
	RequestID string      `json:"request_id,omitempty"`
	Principal PrincipalID `json:"principal,omitempty"`
	Key       KeyID       `json:"key_id,omitempty"`
	// Node is the process that acted; "" for one that is not registered.
	Node NodeID `json:"node,omitempty"`
	// Kind is the act: proxy, send, recall, remember, draft, extract, review, title,
	// or one of administration (leaf.go).
	Kind string `json:"kind"`
	// Subject is what the act was about, where no other field says it: an id.
	Subject string `json:"subject,omitempty"`
	// State is open, final or interrupted.
	State    string    `json:"state"`
	Path     string    `json:"path"` // hosted | local | mcp | api
	Dialect  Dialect   `json:"dialect,omitempty"`
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model,omitempty"`
	Stream   bool      `json:"stream,omitempty"`
	Session  SessionID `json:"session,omitempty"`

	ModeRequested string          `json:"mode_requested,omitempty"`
	ModeEffective string          `json:"mode_effective,omitempty"`
	Memory        MemoryState     `json:"memory_state,omitempty"`
	Continuity    ContinuityState `json:"continuity_state,omitempty"`
	Recall        RecallAccount   `json:"recall"`
	// Ingest is queued, stored, skipped_*, deferred or dropped; "" when none.
	Ingest string `json:"ingest,omitempty"`
	// Redactions counts the secrets that were replaced by placeholders in what was
	// stored. What a provider was sent is not changed by that.
	Redactions  int          `json:"redactions,omitempty"`
	Tokens      TokenAccount `json:"tokens"`
	Bytes       ByteAccount  `json:"bytes"`
	Edits       []Splice     `json:"edits,omitempty"`
	Context     *ContextUsed `json:"context,omitempty"`
	Checkpoint  Hash         `json:"checkpoint,omitzero"`
	Upstream    Upstream     `json:"upstream"`
	Generation  int64        `json:"generation,omitempty"`
	CreatedAt   time.Time    `json:"created_at"`
	FinishedAt  time.Time    `json:"finished_at,omitzero"`
	TurnIDs     []TurnID     `json:"turn_ids,omitempty"`
	SourcesSeen int          `json:"sources_seen,omitempty"`
}

// RecallAccount says what recall did for a request.
type RecallAccount struct {
	Status    RecallStatus `json:"status,omitempty"`
	Reason    GateReason   `json:"gate_reason,omitempty"`
	Evidence  int          `json:"evidence_count"`
	LatencyUs int64        `json:"latency_us"`
	// Sources are the admitted evidence: content-stable ids, never text.
	Sources []SourceID `json:"sources,omitempty"`
	// Note says in words why recall did not happen, when it did not.
	Note string `json:"note,omitempty"`
}

// TokenAccount counts estimated tokens, and the provider's own where known.
type TokenAccount struct {
	Original    int    `json:"original"`
	Forwarded   int    `json:"forwarded"`
	Recalled    int    `json:"recalled"`
	Replayed    int    `json:"replayed"`
	Removed     int    `json:"removed"`
	Input       int    `json:"input"`
	Output      int    `json:"output"`
	UsageSource string `json:"usage_source,omitempty"` // provider | estimated | unknown
}

// ByteAccount counts bytes of bodies and names them by SHA-256 where a receipt
// needs it.
type ByteAccount struct {
	In            int64  `json:"in"`
	Forwarded     int64  `json:"forwarded"`
	Out           int64  `json:"out"`
	ClientBody    string `json:"client_sha256,omitempty"`
	ForwardedBody string `json:"forwarded_sha256,omitempty"`
}

// Upstream says what the provider did.
type Upstream struct {
	Status    int      `json:"status,omitempty"`
	RequestID string   `json:"provider_request_id,omitempty"`
	TTFBUs    int64    `json:"ttfb_us,omitempty"`
	TotalUs   int64    `json:"total_us,omitempty"`
	Terminal  Terminal `json:"terminal,omitempty"`
	Error     string   `json:"error,omitempty"`
}

// ContextUsed states exactly which state a model was given.
type ContextUsed struct {
	Mode        Mode   `json:"mode"`
	Checkpoints []Hash `json:"checkpoints"`
	Base        int64  `json:"base"`
	// Turns are the numbers of the turns in the prompt; Cut is how many turns
	// of the window were left out for the budget.
	Turns    []int64    `json:"turns"`
	Cut      int        `json:"cut"`
	Evidence []SourceID `json:"evidence,omitempty"`
	Tokens   int        `json:"tokens"`
}
