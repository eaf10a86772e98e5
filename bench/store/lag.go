package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// follower follows the feeds of the load's spaces, looking where hints tell it
// to.
type follower struct {
	store dhruva.Store
	last  map[dhruva.Scope]int64
	stop  context.CancelFunc
	ended chan error

	mu   sync.Mutex
	kept map[string]time.Time // when the commit of an id was acknowledged
	seen map[string]time.Time // when its change was read
	wake chan struct{}
}

func follow(ctx context.Context, s dhruva.Store, name string) *follower {
	ctx, stop := context.WithCancel(ctx)
	f := &follower{store: s, last: map[dhruva.Scope]int64{}, stop: stop, ended: make(chan error, 1),
		kept: map[string]time.Time{}, seen: map[string]time.Time{}, wake: make(chan struct{}, 1)}
	for n := range spaces {
		f.last[dhruva.SpaceScope("bench", space(name, n))] = 0
	}
	go func() { f.ended <- f.run(ctx) }()
	return f
}

func (f *follower) run(ctx context.Context) error {
	for hint := range f.store.Hints(ctx) {
		for scope := range f.last {
			if hint != scope && hint.Level() == dhruva.LevelSpace {
				continue
			}
			for c, err := range f.store.Changes(ctx, scope, f.last[scope]) {
				if err != nil {
					return err
				}
				f.last[scope] = c.Seq
				f.saw(strings.TrimSuffix(strings.TrimSuffix(c.Ref, string(dhruva.RoleUser)), string(dhruva.RoleAssistant)))
			}
		}
	}
	return nil
}

func (f *follower) saw(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.seen[id]; !ok {
		f.seen[id] = time.Now()
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *follower) committed(id string, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept[id] = at
}

// patience is how long the follower may take for the rest.
const patience = 30 * time.Second

// lags waits for everything that was committed, ends the follower, and says how
// long after its acknowledgement each was seen; not at all when before.
func (f *follower) lags() (out []time.Duration, err error) {
	defer f.stop()
	late := time.After(patience)
	for f.behind() > 0 {
		select {
		case <-f.wake:
		case err := <-f.ended:
			return nil, fmt.Errorf("the follower ended: %w", err)
		case <-late:
			return nil, fmt.Errorf("the follower has not seen %d changes", f.behind())
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, at := range f.kept {
		out = append(out, max(f.seen[id].Sub(at), 0))
	}
	return out, nil
}

func (f *follower) behind() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.kept {
		if _, ok := f.seen[id]; !ok {
			n++
		}
	}
	return n
}
