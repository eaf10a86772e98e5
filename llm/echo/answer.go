package echo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// answer is a response before it is one: either a body or a list of events.
type answer struct {
	status int
	body   []byte
	frames []string
	id     string // request id, in the header of the family
}

func (a answer) response(req *http.Request) *http.Response {
	h := http.Header{}
	h.Set("X-Request-Id", a.id)
	if (call{req: req}).anthropic() {
		h.Set("Request-Id", a.id)
	}
	res := &http.Response{
		Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Request: req,
	}
	if a.frames != nil {
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		res.ContentLength = -1
		res.Body = &frameReader{ctx: req.Context(), frames: a.frames}
		return res
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	res.ContentLength = int64(len(a.body))
	res.Body = io.NopCloser(bytes.NewReader(a.body))
	return res
}

// frameReader is the body of a stream. Each Read returns bytes of one event
// only, so a proxy that flushes per read flushes per event.
type frameReader struct {
	ctx    context.Context
	frames []string
	closed bool
}

// Read implements io.Reader.
func (r *frameReader) Read(p []byte) (int, error) {
	switch {
	case r.closed:
		return 0, http.ErrBodyReadAfterClose
	case r.ctx.Err() != nil:
		return 0, r.ctx.Err()
	case len(r.frames) == 0:
		return 0, io.EOF
	}
	n := copy(p, r.frames[0])
	if r.frames[0] = r.frames[0][n:]; r.frames[0] == "" {
		r.frames = r.frames[1:]
	}
	return n, nil
}

// Close implements io.Closer.
func (r *frameReader) Close() error {
	r.closed = true
	return nil
}

// refused is a request that echo will not answer.
type refused struct {
	status         int
	param, message string
}

func refusal(status int, param, message string) *refused {
	return &refused{status: status, param: param, message: message}
}

// Error implements error.
func (r *refused) Error() string { return r.message }

// fail answers in the error shape of the request's family.
func (c call) fail(err error) answer {
	var r *refused
	if !errors.As(err, &r) {
		r = refusal(http.StatusBadRequest, "", "echo: the request cannot be read")
	}
	out := answer{status: r.status, id: c.id("req_")}
	if c.anthropic() {
		out.body = obj("type", "error", "error", obj("type", messagesErrorType(r.status), "message", r.message), "request_id", out.id)
		return out
	}
	var param any
	if r.param != "" {
		param = r.param
	}
	out.body = obj("error", obj("message", r.message, "type", "invalid_request_error", "param", param, "code", nil))
	return out
}

func messagesErrorType(status int) string {
	switch status {
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	}
	return "invalid_request_error"
}

// obj is a JSON object of keys and values in the order given, without HTML
// escapes. Values are strings, numbers, booleans, nil and raw JSON.
func obj(kv ...any) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i < len(kv); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + kv[i].(string) + `":`)
		b.Write(value(kv[i+1]))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// list is a JSON array.
func list(items ...json.RawMessage) json.RawMessage {
	return append(append([]byte{'['}, bytes.Join(asBytes(items), []byte{','})...), ']')
}

func asBytes(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, it := range items {
		out[i] = it
	}
	return out
}

func value(v any) []byte {
	if raw, ok := v.(json.RawMessage); ok && len(raw) > 0 {
		return raw
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // only the kinds named at obj come here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// orNull is raw, or null when it is absent.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// data is an unnamed event, named one whose event line is its type.
func data(payload string) string { return "data: " + payload + "\n\n" }

func named(typ string, payload json.RawMessage) string {
	var b strings.Builder
	b.WriteString("event: " + typ + "\ndata: ")
	b.Write(payload)
	b.WriteString("\n\n")
	return b.String()
}
