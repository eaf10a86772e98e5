package echo

import (
	"encoding/json"
	"net/http"
)

type responsesRequest struct {
	Model              string          `json:"model"`
	Input              input           `json:"input"`
	Instructions       json.RawMessage `json:"instructions"`
	PreviousResponseID json.RawMessage `json:"previous_response_id"`
	Metadata           json.RawMessage `json:"metadata"`
	Stream             bool            `json:"stream"`
	Background         bool            `json:"background"`
	Store              *bool           `json:"store"`
	Text               struct {
		Format struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"text"`
}

// input is a string, which is one user message, or a list of items.
type input []message

// UnmarshalJSON implements json.Unmarshaler.
func (in *input) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*in = input{{Role: "user", Content: content{texts: []string{s}}}}
		return nil
	}
	var items []inputItem
	if err := json.Unmarshal(raw, &items); err != nil {
		return refusal(http.StatusBadRequest, "input", "input must be a string or an array of items.")
	}
	for _, it := range items {
		*in = append(*in, it.message)
	}
	return nil
}

// inputItem is one item; only messages are looked into, because other items
// have a content of their own form.
type inputItem struct{ message }

// UnmarshalJSON implements json.Unmarshaler.
func (it *inputItem) UnmarshalJSON(raw []byte) error {
	var head struct{ Type string }
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	if head.Type != "" && head.Type != "message" {
		it.Type = head.Type
		return nil
	}
	return json.Unmarshal(raw, &it.message)
}

// responsesReply is an answer in the terms of Responses.
type responsesReply struct {
	req           responsesRequest
	id, item      string
	text          string
	input, output int
}

func (c call) responses() answer {
	r, err := c.responsesReply()
	if err != nil {
		return c.fail(err)
	}
	out := answer{status: http.StatusOK, id: c.id("req_")}
	if r.req.Stream {
		out.frames = r.stream()
	} else {
		out.body = r.body("completed", r.usage(), r.message("completed"))
	}
	return out
}

// responsesTokens answers the token counting route of Responses.
func (c call) responsesTokens() answer {
	r, err := c.responsesReply()
	if err != nil {
		return c.fail(err)
	}
	return answer{status: http.StatusOK, id: c.id("req_"), body: obj("object", "response.input_tokens", "input_tokens", r.input)}
}

func (c call) responsesReply() (responsesReply, error) {
	r := responsesReply{id: c.id("resp_"), item: c.id("msg_")}
	if err := parse(c.body, &r.req); err != nil {
		return r, err
	}
	conv := conversation{model: r.req.Model, messages: r.req.Input}
	// Instructions are a string; the rarer list of items is not counted.
	_ = json.Unmarshal(r.req.Instructions, &conv.system)
	if err := conv.check("input", "developer", "system", "user", "assistant"); err != nil {
		return r, err
	}
	f, err := newFormat(r.req.Text.Format.Type, r.req.Text.Format.Schema)
	if err != nil {
		return r, err
	}
	r.text = reply(conv.lastUser(), f)
	r.input, r.output = conv.inputTokens(), tokens(r.text)
	return r, nil
}

func (r responsesReply) usage() json.RawMessage {
	return obj("input_tokens", r.input, "input_tokens_details", obj("cached_tokens", 0),
		"output_tokens", r.output, "output_tokens_details", obj("reasoning_tokens", 0), "total_tokens", r.input+r.output)
}

// body is the response object. An unfinished one has no output and no usage.
func (r responsesReply) body(status string, usage json.RawMessage, output ...json.RawMessage) json.RawMessage {
	metadata := r.req.Metadata
	if len(metadata) == 0 || string(metadata) == "null" {
		metadata = obj()
	}
	var completed any
	if status == "completed" {
		completed = created
	}
	return obj("id", r.id, "object", "response", "created_at", created, "status", status, "background", r.req.Background,
		"completed_at", completed, "error", nil, "incomplete_details", nil, "instructions", orNull(r.req.Instructions),
		"max_output_tokens", nil, "model", r.req.Model, "output", list(output...), "parallel_tool_calls", true,
		"previous_response_id", orNull(r.req.PreviousResponseID), "store", r.req.Store == nil || *r.req.Store,
		"temperature", 1, "text", obj("format", r.format()), "tool_choice", "auto", "tools", list(), "top_p", 1,
		"truncation", "disabled", "usage", usage, "metadata", metadata)
}

func (r responsesReply) format() json.RawMessage {
	typ := r.req.Text.Format.Type
	if typ == "" {
		typ = "text"
	}
	return obj("type", typ)
}

func (r responsesReply) message(status string) json.RawMessage {
	if status != "completed" {
		return obj("id", r.item, "type", "message", "status", status, "role", "assistant", "content", list())
	}
	return obj("id", r.item, "type", "message", "status", status, "role", "assistant", "content", list(textPart(r.text)))
}

func textPart(text string) json.RawMessage {
	return obj("type", "output_text", "text", text, "annotations", list(), "logprobs", list())
}

// stream is the official sequence of one message.
func (r responsesReply) stream() []string {
	var frames []string
	add := func(typ string, kv ...any) {
		frames = append(frames, named(typ, obj(append([]any{"type", typ, "sequence_number", len(frames)}, kv...)...)))
	}
	part := func(kv ...any) []any {
		return append([]any{"item_id", r.item, "output_index", 0, "content_index", 0}, kv...)
	}
	open := r.body("in_progress", json.RawMessage("null"))
	add("response.created", "response", open)
	add("response.in_progress", "response", open)
	add("response.output_item.added", "output_index", 0, "item", r.message("in_progress"))
	add("response.content_part.added", part("part", textPart(""))...)
	for _, p := range pieces(r.text) {
		add("response.output_text.delta", part("delta", p, "logprobs", list())...)
	}
	add("response.output_text.done", part("text", r.text, "logprobs", list())...)
	add("response.content_part.done", part("part", textPart(r.text))...)
	add("response.output_item.done", "output_index", 0, "item", r.message("completed"))
	add("response.completed", "response", r.body("completed", r.usage(), r.message("completed")))
	return frames
}
