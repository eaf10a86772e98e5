package testkit

import (
	"fmt"
	"strings"
)

const chatUsage = `{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":0}}`

// ChatJSON is a Chat Completions answer with one choice.
func ChatJSON(text string) Reply {
	return JSON(chatBody(`{"role":"assistant","content":`+quote(text)+`,"refusal":null,"annotations":[]}`, "stop"))
}

// ChatJSONCanary is ChatJSON with reasoning beside the text and a tool call
// whose arguments must not be captured.
func ChatJSONCanary(text string) Reply {
	return JSON(chatBody(`{"role":"assistant","reasoning_content":"`+CanaryReasoning+`","reasoning":"`+CanaryReasoning+
		`","content":`+quote(text)+`,"refusal":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":\"`+
		CanaryArguments+`\"}"}}]}`, "tool_calls"))
}

func chatBody(message, finish string) string {
	return `{"id":"chatcmpl-mock","object":"chat.completion","created":1,"model":"` + Model +
		`","choices":[{"index":0,"message":` + message + `,"logprobs":null,"finish_reason":"` + finish +
		`"}],"usage":` + chatUsage + `,"system_fingerprint":"fp_mock"}`
}

// ChatSSE is a Chat Completions stream: a role chunk, one chunk for each text,
// the finish, a usage chunk and [DONE].
func ChatSSE(texts ...string) Reply {
	frames := []string{chatDelta(`{"role":"assistant","content":"","refusal":null}`, "null")}
	for _, t := range texts {
		frames = append(frames, chatDelta(`{"content":`+quote(t)+`}`, "null"))
	}
	return SSE(append(frames, chatTail("stop")...)...)
}

// ChatSSECanary is ChatSSE with reasoning deltas before and tool call
// arguments after the text.
func ChatSSECanary(texts ...string) Reply {
	frames := []string{
		chatDelta(`{"role":"assistant","content":null}`, "null"),
		chatDelta(`{"reasoning_content":"`+CanaryReasoning+`"}`, "null"),
		chatDelta(`{"reasoning":"`+CanaryReasoning+`","reasoning_details":[{"type":"reasoning.text","text":"`+CanaryReasoning+`"}]}`, "null"),
	}
	for _, t := range texts {
		frames = append(frames, chatDelta(`{"content":`+quote(t)+`}`, "null"))
	}
	frames = append(frames,
		chatDelta(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]}`, "null"),
		chatDelta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":\"`+CanaryArguments+`\"}"}}]}`, "null"))
	return SSE(append(frames, chatTail("tool_calls")...)...)
}

// ChatSSEThink is ChatSSE of an open model that thinks inline: the text comes
// after a <think> section, whose tags are cut across chunks.
func ChatSSEThink(texts ...string) Reply {
	return ChatSSE(append([]string{"<th", "ink>" + CanaryThinking + "</thi", "nk>"}, texts...)...)
}

func chatDelta(delta, finish string) string {
	return data(fmt.Sprintf(`{"id":"chatcmpl-mock","object":"chat.completion.chunk","created":1,"model":"%s","system_fingerprint":"fp_mock","choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}]}`,
		Model, delta, finish))
}

func chatTail(finish string) []string {
	usage := `{"id":"chatcmpl-mock","object":"chat.completion.chunk","created":1,"model":"` + Model + `","choices":[],"usage":` + chatUsage + `}`
	return []string{chatDelta(`{}`, `"`+finish+`"`), data(usage), data("[DONE]")}
}

// ChatError is OpenAI's error shape, used by Chat Completions and Responses.
func ChatError(status int, typ, code, message string) Reply {
	return Status(status, `{"error":{"message":`+quote(message)+`,"type":`+quote(typ)+`,"param":null,"code":`+quote(code)+`}}`)
}

// ChatSSEError is a stream that fails after its texts with an error object.
func ChatSSEError(message string, texts ...string) Reply {
	frames := make([]string, 0, len(texts)+1)
	for _, t := range texts {
		frames = append(frames, chatDelta(`{"content":`+quote(t)+`}`, "null"))
	}
	frames = append(frames, data(`{"error":{"message":`+quote(message)+`,"type":"server_error","param":null,"code":"server_error"}}`))
	return SSE(strings.Join(frames, ""))
}
