package testkit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Campaign reports whether the large counts are asked for: DHRUVA_CAMPAIGN is
// set, as `make campaign` does.
func Campaign() bool { return os.Getenv("DHRUVA_CAMPAIGN") != "" }

// Count is how often a test does what it repeats: a few times under the race
// detector, more without it (`make test` runs both), and many times in a
// campaign.
func Count(raced, small, large int) int {
	switch {
	case Raced:
		return raced
	case Campaign():
		return large
	}
	return small
}

// Seed is DHRUVA_SEED, else a fresh one. It stands in the test's log, so that
// what failed can be run again.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if v := os.Getenv("DHRUVA_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("DHRUVA_SEED: %v", err)
		}
	}
	t.Logf("DHRUVA_SEED=%d runs this again", seed)
	return seed
}

// Figure logs what a test has counted, and adds it to the file DHRUVA_FIGURES
// where that is set: `make test` and `make campaign` print it at their end.
func Figure(t testing.TB, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(line)
	path := os.Getenv("DHRUVA_FIGURES")
	if path == "" || Raced {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(t.Name() + ": " + line + "\n")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Errorf("DHRUVA_FIGURES: %v", err)
	}
}
