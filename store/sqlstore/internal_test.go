package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dhruva-memory/dhruva"
)

func openTest(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// lines runs a query of one text column.
func (s *Store) lines(t *testing.T, query string, args ...any) (out []string) {
	t.Helper()
	err := s.View(context.Background(), dhruva.SystemScope(), func(row dhruva.Tx) (err error) {
		out, err = collect(row.(*tx), "test", func(r scanner) (v string, err error) { return v, r.Scan(&v) }, query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTenantFirst: every table's primary key begins with the tenant, and every
// table is STRICT.
func TestTenantFirst(t *testing.T) {
	s := openTest(t, ":memory:")
	tables := s.lines(t, "SELECT name FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%' AND name <> 'migrations'")
	if len(tables) < 15 {
		t.Fatalf("tables: %v", tables)
	}
	for _, table := range tables {
		first := s.lines(t, "SELECT name FROM pragma_table_info($1) WHERE pk = 1", table)
		if want := map[bool]string{true: "id", false: "tenant"}[table == "tenants"]; len(first) != 1 || first[0] != want {
			t.Errorf("%s: primary key begins with %v", table, first)
		}
		if strict := s.lines(t, "SELECT strict FROM pragma_table_list WHERE name = $1", table); strict[0] != "1" {
			t.Errorf("%s is not STRICT", table)
		}
	}
}

// TestReadersCannotWrite, even past the Tx.
func TestReadersCannotWrite(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "dhruva.db"))
	err := s.View(context.Background(), dhruva.TenantScope("t"), func(row dhruva.Tx) error {
		_, err := row.(*tx).c.exec("INSERT INTO tenants VALUES ('x', 'x', 'x', 0)")
		return err
	})
	if !errors.Is(err, dhruva.ErrUnavailable) {
		t.Errorf("write on a reader: %v", err)
	}
}

// TestPragmasAreReadBack: a setting that does not hold is an error.
func TestPragmasAreReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	d, err := sqliteDialect(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := pragmas(Options{BusyTimeout: 5 * time.Second, CacheKiB: 2048}, "wal")
	told := slices.Clone(want)
	for n := range told {
		told[n].set = strings.Replace(told[n].set, "synchronous(2)", "synchronous(1)", 1)
	}
	file, err := sqliteSource("file:"+path, told, false)
	if err != nil {
		t.Fatal(err)
	}
	file.want, d.write = want, file.dial
	_, err = open(context.Background(), d, Options{})
	if !errors.Is(err, dhruva.ErrUnavailable) || !strings.Contains(err.Error(), "synchronous is 1, want 2") {
		t.Errorf("open: %v", err)
	}
}

func TestRecent(t *testing.T) {
	for version, want := range map[string]bool{"3.51.3": true, "3.51.2": false, "3.52.0": true, "3.9.9": false, "4.0.0": true,
		"3.51.10": true, "2.99.99": false, "": false, "3": false, "x.y.z": false} {
		if got := recent(version) == nil; got != want {
			t.Errorf("SQLite %q: accepted %v", version, got)
		}
	}
}

// TestFailedCommit: a commit that fails fails every update in it, keeps none,
// and the store goes on. The commit fails on a deferred foreign key.
func TestFailedCommit(t *testing.T) {
	const mates = 10
	dir := t.TempDir()
	for name, path := range map[string]string{"memory": ":memory:", "file": filepath.Join(dir, "dhruva.db")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { failCommit(t, path, mates) })
		})
	}
}

func failCommit(t *testing.T, path string, mates int) {
	s := openTest(t, path)
	ctx, scope := context.Background(), []dhruva.Scope{dhruva.SpaceScope("t", "s")}
	put := func(id string) error {
		return s.Update(ctx, scope, func(row dhruva.Tx) error {
			return row.PutSession(dhruva.Session{Tenant: "t", Space: "s", ID: dhruva.SessionID(id)})
		})
	}
	errs := make([]error, mates)
	var wg sync.WaitGroup
	err := s.Update(ctx, scope, func(row dhruva.Tx) error {
		for n := range errs {
			wg.Go(func() { errs[n] = put(fmt.Sprint(n)) })
		}
		synctest.Wait() // all of them are queued behind this one
		c := row.(*tx).c
		if _, err := c.exec("PRAGMA defer_foreign_keys = ON"); err != nil {
			return err
		}
		_, err := c.exec(insertCheckpointItem, "t", "s", []byte{1}, 0, "i", "k", "", "null", "null", []byte{}, []byte{}, 0)
		return err
	})
	wg.Wait()
	for n, err := range append(errs, err) {
		if !errors.Is(err, dhruva.ErrUnavailable) {
			t.Errorf("update %d: %v", n, err)
		}
	}
	if err := put("after"); err != nil {
		t.Fatal(err)
	}
	if got := s.lines(t, "SELECT id FROM sessions"); len(got) != 1 || got[0] != "after" {
		t.Errorf("sessions: %v", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestBatchLimit: a batch takes what is queued, up to the limit.
func TestBatchLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, ":memory:")
		s.options.BatchUpdates = 3
		var wg sync.WaitGroup
		nothing := func(dhruva.Tx) error { return nil }
		scope := []dhruva.Scope{dhruva.TenantScope("t")}
		err := s.Update(context.Background(), scope, func(dhruva.Tx) error {
			for range 5 {
				wg.Go(func() { s.Update(context.Background(), scope, nothing) })
			}
			synctest.Wait()
			if s.lanes[""].next(3) != nil {
				t.Error("a full batch took another update")
			}
			return nil
		})
		wg.Wait()
		if err != nil {
			t.Error(err)
		}
		s.Close()
	})
}

// TestDroppedWhileQueued: an update whose context ends before its turn never
// runs.
func TestDroppedWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, ":memory:")
		scope := []dhruva.Scope{dhruva.TenantScope("t")}
		ctx, cancel := context.WithCancel(context.Background())
		dropped := make(chan error, 1)
		err := s.Update(context.Background(), scope, func(dhruva.Tx) error {
			go func() {
				dropped <- s.Update(ctx, scope, func(dhruva.Tx) error {
					t.Error("fn ran")
					return nil
				})
			}()
			synctest.Wait()
			cancel()
			if err := <-dropped; !errors.Is(err, dhruva.ErrUnavailable) || !errors.Is(err, context.Canceled) {
				t.Errorf("dropped: %v", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		s.Close()
	})
}

// statements are the SQL constants of the package, by name, with their parts
// put together.
func statements(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	var later []func() bool
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				later = append(later, func() bool {
					v, ok := constant(out, spec.Values[0])
					if ok {
						out[spec.Names[0].Name] = v
					}
					return ok
				})
			}
			return true
		})
	}
	for range 5 { // constants may use later ones
		for _, resolve := range later {
			resolve()
		}
	}
	return out
}

func constant(known map[string]string, e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		v, err := strconv.Unquote(e.Value)
		return v, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		v, ok := known[e.Name]
		return v, ok
	case *ast.BinaryExpr:
		x, ok1 := constant(known, e.X)
		y, ok2 := constant(known, e.Y)
		return x + y, ok1 && ok2
	}
	return "", false
}

var parameter = regexp.MustCompile(`\$(\d+)`)

// TestParametersAppearInOrder: SQLite numbers $n by first appearance, Postgres
// by n; they agree when the first appearances ascend.
func TestParametersAppearInOrder(t *testing.T) {
	checked := 0
	for name, text := range statements(t) {
		if !regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE)\b`).MatchString(text) {
			continue
		}
		checked++
		highest := 0
		for _, m := range parameter.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(m[1])
			if n > highest+1 {
				t.Errorf("%s: $%d appears before $%d: %s", name, n, highest+1, text)
			}
			highest = max(highest, n)
		}
	}
	if checked < 60 {
		t.Errorf("only %d statements were found", checked)
	}
}

// TestNoBuiltSQL: nothing formats text into SQL.
func TestNoBuiltSQL(t *testing.T) {
	sprintf := regexp.MustCompile(`Sprintf\("[^"]*\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE)\b`)
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if sprintf.Match(text) {
			t.Errorf("%s formats SQL", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
