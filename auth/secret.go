package auth

import (
	"fmt"
	"log/slog"
)

// Secret is a text that does not show itself: every way of printing or
// marshalling it gives a placeholder. Only Reveal returns it. The zero Secret
// is the empty one.
//
// The text stands behind a pointer, because fmt prints what it finds where it
// cannot call methods (unexported fields, %p), and encoding/json takes map keys
// of a string type as they are: there it finds an address.
type Secret struct{ text *string }

const redacted = "[redacted]"

// NewSecret hides a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal is the text itself.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the text is empty.
func (s Secret) IsZero() bool { return s.text == nil }

// String is a placeholder.
func (Secret) String() string { return redacted }

// GoString is a placeholder.
func (Secret) GoString() string { return redacted }

// Format writes a placeholder for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalJSON is a placeholder.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText is a placeholder.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// UnmarshalText reads a text, so that a configuration may hold Secrets.
func (s *Secret) UnmarshalText(b []byte) error {
	*s = NewSecret(string(b))
	return nil
}

// LogValue is a placeholder.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
