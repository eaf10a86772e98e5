package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Canaries stand where text must never be captured: in reasoning, in thinking
// and in tool arguments. A test that finds one in a store has found a leak.
const (
	CanaryReasoning = "CANARY-R"
	CanaryThinking  = "CANARY-T"
	CanaryArguments = "CANARY-A"
)

// The model name and usage of every canned reply.
const (
	Model        = "mock-1"
	InputTokens  = 9
	OutputTokens = 3
)

// Default answers by the path and the body: each dialect in its own shape,
// streamed when the body asks for it. The text is "ok".
func Default(req Request) Reply {
	var body struct {
		Stream   bool            `json:"stream"`
		Input    json.RawMessage `json:"input"`
		Messages json.RawMessage `json:"messages"`
	}
	// A body that is not JSON leaves the zero value: the mock answers anyway.
	_ = json.Unmarshal(req.Body, &body)
	path := req.Path()
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return pick(body.Stream, ChatSSE, ChatJSON)
	case strings.HasSuffix(path, "/responses"):
		return pick(body.Stream, ResponsesSSE, ResponsesJSON)
	case strings.HasSuffix(path, "/messages"):
		return pick(body.Stream, MessagesSSE, MessagesJSON)
	case strings.HasSuffix(path, "/messages/count_tokens"):
		return JSON(fmt.Sprintf(`{"input_tokens":%d}`, InputTokens))
	case strings.HasSuffix(path, "/models"):
		return JSON(models(req.Header.Get("anthropic-version") != ""))
	}
	return Status(404, `{"error":{"message":"testkit: no such route","type":"invalid_request_error","param":null,"code":"not_found"}}`)
}

func pick(stream bool, sse func(...string) Reply, plain func(string) Reply) Reply {
	if stream {
		return sse("ok")
	}
	return plain("ok")
}

func models(anthropic bool) string {
	if anthropic {
		return `{"data":[{"type":"model","id":"` + Model + `","display_name":"Mock","created_at":"2026-01-02T03:04:05Z"}],"has_more":false,"first_id":"` + Model + `","last_id":"` + Model + `"}`
	}
	return `{"object":"list","data":[{"id":"` + Model + `","object":"model","created":1,"owned_by":"mock"}]}`
}

// quote is s as a JSON string, without HTML escapes, as providers write it.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// data is one unnamed event.
func data(payload string) string { return "data: " + payload + "\n\n" }

// named is one event with an event: line taken from the payload's type.
func named(typ, payload string) string {
	return "event: " + typ + "\ndata: " + payload + "\n\n"
}
