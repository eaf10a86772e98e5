package proxy

import (
	"fmt"
	"sync/atomic"

	"github.com/dhruva-memory/dhruva"
)

// budget bounds what the request bodies of all clients together may take. It
// is asked as buffers grow, that is for bytes that have come, never for a
// declared length.
type budget struct {
	used  atomic.Int64
	limit int64
}

// take reserves n bytes, or reports that they are not there.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) <= b.limit {
		return true
	}
	b.used.Add(-n)
	return false
}

func (b *budget) give(n int64) { b.used.Add(-n) }

// errBusy: the budget is spent. Another moment may do.
var errBusy = fmt.Errorf("the request bodies in flight take all the memory they may: %w", dhruva.ErrUnavailable)
