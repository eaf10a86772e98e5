package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// blocked is the reason why a path cannot be used as it must be, nil when it
// can; what is missing is for others to tell.
func blocked(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := access(path, info.IsDir()); err != nil {
		return &fs.PathError{Op: "access", Path: path, Err: err}
	}
	return nil
}

// accessFix says how a path becomes usable again: by whom it belongs to, and on
// the file or directory that is in the way.
func accessFix(path string) string {
	what, info := culprit(path)
	switch owner, mine := ownerOf(info); {
	case info == nil:
		return "run as the user who owns " + path
	case errors.Is(blocked(what), errReadOnly):
		return fmt.Sprintf("the file system of %s is read-only: mount it writable, or give another directory with --data", what)
	case !mine:
		return fmt.Sprintf("run as its owner (user id %s), or as an administrator: chown -R %d %s", owner, os.Geteuid(), what)
	case info.IsDir():
		return "chmod u+rwx " + what
	}
	return "chmod u+rw " + what
}

// culprit is the path itself, or the nearest directory above it that can be
// looked at: one that cannot be entered hides what is in it.
func culprit(path string) (string, fs.FileInfo) {
	for {
		info, err := os.Stat(path)
		if err == nil {
			return path, info
		}
		up := filepath.Dir(path)
		if up == path {
			return path, nil
		}
		path = up
	}
}

// deniedPath is the path of an error that is one of permissions.
func deniedPath(err error) (string, bool) {
	var at *fs.PathError
	if errors.Is(err, fs.ErrPermission) && errors.As(err, &at) {
		return at.Path, true
	}
	return "", false
}
