package sqlstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// column reads a column of texts.
func column(t *testing.T, c *pgx.Conn, query string, args ...any) []string {
	t.Helper()
	rows, err := c.Query(context.Background(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// code is the SQLSTATE of an error.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

const tenantTables = `SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> 'migrations' ORDER BY 1`

// asTenant runs fn in a transaction of a tenant, as the store's own are, that
// is rolled back.
func asTenant(t *testing.T, c *pgx.Conn, tenant, reach string, fn func(tx pgx.Tx)) {
	t.Helper()
	ctx := context.Background()
	tx, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, "SELECT set_config('dhruva.tenant', $1, true), set_config('dhruva.reach', $2, true)", tenant, reach); err != nil {
		t.Fatal(err)
	}
	fn(tx)
}

// TestRowsAreTheTenants, beneath the statements: the server itself shows a
// transaction only its tenant's rows and refuses to write others, also to the
// owner of the tables. The store works under that.
func TestRowsAreTheTenants(t *testing.T) {
	at := pgtest.Reused(t)
	s := open(t, at, sqlstore.Options{})
	if err := noteOne(s, "x"); err != nil {
		t.Fatal(err)
	}
	holds(t, s, []string{"x"})
	ctx, c := context.Background(), raw(t, at)
	tables := column(t, c, tenantTables)
	if len(tables) < 30 {
		t.Fatalf("tables: %v", tables)
	}
	bare := column(t, c, `SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
		AND relname <> 'migrations' AND NOT (relrowsecurity AND relforcerowsecurity)`)
	others := column(t, c, "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() AND tableowner <> current_user")
	if len(bare) > 0 || len(others) > 0 {
		t.Errorf("without forced row-level security: %v; not owned by the store's role: %v", bare, others)
	}
	unset := func(when string) {
		t.Helper()
		for _, table := range append(tables, "sessions") {
			if _, err := c.Exec(ctx, "SELECT * FROM "+table+" LIMIT 1"); code(err) != "42704" && holdsRows(t, c, table) {
				t.Errorf("%s, table %s without a tenant: %v", when, table, err)
			}
		}
		if _, err := c.Exec(ctx, "DELETE FROM sessions"); code(err) != "42704" {
			t.Errorf("%s, a delete without a tenant: %v", when, err)
		}
	}
	unset("before any transaction")
	for _, table := range tables {
		asTenant(t, c, "t2", "", func(tx pgx.Tx) {
			var n int
			if err := tx.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != 0 {
				t.Errorf("tenant t2 sees %d rows of %s: %v", n, table, err)
			}
		})
	}
	unset("after one")
	asTenant(t, c, "t2", "", func(tx pgx.Tx) {
		for _, write := range []string{"UPDATE sessions SET title = 'theirs'", "DELETE FROM turns", "UPDATE sessions SET tenant = 't2'"} {
			if tag, err := tx.Exec(ctx, write); err != nil || tag.RowsAffected() != 0 {
				t.Errorf("%s: %v, %v", write, tag, err)
			}
		}
		if _, err := tx.Exec(ctx, "INSERT INTO hints VALUES ('t1', 's', '', 's')"); code(err) != "42501" {
			t.Errorf("a row for another tenant: %v", err)
		}
	})
	asTenant(t, c, string(owner), "", func(tx pgx.Tx) {
		if _, err := tx.Exec(ctx, "UPDATE sessions SET tenant = 't2'"); code(err) != "42501" {
			t.Errorf("a row given away: %v", err)
		}
	})
	asTenant(t, c, "t2", "system", func(tx pgx.Tx) {
		for table, want := range map[string]string{"sessions": "", "leases": "42501", "audit_heads": "42501"} {
			var n int
			if err := tx.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != 0 && want == "" {
				t.Errorf("system sees %d rows of %s: %v", n, table, err)
			}
		}
		if _, err := tx.Exec(ctx, "INSERT INTO leases VALUES ('t1', 'n', 'o', 1, 1)"); code(err) != "42501" {
			t.Errorf("a tenant's lease by system: %v", err)
		}
	})
	asTenant(t, c, "\x01", "all", func(tx pgx.Tx) {
		var n int
		if err := tx.QueryRow(ctx, "SELECT count(*) FROM turns").Scan(&n); err != nil || n != 1 {
			t.Errorf("maintenance sees %d turns: %v", n, err)
		}
	})
}

// holdsRows: a policy is not asked about a table without rows.
func holdsRows(t *testing.T, c *pgx.Conn, table string) (has bool) {
	t.Helper()
	asTenant(t, c, "\x01", "all", func(tx pgx.Tx) {
		if err := tx.QueryRow(context.Background(), "SELECT EXISTS (SELECT FROM "+table+")").Scan(&has); err != nil {
			t.Fatal(err)
		}
	})
	return has
}
