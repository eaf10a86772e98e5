package echo

import (
	"encoding/json"
	"net/http"
)

// maxChoices is the greatest n that OpenAI takes.
const maxChoices = 128

type chatRequest struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Stream        bool      `json:"stream"`
	N             *int      `json:"n"`
	MaxTokens     *int      `json:"max_tokens"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ResponseFormat *struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

// chatReply is an answer in the terms of Chat Completions.
type chatReply struct {
	id, model, text string
	input, output   int
	choices         int
}

func (c call) chat() answer {
	var req chatRequest
	if err := parse(c.body, &req); err != nil {
		return c.fail(err)
	}
	r, err := c.chatReply(req)
	if err != nil {
		return c.fail(err)
	}
	out := answer{status: http.StatusOK, id: c.id("req_")}
	if req.Stream {
		out.frames = r.stream(req.StreamOptions != nil && req.StreamOptions.IncludeUsage)
	} else {
		out.body = r.whole()
	}
	return out
}

func (c call) chatReply(req chatRequest) (chatReply, error) {
	conv := conversation{model: req.Model, messages: req.Messages}
	if err := conv.check("messages", "developer", "system", "user", "assistant", "tool", "function"); err != nil {
		return chatReply{}, err
	}
	r := chatReply{id: c.id("chatcmpl-"), model: req.Model, input: conv.inputTokens(), choices: 1}
	if req.N != nil {
		r.choices = *req.N
	}
	if r.choices < 1 || r.choices > maxChoices {
		return r, refusal(http.StatusBadRequest, "n", "n is out of range.")
	}
	if req.MaxTokens != nil && *req.MaxTokens < 1 {
		return r, refusal(http.StatusBadRequest, "max_tokens", "max_tokens must be at least 1.")
	}
	var f format
	if rf := req.ResponseFormat; rf != nil {
		var err error
		if f, err = newFormat(rf.Type, rf.JSONSchema.Schema); err != nil {
			return r, err
		}
	}
	r.text = reply(conv.lastUser(), f)
	r.output = tokens(r.text) * r.choices
	return r, nil
}

func (r chatReply) usage() json.RawMessage {
	return obj("prompt_tokens", r.input, "completion_tokens", r.output, "total_tokens", r.input+r.output,
		"prompt_tokens_details", obj("cached_tokens", 0), "completion_tokens_details", obj("reasoning_tokens", 0))
}

func (r chatReply) whole() json.RawMessage {
	choices := make([]json.RawMessage, r.choices)
	for i := range choices {
		choices[i] = obj("index", i, "message", obj("role", "assistant", "content", r.text, "refusal", nil, "annotations", list()),
			"logprobs", nil, "finish_reason", "stop")
	}
	return obj("id", r.id, "object", "chat.completion", "created", created, "model", r.model,
		"choices", list(choices...), "usage", r.usage(), "system_fingerprint", "fp_echo")
}

// stream is a role chunk, the pieces, and the finish, each for every choice in
// turn; then the usage when it was asked for, and [DONE].
func (r chatReply) stream(usage bool) []string {
	frames := r.chunks(nil, usage, obj("role", "assistant", "content", "", "refusal", nil), nil)
	for _, p := range pieces(r.text) {
		frames = r.chunks(frames, usage, obj("content", p), nil)
	}
	frames = r.chunks(frames, usage, obj(), "stop")
	if usage {
		frames = append(frames, data(string(r.chunk(list(), "usage", r.usage()))))
	}
	return append(frames, data("[DONE]"))
}

// chunks appends one chunk for every choice. With usage asked for, every chunk
// but the last has a null in its place.
func (r chatReply) chunks(frames []string, usage bool, delta json.RawMessage, finish any) []string {
	for i := range r.choices {
		choices := list(obj("index", i, "delta", delta, "logprobs", nil, "finish_reason", finish))
		if usage {
			frames = append(frames, data(string(r.chunk(choices, "usage", nil))))
		} else {
			frames = append(frames, data(string(r.chunk(choices))))
		}
	}
	return frames
}

func (r chatReply) chunk(choices json.RawMessage, more ...any) json.RawMessage {
	return obj(append([]any{"id", r.id, "object", "chat.completion.chunk", "created", created, "model", r.model,
		"system_fingerprint", "fp_echo", "choices", choices}, more...)...)
}
