package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
)

// TestNotToldWithin: no connection that updates run on notifies, since that
// would have all writers of the server wait for each other.
func TestNotToldWithin(t *testing.T) {
	at := pgtest.Reused(t)
	s := openTest(t, at)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	var channel string
	if err := c.QueryRow(ctx, pgChannel).Scan(&channel); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, `LISTEN "`+channel+`"`); err != nil {
		t.Fatal(err)
	}
	var writer int64
	err = s.Update(ctx, []dhruva.Scope{dhruva.SpaceScope("t", "s")}, func(row dhruva.Tx) error {
		pids, err := collect(row.(*tx), "pid", func(r scanner) (pid int64, err error) { return pid, r.Scan(&pid) }, "SELECT pg_backend_pid()")
		if err == nil {
			writer = pids[0]
		}
		return errors.Join(err, row.PutSession(dhruva.Session{Tenant: "t", Space: "s", ID: "x"}))
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.WaitForNotification(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if int64(m.PID) == writer || writer == 0 {
		t.Errorf("the writer is %d, told by %d", writer, m.PID)
	}
	if _, text, _ := strings.Cut(m.Payload, " "); text != `[["t","s"]]` {
		t.Errorf("told %q", m.Payload)
	}
}

// hearing is a notifier and the hints that it gives.
func hearing() (*notifier, *dirty) {
	d := newDirty()
	n := &notifier{sender: "me", s: &Store{}}
	n.s.hints.followers = map[*dirty]bool{d: true}
	return n, d
}

// TestMessages: what is told is heard, in messages that the server takes; one
// that cannot be told, or read, is everything.
func TestMessages(t *testing.T) {
	var many []dhruva.Scope
	for n := range 1000 {
		many = append(many, dhruva.SpaceScope("tenant", dhruva.SpaceID(fmt.Sprintf("space \"%d\" é", n))))
	}
	long := dhruva.SpaceScope("t", dhruva.SpaceID(strings.Repeat("x", 8000)))
	for _, c := range []struct{ told, heard []dhruva.Scope }{
		{many, many},
		{[]dhruva.Scope{dhruva.TenantScope("t"), dhruva.SpaceScope("t", "s")}, []dhruva.Scope{dhruva.TenantScope("t"), dhruva.SpaceScope("t", "s")}},
		{everywhere, everywhere},
		{[]dhruva.Scope{dhruva.TenantScope("t"), long}, everywhere},
	} {
		teller := &notifier{sender: "other"}
		n, d := hearing()
		var got []dhruva.Scope
		for _, m := range teller.payloads(c.told) {
			if len(m) >= 8000 {
				t.Errorf("a message of %d bytes", len(m))
			}
			n.heard(m)
			got = append(got, d.take()...)
		}
		if !slices.Equal(got, c.heard) {
			t.Errorf("told %v, heard %v", c.told, got)
		}
	}
	n, d := hearing()
	n.heard("me [[\"t\",\"s\"]]") // our own
	if got := d.take(); got != nil {
		t.Errorf("heard of ourselves: %v", got)
	}
	for _, bad := range []string{"", "other", "other [", "other {}", "other []", "other [[1,2]]"} {
		n.heard(bad)
		if got := d.take(); !slices.Equal(got, everywhere) {
			t.Errorf("%q is heard as %v", bad, got)
		}
	}
}

// TestDirty: each scope once, in order; too many are everything.
func TestDirty(t *testing.T) {
	d := newDirty()
	a, b := dhruva.SpaceScope("t", "a"), dhruva.SpaceScope("t", "b")
	d.mark([]dhruva.Scope{a, b})
	d.mark([]dhruva.Scope{a})
	<-d.wake
	if got := d.take(); !slices.Equal(got, []dhruva.Scope{a, b}) {
		t.Errorf("%v", got)
	}
	for n := range maxDirty + 1 {
		d.mark([]dhruva.Scope{dhruva.SpaceScope("t", dhruva.SpaceID(fmt.Sprint(n)))})
	}
	d.mark([]dhruva.Scope{a})
	if got := d.take(); !slices.Equal(got, []dhruva.Scope{dhruva.SystemScope(), a}) {
		t.Errorf("%d scopes", len(got))
	}
}

// TestMark: the first one, another one, and one after it could not be seen may
// have been missed.
func TestMark(t *testing.T) {
	down := errors.New("down")
	var m mark
	var got []bool
	for _, c := range []struct {
		now string
		err error
	}{{"", down}, {"1", nil}, {"1", nil}, {"2", nil}, {"", down}, {"", down}, {"2", nil}, {"2", nil}} {
		got = append(got, m.changed(c.now, c.err))
	}
	if d := cmp.Diff([]bool{false, true, false, true, false, false, true, false}, got); d != "" {
		t.Error(d)
	}
}
