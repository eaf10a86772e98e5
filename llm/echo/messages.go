package echo

import (
	"encoding/json"
	"net/http"
)

type messagesRequest struct {
	Model        string    `json:"model"`
	MaxTokens    *int      `json:"max_tokens"`
	System       content   `json:"system"`
	Messages     []message `json:"messages"`
	Stream       bool      `json:"stream"`
	OutputConfig struct {
		Format struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

// messagesReply is an answer in the terms of Messages.
type messagesReply struct {
	id, model, text string
	input, output   int
}

func (c call) messages() answer {
	var req messagesRequest
	if err := parse(c.body, &req); err != nil {
		return c.fail(err)
	}
	if req.MaxTokens == nil {
		return c.fail(refusal(http.StatusBadRequest, "max_tokens", "max_tokens: Field required"))
	}
	if *req.MaxTokens < 1 {
		return c.fail(refusal(http.StatusBadRequest, "max_tokens", "max_tokens: Input should be greater than or equal to 1"))
	}
	r, err := c.messagesReply(req)
	if err != nil {
		return c.fail(err)
	}
	out := answer{status: http.StatusOK, id: c.id("req_")}
	if req.Stream {
		out.frames = r.stream()
	} else {
		out.body = r.message(list(textBlock(r.text)), "end_turn", r.output)
	}
	return out
}

// countTokens answers the token counting route, which takes no max_tokens.
func (c call) countTokens() answer {
	var req messagesRequest
	if err := parse(c.body, &req); err != nil {
		return c.fail(err)
	}
	r, err := c.messagesReply(req)
	if err != nil {
		return c.fail(err)
	}
	return answer{status: http.StatusOK, id: c.id("req_"), body: obj("input_tokens", r.input)}
}

func (c call) messagesReply(req messagesRequest) (messagesReply, error) {
	conv := conversation{model: req.Model, system: req.System, messages: req.Messages}
	if err := conv.check("messages", "user", "assistant", "system"); err != nil {
		return messagesReply{}, err
	}
	f, err := newFormat(req.OutputConfig.Format.Type, req.OutputConfig.Format.Schema)
	if err != nil {
		return messagesReply{}, err
	}
	text := reply(conv.lastUser(), f)
	return messagesReply{id: c.id("msg_"), model: req.Model, text: text, input: conv.inputTokens(), output: tokens(text)}, nil
}

func textBlock(text string) json.RawMessage {
	return obj("type", "text", "text", text, "citations", nil)
}

func (r messagesReply) usage(output int) json.RawMessage {
	return obj("input_tokens", r.input, "cache_creation_input_tokens", 0, "cache_read_input_tokens", 0, "output_tokens", output, "service_tier", "standard")
}

func (r messagesReply) message(content json.RawMessage, stop any, output int) json.RawMessage {
	return obj("id", r.id, "type", "message", "role", "assistant", "model", r.model, "content", content,
		"stop_reason", stop, "stop_sequence", nil, "usage", r.usage(output))
}

// stream is the official sequence of one text block.
func (r messagesReply) stream() []string {
	var frames []string
	add := func(typ string, kv ...any) {
		frames = append(frames, named(typ, obj(append([]any{"type", typ}, kv...)...)))
	}
	add("message_start", "message", r.message(list(), nil, 1))
	add("content_block_start", "index", 0, "content_block", textBlock(""))
	add("ping")
	for _, p := range pieces(r.text) {
		add("content_block_delta", "index", 0, "delta", obj("type", "text_delta", "text", p))
	}
	add("content_block_stop", "index", 0)
	add("message_delta", "delta", obj("stop_reason", "end_turn", "stop_sequence", nil), "usage", r.usage(r.output))
	add("message_stop")
	return frames
}
