package llm

import (
	"context"
	"encoding/json"
	"slices"
)

// Role says who speaks in a Message.
type Role string

// The roles a Message may have. A provider's own further roles (developer,
// tool) are not needed to ask for text.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one message of a Request.
type Message struct {
	Role    Role
	Content string
}

// Request asks a model for text.
type Request struct {
	// Model is the provider's model id; empty means the Generator's default.
	Model string
	// Messages in order. System messages may stand anywhere; a provider that
	// wants them apart gets them joined in order.
	Messages []Message
	// MaxTokens bounds the answer; zero leaves it to the provider (or to the
	// Generator, where the provider demands a number).
	MaxTokens int
	// Temperature is sent when it is not nil.
	Temperature *float64
	// JSON asks for an answer that is one JSON object.
	JSON bool
	// Schema, a JSON Schema, narrows JSON and implies it.
	Schema json.RawMessage
	// SchemaName names the schema to the provider; empty becomes "answer".
	SchemaName string
}

// Clone returns a copy that shares nothing with r.
func (r Request) Clone() Request {
	r.Messages = slices.Clone(r.Messages)
	r.Schema = slices.Clone(r.Schema)
	if r.Temperature != nil {
		t := *r.Temperature
		r.Temperature = &t
	}
	return r
}

// WantsJSON tells whether the answer has to be JSON.
func (r Request) WantsJSON() bool { return r.JSON || len(r.Schema) > 0 }

// Finish says why an answer ended, in words common to all providers.
type Finish string

// The reasons an answer ends for. FinishOther covers what a provider may
// invent later.
const (
	FinishStop   Finish = "stop"
	FinishLength Finish = "length"
	FinishFilter Finish = "content_filter"
	FinishTool   Finish = "tool_calls"
	FinishOther  Finish = "other"
)

// Response is a model's answer.
type Response struct {
	// Text is the visible answer.
	Text string
	// Model is the id the provider says it used.
	Model string
	// InputTokens and OutputTokens are the provider's own count, zero when it
	// gave none.
	InputTokens, OutputTokens int
	// FinishReason is why the answer ended.
	FinishReason Finish
}

// Generator asks one provider's models for text.
type Generator interface {
	// Generate returns the whole answer. When ctx ends first, the error is
	// dhruva.ErrUnavailable and ctx.Err().
	Generate(ctx context.Context, req Request) (Response, error)
	// Stream hands each piece of the answer to emit as it arrives, in order
	// and in the calling goroutine, and returns the whole answer in the end.
	// An error of emit stops the stream and is returned as it is. When the
	// stream breaks, the Response holds the text so far beside the error.
	Stream(ctx context.Context, req Request, emit func(delta string) error) (Response, error)
}

// Embedder turns texts into vectors.
type Embedder interface {
	// Embed returns one vector for each text, in order, all of one length.
	// It is all or nothing.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model identifies the vector space: vectors of two different Model values
	// are never compared.
	Model() string
}
