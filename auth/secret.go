package auth

import (
	"fmt"
	"log/slog"
)

// Secret is a text that does not show itself: every way of printing or
// marshalling it gives a placeholder. Only Reveal returns it.
//
// fmt cannot call methods on unexported fields, so a struct that holds a Secret
// must hold it in an exported field (a test walks this package for that).
type Secret string

const redacted = "[redacted]"

// Reveal is the text itself.
func (s Secret) Reveal() string { return string(s) }

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

// LogValue is a placeholder.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
