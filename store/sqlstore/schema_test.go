package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
)

// sqliteColumns and pgColumns describe every column in the same words: table,
// name, type, whether it may be NULL, default, place in the primary key.
const (
	sqliteColumns = `SELECT t.name || ' ' || c.name || ' ' || lower(c.type) || ' ' || c."notnull" || ' ' || coalesce(c.dflt_value, '-') || ' ' || c.pk
		FROM pragma_table_list t JOIN pragma_table_info(t.name) c
		WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'migrations'`
	pgColumns = `SELECT c.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull::int || ' ' ||
		coalesce(pg_get_expr(d.adbin, d.adrelid), '-') || ' ' || coalesce(array_position(i.indkey::int[], a.attnum::int), -1) + 1
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
		JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> 'migrations'`
)

// alike turns SQLite's words into Postgres'.
var alike = strings.NewReplacer(" integer ", " bigint ", " blob ", " bytea ", "X''", `'\x'::bytea`, "''::text", "''", "'0'::bigint", "0", "_key_", "_key_")

// TestSchemasAreAlike: the same tables, columns, types, defaults and primary
// keys on both engines; every text is ordered by its bytes.
func TestSchemasAreAlike(t *testing.T) {
	lite, pg := openTest(t, ":memory:"), openTest(t, pgtest.Reused(t))
	words := func(s *Store, query string) (out []string) {
		for _, line := range s.lines(t, query) {
			out = append(out, alike.Replace(line))
		}
		slices.Sort(out)
		return out
	}
	a, b := words(lite, sqliteColumns), words(pg, pgColumns)
	if len(a) < 250 {
		t.Errorf("only %d columns", len(a))
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("columns (-SQLite +Postgres):\n%s", d)
	}
	other := pg.lines(t, `SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		JOIN pg_collation l ON l.oid = a.attcollation
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'i') AND c.relname NOT LIKE 'migrations%' AND l.collname <> 'C'`)
	if len(other) > 0 {
		t.Errorf("not ordered by bytes: %v", other)
	}
}

// TestIndexesAreAlike: the same columns are indexed, under the same conditions
// of uniqueness.
func TestIndexesAreAlike(t *testing.T) {
	lite, pg := openTest(t, ":memory:"), openTest(t, pgtest.Reused(t))
	a := lite.lines(t, `SELECT t.name || ' ' || l."unique" || l.partial || ' ' || (SELECT group_concat(c.name, ' ') FROM pragma_index_info(l.name) c)
		FROM pragma_table_list t JOIN pragma_index_list(t.name) l
		WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'migrations' AND l.origin <> 'pk'`)
	b := pg.lines(t, `SELECT c.relname || ' ' || i.indisunique::int || (i.indpred IS NOT NULL)::int || ' ' ||
		(SELECT string_agg(a.attname, ' ' ORDER BY k.n) FROM unnest(i.indkey) WITH ORDINALITY k(num, n) JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.num)
		FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND NOT i.indisprimary
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'`)
	slices.Sort(a)
	slices.Sort(b)
	if len(a) < 20 {
		t.Errorf("only %d indexes", len(a))
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("indexes (-SQLite +Postgres):\n%s", d)
	}
}

// pgSorts are the statements that sort what they found on Postgres, besides
// those that do on SQLite, and why that is little.
var pgSorts = map[string]string{}

// TestEveryStatementUsesAnIndexOnPostgres, with the plan that is made once for
// all parameters, and finds no reason to read a whole table or to sort.
func TestEveryStatementUsesAnIndexOnPostgres(t *testing.T) {
	at := pgtest.Reused(t)
	openTest(t, at)
	ctx := context.Background()
	config, err := pgx.ParseConfig(at)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(config.RuntimeParams, planning)
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "SELECT set_config('dhruva.tenant', 't', false), set_config('dhruva.reach', '', false)"); err != nil {
		t.Fatal(err)
	}
	all := wholeStatements(t)
	planned := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text := all[name]
		if strings.Contains(text, "pragma") || strings.Contains(text, "sqlite_") {
			continue
		}
		plan, err := explain(ctx, c, text)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		planned++
		if plan == "" || strings.Contains(plan, "Seq Scan") && scans[name] == "" || strings.Contains(plan, "Sort") && sorts[name]+pgSorts[name] == "" {
			t.Errorf("%s:\n%s\n%s", name, text, plan)
		}
	}
	if planned < 140 {
		t.Errorf("only %d statements were planned", planned)
	}
}

// declared are the types of parameters that the server would take for others. (Our
// connections declare all of them.)
var declared = map[string]string{itemsOfMany: "(unknown, bytea)"}

// explain is the generic plan of a statement.
func explain(ctx context.Context, c *pgx.Conn, text string) (string, error) {
	nulls := strings.TrimSuffix(strings.Repeat("NULL,", parameters(text)), ",")
	if nulls != "" {
		nulls = "(" + nulls + ")"
	}
	exec := func(sql string) (lines []string, err error) {
		results, err := c.PgConn().Exec(ctx, sql).ReadAll()
		for _, r := range results {
			for _, row := range r.Rows {
				lines = append(lines, string(row[0]))
			}
		}
		return lines, err
	}
	if _, err := exec("PREPARE x" + declared[text] + " AS " + text); err != nil {
		return "", err
	}
	lines, err := exec("EXPLAIN (COSTS OFF) EXECUTE x" + nulls)
	_, after := exec("DEALLOCATE x")
	return strings.Join(lines, "\n"), firstOf(err, after)
}

// TestBytesArePositional: a statement whose parameters are each used once is
// given to SQLite without their names.
func TestBytesArePositional(t *testing.T) {
	for text, want := range map[string]string{
		"a = $1 AND b = $2":               "a = ? AND b = ?",
		"a = $2 AND b = $1":               "a = $2 AND b = $1",
		"CAST($1 AS TEXT) = '' OR a = $1": "CAST($1 AS TEXT) = '' OR a = $1",
		"none":                            "none",
	} {
		if got := positional(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	if !regexp.MustCompile(`\?`).MatchString(positional(insertTurn)) {
		t.Error("the statement that is used most has names")
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		schema  string
		version int64
		enc     string
		client  string
		fits    bool
	}{
		{"s", 150000, "UTF8", "UTF8", true}, {"s", 180004, "UTF8", "UTF8", true}, {"s", 149999, "UTF8", "UTF8", false}, {"s", 90600, "UTF8", "UTF8", false},
		{"", 150000, "UTF8", "UTF8", false}, {"s", 150000, "SQL_ASCII", "UTF8", false}, {"s", 150000, "UTF8", "LATIN1", false},
	} {
		err := fit(c.schema, c.version, c.enc, c.client)
		if (err == nil) != c.fits {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := fit("s", 140011, "UTF8", "UTF8"); err == nil || !strings.Contains(err.Error(), "PostgreSQL 14.11 is older than 15") {
		t.Error(err)
	}
}

func TestPostgresClass(t *testing.T) {
	for code, want := range map[string]error{
		"23505": dhruva.ErrConflict, "23502": dhruva.ErrConflict, "40001": errAgain, "40P01": errAgain, "57P01": dhruva.ErrUnavailable,
		"57014": dhruva.ErrUnavailable, "08006": dhruva.ErrUnavailable, "53300": dhruva.ErrUnavailable, "53100": dhruva.ErrUnavailable,
		"25006": dhruva.ErrUnavailable, "55P03": dhruva.ErrUnavailable, "22021": dhruva.ErrInvalid, "22P05": dhruva.ErrInvalid,
		"54000": dhruva.ErrTooLarge, "42601": nil, "42P01": nil, "": nil, "2": nil,
	} {
		if got := postgresClass(code); got != want {
			t.Errorf("%q is %v, want %v", code, got, want)
		}
	}
}

// TestLockKeys: each scope has a number of its own, for ever.
func TestLockKeys(t *testing.T) {
	seen := map[int64]string{}
	for _, schema := range []string{"a", "ab"} {
		for _, s := range []dhruva.Scope{dhruva.SystemScope(), dhruva.TenantScope("b"), dhruva.TenantScope("bc"), dhruva.SpaceScope("b", "c"), dhruva.SpaceScope("bc", "d"), dhruva.SpaceScope("b", "cd")} {
			key, name := lockKey(schema, s), fmt.Sprint(schema, " ", s)
			if seen[key] != "" {
				t.Errorf("%s and %s share a lock", seen[key], name)
			}
			seen[key] = name
		}
	}
	if got := lockKey("public", dhruva.SpaceScope("t", "s")); got != 7073155552260075807 {
		t.Errorf("the key of t/s is %d: processes of two versions would not exclude each other", got)
	}
}
