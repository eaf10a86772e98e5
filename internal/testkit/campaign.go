package testkit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Campaign reports whether the large counts are asked for: DHRUVA_CAMPAIGN is
// set, as `make campaign` does.
func Campaign() bool { return os.Getenv("DHRUVA_CAMPAIGN") != "" }

// Count is how often a test does what it repeats: small in `make test`, large
// in a campaign.
func Count(small, large int) int {
	if Campaign() {
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
