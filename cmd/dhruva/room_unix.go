//go:build linux || darwin

package main

import "syscall"

// freeBytes is how much this user may still write where a path is.
func freeBytes(path string) (n int64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
