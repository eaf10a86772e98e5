package remote

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/dhruva-memory/dhruva/llm"
)

const (
	// anthropicVersion is the version every account still accepts and under
	// which x-api-key and sampling parameters are legal.
	anthropicVersion = "2023-06-01"
	// anthropicMaxTokens is sent when the request leaves the length open: the
	// provider demands a number.
	anthropicMaxTokens = 4096
)

// Anthropic speaks Messages.
type Anthropic struct {
	at    endpoint
	model string
}

// NewAnthropic returns a client of Messages. A BaseURL that ends in /v1 is
// taken to mean the same as one that does not.
func NewAnthropic(c Config) *Anthropic {
	c = c.withDefaults("anthropic", "https://api.anthropic.com")
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/v1")
	at := newEndpoint(c, "/v1/messages", func(h http.Header, key string) {
		h.Set("anthropic-version", anthropicVersion)
		if key != "" {
			h.Set("x-api-key", key)
		}
	})
	return &Anthropic{at: at, model: c.DefaultModel}
}

type messagesRequest struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	System       string        `json:"system,omitempty"`
	Messages     []chatMessage `json:"messages"`
	Temperature  *float64      `json:"temperature,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Stream       bool          `json:"stream,omitempty"`
}

type outputConfig struct {
	Format outputFormat `json:"format"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// request splits the system messages out. JSON without a schema has no field
// here: the messages have to ask for it, and the answer is checked.
func (a *Anthropic) request(req llm.Request, stream bool) messagesRequest {
	out := messagesRequest{
		Model: orDefault(req.Model, a.model), MaxTokens: req.MaxTokens,
		Messages: []chatMessage{}, Temperature: req.Temperature, Stream: stream,
	}
	if out.MaxTokens == 0 {
		out.MaxTokens = anthropicMaxTokens
	}
	var system []string
	for _, m := range req.Messages {
		if m.Role == llm.RoleSystem {
			system = append(system, m.Content)
			continue
		}
		out.Messages = append(out.Messages, chatMessage(m))
	}
	out.System = strings.Join(system, "\n\n")
	if len(req.Schema) > 0 {
		out.OutputConfig = &outputConfig{outputFormat{"json_schema", req.Schema}}
	}
	return out
}

type messagesAnswer struct {
	Model      string          `json:"model"`
	Error      json.RawMessage `json:"error"`
	Content    []contentBlock  `json:"content"`
	StopReason string          `json:"stop_reason"`
	Usage      messagesUsage   `json:"usage"`
}

type contentBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type messagesUsage struct {
	InputTokens              int `json:"input_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
	OutputTokens             int `json:"output_tokens"`
}

func (u messagesUsage) input() int {
	return u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens
}

// Generate implements llm.Generator.
func (a *Anthropic) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	res, err := a.at.post(ctx, a.request(req, false), "application/json")
	if err != nil {
		return llm.Response{}, err
	}
	defer res.Body.Close()
	return a.whole(req, res, nil)
}

func (a *Anthropic) whole(req llm.Request, res *http.Response, emit func(string) error) (llm.Response, error) {
	var body messagesAnswer
	if err := a.at.decode(res, &body); err != nil {
		return llm.Response{}, err
	}
	if f := readErrorValue(body.Error); !f.empty() {
		return llm.Response{}, a.at.fault(res.StatusCode, f.code, f.message, nil)
	}
	if body.StopReason == "" {
		return llm.Response{}, a.at.fault(res.StatusCode, "malformed", "the answer has no stop reason", nil)
	}
	acc := messagesAccumulator{at: a.at, emit: emit}
	acc.start(body)
	acc.out.FinishReason = messagesFinish(body.StopReason)
	for i, b := range body.Content {
		if err := acc.open(i, b); err != nil {
			return acc.partial(), err
		}
	}
	return acc.finish(req)
}

// Stream implements llm.Generator.
func (a *Anthropic) Stream(ctx context.Context, req llm.Request, emit func(string) error) (llm.Response, error) {
	res, err := a.at.post(ctx, a.request(req, true), "text/event-stream")
	if err != nil {
		return llm.Response{}, err
	}
	defer res.Body.Close()
	if !isEventStream(res) {
		return a.whole(req, res, emit)
	}
	acc := messagesAccumulator{at: a.at, emit: emit}
	if err := acc.read(res); err != nil {
		return acc.partial(), err
	}
	return acc.finish(req)
}

// messagesEvent is any event of a Messages stream.
type messagesEvent struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Message      messagesAnswer  `json:"message"`
	ContentBlock contentBlock    `json:"content_block"`
	Error        json.RawMessage `json:"error"`
	Delta        struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage *messagesUsage `json:"usage"`
}

// messagesAccumulator builds a Response from one answer or many events.
type messagesAccumulator struct {
	at      endpoint
	emit    func(string) error
	text    strings.Builder
	out     llm.Response
	textual map[int]bool // blocks that were opened as text
}

func (a *messagesAccumulator) read(res *http.Response) error {
	events := newEventReader(res.Body)
	for {
		ev, err := events.next()
		switch {
		case err == io.EOF:
			return a.at.fault(res.StatusCode, "truncated", "the stream ended before the answer did", nil)
		case err != nil:
			return a.at.broken(res.StatusCode, err)
		}
		var e messagesEvent
		if json.Unmarshal(ev.data, &e) != nil {
			return a.at.fault(res.StatusCode, "malformed", "a stream event is not the JSON it should be", nil)
		}
		if e.Type = orDefault(e.Type, ev.name); e.Type == "message_stop" {
			return nil
		}
		if err := a.take(e); err != nil {
			return err
		}
	}
}

// take handles one event; unknown ones may appear at any time and are skipped.
func (a *messagesAccumulator) take(e messagesEvent) error {
	switch e.Type {
	case "message_start":
		a.start(e.Message)
	case "content_block_start":
		return a.open(e.Index, e.ContentBlock)
	case "content_block_delta":
		if e.Delta.Type == "text_delta" && a.textual[e.Index] {
			return a.say(e.Delta.Text)
		}
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.out.FinishReason = messagesFinish(e.Delta.StopReason)
		}
		a.usage(e.Usage)
	case "error":
		f := readErrorValue(e.Error)
		return a.at.fault(http.StatusOK, orDefault(f.code, "stream"), f.message, nil)
	}
	return nil
}

func (a *messagesAccumulator) start(m messagesAnswer) {
	a.out.Model = m.Model
	a.usage(&m.Usage)
}

// usage takes the newest count: the ones of message_delta are cumulative, and
// may leave the input out.
func (a *messagesAccumulator) usage(u *messagesUsage) {
	if u == nil {
		return
	}
	if n := u.input(); n > 0 {
		a.out.InputTokens = n
	}
	if u.OutputTokens > 0 {
		a.out.OutputTokens = u.OutputTokens
	}
}

func (a *messagesAccumulator) open(index int, b contentBlock) error {
	if b.Type != "text" {
		return nil
	}
	if a.textual == nil {
		a.textual = map[int]bool{}
	}
	a.textual[index] = true
	return a.say(b.Text)
}

func (a *messagesAccumulator) say(s string) error {
	if s == "" {
		return nil
	}
	a.text.WriteString(s)
	if a.emit == nil {
		return nil
	}
	return a.emit(s)
}

func (a *messagesAccumulator) partial() llm.Response {
	a.out.Text, a.out.FinishReason = a.text.String(), ""
	return a.out
}

func (a *messagesAccumulator) finish(req llm.Request) (llm.Response, error) {
	a.out.Text = a.text.String()
	if a.out.FinishReason == "" {
		a.out.FinishReason = llm.FinishOther
	}
	return a.at.settleJSON(req, a.out)
}

func messagesFinish(s string) llm.Finish {
	switch s {
	case "end_turn", "stop_sequence":
		return llm.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "refusal":
		return llm.FinishFilter
	case "tool_use":
		return llm.FinishTool
	}
	return llm.FinishOther
}
