package remote

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/dhruva-memory/dhruva/llm"
)

// OpenAI speaks Chat Completions.
type OpenAI struct {
	at    endpoint
	model string
	// completionTokens: the length limit goes into max_completion_tokens.
	completionTokens bool
}

// NewOpenAI returns a client of Chat Completions: OpenAI by default,
// OpenRouter or any compatible server by its BaseURL.
func NewOpenAI(c Config) *OpenAI {
	c = c.withDefaults("openai", "https://api.openai.com/v1")
	at := newEndpoint(c, "/chat/completions", func(h http.Header, key string) {
		if key != "" {
			h.Set("Authorization", "Bearer "+key)
		}
	})
	return &OpenAI{at: at, model: c.DefaultModel, completionTokens: c.Name == "openai"}
}

type chatRequest struct {
	Model               string         `json:"model"`
	Messages            []chatMessage  `json:"messages"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	ResponseFormat      any            `json:"response_format,omitempty"`
	Stream              bool           `json:"stream,omitempty"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type chatMessage struct {
	Role    llm.Role `json:"role"`
	Content string   `json:"content"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema,omitempty"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

func (o *OpenAI) request(req llm.Request, stream bool) chatRequest {
	out := chatRequest{Model: orDefault(req.Model, o.model), Temperature: req.Temperature, Stream: stream}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, chatMessage(m))
	}
	if o.completionTokens {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens
	}
	if stream {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	switch {
	case len(req.Schema) > 0:
		out.ResponseFormat = responseFormat{"json_schema", &jsonSchema{orDefault(req.SchemaName, "answer"), req.Schema}}
	case req.JSON:
		out.ResponseFormat = responseFormat{Type: "json_object"}
	}
	return out
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// chatAnswer is a whole answer or one chunk of a stream.
type chatAnswer struct {
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []chatChoice    `json:"choices"`
	Usage   *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

type chatChoice struct {
	Index        int         `json:"index"`
	Message      chatContent `json:"message"`
	Delta        chatContent `json:"delta"`
	FinishReason string      `json:"finish_reason"`
}

type chatContent struct {
	Content json.RawMessage `json:"content"`
	Refusal string          `json:"refusal"`
}

// visible is the text of a content value: a string, or (Mistral's form) the
// text parts of an array.
func (c chatContent) visible() string {
	var parts []struct{ Type, Text string }
	if json.Unmarshal(c.Content, &parts) != nil {
		return text(c.Content)
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Generate implements llm.Generator.
func (o *OpenAI) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	res, err := o.at.post(ctx, o.request(req, false), "application/json")
	if err != nil {
		return llm.Response{}, err
	}
	defer res.Body.Close()
	return o.whole(req, res, nil)
}

// whole reads a JSON answer; emit, when set, receives its text in one piece.
func (o *OpenAI) whole(req llm.Request, res *http.Response, emit func(string) error) (llm.Response, error) {
	var body chatAnswer
	if err := o.at.decode(res, &body); err != nil {
		return llm.Response{}, err
	}
	acc := chatAccumulator{at: o.at, emit: emit}
	if err := acc.take(body); err != nil {
		return acc.partial(), err
	}
	if !acc.chose {
		return llm.Response{}, o.at.fault(res.StatusCode, "malformed", "the answer has no choice", nil)
	}
	return acc.finish(req)
}

// Stream implements llm.Generator.
func (o *OpenAI) Stream(ctx context.Context, req llm.Request, emit func(string) error) (llm.Response, error) {
	res, err := o.at.post(ctx, o.request(req, true), "text/event-stream")
	if err != nil {
		return llm.Response{}, err
	}
	defer res.Body.Close()
	if !isEventStream(res) {
		return o.whole(req, res, emit)
	}
	acc := chatAccumulator{at: o.at, emit: emit}
	if err := acc.read(res); err != nil {
		return acc.partial(), err
	}
	return acc.finish(req)
}

// chatAccumulator builds a Response from one answer or many chunks.
type chatAccumulator struct {
	at    endpoint
	emit  func(string) error
	think thinkFilter
	text  strings.Builder
	out   llm.Response
	chose bool // a choice was seen
	ended bool // the provider said that the answer is complete
}

func (a *chatAccumulator) read(res *http.Response) error {
	events := newEventReader(res.Body)
	for {
		ev, err := events.next()
		switch {
		case err == io.EOF && a.ended:
			return nil
		case err == io.EOF:
			return a.at.fault(res.StatusCode, "truncated", "the stream ended before the answer did", nil)
		case err != nil:
			return a.at.broken(res.StatusCode, err)
		case strings.HasPrefix(string(ev.data), "[DONE]"):
			return nil
		}
		var chunk chatAnswer
		if json.Unmarshal(ev.data, &chunk) != nil {
			return a.at.fault(res.StatusCode, "malformed", "a stream event is not the JSON it should be", nil)
		}
		if err := a.take(chunk); err != nil {
			return err
		}
	}
}

// take adds a chunk: the first choice's text, the finish, the usage.
func (a *chatAccumulator) take(c chatAnswer) error {
	if f := readErrorValue(c.Error); !f.empty() {
		return a.at.fault(http.StatusOK, f.code, f.message, nil)
	}
	if c.Model != "" {
		a.out.Model = c.Model
	}
	if c.Usage != nil {
		a.out.InputTokens, a.out.OutputTokens = c.Usage.PromptTokens, c.Usage.CompletionTokens
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if err := a.choice(choice); err != nil {
			return err
		}
	}
	return nil
}

func (a *chatAccumulator) choice(c chatChoice) error {
	a.chose = true
	if c.FinishReason != "" {
		a.ended = true
		a.out.FinishReason = chatFinish(c.FinishReason)
	}
	if c.Message.Refusal+c.Delta.Refusal != "" {
		a.out.FinishReason = llm.FinishFilter
	}
	return a.say(a.think.push(c.Message.visible() + c.Delta.visible()))
}

func (a *chatAccumulator) say(s string) error {
	if s == "" {
		return nil
	}
	a.text.WriteString(s)
	if a.emit == nil {
		return nil
	}
	return a.emit(s)
}

func (a *chatAccumulator) partial() llm.Response {
	a.out.Text, a.out.FinishReason = a.text.String(), ""
	return a.out
}

func (a *chatAccumulator) finish(req llm.Request) (llm.Response, error) {
	if err := a.say(a.think.flush()); err != nil {
		return a.partial(), err
	}
	a.out.Text = a.text.String()
	if a.out.FinishReason == "" {
		a.out.FinishReason = llm.FinishOther
	}
	return a.at.settleJSON(req, a.out)
}

func chatFinish(s string) llm.Finish {
	switch s {
	case "stop":
		return llm.FinishStop
	case "length":
		return llm.FinishLength
	case "content_filter":
		return llm.FinishFilter
	case "tool_calls", "function_call":
		return llm.FinishTool
	}
	return llm.FinishOther
}
