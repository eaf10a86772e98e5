package arch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// module is this module's path; packages are named relative to it, the root ".".
const module = "github.com/dhruva-memory/dhruva"

// pkg is a package as go list tells it.
type pkg struct {
	Dir, ImportPath, Name     string
	GoFiles, IgnoredGoFiles   []string
	TestGoFiles, XTestGoFiles []string
	Imports                   []string
}

// path is the package's path within the module.
func (p pkg) path() string { return within(p.ImportPath) }

// within is an import path relative to the module, "." for the root, and as it
// is for others.
func within(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

func ours(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

// under reports whether path is dir or below it.
func under(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

var list = sync.OnceValues(func() ([]pkg, error) {
	// -e: a package that does not compile yet is still judged by what it says.
	cmd := exec.Command("go", "list", "-e", "-json", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, &stderr)
	}
	var pkgs []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
})

func packages(t *testing.T) []pkg {
	t.Helper()
	pkgs, err := list()
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 3 {
		t.Fatalf("go list found %d packages only", len(pkgs))
	}
	return pkgs
}

// source is one parsed file.
type source struct {
	pkg  pkg
	name string // relative to the module
	file *ast.File
	fset *token.FileSet
	test bool
}

func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.fset.Position(n.Pos()).Line)
}

// sources parses every Go file of the module, test files too.
func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	for _, p := range packages(t) {
		for _, f := range append(p.GoFiles, p.IgnoredGoFiles...) {
			out = append(out, parse(t, p, f, strings.HasSuffix(f, "_test.go")))
		}
		for _, f := range append(p.TestGoFiles, p.XTestGoFiles...) {
			out = append(out, parse(t, p, f, true))
		}
	}
	return out
}

func parse(t *testing.T, p pkg, name string, test bool) source {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return parseText(t, p, name, string(b), test)
}

func parseText(t *testing.T, p pkg, name, text string, test bool) source {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%s: %v", filepath.Join(p.path(), name), err)
	}
	return source{p, filepath.Join(p.path(), name), file, fset, test}
}

// snippet is a file for the tests of the checks themselves.
func snippet(t *testing.T, path, text string) source {
	t.Helper()
	return parseText(t, pkg{ImportPath: module + "/" + path, Name: filepath.Base(path)}, "x.go", "package x\n"+text, false)
}

// report fails the test with everything a check found.
func report(t *testing.T, found []string) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
}
