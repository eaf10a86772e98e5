package mcpserver

import (
	"context"
	"errors"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// sentence is an error that a model reads: it says what to do next.
type sentence string

func (s sentence) Error() string { return string(s) }

// advice is the one table of this edge: sentinel errors to what a model can
// do. The first match wins. cause says whether the error's own words are shown.
var advice = []struct {
	sentinel error
	cause    bool
	say      string
}{
	{dhruva.ErrUnauthenticated, false, "The credential no longer stands. Ask the person for a new Dhruva key."},
	{dhruva.ErrDenied, false, "This key does not have that right. Go on without it, or ask the person for a key that has it."},
	{dhruva.ErrNotFound, false, "There is no such space for this key. Leave space out to use the key's own."},
	{dhruva.ErrTooLarge, true, "Send less text."},
	{dhruva.ErrInvalid, true, "Correct the arguments and call again."},
	{dhruva.ErrConflict, true, "Nothing was stored. Use another source_id, or leave it out."},
	{dhruva.ErrFenced, false, "This memory was cleared or purged meanwhile. Nothing was stored."},
	{dhruva.ErrUnavailable, false, "Memory does not answer right now. This does not mean that nothing is known; try again later."},
}

// explain turns memory's error into a sentence. What is not in the table is
// logged in full and shown by its request id only.
func (s *Server) explain(ctx context.Context, tool string, err error) error {
	var running *ledger.Running
	var reused *ledger.Reused
	switch {
	case errors.As(err, &running):
		return sentence("The same call is still running. Call again with the same idempotency_key in a moment.")
	case errors.As(err, &reused):
		return sentence("This idempotency_key was used for another text. Nothing was stored; use a new key.")
	}
	for _, a := range advice {
		if !errors.Is(err, a.sentinel) {
			continue
		}
		if !a.cause {
			return sentence(a.say)
		}
		return sentence(capital(err.Error()) + ". " + a.say)
	}
	id := dhruva.RequestIDFrom(ctx)
	s.config.Log.ErrorContext(ctx, "mcp: tool failed", "tool", tool, "error", err, "request_id", id)
	return sentence("Memory failed; the server's log says why (request " + or(id, "without id") + "). Go on without it.")
}

// capital makes a sentence of an error's text, without the packages it passed.
func capital(text string) string {
	for _, layer := range []string{"memory: ", "ledger: ", "recall: ", "client: "} {
		text = strings.TrimPrefix(text, layer)
	}
	if text == "" {
		return "Refused"
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
