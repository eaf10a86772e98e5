package memory_test

import (
	"errors"
	"log/slog"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
)

// A memory over another ledger is the same memory: everything that is set goes
// along, and a capture that has begun in either is known to both.
func TestMemoryOverAnotherLedger(t *testing.T) {
	r := newRig(t)
	r.m.Log = slog.New(slog.DiscardHandler)
	r.background()
	over := r.m.Over(r.m.Ledger).Over(&ledger.Ledger{Store: r.store})
	for i := range reflect.TypeFor[memory.Memory]().NumField() {
		f := reflect.TypeFor[memory.Memory]().Field(i)
		if v := reflect.ValueOf(over).Elem().Field(i); f.IsExported() && v.IsZero() {
			t.Errorf("%s is left behind", f.Name)
		}
	}
	if over.Ledger == r.m.Ledger {
		t.Error("the ledger is not the other one")
	}
}

func TestRememberOnce(t *testing.T) {
	r := newRig(t)
	sp := r.space("work")
	in := memory.RememberInput{Space: sp.Name, Text: "We ship on Fridays.", Path: "mcp", IdempotencyKey: "k"}
	first, err := r.m.RememberIn(r.ctx(), in)
	r.must(err)
	second, err := r.m.RememberIn(r.ctx(), in)
	r.must(err)
	if !second.Replayed || first.Replayed {
		t.Errorf("replayed: %v, then %v", first.Replayed, second.Replayed)
	}
	second.Replayed = false
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	in.Text = "We ship on Mondays."
	var reused *ledger.Reused
	if _, err := r.m.RememberIn(r.ctx(), in); !errors.As(err, &reused) || !errors.Is(err, dhruva.ErrConflict) {
		t.Errorf("another text: %v", err)
	}
	in.Path = "api" // another route
	if got, err := r.m.RememberIn(r.ctx(), in); err != nil || got.Replayed || got.Source.ID == first.Source.ID {
		t.Errorf("another route: %+v, %v", got, err)
	}
	rows, _, err := r.m.Ledger.ListReceipts(r.ctx(), dhruva.ReceiptQuery{Kind: "remember"})
	r.must(err)
	if len(rows) != 2 {
		t.Errorf("%d receipts of two notes", len(rows))
	}
}
