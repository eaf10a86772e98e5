package ledger_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
)

// TestEveryOperationIsInTheFaultTable: the rows of the table are the methods of
// Ledger that can reach an Update of the store, no more and no less.
func TestEveryOperationIsInTheFaultTable(t *testing.T) {
	if diff := cmp.Diff(mutators(t), methods(writeOps)); diff != "" {
		t.Errorf("(-writes +in the table):\n%s", diff)
	}
}

// mutators are the exported methods of Ledger from which calls lead to a method
// Update of something that is a store. Functions are told apart by their names
// alone, so that a method may be taken for one that writes; none is missed.
func mutators(t *testing.T) (out []string) {
	t.Helper()
	calls, exported := map[string][]string{}, []string{}
	for _, f := range sourceFiles(t) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			calls[fn.Name.Name] = append(calls[fn.Name.Name], calledIn(fn.Body)...)
			if fn.Recv != nil && fn.Name.IsExported() && receiverOf(fn) == "Ledger" {
				exported = append(exported, fn.Name.Name)
			}
		}
	}
	writes := map[string]bool{"Update": true}
	for grown := true; grown; {
		grown = false
		for name, called := range calls {
			if !writes[name] && slices.ContainsFunc(called, func(c string) bool { return writes[c] }) {
				writes[name], grown = true, true
			}
		}
	}
	for _, name := range exported {
		if writes[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func sourceFiles(t *testing.T) (out []*ast.File) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

func receiverOf(fn *ast.FuncDecl) string {
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// calledIn are the names of what is called in a body, but for what is asked of a
// transaction.
func calledIn(body ast.Node) (out []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch fn := call.Fun.(type) {
		case *ast.SelectorExpr:
			if of, ok := fn.X.(*ast.Ident); !ok || of.Name != "tx" {
				out = append(out, fn.Sel.Name)
			}
		case *ast.Ident:
			out = append(out, fn.Name)
		}
		return true
	})
	return out
}

// TestEffectTellsOnceFromTwice: what the table compares shows a second effect of
// each operation that has one.
func TestEffectTellsOnceFromTwice(t *testing.T) {
	tab := newTable(t, openers["memory"](t))
	for _, o := range writeOps {
		if !o.keyed || o.method() == "Once" {
			continue
		}
		once := tab.clean(o)
		r := tab.rig()
		act := o.prepare(r)
		r.must(act(r.l))
		if err := act(r.l); err != nil && !errors.Is(err, dhruva.ErrConflict) { // which also tells
			t.Errorf("%s: %v", o.name, err)
		} else if err != nil {
			continue
		}
		if cmp.Equal(once, o.effect(r)) {
			t.Errorf("%s: done twice looks like done once", o.name)
		}
	}
}
