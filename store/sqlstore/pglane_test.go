package sqlstore

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
)

// queued waits until n updates of one lane are under way.
func (s *Store) queued(n int) {
	for {
		s.mu.Lock()
		users := 0
		for _, l := range s.lanes {
			users = max(users, l.users)
		}
		s.mu.Unlock()
		if users >= n {
			return
		}
		runtime.Gosched()
	}
}

// rowLock holds a row of sessions until it is let go.
func rowLock(t *testing.T, at, session string) (letGo func()) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(ctx) })
	for _, statement := range []string{"BEGIN", "SELECT set_config('dhruva.tenant', 't', true), set_config('dhruva.reach', '', true)",
		"SELECT id FROM sessions WHERE id = '" + session + "' FOR UPDATE"} {
		if _, err := c.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if _, err := c.Exec(ctx, "COMMIT"); err != nil {
			t.Error(err)
		}
	}
}

// TestMatesHaveTheirOwnTime: the deadline of the update that began a
// transaction does not end those behind it, and theirs does not end it.
func TestMatesHaveTheirOwnTime(t *testing.T) {
	at := pgtest.Reused(t)
	s := openTest(t, at)
	scope := []dhruva.Scope{dhruva.SpaceScope("t", "s")}
	put := func(ctx context.Context, id string, first func()) error {
		return s.Update(ctx, scope, func(row dhruva.Tx) error {
			if first != nil {
				first()
			}
			put := row.PutSession(dhruva.Session{Tenant: "t", Space: "s", ID: dhruva.SessionID(id)})
			_, err := row.Turn("none", 1) // the write is with the server
			if errors.Is(err, dhruva.ErrNotFound) {
				err = nil
			}
			return errors.Join(put, err)
		})
	}
	ctx := context.Background()
	if err := put(ctx, "locked", nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		first, second string        // what they write
		short         time.Duration // of the first, or of the second
		firstShort    bool
	}{
		"the first has little":  {"free", "locked", 400 * time.Millisecond, true},
		"the second has little": {"free", "locked", 400 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			letGo := rowLock(t, at, "locked")
			short, cancel := context.WithTimeout(ctx, c.short)
			defer cancel()
			ctxs := [2]context.Context{ctx, short}
			if c.firstShort {
				ctxs = [2]context.Context{short, ctx}
			}
			second := make(chan error, 1)
			started := false
			first := put(ctxs[0], c.first, func() {
				if !started { // fn may run again
					started = true
					go func() { second <- put(ctxs[1], c.second, nil) }()
					s.queued(2)
				}
			})
			if first != nil && !c.firstShort {
				t.Errorf("first: %v", first)
			}
			<-short.Done()
			if !c.firstShort {
				if err := <-second; !errors.Is(err, dhruva.ErrUnavailable) {
					t.Errorf("second: %v", err)
				}
				letGo()
				return
			}
			letGo()
			if err := <-second; err != nil {
				t.Errorf("second: %v", err)
			}
		})
	}
}
