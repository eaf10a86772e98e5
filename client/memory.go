package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// RecallInput asks what a space knows.
type RecallInput struct {
	Query string `json:"query" minLength:"1"`
	TopK  int    `json:"top_k,omitempty" minimum:"0" maximum:"50" doc:"At most this many pieces of evidence. Default 8."`
	AsOf  string `json:"as_of,omitempty" doc:"Checkpoint: recall what could be known there."`
}

// Span is a range of bytes of a source's text.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// EvidenceRef is one piece of evidence.
type EvidenceRef struct {
	Token   string             `json:"token" doc:"Give it to /read for the exact text."`
	Source  dhruva.SourceID    `json:"source_id"`
	Class   dhruva.SourceClass `json:"class"`
	Role    dhruva.Role        `json:"role"`
	Trust   float64            `json:"trust"`
	Time    time.Time          `json:"time"`
	Session dhruva.SessionID   `json:"session_id,omitempty"`
	Seq     int64              `json:"sequence_number,omitempty"`
	Span    Span               `json:"span"`
	Snippet string             `json:"snippet"`
	Score   float64            `json:"score"`
	Why     []dhruva.Reason    `json:"why" doc:"What the score is made of, strongest first, and labels."`
}

// Recall is the answer to a query.
type Recall struct {
	Status   dhruva.RecallStatus `json:"status" doc:"recalled, empty, refused, degraded or off."`
	Reason   dhruva.GateReason   `json:"gate_reason"`
	Answer   string              `json:"answer"`
	Evidence []EvidenceRef       `json:"evidence_refs"`
	Searched int                 `json:"searched" doc:"Sources in the space's index."`
	Receipt  dhruva.ReceiptID    `json:"receipt_id"`
}

// ReadInput names spans by their tokens.
type ReadInput struct {
	Tokens []string `json:"tokens" minItems:"1" maxItems:"100"`
}

// ReadResult is one span. What is gone and what never was look alike.
type ReadResult struct {
	Status string          `json:"status" enum:"ok,not_found"`
	Text   string          `json:"text"`
	Source dhruva.SourceID `json:"source_id"`
	Span   Span            `json:"span"`
	Role   dhruva.Role     `json:"role"`
	Time   time.Time       `json:"time,omitzero"`
}

// ReadResults are aligned with the tokens asked for.
type ReadResults struct {
	Results []ReadResult `json:"results"`
}

// RememberInput stores a text outside a conversation.
type RememberInput struct {
	Text      string          `json:"text" minLength:"1"`
	SourceID  dhruva.SourceID `json:"source_id,omitempty" doc:"The caller's own id."`
	Authority string          `json:"authority,omitempty" enum:"assistant,user" doc:"user needs the right memory:attest. Default: assistant."`
}

// Remembered is what became of a text.
type Remembered struct {
	Source     dhruva.SourceID    `json:"source_id"`
	Class      dhruva.SourceClass `json:"class"`
	State      dhruva.SourceState `json:"state"`
	HeldFor    string             `json:"held_for,omitempty" doc:"Why it waits for a person."`
	Trust      float64            `json:"trust"`
	Receipt    dhruva.ReceiptID   `json:"receipt_id"`
	Redactions int                `json:"redactions,omitempty" doc:"How many secrets were replaced by placeholders before it was stored."`
}

// Recall searches a space; an empty name is the key's own space.
func (c *Client) Recall(ctx context.Context, space string, in RecallInput) (Recall, error) {
	return call[Recall](ctx, c, http.MethodPost, spacePath(space)+"/recall", in)
}

// Read returns exact spans.
func (c *Client) Read(ctx context.Context, tokens []string) (ReadResults, error) {
	return call[ReadResults](ctx, c, http.MethodPost, "/read", ReadInput{Tokens: tokens})
}

// Remember stores a text in a space.
func (c *Client) Remember(ctx context.Context, space string, in RememberInput) (Remembered, error) {
	return call[Remembered](ctx, c, http.MethodPost, spacePath(space)+"/remember", in)
}

// ImportInput is a conversation held elsewhere.
type ImportInput struct {
	Key   string       `json:"key" minLength:"1" doc:"Names the conversation in its origin; importing it again adds only what is new."`
	Title string       `json:"title,omitempty"`
	Turns []ImportTurn `json:"turns"`
}

// ImportTurn is one message of it.
type ImportTurn struct {
	Role    dhruva.Role `json:"role" enum:"user,assistant"`
	Speaker string      `json:"speaker,omitempty"`
	Text    string      `json:"text"`
	Time    time.Time   `json:"time,omitzero" doc:"When it was said; leave out when unknown."`
}

// Imported counts turns.
type Imported struct {
	Session    dhruva.SessionID `json:"session_id"`
	New        int              `json:"new_turns"`
	Skipped    int              `json:"skipped" doc:"There already, or blank."`
	Redactions int              `json:"redactions,omitempty" doc:"How many secrets were replaced by placeholders in the new turns."`
}

// Import stores a conversation in a space. It may be repeated.
func (c *Client) Import(ctx context.Context, space string, in ImportInput) (Imported, error) {
	return call[Imported](ctx, c, http.MethodPost, spacePath(space)+"/import", in)
}

// Source is a captured text and the places that said it.
type Source struct {
	ID         dhruva.SourceID    `json:"id"`
	SpaceID    dhruva.SpaceID     `json:"space_id"`
	Class      dhruva.SourceClass `json:"class"`
	Trust      float64            `json:"trust"`
	State      dhruva.SourceState `json:"state"`
	HeldFor    string             `json:"held_for,omitempty"`
	Role       dhruva.Role        `json:"role"`
	Digest     dhruva.Hash        `json:"sha256" doc:"SHA-256 of the normalised text."`
	Size       int                `json:"size" doc:"Bytes of the text."`
	Time       time.Time          `json:"time" doc:"When it was said."`
	CreatedAt  time.Time          `json:"created_at" doc:"When it was learned."`
	Text       string             `json:"text,omitempty" doc:"Whole for one source, the beginning in lists."`
	References []Reference        `json:"references,omitempty"`
}

// Reference is one place where a source's text stands.
type Reference struct {
	Session    dhruva.SessionID `json:"session_id,omitempty"`
	Seq        int64            `json:"sequence_number,omitempty"`
	Checkpoint dhruva.Hash      `json:"checkpoint,omitzero"`
	Item       dhruva.ItemID    `json:"item_id,omitempty"`
}

// SourceFilter narrows a list of sources.
type SourceFilter struct {
	State dhruva.SourceState
	Class dhruva.SourceClass
	dhruva.Page
}

// Sources lists the sources of a space.
func (c *Client) Sources(ctx context.Context, space string, f SourceFilter) (List[Source], error) {
	q := url.Values{}
	setIf(q, "state", string(f.State))
	setIf(q, "class", string(f.Class))
	return call[List[Source]](ctx, c, http.MethodGet, spacePath(space)+"/sources"+pageQuery(f.Page, q), nil)
}

// Source finds a source with its text.
func (c *Client) Source(ctx context.Context, space string, id dhruva.SourceID) (Source, error) {
	return call[Source](ctx, c, http.MethodGet, spacePath(space)+"/sources/"+url.PathEscape(string(id)), nil)
}

// Release lets a held source be recalled. The answer is without its text.
func (c *Client) Release(ctx context.Context, space string, id dhruva.SourceID) (Source, error) {
	return call[Source](ctx, c, http.MethodPost, spacePath(space)+"/sources/"+url.PathEscape(string(id))+"/release", nil)
}

// Receipt is the durable account of one request. It holds no text.
type Receipt = dhruva.Receipt

// ReceiptFilter narrows a list of receipts.
type ReceiptFilter struct {
	Space   string
	Session dhruva.SessionID
	Kind    string
	dhruva.Page
}

// Receipts lists receipts, newest first.
func (c *Client) Receipts(ctx context.Context, f ReceiptFilter) (List[Receipt], error) {
	q := url.Values{}
	setIf(q, "space", f.Space)
	setIf(q, "session", string(f.Session))
	setIf(q, "kind", f.Kind)
	return call[List[Receipt]](ctx, c, http.MethodGet, "/receipts"+pageQuery(f.Page, q), nil)
}

// Receipt finds a receipt.
func (c *Client) Receipt(ctx context.Context, id dhruva.ReceiptID) (Receipt, error) {
	return call[Receipt](ctx, c, http.MethodGet, "/receipts/"+url.PathEscape(string(id)), nil)
}
