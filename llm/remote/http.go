package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"syscall"

	"github.com/dhruva-memory/dhruva/egress"
	"github.com/dhruva-memory/dhruva/llm"
)

const (
	maxAnswer = 64 << 20
	maxFault  = 64 << 10
)

// endpoint posts JSON to one address of one provider. The key lives only in
// the closures, so that printing an endpoint cannot show it.
type endpoint struct {
	name   string
	url    string
	client *http.Client
	header func(http.Header)
	fault  func(status int, code, message string, cause error) *llm.Error
}

func newEndpoint(c Config, path string, header func(h http.Header, key string)) endpoint {
	key := c.APIKey
	return endpoint{
		name: c.Name, url: c.BaseURL + path, client: c.HTTPClient,
		header: func(h http.Header) { header(h, key) },
		fault: func(status int, code, message string, cause error) *llm.Error {
			return llm.NewError(c.Name, status, code, message, cause, key)
		},
	}
}

// post sends body and returns a 2xx response, whose body the caller closes.
// Everything else is an *llm.Error.
func (e endpoint) post(ctx context.Context, body any, accept string) (*http.Response, error) {
	raw, err := encode(body)
	if err != nil {
		return nil, e.fault(0, "malformed", "the request cannot be encoded", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(raw))
	if err != nil {
		return nil, e.fault(0, "connect", "the base URL cannot be used", nil)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	e.header(req.Header)
	res, err := e.client.Do(req)
	if err != nil {
		return nil, e.broken(0, err)
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		return nil, e.refusal(res)
	}
	return res, nil
}

// encode writes JSON without HTML escapes: the model should read < as <.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decode reads a whole JSON answer into v.
func (e endpoint) decode(res *http.Response, v any) error {
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return e.broken(res.StatusCode, err)
	}
	if len(raw) > maxAnswer {
		return e.fault(res.StatusCode, "malformed", "the answer exceeds the limit", nil)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		// The decoder's error may quote the answer; it stays inside.
		return e.fault(res.StatusCode, "malformed", "the answer is not the JSON it should be", nil)
	}
	return nil
}

// broken turns a transport error into an Error that names no address.
func (e endpoint) broken(status int, err error) *llm.Error {
	var dial *egress.DialError
	var errno syscall.Errno
	switch {
	case errors.Is(err, context.Canceled):
		return e.fault(status, "canceled", "the request was canceled", err)
	case errors.Is(err, context.DeadlineExceeded):
		return e.fault(status, "timeout", "the request timed out", err)
	case errors.As(err, &dial):
		return e.fault(status, "connect", dial.Error(), err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return e.fault(status, "truncated", "the connection ended early", err)
	case errors.As(err, &errno):
		return e.fault(status, "connect", errno.Error(), err)
	}
	return e.fault(status, "connect", "the connection failed", err)
}

// refusal reads a non-2xx response.
func (e endpoint) refusal(res *http.Response) *llm.Error {
	raw, _ := io.ReadAll(io.LimitReader(res.Body, maxFault)) // a cut body still names its status
	f := readFault(raw)
	if f.message == "" {
		f.message = "the provider gave no error message (" + http.StatusText(res.StatusCode) + ")"
	}
	return e.fault(res.StatusCode, f.code, f.message, nil)
}

// fault is a provider's error object in the shapes that are about.
type fault struct{ code, message string }

func (f fault) empty() bool { return f == fault{} }

// readFault understands {"error":{…}} with string or numeric codes,
// {"error":"text"}, {"message":"text"} and {"detail":"text"}; of anything else
// nothing is repeated.
func readFault(raw []byte) fault {
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	// Not JSON, or of other types: the fields that were read are enough.
	_ = json.Unmarshal(raw, &body)
	if f := readErrorValue(body.Error); !f.empty() {
		return f
	}
	if body.Message != "" {
		return fault{message: body.Message}
	}
	return fault{message: text(body.Detail)}
}

// readErrorValue reads the value of an "error" member; null is no error.
func readErrorValue(raw json.RawMessage) fault {
	var obj struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if len(raw) == 0 || string(raw) == "null" {
		return fault{}
	}
	if json.Unmarshal(raw, &obj) != nil {
		return fault{code: "error", message: text(raw)}
	}
	f := fault{code: text(obj.Code), message: obj.Message}
	if f.code == "" {
		f.code = obj.Type
	}
	if f.code == "" && string(obj.Code) != "null" {
		f.code = string(obj.Code)
	}
	if f.code == "" {
		f.code = "error"
	}
	return f
}

// text is a JSON string's value, or empty for any other value.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// isEventStream tells how a 2xx response has to be read: some servers answer
// plain JSON although a stream was asked for.
func isEventStream(res *http.Response) bool {
	mt, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return err == nil && mt == "text/event-stream"
}

// settleJSON holds an answer to the JSON that was asked for. Models without a
// JSON mode like to wrap it in a Markdown fence or in prose, which is taken off.
func (e endpoint) settleJSON(req llm.Request, res llm.Response) (llm.Response, error) {
	if !req.WantsJSON() {
		return res, nil
	}
	value, ok := llm.JSON(res.Text)
	if !ok {
		return res, llm.NotJSON(e.name, res.FinishReason)
	}
	res.Text = string(value)
	return res, nil
}
