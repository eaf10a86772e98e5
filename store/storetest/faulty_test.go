package storetest_test

import (
	"errors"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// feed is how many changes a store holds.
func feed(t *testing.T, s dhruva.Store) (n int) {
	t.Helper()
	for _, err := range s.Changes(ctx, scope, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func appendOne(tx dhruva.Tx) error {
	_, err := tx.AppendChange("s", dhruva.Change{})
	return err
}

func update(s dhruva.Store, fn func(dhruva.Tx) error) error {
	return s.Update(ctx, []dhruva.Scope{scope}, fn)
}

func TestFaulty(t *testing.T) {
	for _, c := range []struct {
		fault storetest.Fault
		want  int
	}{{storetest.Lost, 2}, {storetest.Kept, 3}, {storetest.Refused, 2}} {
		s := storetest.NewFaulty(memstore.New(), c.fault, 2)
		for n := 1; n <= 3; n++ {
			if s.Happened() != (n > 2) {
				t.Errorf("%s: happened before update %d: %v", c.fault, n, s.Happened())
			}
			if err := update(s, appendOne); (n == 2) != errors.Is(err, dhruva.ErrUnavailable) {
				t.Errorf("%s, update %d: %v", c.fault, n, err)
			}
		}
		if n := feed(t, s); n != c.want || s.Updates() != 3 || s.Writes() != 3 {
			t.Errorf("%s: %d changes, want %d; %d updates, %d writes", c.fault, n, c.want, s.Updates(), s.Writes())
		}
		own := errors.New("fn's own")
		s = storetest.NewFaulty(memstore.New(), c.fault, 1)
		if err := update(s, func(dhruva.Tx) error { return own }); err != own {
			t.Errorf("%s: %v, want fn's own error", c.fault, err)
		}
	}
}

// TestRefused: the update fails as a whole, also when fn does not look, and what
// follows in it is refused too.
func TestRefused(t *testing.T) {
	const writes = 5
	for at := 1; ; at++ {
		s := storetest.NewFaulty(memstore.New(), storetest.Refused, at)
		err := update(s, func(tx dhruva.Tx) error {
			for n := 1; n <= writes; n++ {
				if err := appendOne(tx); (n >= at) != errors.Is(err, dhruva.ErrUnavailable) {
					t.Errorf("refused at %d: write %d: %v", at, n, err)
				}
			}
			return nil
		})
		if s.Writes() != writes || s.Happened() != (at <= writes) {
			t.Errorf("refused at %d: %d writes, happened %v", at, s.Writes(), s.Happened())
		}
		if !s.Happened() {
			if err != nil || feed(t, s) != writes {
				t.Errorf("not refused: %v", err)
			}
			break
		}
		if !errors.Is(err, dhruva.ErrUnavailable) || feed(t, s) != 0 {
			t.Errorf("refused at %d: %v, %d changes", at, err, feed(t, s))
		}
		if err := update(s, appendOne); err != nil || feed(t, s) != 1 { // the next one has its place again
			t.Errorf("after the refusal: %v", err)
		}
	}
}

func TestRerun(t *testing.T) {
	runs, s := 0, memstore.New()
	err := update(storetest.Rerun{Store: s}, func(tx dhruva.Tx) error { runs++; return appendOne(tx) })
	if err != nil || runs != 2 || feed(t, s) != 1 {
		t.Errorf("rerun: %d runs, %d changes, %v", runs, feed(t, s), err)
	}
}
