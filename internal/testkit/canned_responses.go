package testkit

import (
	"fmt"
	"strings"
)

const responsesUsage = `{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12}`

// ResponsesJSON is a Responses answer with one message.
func ResponsesJSON(text string) Reply {
	return JSON(responseBody("completed", messageItem("completed", text), responsesUsage))
}

// ResponsesJSONCanary is ResponsesJSON with a reasoning item before and a
// function call after the message.
func ResponsesJSONCanary(text string) Reply {
	items := []string{reasoningItem(), messageItem("completed", text), callItem("completed", callArguments)}
	return JSON(responseBody("completed", strings.Join(items, ","), responsesUsage))
}

const callArguments = `{\"a\":\"` + CanaryArguments + `\"}`

func responseBody(status, items, usage string) string {
	return `{"id":"resp_mock","object":"response","created_at":1,"status":"` + status +
		`","background":false,"error":null,"incomplete_details":null,"instructions":null,"metadata":{},"model":"` + Model +
		`","output":[` + items + `],"parallel_tool_calls":true,"previous_response_id":null,"store":true,"temperature":1,"tool_choice":"auto","tools":[],"top_p":1,"usage":` + usage + `}`
}

func messageItem(status, text string) string {
	content := ""
	if status == "completed" {
		content = textPart(text)
	}
	return `{"id":"msg_mock","type":"message","status":"` + status + `","role":"assistant","content":[` + content + `]}`
}

func textPart(text string) string {
	return `{"type":"output_text","text":` + quote(text) + `,"annotations":[],"logprobs":[]}`
}

func reasoningItem() string {
	return `{"id":"rs_mock","type":"reasoning","summary":[{"type":"summary_text","text":"` + CanaryReasoning + `"}],"encrypted_content":"` + CanaryReasoning + `"}`
}

func callItem(status, arguments string) string {
	return `{"id":"fc_mock","type":"function_call","status":"` + status + `","call_id":"call_mock","name":"f","arguments":"` + arguments + `"}`
}

// ResponsesSSE is a Responses stream with one message, the official sequence
// from response.created to response.completed.
func ResponsesSSE(texts ...string) Reply {
	var s responsesStream
	s.open()
	s.message(texts)
	return s.complete()
}

// ResponsesSSECanary is ResponsesSSE with a reasoning item before and a
// function call after the message.
func ResponsesSSECanary(texts ...string) Reply {
	var s responsesStream
	s.open()
	s.reasoning()
	s.message(texts)
	s.call()
	return s.complete()
}

// responsesStream numbers the events and collects the finished items.
type responsesStream struct {
	frames []string
	items  []string
}

// add appends an event; fields is the payload after type and sequence number.
func (s *responsesStream) add(typ, fields string) {
	payload := fmt.Sprintf(`{"type":"%s","sequence_number":%d,%s}`, typ, len(s.frames), fields)
	s.frames = append(s.frames, named(typ, payload))
}

func (s *responsesStream) open() {
	body := responseBody("in_progress", "", "null")
	s.add("response.created", `"response":`+body)
	s.add("response.in_progress", `"response":`+body)
}

func (s *responsesStream) complete() Reply {
	body := responseBody("completed", strings.Join(s.items, ","), responsesUsage)
	s.add("response.completed", `"response":`+body)
	return SSE(s.frames...)
}

// item brackets body with the added and done events of one output item.
func (s *responsesStream) item(opened, done string, body func(index int)) {
	index := len(s.items)
	s.add("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, index, opened))
	body(index)
	s.add("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, index, done))
	s.items = append(s.items, done)
}

func (s *responsesStream) message(texts []string) {
	whole := strings.Join(texts, "")
	s.item(messageItem("in_progress", ""), messageItem("completed", whole), func(index int) {
		at := fmt.Sprintf(`"item_id":"msg_mock","output_index":%d,"content_index":0,`, index)
		s.add("response.content_part.added", at+`"part":`+textPart(""))
		for _, t := range texts {
			s.add("response.output_text.delta", at+`"delta":`+quote(t)+`,"logprobs":[]`)
		}
		s.add("response.output_text.done", at+`"text":`+quote(whole)+`,"logprobs":[]`)
		s.add("response.content_part.done", at+`"part":`+textPart(whole))
	})
}

func (s *responsesStream) reasoning() {
	s.item(`{"id":"rs_mock","type":"reasoning","summary":[]}`, reasoningItem(), func(index int) {
		at := fmt.Sprintf(`"item_id":"rs_mock","output_index":%d,"summary_index":0,`, index)
		s.add("response.reasoning_summary_part.added", at+`"part":{"type":"summary_text","text":""}`)
		s.add("response.reasoning_summary_text.delta", at+`"delta":"`+CanaryReasoning+`"`)
		s.add("response.reasoning_summary_text.done", at+`"text":"`+CanaryReasoning+`"`)
		s.add("response.reasoning_summary_part.done", at+`"part":{"type":"summary_text","text":"`+CanaryReasoning+`"}`)
	})
}

func (s *responsesStream) call() {
	s.item(callItem("in_progress", ""), callItem("completed", callArguments), func(index int) {
		at := fmt.Sprintf(`"item_id":"fc_mock","output_index":%d,`, index)
		s.add("response.function_call_arguments.delta", at+`"delta":"`+callArguments+`"`)
		s.add("response.function_call_arguments.done", at+`"name":"f","arguments":"`+callArguments+`"`)
	})
}
