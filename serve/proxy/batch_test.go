package proxy

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Memory-plane 2.10: the receipt of an untouched request waits for others, 5 ms
// at most, and those that come meanwhile go on together.
func TestABatchLeavesAfterFiveMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b batch
		var wg sync.WaitGroup
		var mu sync.Mutex
		began := time.Now()
		left := map[time.Duration]time.Duration{} // by when they came
		for _, came := range []time.Duration{0, time.Millisecond, 4999 * time.Microsecond, 5001 * time.Microsecond, 9 * time.Millisecond, 30 * time.Millisecond} {
			wg.Go(func() {
				time.Sleep(came)
				b.join()
				mu.Lock()
				defer mu.Unlock()
				left[came] = time.Since(began)
			})
		}
		wg.Wait()
		for came, at := range left {
			want := 5 * time.Millisecond
			switch {
			case came > 20*time.Millisecond:
				want = 35 * time.Millisecond
			case came > 5*time.Millisecond:
				want = 10001 * time.Microsecond
			}
			if at != want {
				t.Errorf("who came after %s went on after %s, want %s", came, at, want)
			}
		}
	})
}
