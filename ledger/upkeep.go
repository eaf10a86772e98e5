package ledger

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// Upkeep are the times of background work. A zero field means its default.
type Upkeep struct {
	// JobLease is how long a claimed job is its owner's without a word from it.
	// Default 1 minute.
	JobLease time.Duration
	// JobAttempts is how often a job is tried before it is given up. Default 8.
	JobAttempts int
	// BackoffBase and BackoffCap bound the wait after a failed attempt: a random
	// part of base times two for each attempt before, at most the cap. Defaults 1
	// second and 10 minutes.
	BackoffBase, BackoffCap time.Duration
	// JobKept is how long a done job is kept for people to see. Default 24 hours.
	JobKept time.Duration
	// Lease is how long a named lease is held without being renewed. Default 6
	// seconds.
	Lease time.Duration
	// NodeLease is how long a node stands without saying so again. Default 30
	// seconds.
	NodeLease time.Duration
	// Skew is how far the clocks of two nodes may differ: a lease is another's
	// only when it has ended on our clock by that much. Default 2 seconds.
	Skew time.Duration
	// ReceiptAge is how old an open receipt is before it may be taken for
	// interrupted; longer than any request of a process that is no node. Default 1
	// hour.
	ReceiptAge time.Duration
	// FeedKept is how long a change is kept at least, also when every follower
	// has passed it. Default 7 days.
	FeedKept time.Duration
}

// WithDefaults fills the zero fields.
func (u Upkeep) WithDefaults() Upkeep {
	out := u
	for _, f := range []struct {
		field *time.Duration
		def   time.Duration
	}{
		{&out.JobLease, time.Minute}, {&out.BackoffBase, time.Second}, {&out.BackoffCap, 10 * time.Minute}, {&out.JobKept, 24 * time.Hour},
		{&out.Lease, 6 * time.Second}, {&out.NodeLease, 30 * time.Second}, {&out.Skew, 2 * time.Second},
		{&out.ReceiptAge, time.Hour}, {&out.FeedKept, 7 * 24 * time.Hour},
	} {
		if *f.field <= 0 {
			*f.field = f.def
		}
	}
	if out.JobAttempts <= 0 {
		out.JobAttempts = 8
	}
	return out
}

func (l *Ledger) upkeep() Upkeep { return l.Upkeep.WithDefaults() }

// Jitter is a random time around d, from half of it to one and a half: what many
// processes do every d, they do not do together.
func (l *Ledger) Jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(l.random()*float64(d))
}

// random draws from [0, 1).
func (l *Ledger) random() float64 {
	if l.Rand != nil {
		return l.Rand()
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime stops the process instead
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}

// backoff is how long a job waits after its n-th attempt (from 1) failed: full
// jitter, so that what failed together does not come back together.
func (l *Ledger) backoff(attempt int) time.Duration {
	up := l.upkeep()
	most := up.BackoffBase
	for ; attempt > 1 && most < up.BackoffCap; attempt-- {
		most *= 2
	}
	return time.Duration(l.random() * float64(min(most, up.BackoffCap)))
}
