package echo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/llm"
)

// Generate implements llm.Generator with the same answers as the HTTP routes.
func (Provider) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, fmt.Errorf("llm: echo: %w: %w", dhruva.ErrUnavailable, err)
	}
	if len(req.Messages) == 0 {
		return llm.Response{}, llm.NewError("echo", 400, "invalid_request_error", "messages: at least one message is required.", nil)
	}
	f, err := requestFormat(req)
	if err != nil {
		return llm.Response{}, llm.NewError("echo", 400, "invalid_request_error", err.Error(), nil)
	}
	res := llm.Response{Text: reply(withoutHistory(lastUser(req.Messages)), f), Model: req.Model, FinishReason: llm.FinishStop}
	if res.Model == "" {
		res.Model = Model
	}
	for _, m := range req.Messages {
		res.InputTokens += tokens(m.Content)
	}
	res.OutputTokens = tokens(res.Text)
	return res, nil
}

// withoutHistory takes the earlier turns out of a composed prompt, so that a
// session with echo does not hold each reply in all that follow. What else the
// prompt shows (checkpoints, evidence, the message) stays to be seen.
func withoutHistory(prompt string) string {
	const history, query = "\n\nRecent Conversation:\n", "\n\nUser Query:\n"
	from, to := strings.Index(prompt, history), strings.LastIndex(prompt, query)
	if from < 0 || to < from {
		return prompt
	}
	return prompt[:from] + prompt[to:]
}

// Stream implements llm.Generator.
func (p Provider) Stream(ctx context.Context, req llm.Request, emit func(string) error) (llm.Response, error) {
	res, err := p.Generate(ctx, req)
	if err != nil {
		return res, err
	}
	sent := 0
	for _, piece := range pieces(res.Text) {
		if err = ctx.Err(); err != nil {
			err = fmt.Errorf("llm: echo: %w: %w", dhruva.ErrUnavailable, err)
		} else {
			sent += len(piece)
			err = emit(piece)
		}
		if err != nil {
			return llm.Response{Text: res.Text[:sent], Model: res.Model}, err
		}
	}
	return res, nil
}

func requestFormat(req llm.Request) (format, error) {
	switch {
	case len(req.Schema) > 0:
		return newFormat("json_schema", req.Schema)
	case req.JSON:
		return newFormat("json_object", nil)
	}
	return format{}, nil
}

func lastUser(messages []llm.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == llm.RoleUser {
			return m.Content
		}
	}
	return ""
}
