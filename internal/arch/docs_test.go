package arch_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// public reports whether a package's names are for other packages to read.
func public(p pkg) bool {
	return p.Name != "main" && !slices.Contains(strings.Split(p.path(), "/"), "internal")
}

// undocumented lists the exported names of a file without a doc comment. The
// comment of a group of constants or variables counts for all of them; each
// type and each function needs its own.
func undocumented(s source) (found []string) {
	miss := func(n ast.Node, name string) {
		found = append(found, fmt.Sprintf("%s: %s has no doc comment", s.at(n), name))
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && ast.IsExported(receiver(d)) && d.Doc == nil {
				miss(d, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				undocumentedSpec(d, spec, miss)
			}
		}
	}
	return found
}

func undocumentedSpec(d *ast.GenDecl, spec ast.Spec, miss func(ast.Node, string)) {
	alone := d.Doc != nil && len(d.Specs) == 1
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() && spec.Doc == nil && !alone {
			miss(spec, spec.Name.Name)
		}
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			if n.IsExported() && spec.Doc == nil && spec.Comment == nil && d.Doc == nil {
				miss(spec, n.Name)
			}
		}
	}
}

// receiver is the name of a method's type, "Exported" for a plain function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return "Exported"
	}
	t := d.Recv.List[0].Type
	for {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		documented[s.pkg.path()] = documented[s.pkg.path()] || s.file.Doc != nil
		if public(s.pkg) {
			report(t, undocumented(s))
		}
	}
	for path, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment", path)
		}
	}
}

func TestTheDocCheckCatches(t *testing.T) {
	for _, bad := range []string{
		"func F() {}", "type T struct{}", "// T is.\ntype T int\nfunc (*T) M() {}", "const C = 1", "var V int",
		"// The ids.\ntype (\n A int\n B int\n)", "// G is.\ntype G[T any] struct{}\nfunc (G[T]) M() {}",
	} {
		if len(undocumented(snippet(t, "x", bad))) == 0 {
			t.Errorf("passed:\n%s", bad)
		}
	}
	for _, good := range []string{
		"func f() {}", "// T is.\ntype T int", "// The kinds.\nconst (\n A = 1\n B = 2\n)", "type t int\nfunc (t) Error() string { return \"\" }",
		"const (\n A = 1 // first\n)", "// The ids.\ntype (\n // A is.\n A int\n)",
	} {
		report(t, undocumented(snippet(t, "x", good)))
	}
}

// badWords say nothing: the names of architecture's last table.
var badWords = []string{"Manager", "Service", "Helper", "Helpers", "Util", "Utils", "Impl", "V2"}

// imposed are names that an interface of somebody else's asks for.
var imposed = []string{"GetStatus", "GetHeaders"} // huma.StatusError, huma.HeadersError

// badPackages would hold anything.
var badPackages = []string{"config", "util", "utils", "types", "common", "models", "service", "services", "helpers", "base", "misc"}

func badNames(s source) (found []string) {
	for _, d := range s.file.Decls {
		for _, name := range declared(d) {
			w := words(name)
			if slices.Contains(imposed, name) {
				continue
			}
			if w[0] == "Get" && len(w) > 1 || slices.ContainsFunc(w, func(s string) bool { return slices.Contains(badWords, s) }) {
				found = append(found, fmt.Sprintf("%s: %s is a name we do not use", s.at(d), name))
			}
		}
	}
	return found
}

func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				names = append(names, t.Name.Name)
			}
		}
	}
	return names
}

// words splits a name at its capitals; the first word is capitalised.
func words(name string) []string {
	var out []string
	start := 0
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			out, start = append(out, name[start:i]), i
		}
	}
	out = append(out, name[start:])
	out[0] = strings.ToUpper(out[0][:1]) + out[0][1:]
	return out
}

func TestNamesSayWhatThingsAre(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test {
			report(t, badNames(s))
		}
	}
	for _, p := range packages(t) {
		if slices.Contains(badPackages, p.Name) {
			t.Errorf("package %s: a name that would hold anything", p.path())
		}
	}
	for _, bad := range []string{"type SpaceManager int", "func GetSpace() {}", "func getSpace() {}", "type storeImpl int", "type KeyHelper int"} {
		if len(badNames(snippet(t, "x", bad))) == 0 {
			t.Errorf("passed: %s", bad)
		}
	}
	report(t, badNames(snippet(t, "x", "func Getter() {}\ntype Target int\nfunc Utility() {}")))
}
