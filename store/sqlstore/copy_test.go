package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/internal/testkit"
)

// scribble writes rows of every table, whatever their columns are: texts, numbers
// and bytes at the edges of what a store takes. It answers how many of each.
func scribble(t *testing.T, path string, rng *rand.Rand, each int) map[string]int {
	t.Helper()
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := openShared(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	tables, err := introspected((&dialect{}).introspection(), sqlQuerier{context.Background(), f.c})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.exec(context.Background(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, table := range tables {
		for range 40 * each {
			if out[table.name] += scribbleRow(t, f, table, rng); out[table.name] == each {
				break
			}
		}
		if out[table.name] == 0 {
			t.Fatalf("no row of %s was taken", table.name)
		}
	}
	if err := f.exec(context.Background(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	return out
}

// scribbleRow tries a row, and answers whether the table took it.
func scribbleRow(t *testing.T, f *rawFile, of table, rng *rand.Rand) int {
	t.Helper()
	values := map[string]any{}
	rows, err := f.c.QueryContext(context.Background(), "SELECT name, type, \"notnull\" FROM pragma_table_info($1)", of.name)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var name, kind string
		var notNull bool
		if err := rows.Scan(&name, &kind, &notNull); err != nil {
			t.Fatal(err)
		}
		values[name] = scribbleValue(kind, notNull, rng)
	}
	rows.Close()
	for _, parent := range of.parents { // all of them share the names of the key
		scribbleParent(t, f, parent, values)
	}
	args := make([]any, len(of.columns))
	for n, name := range of.columns {
		args[n] = values[name]
	}
	r, err := f.c.ExecContext(context.Background(), strings.Replace(of.insert(), "INSERT", "INSERT OR IGNORE", 1), args...)
	if err != nil {
		t.Fatalf("%s: %v", of.name, err)
	}
	n, _ := r.RowsAffected()
	return int(n)
}

func scribbleParent(t *testing.T, f *rawFile, parent string, values map[string]any) {
	t.Helper()
	var tenant, space string
	var hash []byte
	if parent != "checkpoints" {
		t.Fatalf("how to refer to %s?", parent)
	}
	if err := f.c.QueryRowContext(context.Background(), "SELECT tenant, space, hash FROM checkpoints ORDER BY random() LIMIT 1").Scan(&tenant, &space, &hash); err != nil {
		t.Fatal(err)
	}
	values["tenant"], values["space"], values["checkpoint"] = tenant, space, append([]byte{}, hash...)
}

func scribbleValue(kind string, notNull bool, rng *rand.Rand) any {
	if !notNull && rng.IntN(3) == 0 {
		return nil
	}
	pick := rng.IntN(10)
	switch kind {
	case "TEXT":
		return []string{"", "", "a", "A", "aa", "ä", "z", "\U0010FFFF", "\u2028 'quoted' \"twice\" \\ \x01", strings.Repeat("long ", 1+rng.IntN(2000))}[pick]
	case "BLOB":
		return [][]byte{{}, {0}, {0xff}, {0, 0}, []byte("text"), make([]byte, 32), {0x80, 0x7f}, {1}, []byte(strings.Repeat("\xfe", 5000)), {2}}[pick]
	case "INTEGER", "BIGINT":
		return []int64{0, 1, 0, 1, 0, 1, 7, math.MaxInt64, math.MinInt64, time.Now().UnixMicro()}[pick]
	}
	panic("a column of type " + kind)
}

// TestCopy copies everything to Postgres and from there to another file. The
// sums are equal on all three, and differ as soon as one value does.
func TestCopy(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 1))
	dir := t.TempDir()
	from, back, there := filepath.Join(dir, "from.db"), filepath.Join(dir, "back.db"), pgtest.URL(t)
	written := scribble(t, from, rng, testkit.Count(8, 60, 600))
	first, err := Copy(ctx, from, there, CopyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range first.To.Tables {
		if int(sum.Rows) != written[sum.Table] {
			t.Errorf("%s: %d rows, %d were written", sum.Table, sum.Rows, written[sum.Table])
		}
	}
	if len(first.To.Tables) != len(written) {
		t.Errorf("%d tables, %d were written", len(first.To.Tables), len(written))
	}
	ended := func() time.Time { return time.UnixMicro(math.MaxInt64).Add(time.Hour) } // of every node
	second, err := Copy(ctx, there, back, CopyOptions{Now: ended})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Manifest{first.From, first.To, second.From, manifestAt(t, from), manifestAt(t, there), manifestAt(t, back)} {
		if diff := cmp.Diff(m, second.To); diff != "" {
			t.Error(diff)
		}
	}
	everyValueCounts(t, back, rng)
}

func manifestAt(t *testing.T, at string) Manifest {
	t.Helper()
	s, err := Open(context.Background(), at, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := s.Manifest(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// everyValueCounts changes one value of each column of each table.
func everyValueCounts(t *testing.T, path string, rng *rand.Rand) {
	f, err := openShared(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	r := f.under(context.Background(), newReporter(nil))
	tables, err := introspected(r.d, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		before, err := r.sum(table)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range table.columns {
			if slices.Contains(table.key, name) || len(table.parents) > 0 {
				continue
			}
			changed := changeOne(t, f, table, name, rng)
			after, err := r.sum(table)
			if err != nil {
				t.Fatal(err)
			}
			if changed == (before.Sum == after.Sum) {
				t.Errorf("%s.%s: changed %v, sum changed %v", table.name, name, changed, before.Sum != after.Sum)
			}
			before = after
		}
	}
}

// changeOne changes a value of a column to another one that the table takes.
func changeOne(t *testing.T, f *rawFile, of table, name string, rng *rand.Rand) bool {
	t.Helper()
	var kind string
	if err := f.c.QueryRowContext(context.Background(), "SELECT type FROM pragma_table_info($1) WHERE name = $2", of.name, name).Scan(&kind); err != nil {
		t.Fatal(err)
	}
	key := quoted(of.key...)
	for range 50 {
		r, err := f.c.ExecContext(context.Background(), "UPDATE OR IGNORE "+quoted(of.name)+" SET "+quoted(name)+" = $1 WHERE "+quoted(name)+" IS NOT $1 AND ("+
			key+") = (SELECT "+key+" FROM "+quoted(of.name)+" ORDER BY random() LIMIT 1)", scribbleValue(kind, true, rng))
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := r.RowsAffected(); n == 1 {
			return true
		}
	}
	return false
}

// TestCopyRefuses: a target with rows, a source in use, what is no store.
func TestCopyRefuses(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	from, other := filepath.Join(dir, "from.db"), filepath.Join(dir, "other.db")
	s := openTest(t, from)
	if err := said(s, "one"); err != nil {
		t.Fatal(err)
	}
	target := pgtest.URL(t)
	refuses := func(name, from, to string, is error, says string) {
		t.Run(name, func(t *testing.T) {
			if _, err := Copy(ctx, from, to, CopyOptions{}); !errors.Is(err, is) || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want %v with %q", err, is, says)
			}
		})
	}
	refuses("in use", from, target, dhruva.ErrConflict, "another process has")
	if err := said(s, "two"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	refuses("itself", from, from, dhruva.ErrInvalid, "both source and target")
	refuses("none", other, target, dhruva.ErrNotFound, "no file")
	if _, err := Copy(ctx, from, target, CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	refuses("not empty", from, target, dhruva.ErrConflict, "not empty")
	refuses("file not empty", target, from, dhruva.ErrConflict, "not empty")
	running(t, target, time.Now().Add(time.Hour))
	refuses("a running node", target, other, dhruva.ErrConflict, "node n1 (here) uses")
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused copy left a file: %v", err)
	}
	running(t, target, time.Now().Add(-time.Hour))
	if _, err := Copy(ctx, target, other, CopyOptions{}); err != nil {
		t.Error(err)
	}
	wantSaid(t, other, "one", "two")
}

// running has a store say that a node runs until a time.
func running(t *testing.T, at string, until time.Time) {
	t.Helper()
	s, err := Open(context.Background(), at, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Update(context.Background(), []dhruva.Scope{dhruva.SystemScope()}, func(tx dhruva.Tx) error {
		return tx.PutNode(dhruva.Node{ID: "n1", Name: "here", StartedAt: until.Add(-2 * time.Hour), Until: until})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCopyFails: wherever a copy fails the target is empty after it, and the
// copy can be made then.
func TestCopyFails(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	from := filepath.Join(dir, "from.db")
	rows := 0
	for _, n := range scribble(t, from, rand.New(rand.NewPCG(1, 1)), 8) {
		rows += n
	}
	fault := errors.New("fault")
	for name, to := range map[string]string{"postgres": pgtest.URL(t), "sqlite": filepath.Join(dir, "to.db")} {
		for at := int64(0); at < int64(rows); at += int64(rows)/7 + 1 {
			_, err := Copy(ctx, from, to, CopyOptions{at: func(row int64) error {
				if row == at {
					return fault
				}
				return nil
			}})
			if !errors.Is(err, fault) {
				t.Fatalf("%s at %d: %v", name, at, err)
			}
		}
		cancelled, cancel := context.WithCancel(ctx)
		_, err := Copy(cancelled, from, to, CopyOptions{at: func(row int64) error {
			if row == int64(rows)/2 {
				cancel()
			}
			return nil
		}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: cancelled: %v", name, err)
		}
		if _, err := os.Stat(to); name == "sqlite" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a failed copy left a file: %v", err)
		}
		if _, err := Copy(ctx, from, to, CopyOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCopyFindsADifference: rows that do not read back as they were written are
// not kept. A trigger of the target changes them.
func TestCopyFindsADifference(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from.db"), filepath.Join(dir, "to.db")
	s := openTest(t, from)
	if err := said(s, "one", "two"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openTest(t, to).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TRIGGER changes_it AFTER INSERT ON turns BEGIN UPDATE turns SET content = 'other' WHERE seq = 2; END"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Copy(context.Background(), from, to, CopyOptions{})
	if !errors.Is(err, dhruva.ErrUnavailable) || !strings.Contains(err.Error(), "table turns: the rows differ") {
		t.Error(err)
	}
	if n := manifestAt(t, to).Rows(); n != 0 {
		t.Errorf("%d rows were kept", n)
	}
}

// TestManifestDiff says every difference once.
func TestManifestDiff(t *testing.T) {
	sum := func(name string, rows int64, b byte) TableSum {
		return TableSum{Table: name, Rows: rows, Sum: dhruva.Hash{b}}
	}
	a := Manifest{Schema: "1", Tables: []TableSum{sum("a", 1, 1), sum("b", 1, 1), sum("c", 1, 1), sum("d", 1, 1)}}
	b := Manifest{Schema: "2", Tables: []TableSum{sum("a", 1, 1), sum("b", 2, 1), sum("c", 1, 2), sum("e", 1, 1)}}
	want := []string{"the schema is 1 on one side and 2 on the other", "table b: 1 rows on one side and 2 on the other",
		"table c: the rows differ", "table d is on one side only", "table e is on one side only"}
	if diff := cmp.Diff(want, a.Diff(b)); diff != "" {
		t.Error(diff)
	}
	if diff := a.Diff(a); len(diff) != 0 {
		t.Error(fmt.Sprint(diff))
	}
}

// TestPagesFollowTheKey: the pages of every table are read by its key, on both
// engines, also where the planner has no statistics yet: a copy that sorts what is
// left for each page never ends.
func TestPagesFollowTheKey(t *testing.T) {
	ctx := context.Background()
	for name, at := range map[string]string{"sqlite": filepath.Join(t.TempDir(), "dhruva.db"), "postgres": pgtest.URL(t)} {
		s := openTest(t, at)
		err := s.reading(ctx, nil, func(r reading) error {
			tables, err := introspected(s.d, r)
			if err != nil {
				return err
			}
			for _, table := range tables {
				plan, err := planOf(r, isPostgres(at), table)
				if err != nil {
					return err
				}
				if strings.Contains(plan, "Sort") || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "TEMP B-TREE") {
					t.Errorf("%s: %s:\n%s", name, table.name, plan)
				}
				if !strings.Contains(plan, "Index") && !strings.Contains(plan, "SEARCH") {
					t.Errorf("%s: %s:\n%s", name, table.name, plan)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// planOf is how a page behind a key is read.
func planOf(r reading, postgres bool, of table) (string, error) {
	if postgres {
		args := make([]any, len(of.key)) // NULL is of every kind
		lines, err := texts(r, "EXPLAIN "+of.page(false), args...)
		return strings.Join(lines, "\n"), err
	}
	rows, err := r.query("EXPLAIN QUERY PLAN "+of.page(false), make([]any, len(of.key))...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return "", err
		}
		out = append(out, detail)
	}
	return strings.Join(out, "\n"), rows.Err()
}
