package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Problem is an RFC 9457 problem: why a call was refused, and what to do.
type Problem struct {
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	Status    int     `json:"status"`
	Code      string  `json:"code"`
	Detail    string  `json:"detail"`
	Hint      string  `json:"hint,omitempty"`
	RequestID string  `json:"request_id,omitempty"`
	Errors    []Fault `json:"errors,omitempty"`
	// RetryAfter is when trying again makes sense, as the header of that name says;
	// 0 where it says nothing.
	RetryAfter time.Duration `json:"-"`
}

// Fault is one fault of a request's body or parameters.
type Fault struct {
	Location string `json:"location"`
	Message  string `json:"message"`
}

// Error is the detail, or what is known in its place.
func (p *Problem) Error() string {
	msg := p.Detail
	if msg == "" {
		msg = p.Title
	}
	for _, f := range p.Errors {
		msg += fmt.Sprintf("; %s: %s", f.Location, f.Message)
	}
	return msg
}

// Unwrap is the sentinel error of the root package; nil for an internal error.
func (p *Problem) Unwrap() error {
	if p.Code == "stale_generation" {
		return dhruva.ErrFenced
	}
	return sentinels()[p.Status]
}

func sentinels() map[int]error {
	return map[int]error{
		http.StatusBadRequest:            dhruva.ErrInvalid,
		http.StatusUnprocessableEntity:   dhruva.ErrInvalid,
		http.StatusUnsupportedMediaType:  dhruva.ErrInvalid,
		http.StatusMethodNotAllowed:      dhruva.ErrInvalid,
		http.StatusUnauthorized:          dhruva.ErrUnauthenticated,
		http.StatusForbidden:             dhruva.ErrDenied,
		http.StatusNotFound:              dhruva.ErrNotFound,
		http.StatusConflict:              dhruva.ErrConflict,
		http.StatusRequestEntityTooLarge: dhruva.ErrTooLarge,
		http.StatusBadGateway:            dhruva.ErrUnavailable,
		http.StatusServiceUnavailable:    dhruva.ErrUnavailable,
		http.StatusGatewayTimeout:        dhruva.ErrUnavailable,
	}
}

// refused makes an error of an answer.
func refused(res *http.Response, body []byte) error {
	p := readProblem(res.StatusCode, body)
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > 0 {
		p.RetryAfter = time.Duration(n) * time.Second
	}
	return p
}

// readProblem reads an answer's body, also when some other server in between
// answered.
func readProblem(status int, body []byte) *Problem {
	p := &Problem{}
	if err := json.Unmarshal(body, p); err != nil || p.Status == 0 {
		p = &Problem{Title: http.StatusText(status), Detail: fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))}
		p.Status = status
	}
	return p
}
