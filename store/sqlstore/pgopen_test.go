package sqlstore_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

func TestNewerOrForeignSchemaIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		made      bool
		statement string
		want      string
	}{
		"newer":             {true, "INSERT INTO migrations VALUES (99, '0099_later.sql', 0)", "newer"},
		"foreign":           {true, "UPDATE migrations SET name = 'other.sql' WHERE number = 1", "another program"},
		"emptied":           {true, "DELETE FROM migrations", "its table of migrations is empty"},
		"torn":              {true, "DROP TABLE notes CASCADE", "its table notes is gone"},
		"tables of another": {false, "CREATE TABLE customers (id int)", "customers"},
		"view of another":   {false, "CREATE VIEW v AS SELECT 1", "another program"},
		"other migrations":  {false, "CREATE TABLE migrations (version int)", "another program"},
	} {
		t.Run(name, func(t *testing.T) {
			at := pgtest.URL(t)
			if c.made {
				open(t, at, sqlstore.Options{}).Close()
			}
			run(t, raw(t, at), c.statement)
			_, err := sqlstore.Open(context.Background(), at, sqlstore.Options{})
			if !errors.Is(err, dhruva.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("open: %v", err)
			}
		})
	}
}

// with is a URL with another parameter.
func with(t *testing.T, at, name, value string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func TestOpenPostgresFails(t *testing.T) {
	at := pgtest.Reused(t)
	for name, c := range map[string]struct {
		at   string
		want error
	}{
		"no such schema":   {with(t, at, "search_path", "nowhere"), dhruva.ErrInvalid},
		"simple protocol":  {with(t, at, "default_query_exec_mode", "simple_protocol"), dhruva.ErrInvalid},
		"no such mode":     {with(t, at, "default_query_exec_mode", "fast"), dhruva.ErrInvalid},
		"no such database": {strings.Replace(at, "/postgres?", "/nowhere?", 1), dhruva.ErrUnavailable},
		"nobody listens":   {"postgres://u@127.0.0.1:1/x?connect_timeout=1", dhruva.ErrUnavailable},
		"no URL":           {"postgres://%zz", dhruva.ErrInvalid},
		"a bad parameter":  {with(t, at, "work_mem", "much"), dhruva.ErrUnavailable},
		"another encoding": {with(t, at, "client_encoding", "LATIN1"), dhruva.ErrInvalid},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		s, err := sqlstore.Open(ctx, c.at, sqlstore.Options{})
		cancel()
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// TestSecretsAreNotShown: no error of a URL shows its password, as it stands
// there or as it is meant.
func TestSecretsAreNotShown(t *testing.T) {
	at := pgtest.Reused(t)
	for _, bad := range []string{
		"postgres://u:hunter%2F2@127.0.0.1:1/x?connect_timeout=1",
		"postgres://u:hunter%2F2@nowhere.invalid/x?connect_timeout=1",
		"postgres://u:hunter%2F2@127.0.0.1:port/x",
		"postgres://u:hunter/2@127.0.0.1:1/x",
		"postgres://u:hunter%2F2@127.0.0.1:1/x?sslmode=maybe",
		"postgres://u:hunter%2F2@127.0.0.1:1/x?default_query_exec_mode=fast",
		"postgres://u:hunter%2F2@127.0.0.1:1/x?connect_timeout=soon",
		"postgres://u@127.0.0.1:1/x?password=hunter%2F2&connect_timeout=1",
		"postgres://u@127.0.0.1:1/x?sslpassword=hunter%2F2&sslmode=maybe",
		"postgres://u:hunter%2F2@127.0.0.1:1/x\x7f",
		strings.Replace(with(t, at, "search_path", "nowhere"), "dhruva@", "dhruva:hunter%2F2@", 1),
		strings.Replace(strings.Replace(at, "/postgres?", "/nowhere?", 1), "dhruva@", "dhruva:hunter%2F2@", 1),
	} {
		for _, options := range []sqlstore.Options{{}, {ListenURL: bad}} {
			to := bad
			if options.ListenURL != "" {
				to = at
			}
			s, err := sqlstore.Open(context.Background(), to, options)
			if err == nil {
				s.Close()
				if to == bad {
					t.Errorf("opened %s", bad)
				}
				continue
			}
			for _, text := range []string{"hunter/2", "hunter%2F2", "hunter"} {
				if strings.Contains(err.Error(), text) {
					t.Errorf("shows the password: %v", err)
				}
			}
		}
	}
}

// TestNewSchemaIsNoMigration: what is made anew has no way back to speak of; what
// is older has.
func TestNewSchemaIsNoMigration(t *testing.T) {
	at := pgtest.URL(t)
	var log strings.Builder
	o := sqlstore.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}
	open(t, at, o).Close()
	if log.Len() > 0 {
		t.Errorf("the log of a new store: %s", &log)
	}
	run(t, raw(t, at), "DROP TABLE notes, claims, worktrees, documents, head_moves CASCADE")
	run(t, raw(t, at), "DELETE FROM migrations WHERE number = 3")
	if s, err := sqlstore.Open(context.Background(), at, o); err == nil { // it may fail at what else it made
		s.Close()
	}
	if !strings.Contains(log.String(), "a way back is a base backup") {
		t.Errorf("the log of an older store: %q", &log)
	}
}

// TestExempt: a role for which row-level security does not hold is told by name.
func TestExempt(t *testing.T) {
	s := pgtest.Start(t, pgtest.Options{})
	at := s.URL(t)
	super := raw(t, s.Superuser())
	run(t, super, "CREATE ROLE exempted LOGIN NOSUPERUSER BYPASSRLS")
	run(t, super, "GRANT "+pgtest.Role+" TO exempted")
	as := func(role string) string {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.User(role)
		return u.String()
	}
	su, err := url.Parse(s.Superuser())
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		at: "", as("exempted"): "exempted", as(su.User.Username()): su.User.Username(), filepath.Join(t.TempDir(), "dhruva.db"): "",
	} {
		if got, err := sqlstore.Exempt(context.Background(), at); got != want || err != nil {
			t.Errorf("%q of %s, want %q: %v", got, at, want, err)
		}
	}
}

// TestUnprepared: through a pooler in transaction mode no statement is prepared
// under a name.
func TestUnprepared(t *testing.T) {
	seed := testkit.Seed(t)
	storetest.Campaign(t, testkit.Count(1_000, 5_000, 50_000), seed, func(t *testing.T) []dhruva.Store {
		return []dhruva.Store{memstore.New(), open(t, with(t, pgtest.URL(t), "default_query_exec_mode", "exec"), sqlstore.Options{})}
	})
}

// TestStoresTogether: three stores on one database keep the updates of a scope
// apart from each other, and not those of different scopes.
func TestStoresTogether(t *testing.T) {
	const each = 20
	at := pgtest.Reused(t)
	var stores []*sqlstore.Store
	for range 3 {
		stores = append(stores, open(t, at, sqlstore.Options{}))
	}
	errs := make(chan error)
	for n, s := range stores {
		go func() {
			var all error
			for i := range each {
				all = errors.Join(all, noteOne(s, strings.Repeat("x", n+1)+string(rune('a'+i))))
			}
			errs <- all
		}()
	}
	for range stores {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	err := stores[0].View(context.Background(), shared, func(tx dhruva.Tx) error {
		e, err := tx.Epoch("shared")
		if e.Head != int64(len(stores)*each) {
			t.Errorf("head %d", e.Head)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := storetest.Check(context.Background(), stores[1], shared); err != nil {
		t.Error(err)
	}
	// One holds the tenant's lock and the lock of one space; the others are free.
	err = stores[0].Update(context.Background(), []dhruva.Scope{dhruva.TenantScope(owner), shared}, func(tx dhruva.Tx) error {
		if _, err := noteIn(tx, "held", "shared", "s"); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := note(ctx, stores[1], "free", "s", "another")
		return errors.Join(err, stores[2].Update(ctx, []dhruva.Scope{dhruva.SystemScope()}, func(tx dhruva.Tx) error {
			return tx.PutTenant(dhruva.Tenant{ID: "t9"})
		}))
	})
	if err != nil {
		t.Error(err)
	}
}

// TestBothWriteAFeed: updates through a tenant and through a space append to
// one feed at once; whoever is second runs again.
func TestBothWriteAFeed(t *testing.T) {
	const each = 30
	at := pgtest.Reused(t)
	errs := make(chan error)
	for n, scope := range []dhruva.Scope{shared, dhruva.TenantScope(owner)} {
		s := open(t, at, sqlstore.Options{})
		go func() {
			var all error
			for i := range each {
				all = errors.Join(all, s.Update(context.Background(), []dhruva.Scope{scope}, func(tx dhruva.Tx) error {
					_, err := tx.AppendChange("shared", dhruva.Change{Kind: dhruva.ChangeSource, Ref: string(rune('a'+n)) + string(rune('a'+i))})
					return err
				}))
			}
			errs <- all
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	seen, last := map[string]bool{}, int64(0)
	for c, err := range open(t, at, sqlstore.Options{}).Changes(context.Background(), shared, 0) {
		if err != nil || c.Seq != last+1 || seen[c.Ref] {
			t.Fatalf("after %d comes %+v: %v", last, c, err)
		}
		last, seen[c.Ref] = c.Seq, true
	}
	if last != 2*each {
		t.Errorf("%d changes, want %d", last, 2*each)
	}
}

// TestCloseWhileWritingToPostgres: as on a file.
func TestCloseWhileWritingToPostgres(t *testing.T) { closeWhileWriting(t, pgtest.Reused(t)) }
