package echo

import (
	"net/http"
	"strings"
)

// Model is the id that the model list names.
const Model = "echo-1"

// Provider answers in process. Its zero value is ready. It is an
// http.RoundTripper, so that a proxy forwards to it like to any other
// upstream, and an llm.Generator.
type Provider struct{}

// RoundTrip answers the request by the end of its path; the host is not
// looked at. A stream is produced event by event as its body is read and ends
// with the context's error when the context ends first.
func (Provider) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	body, err := readBody(req)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	call := call{req: req, body: body}
	var ans answer
	switch {
	case err != nil:
		ans = call.fail(err)
	default:
		ans = call.route()
	}
	return ans.response(req), nil
}

// call is one request with its decoded body.
type call struct {
	req  *http.Request
	body []byte
}

// route finds the handler. Paths are matched at their end because a base URL
// may or may not have a prefix.
func (c call) route() answer {
	path := strings.TrimSuffix(c.req.URL.Path, "/")
	for _, r := range []struct {
		suffix, method string
		handle         func(call) answer
	}{
		{"/chat/completions", http.MethodPost, call.chat},
		{"/responses", http.MethodPost, call.responses},
		{"/responses/input_tokens", http.MethodPost, call.responsesTokens},
		{"/messages", http.MethodPost, call.messages},
		{"/messages/count_tokens", http.MethodPost, call.countTokens},
		{"/models", http.MethodGet, call.models},
	} {
		if !strings.HasSuffix(path, r.suffix) {
			continue
		}
		if c.req.Method != r.method {
			return c.fail(refusal(http.StatusMethodNotAllowed, "", "echo: this route takes "+r.method))
		}
		return r.handle(c)
	}
	if i := strings.LastIndex(path, "/models/"); i >= 0 && c.req.Method == http.MethodGet {
		return c.model(path[i+len("/models/"):])
	}
	return c.fail(refusal(http.StatusNotFound, "", "echo: no such route"))
}

// anthropic tells in which of the two families a request is.
func (c call) anthropic() bool {
	return c.req.Header.Get("anthropic-version") != "" || strings.Contains(c.req.URL.Path, "/messages")
}
