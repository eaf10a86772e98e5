package redact

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files joins what matches a pattern, up to a size.
func files(b *testing.B, size int, globs ...string) string {
	var out strings.Builder
	for _, glob := range globs {
		paths, err := filepath.Glob(glob)
		if err != nil {
			b.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			out.Write(text)
		}
	}
	text := out.String()
	for len(text) < size {
		text += text
	}
	return text[:size]
}

// BenchmarkRedact gives the throughput on prose and code without secrets, for a
// message of 16 KiB, and on a text with a secret in each line.
func BenchmarkRedact(b *testing.B) {
	m := newMaker(1)
	var secrets strings.Builder
	for i := range 200 {
		s := spellings[i%len(spellings)]
		fmt.Fprintf(&secrets, "This is line %d of a text that has a secret: "+s.text+"\n", i, s.secret(m))
	}
	for name, text := range map[string]string{
		"prose-1MiB": files(b, 1<<20, "../docs/*.md", "../README.md", "../CONTRIBUTING.md"), "code-1MiB": files(b, 1<<20, "../ledger/*.go", "../serve/*/*.go"),
		"prose-16KiB": files(b, 16<<10, "../docs/*.md"), "secrets": secrets.String(),
	} {
		b.Run(name, func(b *testing.B) {
			r := New()
			r.Redact(text)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Redact(text)
			}
		})
	}
}

// BenchmarkFirst is what the first text of a process waits for.
func BenchmarkFirst(b *testing.B) {
	for b.Loop() {
		load()
	}
}
