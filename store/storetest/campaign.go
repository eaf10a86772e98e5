package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dhruva-memory/dhruva"
)

const (
	// roundTransactions is how long one story is, and surveyEvery how often it is
	// looked at as a whole.
	roundTransactions = 40
	surveyEvery       = 10
	// chapter is how many operations a set of stores gets to see. Stores that
	// look through everything get slow.
	chapter = 10_000
)

// Campaign is Same by the number: random stories until so many operations of a
// Tx were answered alike by all stores. open returns empty stores, the measure
// first, and sees to it that they are closed by the end of the (sub)test it is
// given; it is called again every 10,000 operations. A failure names the round's own
// seed, from which a campaign finds it at once. It returns how many operations
// were compared.
func Campaign(t *testing.T, operations int, seed uint64, open func(t *testing.T) []dhruva.Store) (done int) {
	t.Helper()
	for next := seed; done < operations; {
		ok := t.Run(fmt.Sprintf("seed=%d", next), func(t *testing.T) {
			n, rounds, err := rounds(min(chapter, operations-done), next, open(t))
			if done, next = done+n, next+rounds; err != nil {
				t.Fatal(err)
			}
		})
		if !ok {
			return done
		}
	}
	t.Logf("storetest: %d operations compared from seed %d on: no difference", done, seed)
	return done
}

// rounds runs stories from consecutive seeds.
func rounds(operations int, seed uint64, stores []dhruva.Store) (done int, count uint64, err error) {
	for ; done < operations; count++ {
		n, err := round(seed+count, stores)
		done += n
		if err != nil {
			return done, count + 1, fmt.Errorf("storetest: after %d operations; again with Campaign(t, 1, %d, ...): %w", done, seed+count, err)
		}
	}
	return done, count, nil
}

// round is one story. It has tenants of its own, whose names come after those
// of the rounds before.
func round(seed uint64, stores []dhruva.Store) (done int, err error) {
	d := draw{
		chooser: seeded{rand.New(rand.NewPCG(seed, 0x6468727576610a))}, tag: fmt.Sprintf("%020d", seed),
		about: int(seed % uint64(subjects())), // in turn, so that none is left out
	}
	for step := 1; step <= roundTransactions; step++ {
		x := d.transaction()
		if err := x.compare(stores); err != nil {
			return done, fmt.Errorf("step %d: %w", step, err)
		}
		done += len(x.ops)
		if step%surveyEvery == 0 {
			if err := d.survey(stores); err != nil {
				return done, fmt.Errorf("step %d: %w", step, err)
			}
		}
	}
	return done, nil
}
