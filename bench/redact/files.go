package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva/redact"
)

// maxFile bounds a file that is looked at: larger ones are data.
const maxFile = 1 << 20

// files are what is replaced in directories of other people's code and documents:
// nearly all of it should be secrets of their tests.
type files struct {
	Files      int `json:"files"`
	Bytes      int `json:"bytes"`
	Redactions int `json:"redactions"`
}

// runFiles measures directories, separated as in PATH; show prints the lines that
// change.
func runFiles(dirs string, show bool) error {
	var out files
	r := redact.New()
	for _, dir := range filepath.SplitList(dirs) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !utf8.Valid(text) || len(text) > maxFile {
				return err
			}
			clean, found := r.Redact(string(text))
			out.Files, out.Bytes, out.Redactions = out.Files+1, out.Bytes+len(text), out.Redactions+redact.Total(found)
			if show && found != nil {
				showLines(path, string(text), clean)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func showLines(path, was, is string) {
	kept := map[string]bool{}
	for _, line := range strings.Split(is, "\n") {
		kept[line] = true
	}
	for n, line := range strings.Split(was, "\n") {
		if !kept[line] {
			fmt.Fprintf(os.Stderr, "%s:%d: %.200s\n", path, n+1, line)
		}
	}
}
