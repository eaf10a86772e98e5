package llm

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// maxMessage bounds what is kept of a provider's own words.
const maxMessage = 500

// Error is a provider's failure in common terms. It is dhruva.ErrUnavailable
// for errors.Is, and so is its cause when it has one.
type Error struct {
	// Provider is the configured name, for example "openai".
	Provider string
	// Status is the HTTP status, zero when there was no response, and 200 when
	// a stream failed after it began.
	Status int
	// Code is the provider's own word for the failure, or one of ours
	// (connect, canceled, timeout, malformed, truncated, refused, stream).
	Code string
	// Message is the provider's text: cut, on one line, secrets masked.
	Message string

	cause error
}

// NewError makes an Error. The message is cut and put on one line; the given
// secrets and whatever looks like a key are masked in message and code.
func NewError(provider string, status int, code, message string, cause error, secrets ...string) *Error {
	return &Error{
		Provider: provider, Status: status,
		Code:    cut(oneLine(Mask(code, secrets...)), 64),
		Message: cut(oneLine(Mask(message, secrets...)), maxMessage),
		cause:   cause,
	}
}

// Error names provider, status and code before the provider's words. The
// cause is left out: its text is not under our control.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("llm: " + e.Provider)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	for _, part := range []string{e.Code, e.Message} {
		if part != "" {
			b.WriteString(": " + Mask(part))
		}
	}
	return b.String()
}

// Unwrap gives dhruva.ErrUnavailable and the cause.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{dhruva.ErrUnavailable}
	}
	return []error{dhruva.ErrUnavailable, e.cause}
}

// ProviderFailed is the provider's name. It tells a provider's failure from others
// for packages that do not import this one.
func (e *Error) ProviderFailed() string { return e.Provider }

// Temporary tells whether the same request may succeed later.
func (e *Error) Temporary() bool {
	switch e.Status {
	case 408, 409, 425, 429:
		return true
	}
	return e.Status == 0 || e.Status >= 500 || e.Status == 200
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

// cut shortens s to at most n bytes on a rune border.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
