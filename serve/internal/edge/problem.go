package edge

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// maxDetail bounds the text of an error that is shown, in bytes.
const maxDetail = 1000

// Problem is an error as the native API shows it (RFC 9457).
type Problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Detail    string `json:"detail,omitempty"`
	Hint      string `json:"hint,omitempty"`
	Docs      string `json:"docs,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	// RetryAfter is the number of seconds after which trying again makes
	// sense; 0 is none.
	RetryAfter int `json:"-"`
	// Challenge is the WWW-Authenticate of a 401, unless a handler set its own.
	Challenge string `json:"-"`
	// Close: the connection is of no more use, its body was not read.
	Close bool `json:"-"`
}

// class is a row of the table.
type class struct {
	err   error
	quiet bool // the error's own text is not for the client
	Problem
}

// classes is the table. The first match wins: an error that wraps several is
// of the class that says least of what happened.
func classes() []class {
	unavailable := Problem{Status: 503, Code: "unavailable", Title: "Temporarily unavailable", RetryAfter: 1,
		Hint: "try again, with the same Idempotency-Key when the request writes"}
	return []class{
		{dhruva.ErrUnavailable, true, unavailable},
		{context.DeadlineExceeded, true, unavailable},
		{context.Canceled, true, unavailable},
		{dhruva.ErrUnauthenticated, true, Problem{Status: 401, Code: "unauthenticated", Title: "No valid key", Challenge: `Bearer realm="dhruva", error="invalid_token"`,
			Hint: "send a Dhruva key as Authorization: Bearer, x-api-key or X-Dhruva-Key; the server's own machine has one in admin.key of the data directory"}},
		{dhruva.ErrDenied, false, Problem{Status: 403, Code: "denied", Title: "Not allowed",
			Hint: "use a key that holds the right, or ask who administers this installation"}},
		{dhruva.ErrFenced, false, Problem{Status: 409, Code: "stale_generation", Title: "The space was cleared or purged meanwhile",
			Hint: "begin again from the current state of the space"}},
		{dhruva.ErrTooLarge, false, Problem{Status: 413, Code: "too_large", Title: "Too large", Close: true}},
		{dhruva.ErrNotFound, false, Problem{Status: 404, Code: "not_found", Title: "Not found",
			Hint: "check the id; what your key does not reach looks the same as what does not exist"}},
		{dhruva.ErrConflict, false, Problem{Status: 409, Code: "conflict", Title: "Conflict",
			Hint: "read the current state and try again"}},
		{dhruva.ErrInvalid, false, Problem{Status: 422, Code: "invalid", Title: "Invalid"}},
	}
}

// Refusal is an error of the border itself, outside the vocabulary of the
// program: a malformed request, an encoding or a host that is not served.
type Refusal struct {
	Status       int
	Code         string
	Title        string
	Detail, Hint string
	// RetryAfter is the number of seconds after which trying again makes sense.
	RetryAfter int
	err        error
}

// Error is the detail.
func (e *Refusal) Error() string { return "edge: " + e.Code + ": " + e.Detail }

// Unwrap is what was refused for, if anything.
func (e *Refusal) Unwrap() error { return e.err }

// Malformed marks an error as one of reading the request: 400 instead of 422.
// A body that exceeded its limit stays 413.
func Malformed(err error) error {
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) || errors.Is(err, dhruva.ErrTooLarge) {
		return err
	}
	return &Refusal{Status: http.StatusBadRequest, Code: "malformed", Title: "Malformed request", Detail: err.Error(), err: err}
}

// ProblemOf is the one table from errors to what a client is told. The request
// id is not set.
func ProblemOf(err error) Problem {
	p, quiet := classify(err)
	p.Type = "urn:dhruva:problem:" + p.Code
	if p.Detail == "" && !quiet {
		p.Detail = err.Error()
	}
	p.Detail = cut(p.Detail)
	var later temporary
	if errors.As(err, &later) {
		p.RetryAfter = max(int((later.RetryAfter()+time.Second-1)/time.Second), 1)
	}
	return p
}

// temporary is an error that knows when trying again makes sense.
type temporary interface{ RetryAfter() time.Duration }

func classify(err error) (p Problem, quiet bool) {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return Problem{Status: refusal.Status, Code: refusal.Code, Title: refusal.Title, Detail: refusal.Detail, Hint: refusal.Hint, RetryAfter: refusal.RetryAfter}, false
	}
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return Problem{Status: 413, Code: "too_large", Title: "Too large", Close: true,
			Detail: "the body exceeds " + strconv.FormatInt(tooLong.Limit, 10) + " bytes"}, false
	}
	for _, c := range classes() {
		if errors.Is(err, c.err) {
			return c.Problem, c.quiet
		}
	}
	return Problem{Status: 500, Code: "internal", Title: "Internal error", Hint: "report it with the request id"}, true
}

// cut keeps a shown text short and valid.
func cut(s string) string {
	if len(s) > maxDetail {
		s = s[:maxDetail] + "…"
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "")
	}
	return s
}

// SetHeader puts the headers that belong to the problem, whatever the shape of
// the body: a proxied dialect has its own.
func (p Problem) SetHeader(h http.Header) {
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(name) // they spoke of the answer that did not come about
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if p.Challenge != "" && h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", p.Challenge)
	}
	if p.Close {
		h.Set("Connection", "close")
	}
}

// Write sends the problem as application/problem+json.
func (p Problem) Write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil { // strings and an integer always marshal
		panic("edge: problem: " + err.Error())
	}
	p.SetHeader(w.Header())
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}

// WriteError answers with the problem of an error and hands the error itself
// to the log. When an answer has begun already it cuts the connection instead
// (panic with http.ErrAbortHandler), so that nobody takes half an answer for a
// whole one.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	Report(w, r, err)
	if rec := recordOf(w); rec != nil && rec.status != 0 {
		panic(http.ErrAbortHandler)
	}
	p := ProblemOf(err)
	p.RequestID = dhruva.RequestIDFrom(r.Context())
	p.Write(w)
}
