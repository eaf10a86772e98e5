package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// raw is a connection beside the store's.
func raw(t *testing.T, at string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(context.Background(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func run(t *testing.T, c *pgx.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := c.Exec(context.Background(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// kept says whether a note is there, wholly.
func kept(t *testing.T, s dhruva.Store, id string) bool {
	t.Helper()
	var source, receipt error
	err := s.View(context.Background(), shared, func(tx dhruva.Tx) error {
		_, source = tx.Source("shared", 1, dhruva.SourceID(id))
		_, receipt = tx.Receipt(dhruva.ReceiptID(id))
		return nil
	})
	if err != nil || (source == nil) != (receipt == nil) || source != nil && !errors.Is(source, dhruva.ErrNotFound) {
		t.Errorf("%s: source %v, receipt %v: %v", id, source, receipt, err)
	}
	return source == nil
}

// noteReading makes a note and reads between its writes, so that it waits for
// more than its beginning and its end.
func noteReading(s dhruva.Store, id string) error {
	return s.Update(context.Background(), []dhruva.Scope{shared}, func(tx dhruva.Tx) error {
		at, err := noteIn(tx, id, "shared", "s")
		if err != nil {
			return err
		}
		_, turn := tx.Turn(at.session, at.seq)
		receipt := tx.PutReceipt(dhruva.Receipt{Tenant: owner, Space: "shared", ID: dhruva.ReceiptID(id), Session: at.session})
		_, refs := tx.References("shared", 1, dhruva.SourceID(id))
		return errors.Join(turn, receipt, refs)
	})
}

// TestConnectionLostAtEveryStatement cuts the connection at each thing that an
// update sends, before the server has it and after. Nothing is kept that was
// not committed, what was acknowledged is kept, and the next update works.
func TestConnectionLostAtEveryStatement(t *testing.T) {
	c, at := cut(t, pgtest.Reused(t))
	s := open(t, at, sqlstore.Options{})
	if err := noteOne(s, "first"); err != nil {
		t.Fatal(err)
	}
	acknowledged := []string{"first"}
	for _, f := range []fate{lost, applied} {
		unknown, refused := 0, 0
		for n := 1; ; n++ {
			if n > 50 {
				t.Fatal("an update without an end")
			}
			id := fmt.Sprintf("%d-%d", f, n)
			c.arm(n, f)
			err := noteReading(s, id)
			cut := c.disarm()
			switch has := kept(t, s, id); {
			case err == nil && has:
				acknowledged = append(acknowledged, id)
			case err == nil:
				t.Errorf("%s was acknowledged and is not there", id)
			case !errors.Is(err, dhruva.ErrUnavailable):
				t.Errorf("%s: %v", id, err)
			case strings.Contains(err.Error(), "outcome unknown"):
				if unknown++; has != (f == applied) {
					t.Errorf("%s: cut at COMMIT, kept %v", id, has)
				}
			default:
				if refused++; has {
					t.Errorf("%s is there after %v", id, err)
				}
			}
			after := id + "-after"
			if err := noteOne(s, after); err != nil {
				t.Errorf("the update after %s: %v", id, err)
			}
			acknowledged = append(acknowledged, after)
			if !cut {
				break
			}
		}
		if unknown != 1 || refused < 2 {
			t.Errorf("fate %d: %d of unknown outcome, %d refused", f, unknown, refused)
		}
	}
	holds(t, s, acknowledged)
}

// TestIdleConnectionIsLost: a connection that was idle while the server closed
// it costs nobody an update or a view.
func TestIdleConnectionIsLost(t *testing.T) {
	at := pgtest.Reused(t)
	s := open(t, at, sqlstore.Options{})
	c := raw(t, at)
	for n := range 3 {
		id := fmt.Sprint(n)
		if err := noteOne(s, id); err != nil {
			t.Fatal(err)
		}
		if !kept(t, s, id) {
			t.Fatal("not kept")
		}
		run(t, c, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()")
	}
}

// TestBackendEndsInside: an update whose backend is ended within fn is refused;
// nothing of it is kept, and the store goes on.
func TestBackendEndsInside(t *testing.T) {
	at := pgtest.Reused(t)
	s := open(t, at, sqlstore.Options{})
	c := raw(t, at)
	end := func() {
		run(t, c, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid() AND state = 'idle in transaction'")
	}
	err := s.Update(context.Background(), []dhruva.Scope{shared}, func(tx dhruva.Tx) error {
		if _, err := noteIn(tx, "x", "shared", "s"); err != nil {
			return err
		}
		end()
		_, err := tx.Turn("shared-s", 1)
		return err
	})
	if !errors.Is(err, dhruva.ErrUnavailable) {
		t.Errorf("update: %v", err)
	}
	err = s.View(context.Background(), shared, func(tx dhruva.Tx) error {
		_, first := tx.Epoch("shared")
		end()
		_, err := tx.Epoch("other") // not covered: no statement
		if !errors.Is(err, dhruva.ErrNotFound) || first != nil {
			t.Error(first, err)
		}
		_, err = tx.Turn("shared-s", 1)
		return err
	})
	if !errors.Is(err, dhruva.ErrUnavailable) {
		t.Errorf("view: %v", err)
	}
	if err := noteOne(s, "after"); err != nil {
		t.Fatal(err)
	}
	holds(t, s, []string{"after"})
}

// TestServerKilledAndBack: a killed server is ErrUnavailable, and the store
// works when it is back.
func TestServerKilledAndBack(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	s := open(t, server.URL(t), sqlstore.Options{WriteTimeout: time.Minute})
	if err := noteOne(s, "before"); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	for range 2 {
		if err := noteOne(s, "during"); !errors.Is(err, dhruva.ErrUnavailable) {
			t.Errorf("update: %v", err)
		}
		if err := s.View(context.Background(), shared, func(tx dhruva.Tx) error { _, err := tx.Epoch("shared"); return err }); !errors.Is(err, dhruva.ErrUnavailable) {
			t.Errorf("view: %v", err)
		}
	}
	server.Start(t)
	if err := noteOne(s, "after"); err != nil {
		t.Fatal(err)
	}
	if kept(t, s, "during") {
		t.Error("a refused update was kept")
	}
	holds(t, s, []string{"before", "after"})
}

// TestFrozenServer: a server that does not answer is ErrUnavailable when the
// deadline has come, and the store works when it answers again.
func TestFrozenServer(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	s := open(t, server.URL(t), sqlstore.Options{WriteTimeout: time.Minute})
	if err := noteOne(s, "before"); err != nil {
		t.Fatal(err)
	}
	server.Freeze()
	defer server.Thaw()
	for range 2 { // on a connection that is there, and on a new one
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		if _, err := note(ctx, s, "during", "s", "shared"); !errors.Is(err, dhruva.ErrUnavailable) {
			t.Errorf("update: %v", err)
		}
		if err := s.View(ctx, shared, func(tx dhruva.Tx) error { _, err := tx.Epoch("shared"); return err }); !errors.Is(err, dhruva.ErrUnavailable) {
			t.Errorf("view: %v", err)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error)
	go func() {
		_, err := note(ctx, s, "cancelled", "s", "shared")
		gone <- err
	}()
	cancel()
	if err := <-gone; !errors.Is(err, dhruva.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	server.Thaw()
	if err := noteOne(s, "after"); err != nil {
		t.Fatal(err)
	}
	holds(t, s, []string{"before", "after"})
}

// TestDeadlockRunsAgain: an update that the server chose as the victim of a
// deadlock runs again, and with it those of its transaction.
func TestDeadlockRunsAgain(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{Settings: map[string]string{"deadlock_timeout": "20ms"}})
	at := server.URL(t)
	s := open(t, at, sqlstore.Options{})
	ctx := context.Background()
	a, b := dhruva.Session{Tenant: owner, Space: "shared", ID: "a"}, dhruva.Session{Tenant: owner, Space: "shared", ID: "b"}
	put := func(rows ...dhruva.Session) func(dhruva.Tx) error {
		return func(tx dhruva.Tx) (err error) {
			for _, row := range rows {
				err = errors.Join(err, tx.PutSession(row))
			}
			return err
		}
	}
	if err := s.Update(ctx, []dhruva.Scope{shared}, put(a, b)); err != nil {
		t.Fatal(err)
	}
	c := raw(t, strings.Replace(server.Superuser(), "public", strings.SplitN(strings.SplitN(at, "search_path=", 2)[1], "&", 2)[0], 1))
	run(t, c, "SET deadlock_timeout = '1h'") // it is not the victim
	lock := func(id string) { run(t, c, "UPDATE sessions SET title = 'theirs' WHERE id = $1", id) }
	run(t, c, "BEGIN")
	lock("b")
	runs, waiting := 0, make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.Update(ctx, []dhruva.Scope{shared}, func(tx dhruva.Tx) error {
			runs++
			a.LastSeq, b.LastSeq = int64(runs), int64(runs)
			if err := put(a)(tx); err != nil {
				return err
			}
			if _, err := tx.Turn("none", 1); !errors.Is(err, dhruva.ErrNotFound) { // the write is with the server
				return err
			}
			if runs == 1 {
				close(waiting)
			}
			return put(b)(tx)
		})
	}()
	<-waiting
	lock("a") // waits for the store, which waits for us
	run(t, c, "COMMIT")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if runs < 2 {
		t.Errorf("%d run", runs)
	}
	for _, id := range []dhruva.SessionID{"a", "b"} {
		err := s.View(ctx, shared, func(tx dhruva.Tx) error {
			row, err := tx.Session(id)
			if row.LastSeq != int64(runs) || row.Title != "" {
				t.Errorf("%+v", row)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestLockedByAnother: what waits for a lock ends with its deadline, with its
// context, and with the store.
func TestLockedByAnother(t *testing.T) {
	at := pgtest.Reused(t)
	holder, s := open(t, at, sqlstore.Options{}), open(t, at, sqlstore.Options{})
	inside, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- holder.Update(context.Background(), []dhruva.Scope{shared}, func(tx dhruva.Tx) error {
			if _, err := tx.Epoch("shared"); err != nil {
				return err
			}
			close(inside)
			<-goOn
			return nil
		})
	}()
	<-inside
	try := func(ctx context.Context) error {
		_, err := note(ctx, s, "late", "s", "shared")
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := try(ctx); !errors.Is(err, dhruva.ErrUnavailable) {
		t.Errorf("with a deadline: %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	result := make(chan error)
	go func() { result <- try(ctx) }()
	waits(t, raw(t, at), 1)
	cancel()
	if err := <-result; !errors.Is(err, dhruva.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	go func() { result <- try(context.Background()) }()
	waits(t, raw(t, at), 1)
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-result; !errors.Is(err, dhruva.ErrUnavailable) {
		t.Errorf("closed: %v", err)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if kept(t, holder, "late") {
		t.Error("it was kept")
	}
	if err := storetest.Check(context.Background(), holder, shared); err != nil {
		t.Error(err)
	}
}

// waits until n backends wait for an advisory lock.
func waits(t *testing.T, c *pgx.Conn, n int) {
	t.Helper()
	for have := -1; have < n; {
		if err := c.QueryRow(context.Background(), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").Scan(&have); err != nil {
			t.Fatal(err)
		}
	}
}
