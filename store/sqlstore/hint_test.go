package sqlstore_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// never is longer than any test.
const never = 24 * time.Hour

// heard are the hints of a store.
func heard(t *testing.T, s dhruva.Store) <-chan dhruva.Scope {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, ended := make(chan dhruva.Scope, 100), make(chan struct{})
	go func() {
		defer close(ended)
		for scope := range s.Hints(ctx) {
			select {
			case out <- scope:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	if first := <-out; first != dhruva.SystemScope() {
		t.Fatalf("the first hint is %s", first)
	}
	return out
}

// hears does something until a hint is there.
func hears(t *testing.T, hints <-chan dhruva.Scope, want dhruva.Scope, do func()) {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		do()
		again := time.After(200 * time.Millisecond)
	wait:
		for {
			select {
			case got := <-hints:
				if got == want {
					return
				}
			case <-again:
				break wait
			case <-patience:
				t.Fatalf("no hint of %s", want)
			}
		}
	}
}

// notes makes a note whenever it is called.
func notes(t *testing.T, s dhruva.Store) func() {
	return func() {
		t.Helper()
		if err := noteOne(s, time.Now().Format(time.RFC3339Nano)); err != nil {
			t.Error(err)
		}
	}
}

// TestHintsOfOthers: what another process commits is hinted, whether it tells
// or is noticed.
func TestHintsOfOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dhruva.db")
	told, polled, swept := pgtest.Reused(t), pgtest.Reused(t), pgtest.Reused(t)
	unprepared := with(t, polled, "default_query_exec_mode", "exec")
	for name, c := range map[string]struct {
		here, there string
		options     sqlstore.Options
		want        dhruva.Scope
	}{
		"noticed on a file": {file, file, sqlstore.Options{PollInterval: time.Millisecond}, dhruva.SystemScope()},
		"told":              {told, told, sqlstore.Options{SweepInterval: never}, shared},
		"noticed":           {unprepared, polled, sqlstore.Options{PollInterval: time.Millisecond}, dhruva.SystemScope()},
		"told beside":       {unprepared, polled, sqlstore.Options{PollInterval: never, SweepInterval: never, ListenURL: polled}, shared},
		"swept":             {swept, swept, sqlstore.Options{SweepInterval: time.Millisecond, ListenURL: "postgres://u@127.0.0.1:1/x"}, dhruva.SystemScope()},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := open(t, c.here, c.options), open(t, c.there, sqlstore.Options{})
			hints := heard(t, here)
			hears(t, hints, c.want, notes(t, there))
			hears(t, hints, c.want, notes(t, there))
		})
	}
}

// TestListenerIsLost: everything is hinted when the connection that listens is
// lost, and what is told is heard again on another one.
func TestListenerIsLost(t *testing.T) {
	at := pgtest.Reused(t)
	here, there := open(t, at, sqlstore.Options{SweepInterval: never}), open(t, at, sqlstore.Options{})
	hints := heard(t, here)
	hears(t, hints, shared, notes(t, there))
	c := raw(t, at)
	hears(t, hints, dhruva.SystemScope(), func() {
		run(t, c, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()")
	})
	hears(t, hints, shared, notes(t, there))
}
