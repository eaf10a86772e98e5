package redact

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCorpus shows what is replaced in the files of other people's directories
// (DHRUVA_CORPUS, separated as in PATH): nearly all of it shall be secrets of
// their tests. It judges nothing; its lines are for reading.
func TestCorpus(t *testing.T) {
	dirs := os.Getenv("DHRUVA_CORPUS")
	if dirs == "" {
		t.Skip("DHRUVA_CORPUS is not set")
	}
	r, files, size, n := New(), 0, 0, 0
	for _, dir := range filepath.SplitList(dirs) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !utf8.Valid(text) || len(text) > 1<<20 {
				return err
			}
			files, size = files+1, size+len(text)
			got, found := r.Redact(string(text))
			n += Total(found)
			if found != nil {
				showChanges(t, path, string(text), got)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files, %d bytes, %d replaced", files, size, n)
}

// showChanges logs the lines that differ.
func showChanges(t *testing.T, path, was, is string) {
	old := strings.Split(was, "\n")
	kept := map[string]bool{}
	for _, line := range strings.Split(is, "\n") {
		kept[line] = true
	}
	for i, line := range old {
		if !kept[line] {
			t.Logf("%s:%d: %.200s", path, i+1, line)
		}
	}
}
