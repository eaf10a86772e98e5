//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// someone is a user without privileges, as whom the program is run: root, as
// whom tests may run, is refused nothing.
type someone struct {
	t   *testing.T
	exe string
	uid int
}

func newSomeone(t *testing.T) *someone {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &someone{t: t, exe: exe, uid: os.Geteuid()}
	if s.uid == 0 { // the built binary is for root's eyes only
		s.uid, s.exe = 65534, filepath.Join(tempDir(t), "dhruva")
		from, err := os.Open(exe)
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		to, err := os.OpenFile(s.exe, os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, from); err != nil {
			t.Fatal(err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// tempDir is one that everybody can get to.
func tempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// dir is a directory of this user's.
func (s *someone) dir(path string) string {
	s.t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chown(path, s.uid, -1); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *someone) chmod(path string, mode os.FileMode) {
	s.t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = os.Chmod(path, 0o700) }) // so that it can be removed
}

// run runs a command on a data directory.
func (s *someone) run(data string, args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	c := exec.Command(s.exe, args...)
	c.Dir = "/"
	c.Env = []string{asProgram + "=1", "HOME=/", "DHRUVA_DATA=" + data}
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}}
	}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	var ended *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &ended) {
		s.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// What may not be read or written is told as such, once, with what makes it
// right; never a backup.
func TestPermissionsAreToldAsWhatTheyAre(t *testing.T) {
	for name, tt := range map[string]struct {
		// spoil takes something away from an installation in parent/data.
		spoil func(s *someone, parent, data string)
		fix   func(parent, data string) string
	}{
		"a parent that cannot be entered": {
			func(s *someone, parent, _ string) { s.chmod(parent, 0) },
			func(parent, _ string) string { return "chmod u+rwx " + parent },
		},
		"a directory that cannot be entered": {
			func(s *someone, _, data string) { s.chmod(data, 0o600) },
			func(_, data string) string { return "chmod u+rwx " + data },
		},
		"a read-only directory": {
			func(s *someone, _, data string) { s.chmod(data, 0o500) },
			func(_, data string) string { return "chmod u+rwx " + data },
		},
		"a read-only store": {
			func(s *someone, _, data string) { s.chmod(filepath.Join(data, storeFile), 0o400) },
			func(_, data string) string { return "chmod u+rw " + filepath.Join(data, storeFile) },
		},
		"a master key that cannot be read": {
			func(s *someone, _, data string) { s.chmod(filepath.Join(data, "master.key"), 0) },
			func(_, data string) string { return "chmod u+rw " + filepath.Join(data, "master.key") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSomeone(t)
			parent := s.dir(filepath.Join(tempDir(t), "parent"))
			data := s.dir(filepath.Join(parent, "data"))
			if code, _, errs := s.run(data, "space", "create", "work"); code != exitOK {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			tt.spoil(s, parent, data)
			want := "fix: " + tt.fix(parent, data) + "\n"
			code, out, errs := s.run(data, "doctor")
			if code != exitFailure || strings.Count(out, "problem ") != 1 || !strings.Contains(out, want) || strings.Contains(out+errs, "backup") {
				t.Errorf("doctor ends with %d and lacks %q:\n%s%s", code, want, out, errs)
			}
			if code, _, errs := s.run(data, "space", "create", "other"); code == exitOK || !strings.HasSuffix(errs, want) {
				t.Errorf("a command ends with %d and lacks %q:\n%s", code, want, errs)
			}
		})
	}
}

func TestADirectoryOfSomebodyElseNamesItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes directories of others")
	}
	s := newSomeone(t)
	data := filepath.Join(tempDir(t), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	code, out, _ := s.run(data, "doctor")
	if code != exitFailure || strings.Count(out, "problem ") != 1 || !strings.Contains(out, "fix: run as its owner (user id 0), or as an administrator: chown -R 65534 "+data) {
		t.Errorf("doctor ends with %d:\n%s", code, out)
	}
}
