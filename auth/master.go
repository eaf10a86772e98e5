package auth

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// MasterKeyFile is the name of the master key's file in the data directory.
const MasterKeyFile = "master.key"

// masterMagic opens the file: one line "dhruva.master.v1 <64 hexadecimal digits>".
const masterMagic = "dhruva.master.v1 "

// OpenKeyring reads DIR/master.key, making the directory and the file with
// fresh randomness when they are missing. Of several processes that start at
// once all get the same key. A file that others can read, or that does not hold
// a master key, is ErrInvalid: it is never repaired silently, because a new key
// would orphan everything that was made under the old one.
func OpenKeyring(dir string) (*Keyring, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("auth: data directory: %w", err)
	}
	path := filepath.Join(dir, MasterKeyFile)
	k, err := ReadKeyring(dir)
	if !errors.Is(err, dhruva.ErrNotFound) {
		return k, err
	}
	if err = createPrivate(path, newMasterKey()); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("auth: create master key: %w", err)
	}
	return ReadKeyring(dir)
}

// ReadKeyring reads DIR/master.key and makes nothing; a missing file is
// ErrNotFound. Beside a store that exists it is the only right one: a new key
// would orphan all that the store holds.
func ReadKeyring(dir string) (*Keyring, error) {
	path := filepath.Join(dir, MasterKeyFile)
	text, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("auth: master key: %w: %s; restore it from where you keep it", dhruva.ErrNotFound, path)
	}
	if err != nil {
		return nil, fmt.Errorf("auth: master key: %w", err)
	}
	return parseMasterKey(path, text)
}

func newMasterKey() string {
	var seed [masterKeySize]byte
	_, _ = rand.Read(seed[:]) // never fails: the runtime stops the process instead
	return masterMagic + hex.EncodeToString(seed[:]) + "\n"
}

func parseMasterKey(path, text string) (*Keyring, error) {
	digits, ok := strings.CutPrefix(strings.TrimSuffix(text, "\n"), masterMagic)
	seed, err := hex.DecodeString(digits)
	if !ok || err != nil || len(seed) != masterKeySize {
		return nil, fmt.Errorf("auth: master key: %w: %s does not hold a master key (one line %q and %d hexadecimal digits); restore it from where you keep it",
			dhruva.ErrInvalid, path, masterMagic, 2*masterKeySize)
	}
	return NewKeyring(seed), nil
}

// readPrivate reads a small file that only its owner may read. The mode is
// taken from the open file, so the file that is checked is the one that is read.
func readPrivate(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%w: %s is not a regular file", dhruva.ErrInvalid, path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("%w: %s can be read by others (mode %04o): run chmod 600 %s, and replace the key if it may have been seen",
			dhruva.ErrInvalid, path, mode, path)
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	return string(b), err
}

// createPrivate makes a file of mode 0600 that appears whole or not at all:
// it is written and synced under another name and then linked, which fails with
// fs.ErrExist when somebody else was first.
func createPrivate(path, text string) error {
	tmp, err := writeTemp(path, text)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if err := os.Link(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// writeTemp writes a synced file of mode 0600 beside path (os.CreateTemp opens
// with O_EXCL and mode 0600) and returns its name.
func writeTemp(path, text string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

func syncDir(dir string) error {
	if runtime.GOOS == "windows" { // directories cannot be synced there
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
