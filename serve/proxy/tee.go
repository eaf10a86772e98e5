package proxy

import (
	"sync"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/wire"
)

// tee carries a copy of an answer to its observer. The relay's side never
// waits: it appends under a lock that the observer's side holds only to swap
// two buffers. Beyond the limit the copy is given up, not the answer.
type tee struct {
	limit int
	wake  chan struct{} // holds one token when there is something to do

	mu     sync.Mutex
	buf    []byte
	closed bool
	over   bool
}

// keepCopy bounds the buffer that a stream keeps between pieces.
const keepCopy = 16 << 10

func newTee(limit int) *tee { return &tee{limit: limit, wake: make(chan struct{}, 1)} }

func (t *tee) write(p []byte) {
	t.mu.Lock()
	switch {
	case t.over:
	case len(t.buf)+len(p) > t.limit:
		t.over, t.buf = true, nil
	default:
		t.buf = append(t.buf, p...)
	}
	t.mu.Unlock()
	t.signal()
}

func (t *tee) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.signal()
}

func (t *tee) signal() {
	select {
	case t.wake <- struct{}{}:
	default: // a token is there already
	}
}

// take swaps what has come for an empty buffer.
func (t *tee) take(spare []byte) (piece []byte, closed, over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	piece, t.buf = t.buf, spare[:0]
	return piece, t.closed, t.over
}

// run feeds the observer until the answer has ended and says what was seen.
func (t *tee) run(o wire.Observer) dhruva.Observation {
	var spare []byte
	broken := false
	for {
		<-t.wake
		piece, closed, over := t.take(spare)
		broken = broken || over
		if !broken && len(piece) > 0 {
			_, err := guarded(func() (int, error) { return o.Write(piece) })
			broken = err != nil
		}
		if broken {
			t.giveUp()
		}
		if closed {
			break
		}
		if spare = piece; cap(spare) > keepCopy {
			spare = nil
		}
	}
	seen, err := guarded(func() (dhruva.Observation, error) { return o.Close(), nil })
	if broken || err != nil {
		return dhruva.Observation{Overflow: true}
	}
	return seen
}

func (t *tee) giveUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over, t.buf = true, nil
}
