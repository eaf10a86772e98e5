package wire

import (
	"net/http"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// Dialect reads and edits the requests of one provider wire format and
// observes its answers.
type Dialect interface {
	// Name says which dialect this is.
	Name() dhruva.Dialect
	// Parse projects a decoded request body. It keeps body and never changes
	// it. Every error wraps dhruva.ErrInvalid or dhruva.ErrTooLarge.
	Parse(path string, header http.Header, body []byte) (*Request, error)
	// Apply executes a plan and reports each splice with its offset in the
	// result, in order. An empty plan returns r.Body itself. An edit that the
	// dialect's rules forbid (not injectable, protected, provider-held state)
	// is an error that wraps dhruva.ErrInvalid, and nothing is applied.
	Apply(r *Request, plan dhruva.Plan) ([]byte, []dhruva.Splice, error)
	// Observe starts to look at a copy of one answer. An encoding that cannot
	// be decoded gives an Overflow observation.
	Observe(contentType, contentEncoding string) Observer
}

// Observer is fed a copy of the raw bytes of an answer, in any pieces.
type Observer interface {
	// Write never fails and never waits; it always reports len(p), nil.
	Write(p []byte) (int, error)
	// Close ends the observation. An answer that stopped without its terminal
	// event is upstream_cut; only the caller knows whether the client left.
	// After an Overflow the Terminal is empty: how it ended was not seen. A
	// compressed answer is decoded here, so Close belongs behind the relay.
	Close() dhruva.Observation
}

// Request is a parsed request: the client's body, not copied, and what it says.
// Projection.Dialect may differ from the Dialect that parsed it: some clients
// send Responses bodies to the Chat route.
type Request struct {
	Path       string
	Body       []byte
	Projection dhruva.Projection

	anchors []anchor // one per message
}

// Limits bound what is read. A zero field means its default.
type Limits struct {
	Depth    int // JSON nesting: 128
	Messages int // messages or items of a request: 100,000
	Event    int // bytes of one event, or of a whole JSON answer: 16 MiB
	Capture  int // bytes of captured text per answer: 64 KiB, at least 4 KiB
}

func (l Limits) withDefaults() Limits {
	or := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	or(&l.Depth, 128)
	or(&l.Messages, 100_000)
	or(&l.Event, 16<<20)
	or(&l.Capture, 64<<10)
	l.Capture = max(l.Capture, 4<<10) // a fingerprint needs its first 256 characters
	return l
}

// New returns the dialect of that name with limits of its own.
func New(name dhruva.Dialect, limits Limits) (Dialect, bool) {
	limits = limits.withDefaults()
	switch name {
	case dhruva.DialectChat:
		return chat{limits}, true
	case dhruva.DialectResponses:
		return responses{limits}, true
	case dhruva.DialectMessages:
		return messages{limits}, true
	}
	return nil, false
}

// ForRequest returns the dialect of a model call, with default limits. Only
// the three POST routes that ask a model for an answer have one; their sibling
// routes (compact, input_tokens, count_tokens, retrieval) do not. For
// count_tokens, which takes the same edits, use New.
func ForRequest(method, path string) (Dialect, bool) {
	name, ok := Route(method, path)
	if !ok {
		return nil, false
	}
	return New(name, Limits{})
}

// Route names the dialect of a model call; see ForRequest. The path may carry
// any prefix; the query string is not part of it.
func Route(method, path string) (dhruva.Dialect, bool) {
	if method != http.MethodPost {
		return "", false
	}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return dhruva.DialectChat, true
	case strings.HasSuffix(path, "/responses"):
		return dhruva.DialectResponses, true
	case strings.HasSuffix(path, "/messages"):
		return dhruva.DialectMessages, true
	}
	return "", false
}
