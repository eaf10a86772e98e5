package proxy

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dhruva-memory/dhruva"
)

// What the status says already is not said again, and no package is named.
func TestSentenceOf(t *testing.T) {
	for want, err := range map[string]error{
		"The body is not JSON.":    fmt.Errorf("wire: the body is not JSON: %w", dhruva.ErrInvalid),
		"It holds too many.":       fmt.Errorf("wire: it holds too many: %w", dhruva.ErrTooLarge),
		"Memory mode \"x\" is no.": errors.New(`memory: memory mode "x" is no`),
	} {
		if got := sentenceOf(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
