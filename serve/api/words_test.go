package api

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dhruva-memory/dhruva"
)

func TestWordsNameNoPackage(t *testing.T) {
	notFound := fmt.Errorf("%w: no space %q", dhruva.ErrNotFound, "ledger: x")
	for want, err := range map[string]error{
		`no space "ledger: x"`:               fmt.Errorf("ledger: space: %w", notFound),
		"read: denied: lacks memory:read":    fmt.Errorf("recall: read: %w: lacks memory:read", dhruva.ErrDenied),
		"space: not found":                   fmt.Errorf("ledger: space: %w", dhruva.ErrNotFound),
		"turn 3: text is not UTF-8":          fmt.Errorf("ledger: import: %w", errors.New("turn 3: text is not UTF-8")),
		"open /x/dhruva.db: no space left":   errors.Join(fmt.Errorf("sqlstore: open /x/dhruva.db: %w", errors.New("no space left"))),
		"the server cannot be reached: gone": fmt.Errorf("client: %w: the server cannot be reached: %w", dhruva.ErrUnavailable, errors.New("gone")),
		"plain":                              errors.New("plain"),
	} {
		if got := Words(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
		if got := (worded{err}); !errors.Is(got, err) {
			t.Errorf("%v is no longer itself", err)
		}
	}
}
