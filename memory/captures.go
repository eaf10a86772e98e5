package memory

import (
	"context"
	"sync"

	"github.com/dhruva-memory/dhruva"
)

// captures counts the captures that have begun and not ended, by scope, so
// that a recall sees what was said just before it.
type captures struct {
	mu      sync.Mutex
	running map[dhruva.Scope]map[chan struct{}]bool
}

// begin registers a capture; the returned function ends it and may be called
// more than once.
func (c *captures) begin(s dhruva.Scope) (done func()) {
	ch := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = map[dhruva.Scope]map[chan struct{}]bool{}
	}
	if c.running[s] == nil {
		c.running[s] = map[chan struct{}]bool{}
	}
	c.running[s][ch] = true
	return sync.OnceFunc(func() { c.end(s, ch) })
}

func (c *captures) end(s dhruva.Scope, ch chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running[s], ch)
	if len(c.running[s]) == 0 {
		delete(c.running, s)
	}
	close(ch)
}

// wait returns when every capture of the scope that had begun before the call
// has ended, or ctx has.
func (c *captures) wait(ctx context.Context, s dhruva.Scope) {
	c.mu.Lock()
	var begun []chan struct{}
	for ch := range c.running[s] {
		begun = append(begun, ch)
	}
	c.mu.Unlock()
	for _, ch := range begun {
		select {
		case <-ch:
		case <-ctx.Done():
			return
		}
	}
}
