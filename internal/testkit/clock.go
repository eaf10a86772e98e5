package testkit

import (
	"sync"
	"time"
)

// Clock is a clock that stands still until a test moves it. Its Now method is
// what the product's clock fields take.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Epoch is the time of a Clock made without one: a round instant in UTC, so
// that golden files do not depend on when they were written.
var Epoch = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)

// NewClock returns a Clock that shows start, or Epoch when start is zero.
func NewClock(start time.Time) *Clock {
	if start.IsZero() {
		start = Epoch
	}
	return &Clock{now: start}
}

// Now is the time the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d and returns the new time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// Set moves the clock to t, back or forth.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}
