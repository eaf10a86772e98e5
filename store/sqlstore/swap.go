package sqlstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// beside are the suffixes of the files that SQLite keeps beside a database.
var beside = [...]string{"-wal", "-journal", "-shm"}

// swap gives the prepared file its place, and the one that is there another
// name. Until the rename the old file has its place, too: it has two names.
func (r *restore) swap(final string) (aside string, err error) {
	if err := r.step("sync"); err != nil {
		return "", err
	}
	if err := syncFile(final); err != nil {
		return "", err
	}
	aside, err = r.asideName()
	if err != nil {
		return "", err
	}
	moved, err := r.setAside(aside)
	if err != nil {
		return "", errors.Join(err, r.putBack(aside, moved))
	}
	if err := r.rename(final); err != nil {
		return "", errors.Join(err, r.putBack(aside, moved))
	}
	if len(moved) == 0 {
		aside = ""
	}
	if err := r.step("named"); err != nil {
		return aside, err
	}
	return aside, syncDir(filepath.Dir(r.path))
}

func (r *restore) rename(final string) error {
	if err := r.step("rename"); err != nil {
		return err
	}
	if _, err := os.Lstat(r.path); errors.Is(err, fs.ErrNotExist) {
		return place(final, r.path, false) // whoever made a store meanwhile keeps it
	}
	if runtime.GOOS == "windows" && r.held != nil { // where an open file has its name for as long as it is open
		if err := r.held.close(); err != nil {
			return err
		}
	}
	return os.Rename(final, r.path)
}

// asideName is one that is free.
func (r *restore) asideName() (string, error) {
	now := time.Now
	if r.o.Now != nil {
		now = r.o.Now
	}
	base := r.path + ".replaced-" + now().UTC().Format("20060102T150405Z")
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		there, err := anyOf(name)
		if err != nil || !there {
			return name, err
		}
	}
}

// anyOf reports whether a database of this name, or a file beside one, is there.
func anyOf(name string) (bool, error) {
	for _, suffix := range append([]string{""}, beside[:]...) {
		if _, err := os.Lstat(name + suffix); !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	return false, nil
}

// setAside gives the store that is there a second name, durably, and answers
// which of its files have one now. Then it takes away what must not stand beside
// the new file: the log of a store that could not be read (that of one that
// could is in the file).
func (r *restore) setAside(aside string) (moved []string, err error) {
	for _, suffix := range append([]string{""}, beside[:]...) {
		if err := r.step("aside" + suffix); err != nil {
			return moved, err
		}
		if suffix == "-shm" || suffix != "" && r.held != nil && r.held.damaged == nil {
			continue // it holds nothing that is not in the file
		}
		if _, err := os.Lstat(r.path + suffix); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := secondName(r.path+suffix, aside+suffix); err != nil {
			return moved, err
		}
		moved = append(moved, suffix)
	}
	if err := syncDir(filepath.Dir(r.path)); err != nil {
		return moved, err
	}
	for _, suffix := range beside {
		if err := r.step("bare" + suffix); err != nil {
			return moved, err
		}
		if err := os.Remove(r.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return moved, err
		}
	}
	return moved, syncDir(filepath.Dir(r.path))
}

// putBack undoes setAside.
func (r *restore) putBack(aside string, moved []string) (err error) {
	for _, suffix := range moved {
		if _, there := os.Lstat(r.path + suffix); errors.Is(there, fs.ErrNotExist) {
			err = errors.Join(err, os.Rename(aside+suffix, r.path+suffix))
		} else {
			err = errors.Join(err, os.Remove(aside+suffix))
		}
	}
	return err
}

// secondName is a link, or a durable copy where there are no links. (There the
// file is opened beside SQLite, whose lock on it ends with that; the rename is
// next.)
func secondName(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}
