package dhruva

import "time"

// RecallStatus is the outcome of a recall.
type RecallStatus string

// The statuses. Degraded never injects and never compresses.
const (
	RecallRecalled RecallStatus = "recalled"
	RecallEmpty    RecallStatus = "empty"
	RecallRefused  RecallStatus = "refused"
	RecallDegraded RecallStatus = "degraded"
	RecallOff      RecallStatus = "off"
)

// GateReason names the first check that failed, or passed.
type GateReason string

// The reasons, in the order of the checks.
const (
	GatePassed              GateReason = "passed"
	GateNoCandidates        GateReason = "no_candidates"
	GateTenantMismatch      GateReason = "tenant_mismatch"      // G1
	GateNamespaceMismatch   GateReason = "namespace_mismatch"   // G2
	GateStaleGeneration     GateReason = "stale_generation"     // G3
	GateACLDenied           GateReason = "acl_denied"           // G4
	GateSourceNotReady      GateReason = "source_not_ready"     // G5
	GateSourceTombstoned    GateReason = "source_tombstoned"    // G5
	GateProvenanceInvalid   GateReason = "provenance_invalid"   // G6
	GateInsufficientSupport GateReason = "insufficient_support" // G7
	GateBudgetExceeded      GateReason = "budget_exceeded"
	GateDependencyTimeout   GateReason = "dependency_timeout"
	GateDependencyError     GateReason = "dependency_error"
)

// Evidence is what passed the gate for a query.
type Evidence struct {
	// Token is a sealed read token for exactly the span shown.
	Token   string
	Source  SourceID
	Class   SourceClass
	Trust   float64
	Role    Role
	Session SessionID
	Seq     int64
	// Time is when it was said.
	Time time.Time
	// Start and End are byte offsets of the span in the source's text.
	Start, End int
	// Snippet is the span's text, read from the store under the gate.
	Snippet string
	Score   float64
	// Why names the legs that scored, strongest first, and labels such as
	// "weak" or "stated by Mel".
	Why []Reason
}

// Reason is one leg's contribution to a score, or a label without a value.
type Reason struct {
	Name  string  `json:"name"`
	Value float64 `json:"value,omitempty"`
}

// Rejection is a candidate that the gate refused.
type Rejection struct {
	Source SourceID
	Reason GateReason
}

// Recall is the answer to a query.
type Recall struct {
	Status RecallStatus
	Reason GateReason
	// Answer renders only the first piece of evidence.
	Answer   string
	Evidence []Evidence
	Rejected []Rejection
	Receipt  ReceiptID
	// Searched is the number of sources in the space's index.
	Searched int
}

// ReadResult answers one token; results are aligned with the input.
type ReadResult struct {
	Found  bool
	Text   string
	Source SourceID
	// Start and End are byte offsets of the span in the source's text.
	Start, End int
	Role       Role
	Time       time.Time
}
