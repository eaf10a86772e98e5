// Package memory is the product's verbs: Prepare and Capture for the provider
// proxy, Recall, Read and Remember for agents, Preview and Send for people, and
// Draft, Extract, Review and Title, which ask a model in the background. It holds
// policy and time (budgets, modes, prompts); what must be right is in
// ledger and in recall's gate.
//
// Invariants:
//
//  1. Prepare never fails a model call: whatever goes wrong gives an empty Plan
//     and a receipt that says why. Only a caller's own wish for recall
//     (Require), a bad request or a missing right is an error.
//
//  2. A Plan that injects is returned only after its receipt is durable.
//
//  3. Evidence is injected into a human turn that is still last, as quoted data
//     in one block, whole items only, within the budget; without evidence there
//     is no block.
//
//  4. What a model is given in Send is a function of the session's context
//     (ledger.Resolve) and of evidence admitted under its visible set; the
//     result states exactly what was sent.
//
//  5. A failed Send stores neither turn. An edit or a regeneration is given what
//     stood before what it replaces, and becomes its sibling.
//
//  6. A recall sees every capture of its space that had begun in this process
//     before it, as far as its time budget allows.
//
//  7. Background work (Run) may end anywhere, and be done by several processes at
//     once: what it writes, it writes under the number of a claim or a lease, or
//     after reading again what it decided on. When Run returns nothing of it runs.
//
//  8. Draft, Extract and Review keep nothing but their receipt, which is durable
//     before a model is asked and closed whatever came of it. They and Title ask
//     the slot for background work or whom the caller names, once, and no other;
//     what is in no JSON object that was asked for is an error, never a guess.
//
//  9. A draft is given the turns of the chat's own window and nothing else; it
//     cites only those.
//
// It stores nothing of its own.
//
// Concurrency: a Memory is safe for concurrent use.
package memory

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/recall"
)

// Memory joins the write model, the index and the models. The zero optional
// fields work.
type Memory struct {
	Ledger *ledger.Ledger
	Recall *recall.Engine
	Keys   dhruva.Keyring
	// Providers finds a generator by provider name; "" means the default one.
	// An unknown or disabled provider is ErrInvalid.
	Providers func(name string) (Provider, error)
	// Background finds the model for what is asked without a person's choice of
	// one: Draft, Extract, Review and Title. Its DefaultModel is the slot's. nil:
	// there is none, and these are NoBackground.
	Background func() (Provider, error)
	Limits     Limits
	Now        func() time.Time // nil: time.Now
	Log        *slog.Logger     // nil: discards

	captures captures
	of       *Memory // whose captures count; nil: its own
	standing atomic.Pointer[ledger.Standing]
}

// Over is this memory over another ledger, such as one that ledger.Once gives.
// Captures that have begun are known to both.
func (m *Memory) Over(l *ledger.Ledger) *Memory {
	return &Memory{
		Ledger: l, Recall: m.Recall, Keys: m.Keys, Providers: m.Providers, Background: m.Background,
		Limits: m.Limits, Now: m.Now, Log: m.Log, of: m.first(),
	}
}

func (m *Memory) first() *Memory {
	if m.of != nil {
		return m.of
	}
	return m
}

// Provider is a model company as Send sees it.
type Provider struct {
	Name         string
	DefaultModel string
	Generator    llm.Generator
}

// Limits are the budgets of the memory plane; zero fields mean the defaults.
type Limits struct {
	// RecallTime bounds recall in front of a model call. Default 400 ms.
	RecallTime time.Duration
	// RecallTokens bounds an injected block, estimated. Default 512.
	RecallTokens int
	// CheckpointTokens bounds a checkpoint's block. Default 1,024.
	CheckpointTokens int
	// TopK is the default number of pieces of evidence. Default 8; MaxTopK 50.
	TopK, MaxTopK int
	// InjectTopK is how many pieces a block may hold. Default 6.
	InjectTopK int
	// InjectFloor leaves out of a block what scores less than this part of the
	// best. Default 0.2; negative means no floor.
	InjectFloor float64
	// HistoryTurns and HistoryTokens bound the history in a prompt. Defaults
	// 200 and 24,000; the newest turns are kept.
	HistoryTurns, HistoryTokens int
	// ArtifactTokens bounds the artifacts in a prompt, estimated; each by itself is
	// cut at 2,000 characters. Default 4,096.
	ArtifactTokens int
	// QueryBytes bounds a recall query. Default 4 KiB.
	QueryBytes int
	// SendBytes bounds a message of Send. Default 256 KiB.
	SendBytes int
}

// Mode is what memory may do for a request: a set of two rights.
type Mode string

// The modes. The empty Mode asks for the strongest the key allows.
const (
	ModeOff    Mode = "off"
	ModeRecall Mode = "recall"
	ModeIngest Mode = "ingest"
	ModeBoth   Mode = "both"
)

// PrepareInput is what the proxy knows of a request before it is forwarded. It
// holds no body: the Projection is all that memory sees.
type PrepareInput struct {
	// Space is an id or a name; "" is the key's own, else "default".
	Space      string
	Projection *dhruva.Projection
	Mode       Mode
	// Compression is passthrough (default), shadow or deterministic. Only
	// passthrough exists in this version; the others are ErrInvalid.
	Compression string
	// Hint is the client's opaque conversation hint.
	Hint string
	// Checkpoint mounts a checkpoint for this request.
	Checkpoint string
	// Require: recall must have worked, else ErrUnavailable.
	Require bool
	// RecallBudget is estimated tokens for the block; 0 is the default.
	RecallBudget int
	Path         string // hosted | local
	Provider     string
}

// Prepared is the outcome of Prepare: what to do to the request, and what
// Capture needs afterwards. It can travel to another process.
type Prepared struct {
	Plan    dhruva.Plan
	Receipt dhruva.Receipt
	Mode    Mode // effective
	Space   dhruva.SpaceID
	// Capture says whether the exchange is to be captured.
	Capture    bool
	Generation int64
	// Began is the state of the session that the request belongs to, when it
	// began; nil for a new conversation.
	Began *ledger.Began
}

// CaptureInput closes a request: what was seen of the answer, and the receipt
// with everything the edge learned.
type CaptureInput struct {
	Prepared Prepared
	// Projection is that of the client's request, before any edit.
	Projection  *dhruva.Projection
	Observation dhruva.Observation
	Hint        string
}

// RecallInput is an explicit recall.
type RecallInput struct {
	Space string // id or name; "" is the key's own
	Query string
	TopK  int
	// AsOf is a checkpoint (hash or prefix): recall what could be known there.
	AsOf string
	Path string // api | mcp
}

// RememberInput stores a text outside a conversation.
type RememberInput struct {
	Space     string
	Text      string
	SourceID  string
	Authority string // "" or assistant | user (needs memory:attest)
	Path      string
	// IdempotencyKey names the call, so that it may be repeated; "" does not.
	IdempotencyKey string `json:"-"`
}

// Remembered is the outcome of Remember.
type Remembered struct {
	Source  dhruva.Source
	Receipt dhruva.ReceiptID
	// Redactions counts the secrets that were replaced in the text.
	Redactions int
	// Replayed: it was done before, by a call with the same idempotency key.
	Replayed bool
}

// SendInput is one message to a model in a session.
type SendInput struct {
	Session  dhruva.SessionID
	Message  string
	Provider string // "" is the session's, else the default
	Model    string
	// History is none or session; "" is session.
	History string
	// Memory is off or recall; "" is recall in a space and off in FRESH.
	Memory string
	// Turns bounds the history to its latest; 0 is as many as the limits allow.
	Turns int
	// Depth is 1 or 3 checkpoints; 0 is the mount's or 1.
	Depth int
	// Pair is the compatible API's mount; nil means the server's.
	Pair *ledger.Pair
	// Edit is the number of a message of the session that this one replaces: it
	// becomes a sibling, and the conversation goes on from it. 0: it follows the tip.
	Edit int64
	// Regenerate is the number of an answer that is made again, as a sibling; then
	// there is no Message.
	Regenerate int64
}

// Section is a part of a prompt, for people who want to see what was sent.
type Section struct {
	Name   string `json:"name"`
	Text   string `json:"text"`
	Tokens int    `json:"tokens"`
}

// Preview is the exact prompt a Send would make, and what it was made from.
type Preview struct {
	Prompt   string
	Sections []Section
	Badge    string
	Context  dhruva.ContextUsed
	Evidence []dhruva.Evidence
	Recall   dhruva.Recall
	LeftOut  string
	Provider string
	Model    string
}

// SendResult is a reply with everything that was sent for it. Turns are the message
// and the answer; of an answer that was made again, that alone.
type SendResult struct {
	Preview
	Reply   string
	Turns   []dhruva.Turn
	Receipt dhruva.Receipt
}

// Capturing marks that a capture of a space has begun, so that recalls that
// start later wait for it; the edge calls it before it ends the response, and
// done when the capture has returned.
func (m *Memory) Capturing(p Prepared) (done func()) {
	return m.first().captures.begin(dhruva.SpaceScope(p.Receipt.Tenant, p.Space))
}

func (m *Memory) now() time.Time {
	if m.Now != nil {
		return dhruva.Micros(m.Now())
	}
	return dhruva.Micros(time.Now())
}

func (m *Memory) log(ctx context.Context, msg string, err error) {
	if m.Log != nil {
		m.Log.WarnContext(ctx, msg, "error", err, "request_id", dhruva.RequestIDFrom(ctx))
	}
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
