package auth_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
)

// openInChild makes the test binary print the KID of a directory's keyring.
const openInChild = "DHRUVA_TEST_OPEN_KEYRING"

func TestMain(m *testing.M) {
	if dir := os.Getenv(openInChild); dir != "" {
		k, err := auth.OpenKeyring(dir)
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString(k.KID())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestOpenKeyringMakesItsFileOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := auth.OpenKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, auth.MasterKeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("master.key: %v, %v; want mode 0600", info.Mode(), err)
	}
	second, err := auth.OpenKeyring(dir)
	if err != nil || second.KID() != first.KID() {
		t.Fatalf("second open: kid %s, %v; want %s", second.KID(), err, first.KID())
	}
	other, err := auth.OpenKeyring(t.TempDir())
	if err != nil || other.KID() == first.KID() {
		t.Fatalf("another directory: kid %s, %v; want a new one", other.KID(), err)
	}
	onlyFile(t, dir, auth.MasterKeyFile)
}

func onlyFile(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("directory holds %v, %v; want only %s", entries, err, name)
	}
}

func TestProcessesStartingAtOnceShareOneKey(t *testing.T) {
	dir := t.TempDir()
	const n = 8
	out := make(chan string, n)
	for range n {
		go func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), openInChild+"="+dir)
			b, err := cmd.CombinedOutput()
			if err != nil {
				b = append(b, err.Error()...)
			}
			out <- string(b)
		}()
	}
	first := <-out
	for range n - 1 {
		if kid := <-out; kid != first {
			t.Errorf("one process has %q, another %q", first, kid)
		}
	}
	k, err := auth.OpenKeyring(dir)
	if err != nil || k.KID() != first {
		t.Errorf("the file has kid %v, %v; the processes had %q", k, err, first)
	}
	onlyFile(t, dir, auth.MasterKeyFile)
}

func TestOpenKeyringRefusesWhatOthersCanRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes mean nothing on Windows")
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o660, 0o610} {
		dir := t.TempDir()
		if _, err := auth.OpenKeyring(dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, auth.MasterKeyFile)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := auth.OpenKeyring(dir); !errors.Is(err, dhruva.ErrInvalid) || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %v: %v, want ErrInvalid with the remedy", mode, err)
		}
	}
}

func TestOpenKeyringNeverRepairsAFile(t *testing.T) {
	good := func() string {
		dir := t.TempDir()
		if _, err := auth.OpenKeyring(dir); err != nil {
			t.Fatal(err)
		}
		b, _ := os.ReadFile(filepath.Join(dir, auth.MasterKeyFile))
		return string(b)
	}()
	for name, text := range map[string]string{
		"empty": "", "cut": good[:len(good)-3], "no magic": strings.TrimPrefix(good, "dhruva."),
		"later version": strings.Replace(good, "v1", "v2", 1), "two lines": good + good, "not hexadecimal": strings.Replace(good, good[20:21], "x", 1),
		"long": good + strings.Repeat("0", 10000),
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, auth.MasterKeyFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := auth.OpenKeyring(dir)
		if !errors.Is(err, dhruva.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
		if len(good) > 40 && err != nil && strings.Contains(err.Error(), good[20:40]) {
			t.Errorf("%s: the error shows the key", name)
		}
		if after, _ := os.ReadFile(path); string(after) != text {
			t.Errorf("%s: the file was changed", name)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, auth.MasterKeyFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := auth.OpenKeyring(dir); err == nil {
		t.Error("a directory was taken for a key file")
	}
}
