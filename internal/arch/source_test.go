package arch_test

import (
	"go/ast"
	"slices"
	"strconv"
	"testing"
)

// minters are the places that may mint a System scope, besides test files.
var minters = []string{"cmd", "auth", "store"}

// localName is the name under which a file imports the root package.
func localName(s source) string {
	for _, i := range s.file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); path == module {
			if i.Name != nil {
				return i.Name.Name
			}
			return "dhruva"
		}
	}
	return ""
}

// systemScopes finds calls or mentions of dhruva.SystemScope, and the zero
// Scope written out, which is the same.
func systemScopes(s source) (found []string) {
	root := localName(s)
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if isName(n, root, "SystemScope") {
				found = append(found, s.at(n)+": mints a System scope")
			}
		case *ast.CompositeLit:
			if isName(n.Type, root, "Scope") && len(n.Elts) == 0 {
				found = append(found, s.at(n)+": the zero Scope is System")
			}
		}
		return true
	})
	return found
}

func isName(e ast.Expr, pkg, name string) bool {
	if pkg == "." {
		id, ok := e.(*ast.Ident)
		return ok && id.Name == name
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}

func TestSystemScopesAreMintedByCmdAuthAndStoresOnly(t *testing.T) {
	for _, s := range sources(t) {
		free := s.test || slices.ContainsFunc(minters, func(dir string) bool { return under(s.pkg.path(), dir) })
		if !free {
			report(t, systemScopes(s))
		}
	}
	const imp = "import d \"" + module + "\"\n"
	for _, bad := range []string{"var x = d.SystemScope()", "var x = d.SystemScope", "var x = d.Scope{}"} {
		if len(systemScopes(snippet(t, "ledger", imp+bad))) == 0 {
			t.Errorf("passed: %s", bad)
		}
	}
	report(t, systemScopes(snippet(t, "ledger", imp+"var x = d.TenantScope(\"t\")\nvar y []d.Scope\nvar z = []d.Scope{}")))
}

func inits(s source) (found []string) {
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			found = append(found, s.at(f)+": func init: construction order belongs to cmd")
		}
	}
	return found
}

func TestNothingRunsAtImport(t *testing.T) {
	for _, s := range sources(t) {
		if !under(s.pkg.path(), "cmd") {
			report(t, inits(s))
		}
	}
	if len(inits(snippet(t, "x", "func init() {}"))) != 1 {
		t.Error("the check does not see an init")
	}
	report(t, inits(snippet(t, "x", "type t int\nfunc (t) init() {}")))
}

// sleeps finds waiting by the clock in tests. Inside a synctest bubble the
// clock is fake, so files that import it are free.
func sleeps(s source) (found []string) {
	for _, i := range s.file.Imports {
		if i.Path.Value == `"testing/synctest"` {
			return nil
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && isName(sel, "time", "Sleep") {
			found = append(found, s.at(n)+": a test sleeps; wait for the event instead")
		}
		return true
	})
	return found
}

func TestTestsDoNotSleep(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			report(t, sleeps(s))
		}
	}
	if len(sleeps(snippet(t, "x", "import \"time\"\nfunc f() { time.Sleep(1) }"))) != 1 {
		t.Error("the check does not see a sleep")
	}
}

// longFile is where a file stops being one noun. Generated tables and tests may
// be longer.
const longFile = 700

func TestFilesStayReadable(t *testing.T) {
	for _, s := range sources(t) {
		lines := s.fset.Position(s.file.FileEnd).Line
		if !s.test && !ast.IsGenerated(s.file) && lines > longFile {
			t.Errorf("%s has %d lines; split it by nouns (mostly under 500)", s.name, lines)
		}
	}
}
