package smriti

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

// refusal is an error with its own status and detail.
type refusal struct {
	status int
	detail any
	err    error
}

// Error is for the log.
func (e *refusal) Error() string {
	var b bytes.Buffer
	if text, ok := e.detail.(string); ok {
		b.WriteString(text)
	} else {
		b.WriteString(http.StatusText(e.status))
	}
	return "smriti: " + b.String()
}

// Unwrap is what was refused for, if anything.
func (e *refusal) Unwrap() error { return e.err }

func bad(detail string) error { return &refusal{status: http.StatusBadRequest, detail: detail} }

func notFound(detail string) error { return &refusal{status: http.StatusNotFound, detail: detail} }

func conflict(detail string) error { return &refusal{status: http.StatusConflict, detail: detail} }

func unprocessable(detail string) error {
	return &refusal{status: http.StatusUnprocessableEntity, detail: detail}
}

// codes replace statuses of the table, by sentinel.
type codes map[error]int

// of gives an error the route's own status.
func (c codes) of(err error) error {
	var mine *refusal
	if errors.As(err, &mine) || errors.Is(err, dhruva.ErrUnavailable) {
		return err
	}
	for class, status := range c {
		if errors.Is(err, class) {
			return &refusal{status: status, detail: words(err), err: err}
		}
	}
	return err
}

// upstream is what a model company's failure looks like from here.
type upstream interface {
	error
	ProviderFailed() string
}

// advised is an error that knows what to do about it.
type advised interface {
	error
	Advice() (code, hint string)
}

// table is the one table from errors to statuses and details.
func table(err error) (status int, detail any) {
	var mine *refusal
	var slot *memory.NoBackground
	var model upstream
	switch {
	case errors.As(err, &mine):
		return mine.status, mine.detail
	case errors.As(err, &slot):
		_, hint := slot.Advice()
		return http.StatusInternalServerError, slot.Error() + "; " + hint
	case errors.As(err, &model) && errors.Is(err, dhruva.ErrUnavailable):
		return http.StatusBadGateway, "the model provider failed: " + strings.TrimPrefix(model.Error(), "llm: ")
	}
	return tableOf(err)
}

// tableOf are the classes of the program.
func tableOf(err error) (status int, detail any) {
	p := edge.ProblemOf(err)
	var body *http.MaxBytesError
	switch {
	case errors.Is(err, dhruva.ErrInvalid) && p.Status == http.StatusUnprocessableEntity,
		errors.Is(err, dhruva.ErrTooLarge) && p.Status == http.StatusRequestEntityTooLarge && !errors.As(err, &body):
		return http.StatusBadRequest, advice(err, words(err)) // of a field; a whole body stays 413
	case p.Status == http.StatusUnauthorized:
		return p.Status, "a key is needed: " + p.Hint
	case p.Status >= 500:
		return p.Status, p.Title // its words are for the log alone
	case errors.Is(err, context.Canceled):
		return p.Status, p.Title
	}
	return p.Status, advice(err, words(err))
}

// advice adds what to do to what is wrong.
func advice(err error, text string) string {
	var known advised
	if errors.As(err, &known) {
		if _, hint := known.Advice(); hint != "" {
			return text + "; " + hint
		}
	}
	return text
}

// words are an error's, without the packages that it came through and without
// its class, which the status says.
func words(err error) string {
	s := err.Error()
	var problem *edge.Refusal
	if errors.As(err, &problem) {
		s = problem.Detail
	}
	for cut := true; cut; {
		cut = false
		for _, name := range []string{"ledger", "memory", "auth", "recall", "agents"} {
			if rest, ok := strings.CutPrefix(s, name+": "); ok {
				_, s, _ = strings.Cut(rest, ": ")
				if s == "" {
					s = rest
				}
				cut = s != rest
			}
		}
	}
	for _, class := range []error{
		dhruva.ErrNotFound, dhruva.ErrConflict, dhruva.ErrInvalid, dhruva.ErrDenied, dhruva.ErrUnauthenticated,
		dhruva.ErrFenced, dhruva.ErrUnavailable, dhruva.ErrTooLarge,
	} {
		if rest, ok := strings.CutPrefix(s, class.Error()+": "); ok {
			return rest
		}
	}
	return s
}

// refuse answers an error as {"detail": …} and hands it to the log.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, detail := table(err)
	edge.Report(w, r, reported(err, status))
	p := edge.ProblemOf(err)
	if p.Status != status { // headers go with the status
		p = edge.Problem{RetryAfter: p.RetryAfter}
	}
	p.SetHeader(w.Header())
	var b bytes.Buffer
	if encode(&b, map[string]any{"detail": detail}) != nil {
		b.Reset()
		b.WriteString(`{"detail": "internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a client that has gone cannot be told
}

// reported is an error for the log, under the status that it was answered with.
func reported(err error, status int) error {
	if edge.ProblemOf(err).Status == status {
		return err
	}
	code := strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_")
	return &logged{err, &edge.Refusal{Status: status, Code: code, Detail: err.Error()}}
}

// logged is an error with a status of its own.
type logged struct {
	error
	as *edge.Refusal
}

// Unwrap gives the status before the error.
func (l *logged) Unwrap() []error { return []error{l.as, l.error} }

// fault is one thing that is wrong with a request's schema.
type fault struct {
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

// faulty refuses a request for its schema.
func faulty(faults ...fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &refusal{status: http.StatusUnprocessableEntity, detail: slices.Clone(faults)}
}
