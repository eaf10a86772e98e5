package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// debianPrograms is where Debian puts each version's programs, outside PATH.
const debianPrograms = "/usr/lib/postgresql/*/bin"

var errMissing = errors.New("these tests need PostgreSQL 15 or newer: install its server programs (Debian: apt-get install postgresql; macOS: brew install postgresql), or put initdb and postgres in PATH")

// programs finds the directory of initdb and postgres: that of PATH, else the
// newest of Debian's.
func programs() (string, error) {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if initdb, err = filepath.EvalSymlinks(initdb); err == nil {
			if dir := filepath.Dir(initdb); has(dir) {
				return dir, nil
			}
		}
	}
	found, err := filepath.Glob(debianPrograms)
	if err != nil {
		return "", err
	}
	if dir := newest(found); dir != "" {
		return dir, nil
	}
	return "", errMissing
}

func has(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// newest of directories that end in VERSION/bin, "" when none has the programs.
func newest(dirs []string) (best string) {
	highest := -1
	for _, dir := range dirs {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if err == nil && version > highest && has(dir) {
			best, highest = dir, version
		}
	}
	return best
}

// owner is the user that the server runs as: ourselves, or another when we are
// root, since PostgreSQL refuses root.
type owner struct {
	name       string
	credential *syscall.Credential // nil: ourselves
}

func serverOwner() (owner, error) {
	if os.Getuid() != 0 {
		return owner{}, nil
	}
	for _, name := range []string{"postgres", "nobody", "daemon"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return owner{name, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
		}
	}
	return owner{}, errors.New("PostgreSQL does not run as root, and there is no user postgres, nobody or daemon to run it as")
}

// own gives a directory to the server's user.
func (o owner) own(dir string) error {
	if o.credential == nil {
		return nil
	}
	return os.Chown(dir, int(o.credential.Uid), int(o.credential.Gid))
}

// run runs a program to its end as the server's user.
func (o owner) run(dir, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.SysProcAttr, cmd.Env = dir, &syscall.SysProcAttr{Credential: o.credential}, environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// environment is ours without what would point PostgreSQL's programs elsewhere.
func environment() (out []string) {
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "LANG") {
			out = append(out, kv)
		}
	}
	return append(out, "LC_ALL=C")
}
