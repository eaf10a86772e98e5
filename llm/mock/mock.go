// Package mock is the built-in provider for tests and for trying things out
// where no model is: it needs no key and no network, and is used only when it is
// named. When JSON is asked for it answers one fixed object that has the fields
// of a draft, of an extract and of a review. Otherwise it says back the first 80
// characters of the last user message.
//
// Invariants:
//  1. The answer is a function of the request; token counts are estimates of a
//     quarter of the runes.
//  2. Any model id is accepted and answered under.
//  3. A JSON Schema is refused: the fixed object would not fit it.
//
// The package stores nothing. A Provider may be used from many goroutines.
package mock

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/llm"
)

// Name is what the provider is called, Model the id it answers under when none
// is asked for.
const (
	Name  = "mock"
	Model = "mock-1"
)

// Answer is what it answers when JSON is asked for.
const Answer = `{
  "title": "Mock checkpoint",
  "objective": "Show what a draft looks like without a model.",
  "summary": "This text was made by the mock provider. It says nothing about the conversation.",
  "decisions": [{"text": "Mock decision: use the mock provider for tests only", "turns": [1]}],
  "assumptions": ["Mock assumption: no model is configured"],
  "tasks": [{"text": "Mock task: configure a model", "id": "configure-model", "intent_hint": "implement", "blocked_by": ""}],
  "open_questions": ["Mock question: which model will be used?"],
  "entities": ["Mock provider"],
  "artifacts": [{"id": "mock-artifact", "type": "text", "label": "Mock artifact", "content": "Nothing of it is real."}],
  "issues": [{"type": "hidden_assumption", "description": "Mock issue: nobody has looked at this checkpoint."}],
  "suggestions": ["Mock suggestion: review it with a model"]
}`

// runes is how much of a message is said back.
const runes = 80

// Provider is the provider. Its zero value is ready.
type Provider struct{}

// Generate implements llm.Generator.
func (Provider) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	switch {
	case ctx.Err() != nil:
		return llm.Response{}, fmt.Errorf("llm: mock: %w: %w", dhruva.ErrUnavailable, ctx.Err())
	case len(req.Messages) == 0:
		return llm.Response{}, llm.NewError(Name, 400, "invalid_request_error", "messages: at least one message is required.", nil)
	case len(req.Schema) > 0:
		return llm.Response{}, llm.NewError(Name, 400, "invalid_request_error", "the mock provider answers no schema.", nil)
	}
	res := llm.Response{Text: answer(req), Model: req.Model, FinishReason: llm.FinishStop}
	if res.Model == "" {
		res.Model = Model
	}
	for _, m := range req.Messages {
		res.InputTokens += tokens(m.Content)
	}
	res.OutputTokens = tokens(res.Text)
	return res, nil
}

// Stream implements llm.Generator: the answer comes in one piece.
func (p Provider) Stream(ctx context.Context, req llm.Request, emit func(string) error) (llm.Response, error) {
	res, err := p.Generate(ctx, req)
	if err != nil {
		return res, err
	}
	if err := emit(res.Text); err != nil {
		return llm.Response{Model: res.Model}, err
	}
	return res, nil
}

func answer(req llm.Request) string {
	if req.JSON {
		return Answer
	}
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == llm.RoleUser {
			return "Mock: " + first(m.Content, runes)
		}
	}
	return "Mock: nothing was said."
}

// first are the first n runes of a text.
func first(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func tokens(s string) int { return (utf8.RuneCountInString(s) + 3) / 4 }
