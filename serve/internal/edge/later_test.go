package edge

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// later knows when trying again makes sense.
type later time.Duration

func (later) Error() string               { return "not yet" }
func (later) Unwrap() error               { return dhruva.ErrConflict }
func (l later) RetryAfter() time.Duration { return time.Duration(l) }

// What an error knows of when to come back is told in whole seconds, at least
// one, whatever was put around it.
func TestRetryAfterIsTheErrorsOwn(t *testing.T) {
	for in, want := range map[time.Duration]string{0: "1", time.Millisecond: "1", time.Second: "1", 1500 * time.Millisecond: "2", time.Minute: "60"} {
		h := http.Header{}
		p := ProblemOf(fmt.Errorf("ledger: once: %w", later(in)))
		p.SetHeader(h)
		if p.Status != http.StatusConflict || h.Get("Retry-After") != want {
			t.Errorf("%v: %d, %q", in, p.Status, h.Get("Retry-After"))
		}
	}
	h := http.Header{}
	ProblemOf(&Refusal{Status: 409, RetryAfter: 3}).SetHeader(h)
	if h.Get("Retry-After") != "3" {
		t.Errorf("a refusal's: %q", h.Get("Retry-After"))
	}
}
