package arch_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva/auth"
)

// skipped directories hold what is built or fetched, or are git's.
var skipped = []string{".git", "node_modules", "bin", "dist", "coverage"}

// maxScanned: larger files are data.
const maxScanned = 1 << 20

// textFiles calls fn for each text file of the repository, with its path and
// content.
func textFiles(t *testing.T, fn func(path string, text []byte)) {
	t.Helper()
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(skipped, d.Name()) {
			return fs.SkipDir
		}
		if info, err := d.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > maxScanned {
			return err
		}
		text, err := fs.ReadFile(root, path)
		if err == nil && !bytes.ContainsRune(text[:min(len(text), 512)], 0) {
			fn(path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	conflictMark = regexp.MustCompile(`(?m)^(<{7}|>{7}|\|{7}) `)
	openNote     = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b(\(#\d+\))?`)
	privateKey   = regexp.MustCompile(`-{5}BEGIN [A-Z ]*PRIVATE KEY-{5}`)
	dhruvaKey    = regexp.MustCompile(`dhr_(live|test)_[0-9A-Za-z]{33}`)
	provKey      = regexp.MustCompile(`\bsk-(ant-api|proj-)[0-9A-Za-z_-]{40,}`)
	testifyUse   = regexp.MustCompile(`"github\.com/stretchr/testify`)
	directive    = regexp.MustCompile(`(?m)^\s*(replace|exclude)\b|=> `)
)

// forbidden names what a file must not hold.
func forbidden(path string, text []byte, root string) (found []string) {
	add := func(what string) { found = append(found, path+": "+what) }
	if conflictMark.Match(text) {
		add("a merge conflict")
	}
	if isCode(path) {
		for _, m := range openNote.FindAllSubmatch(text, -1) {
			if len(m[2]) == 0 {
				add(string(m[1]) + " without an issue: say what falls short, or write (#issue)")
			}
		}
	}
	if privateKey.Match(text) {
		add("a private key")
	}
	for _, m := range dhruvaKey.FindAll(text, -1) {
		if _, err := auth.ParseKey(string(m)); err == nil {
			add("a Dhruva key that passes its checksum")
		}
	}
	if provKey.Match(text) {
		add("what looks like a provider's key")
	}
	if testifyUse.Match(text) && filepath.Ext(path) == ".go" {
		add("an assertion library")
	}
	if filepath.Base(path) == "go.mod" && directive.Match(text) {
		add("a replace or exclude directive: go install would not work")
	}
	if filepath.Base(path) == "go.work" {
		add("a workspace file")
	}
	if len(root) > 6 && bytes.Contains(text, []byte(root+string(filepath.Separator))) {
		add("the path of a working directory")
	}
	return found
}

func isCode(path string) bool {
	return slices.Contains([]string{".go", ".s", ".sql", ".sh", ".ts", ".tsx", ".css", ".yml", ".yaml"}, filepath.Ext(path)) ||
		filepath.Base(path) == "Makefile"
}

func TestFilesHoldNothingForbidden(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	textFiles(t, func(path string, text []byte) {
		seen++
		report(t, forbidden(path, text, root))
	})
	if seen < 20 {
		t.Errorf("only %d files were looked at", seen)
	}
}

func TestTheFileCheckCatches(t *testing.T) {
	note := "TO" + "DO"
	for path, text := range map[string]string{
		"a.md": strings.Repeat("<", 7) + " HEAD\n", "a.go": "// " + note + ": later", "b.go": "// " + note + "(me): later", "key.pem": "-----BEGIN EC " + "PRIVATE KEY-----",
		"doc.md": "use " + auth.GenerateKey(auth.Live).Reveal() + ".", "t_test.go": `import "github.com/stretchr` + `/testify/require"`,
		"go.mod": "require x v1\nreplace x => ../x\n", "sub/go.mod": "replace (\n\tx => y v1\n)\n", "go.work": "go 1.26", "notes.md": "see /srv/checkout/main/store",
		"conf.yml": "api_key: sk-ant-api" + strings.Repeat("03-abcdefgh", 5),
	} {
		if len(forbidden(path, []byte(text), "/srv/checkout/main")) == 0 {
			t.Errorf("passed: %s: %s", path, text)
		}
	}
	for path, text := range map[string]string{
		"a.go": "// " + note + "(#12): later", "a.md": "a to" + "do list", "doc.md": "dhr_live_" + strings.Repeat("A", 33), "go.mod": "module x\n// we replace nothing\n",
		"readme.md": "set OPENAI_API_KEY=sk-…", "c.go": "a => b",
	} {
		report(t, forbidden(path, []byte(text), "/srv/checkout/main"))
	}
}
