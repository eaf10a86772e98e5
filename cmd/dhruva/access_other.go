//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package main

import (
	"errors"
	"io/fs"
)

// errReadOnly is told apart only where access can be asked.
var errReadOnly = errors.New("read-only file system")

// access cannot be asked here without a write; the work itself will tell.
func access(string, bool) error { return nil }

// ownerOf does not tell owners here.
func ownerOf(fs.FileInfo) (id string, mine bool) { return "", true }
