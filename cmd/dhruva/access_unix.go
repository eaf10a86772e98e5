//go:build linux || darwin || freebsd || netbsd || openbsd

package main

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// errReadOnly: the file system takes no writes.
const errReadOnly = syscall.EROFS

// access asks the system, and so changes nothing, whether this process may read
// and write a path, and enter it when it is a directory.
func access(path string, dir bool) error {
	const enter, write, read = 1, 2, 4
	if dir {
		return syscall.Access(path, read|write|enter)
	}
	return syscall.Access(path, read|write)
}

// ownerOf is the user id of a file's owner, and whether that is who we are.
func ownerOf(info fs.FileInfo) (id string, mine bool) {
	if info == nil {
		return "", false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", true
	}
	return strconv.FormatUint(uint64(s.Uid), 10), int(s.Uid) == os.Geteuid()
}
