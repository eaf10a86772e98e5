package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

const problemType = "application/problem+json"

// failure is a Problem as huma sends it.
type failure struct{ *client.Problem }

// GetStatus is the HTTP status.
func (f failure) GetStatus() int { return f.Status }

// GetHeaders are those that go with it.
func (f failure) GetHeaders() http.Header {
	h := http.Header{}
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)))
	}
	return h
}

// ContentType replaces what was negotiated for a success.
func (f failure) ContentType(string) string { return problemType }

// upstream is what a model company's failure looks like from here: llm.Error,
// which this layer does not import. (Errors of the network are Temporary, too: the
// store's are no provider's.)
type upstream interface {
	error
	ProviderFailed() string
}

// advised is an error that knows better than its class what it is called and
// what to do: of what is configured, which this layer does not know.
type advised interface {
	error
	Advice() (code, hint string)
}

// classified gives an error of a provider its own code; its text is made for
// people and holds no secret (llm.Error). Others speak in Words.
func classified(err error) error {
	var up upstream
	var known advised
	if errors.Is(err, dhruva.ErrUnavailable) && !errors.As(err, &up) && !errors.As(err, &known) {
		return err // its words are for the log alone
	}
	if errors.As(err, &up) && errors.Is(err, dhruva.ErrUnavailable) {
		return &edge.Refusal{Status: http.StatusBadGateway, Code: "upstream", Title: "The model provider failed", Detail: up.Error(),
			Hint: "check the provider's key and address with `dhruva doctor`, or try again"}
	}
	var refusal *edge.Refusal
	if errors.As(err, &refusal) {
		return err
	}
	if errors.As(err, &known) {
		e := edge.ProblemOf(err)
		code, hint := known.Advice()
		return &edge.Refusal{Status: e.Status, Code: code, Title: e.Title, Detail: Words(err), Hint: hint, RetryAfter: e.RetryAfter}
	}
	return worded{err}
}

// problemOf tells a caller what happened.
func problemOf(ctx context.Context, err error) *client.Problem {
	e := edge.ProblemOf(classified(err))
	p := &client.Problem{
		Type: e.Type, Title: e.Title, Status: e.Status, Code: e.Code, Detail: e.Detail, Hint: e.Hint,
		RequestID: dhruva.RequestIDFrom(ctx), RetryAfter: time.Duration(e.RetryAfter) * time.Second,
	}
	switch {
	case p.Hint != "":
	case p.Status == http.StatusUnprocessableEntity:
		p.Hint = "correct the request; " + client.Prefix + "/openapi.json describes it"
	case p.Status == http.StatusRequestEntityTooLarge:
		p.Hint = "send less"
	}
	return p
}

// failure answers a handler's error; its status is written by huma, its log
// line by edge.
func (a *api) failure(ctx context.Context, err error) failure {
	if report, ok := ctx.Value(reportKey{}).(func(error)); ok {
		report(classified(err))
	}
	return failure{problemOf(ctx, err)}
}

// refuse answers an error outside of huma.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	edge.WriteError(w, r, classified(err))
}

// asProblem turns huma's own refusals into ours; the values it would repeat
// are left out.
func asProblem(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := problemOf(ctx.Context(), &edge.Refusal{Status: m.Status, Code: codeOf(m.Status), Title: http.StatusText(m.Status), Detail: m.Detail})
	if m.Status < 500 && p.Hint == "" {
		p.Hint = "correct the request; " + client.Prefix + "/openapi.json describes it"
	}
	for _, e := range m.Errors {
		p.Errors = append(p.Errors, client.Fault{Location: e.Location, Message: e.Message})
		if strings.HasPrefix(e.Message, "unexpected property") {
			p.Hint = "leave out " + e.Location + " or check its spelling; " + client.Prefix + "/openapi.json lists the fields"
		}
	}
	return failure{p}, nil
}

func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "malformed"
	case http.StatusUnprocessableEntity:
		return "invalid"
	case http.StatusUnsupportedMediaType:
		return "unsupported_media_type"
	case http.StatusNotAcceptable:
		return "not_acceptable"
	}
	return "internal"
}
