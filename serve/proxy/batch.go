package proxy

import (
	"sync"
	"time"
)

// batchTime is how long the receipt of an untouched request may wait for
// others, so that they share one commit of the store.
const batchTime = 5 * time.Millisecond

// batch lets goroutines that come within its time go on together. The zero
// batch is ready.
type batch struct {
	mu   sync.Mutex
	open chan struct{} // closed when the batch leaves; nil while there is none
}

// join returns when the batch that it found, or began, leaves.
func (b *batch) join() {
	b.mu.Lock()
	ch := b.open
	if ch == nil {
		ch = make(chan struct{})
		b.open = ch
		time.AfterFunc(batchTime, b.leave)
	}
	b.mu.Unlock()
	<-ch
}

func (b *batch) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.open)
	b.open = nil
}
