package sqlstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// TestBusyProcessStarvesNobody: a store that commits without a pause does not
// keep another one on the same file waiting for as long as it may wait.
func TestBusyProcessStarvesNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	busy, other := open(t, path, sqlstore.Options{}), open(t, path, sqlstore.Options{})
	var wg sync.WaitGroup
	var done atomic.Bool
	var commits atomic.Int64
	for w := range 32 {
		wg.Go(func() {
			for n := 0; !done.Load(); n++ {
				if _, err := note(context.Background(), busy, fmt.Sprintf("busy-%d-%d", w, n), fmt.Sprint(w), "busy"); err != nil {
					t.Error(err)
				}
				commits.Add(1)
			}
		})
	}
	var worst time.Duration
	for n := range testkit.Count(30, 200, 3000) {
		begun := time.Now()
		if err := noteOne(other, fmt.Sprint("other-", n)); err != nil {
			t.Errorf("update %d: %v", n, err)
		}
		worst = max(worst, time.Since(begun))
	}
	done.Store(true)
	wg.Wait()
	t.Logf("%d busy updates meanwhile; the longest wait was %v", commits.Load(), worst)
}
