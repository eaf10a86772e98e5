package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// roots are directories below which repositories and working copies may lie, all
// symbolic links resolved.
type roots []string

// allowed are the roots that exist. One that is a relative path is none.
func allowed(dirs []string) (out roots) {
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			out = append(out, real)
		}
	}
	return out
}

// of is the root that a resolved path lies in, "" when none.
func (r roots) of(path string) string {
	for _, root := range r {
		if within(root, path) {
			return root
		}
	}
	return ""
}

// within: the path is the directory, or lies below it. Both are resolved.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// outside refuses a path.
func outside(what, path string) error {
	return fmt.Errorf("%w: the %s %q is not below a directory that the operator allows for worktrees", dhruva.ErrDenied, what, cut(path, 200))
}

// absolute checks a path as somebody wrote it.
func absolute(what, path string) (string, error) {
	switch {
	case strings.TrimSpace(path) == "":
		return "", fmt.Errorf("%w: no %s", dhruva.ErrInvalid, what)
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return "", fmt.Errorf("%w: the %s holds a control character", dhruva.ErrInvalid, what)
	case !filepath.IsAbs(path):
		return "", fmt.Errorf("%w: the %s %q is not an absolute path", dhruva.ErrInvalid, what, cut(path, 200))
	}
	return filepath.Clean(path), nil
}

// repository is a project's working copy, and the directory that git keeps all
// of it in.
type repository struct{ top, common string }

// repositoryAt finds the repository whose working copy a directory is. The
// directory and git's own must lie in the roots. It is found by our own reading,
// so that git never looks for one further up.
func (r roots) repositoryAt(path string) (repository, error) {
	path, err := absolute("project root", path)
	if err != nil {
		return repository{}, err
	}
	top, err := filepath.EvalSymlinks(path)
	if r.of(firstOf(top, path)) == "" { // whether it exists is told to those alone who may look
		return repository{}, outside("project root", path)
	}
	if err != nil {
		return repository{}, fmt.Errorf("%w: the project root %q is not there", dhruva.ErrInvalid, cut(path, 200))
	}
	dir, err := gitDir(top)
	if err != nil {
		return repository{}, err
	}
	common, err := commonDir(dir)
	if err != nil {
		return repository{}, err
	}
	if r.of(dir) == "" || r.of(common) == "" || r.leaves(common) {
		return repository{}, outside("repository of the project", common)
	}
	return repository{top, common}, nil
}

// leaves: what git reads and writes in its directory is a link out of the roots.
func (r roots) leaves(common string) bool {
	for _, name := range []string{"worktrees", "refs", "refs/heads", "logs", "logs/refs", "objects", "info", "config", "packed-refs"} {
		at := filepath.Join(common, name)
		if _, err := os.Lstat(at); err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(at); err != nil || r.of(real) == "" {
			return true
		}
	}
	return false
}

// gitDir is git's directory of a working copy, resolved.
func gitDir(top string) (string, error) {
	at := filepath.Join(top, ".git")
	info, err := os.Stat(at)
	if err != nil {
		return "", fmt.Errorf("%w: %q is not the top of a git repository's working copy", dhruva.ErrInvalid, cut(top, 200))
	}
	if !info.IsDir() {
		text, err := readLine(at)
		target, ok := strings.CutPrefix(text, "gitdir: ")
		if err != nil || !ok {
			return "", fmt.Errorf("%w: %q does not say where its repository is", dhruva.ErrInvalid, cut(at, 200))
		}
		at = from(top, target)
	}
	return resolve(at)
}

// commonDir is the directory that the working copies of a repository share.
func commonDir(dir string) (string, error) {
	text, err := readLine(filepath.Join(dir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	}
	if err != nil {
		return "", fmt.Errorf("%w: %q cannot be read", dhruva.ErrInvalid, cut(dir, 200))
	}
	return resolve(from(dir, text))
}

func resolve(path string) (string, error) {
	out, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("%w: the repository at %q is not there", dhruva.ErrInvalid, cut(path, 200))
	}
	return out, nil
}

// from is a path that may be relative to a directory.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// readLine reads a small file of one line. What is not a plain file could make a
// reader wait for ever.
func readLine(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: not a plain file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, 4097)
	n, err := f.Read(b)
	if err != nil || n > 4096 {
		return "", fmt.Errorf("%s: not one line: %v", path, err)
	}
	return strings.TrimRight(string(b[:n]), "\r\n"), nil
}

// standsAt checks that a directory is still the working copy that was made of a
// repository, and tells git's directory of it: what it says of its repository is
// the agent's to change. False: there is nothing at that path.
func (r roots) standsAt(path string, of repository) (there bool, dir string, err error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, "", nil
	}
	if err != nil || r.of(real) == "" {
		return true, "", outside("worktree", path)
	}
	if dir, err = gitDir(real); err != nil {
		return true, "", err
	}
	if filepath.Dir(dir) != filepath.Join(of.common, "worktrees") {
		return true, "", fmt.Errorf("%w: %q is not a worktree of the project's repository any more", dhruva.ErrConflict, cut(path, 200))
	}
	return true, dir, nil
}

// branchAt is the branch that a working copy is on, by its full name; "" when it
// is on none.
func branchAt(dir string) string {
	text, err := readLine(filepath.Join(dir, "HEAD"))
	ref, ok := strings.CutPrefix(text, "ref: ")
	name, branch := strings.CutPrefix(ref, "refs/heads/")
	if err != nil || !ok || !branch || badRef(name) != "" {
		return ""
	}
	return ref
}

// place is where a working copy is to be made: a directory that does not exist,
// as seen from its root.
type place struct {
	root, rel string
	made      []string // directories above it
}

func (p *place) path() string { return filepath.Join(p.root, p.rel) }

// placeAt finds where a path leads through the directories that exist.
func (r roots) placeAt(path string, repo repository) (*place, error) {
	path, err := absolute("path", path)
	if err != nil {
		return nil, err
	}
	there, rest := path, ""
	real := ""
	for {
		if real, err = filepath.EvalSymlinks(there); err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || there == filepath.Dir(there) || dangling(there) {
			return nil, outside("path", path)
		}
		there, rest = filepath.Dir(there), filepath.Join(filepath.Base(there), rest)
	}
	target := filepath.Join(real, rest)
	root := r.of(target)
	switch {
	case root == "" || r.of(real) == "":
		return nil, outside("path", path)
	case rest == "":
		return nil, fmt.Errorf("%w: %q exists", dhruva.ErrConflict, cut(path, 200))
	case within(repo.common, target):
		return nil, fmt.Errorf("%w: %q is within git's own directory", dhruva.ErrInvalid, cut(path, 200))
	}
	rel, err := filepath.Rel(root, target)
	return &place{root: root, rel: rel}, err
}

// dangling: the path itself is a symbolic link, to nothing.
func dangling(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// make makes the directory and those above it. It is ours from then on: somebody
// else who makes the same is ErrConflict. No link on the way leads out of the
// root, also when it was put there just now.
func (p *place) make() error {
	root, err := os.OpenRoot(p.root)
	if err == nil {
		defer root.Close()
		err = p.makeIn(root)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w: %q exists", dhruva.ErrConflict, cut(p.path(), 200))
	case err != nil:
		return &GitFailed{"make the directory", oneLine(err.Error(), maxReason)}
	}
	return nil
}

func (p *place) makeIn(root *os.Root) error {
	at := ""
	for part := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(p.rel)), "/") {
		at = filepath.Join(at, part)
		err := root.Mkdir(at, 0o700)
		if err == nil {
			p.made = append(p.made, at)
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return root.Mkdir(p.rel, 0o700)
}

// remove takes the directory away with all that is in it, and those that were
// made above it unless somebody uses them now.
func (p *place) remove() error {
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.RemoveAll(p.rel); err != nil {
		return err
	}
	for _, dir := range slices.Backward(p.made) {
		if root.Remove(dir) != nil { // somebody uses it
			break
		}
	}
	return nil
}
