package testkit

import (
	"fmt"
	"strings"
)

// MessagesJSON is a Messages answer with one text block.
func MessagesJSON(text string) Reply {
	return JSON(messageBody(`{"type":"text","text":`+quote(text)+`,"citations":null}`, "end_turn"))
}

// MessagesJSONCanary is MessagesJSON with a thinking block before and a tool
// call after the text.
func MessagesJSONCanary(text string) Reply {
	blocks := []string{
		`{"type":"thinking","thinking":"` + CanaryThinking + `","signature":"EqQB"}`,
		`{"type":"redacted_thinking","data":"` + CanaryThinking + `"}`,
		`{"type":"text","text":` + quote(text) + `,"citations":null}`,
		`{"type":"tool_use","id":"toolu_mock","name":"f","input":{"a":"` + CanaryArguments + `"}}`,
	}
	return JSON(messageBody(strings.Join(blocks, ","), "tool_use"))
}

func messageBody(blocks, stop string) string {
	return `{"id":"msg_mock","type":"message","role":"assistant","model":"` + Model + `","content":[` + blocks +
		`],"stop_reason":"` + stop + `","stop_sequence":null,"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3}}`
}

// MessagesSSE is a Messages stream with one text block and a ping.
func MessagesSSE(texts ...string) Reply {
	var s messagesStream
	s.open()
	s.add("ping", `{"type":"ping"}`)
	s.text(texts)
	return s.complete("end_turn")
}

// MessagesSSECanary is MessagesSSE with thinking before and a tool call after
// the text.
func MessagesSSECanary(texts ...string) Reply {
	var s messagesStream
	s.open()
	s.block(`{"type":"thinking","thinking":"","signature":""}`,
		`{"type":"thinking_delta","thinking":"`+CanaryThinking+`"}`,
		`{"type":"signature_delta","signature":"EqQB"}`)
	s.block(`{"type":"redacted_thinking","data":"` + CanaryThinking + `"}`)
	s.text(texts)
	s.block(`{"type":"tool_use","id":"toolu_mock","name":"f","input":{}}`,
		`{"type":"input_json_delta","partial_json":"{\"a\":\"`+CanaryArguments+`\"}"}`)
	return s.complete("tool_use")
}

// messagesStream numbers the content blocks.
type messagesStream struct {
	frames []string
	blocks int
}

func (s *messagesStream) add(typ, payload string) {
	s.frames = append(s.frames, named(typ, payload))
}

func (s *messagesStream) open() {
	s.add("message_start", `{"type":"message_start","message":{"id":"msg_mock","type":"message","role":"assistant","model":"`+Model+
		`","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}`)
}

func (s *messagesStream) text(texts []string) {
	deltas := make([]string, len(texts))
	for i, t := range texts {
		deltas[i] = `{"type":"text_delta","text":` + quote(t) + `}`
	}
	s.block(`{"type":"text","text":"","citations":null}`, deltas...)
}

func (s *messagesStream) block(opened string, deltas ...string) {
	s.add("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, s.blocks, opened))
	for _, d := range deltas {
		s.add("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, s.blocks, d))
	}
	s.add("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, s.blocks))
	s.blocks++
}

func (s *messagesStream) complete(stop string) Reply {
	s.add("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+stop+`","stop_sequence":null},"usage":{"output_tokens":3}}`)
	s.add("message_stop", `{"type":"message_stop"}`)
	return SSE(s.frames...)
}

// MessagesError is Anthropic's error envelope.
func MessagesError(status int, typ, message string) Reply {
	return Status(status, `{"type":"error","error":{"type":`+quote(typ)+`,"message":`+quote(message)+`},"request_id":"req_mock"}`)
}

// MessagesSSEError is a stream that fails after its texts with an error event.
func MessagesSSEError(typ, message string, texts ...string) Reply {
	var s messagesStream
	s.open()
	s.text(texts)
	s.add("error", `{"type":"error","error":{"type":`+quote(typ)+`,"message":`+quote(message)+`}}`)
	return SSE(s.frames...)
}
