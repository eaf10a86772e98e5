//go:build !linux

package pgtest

import "syscall"

// die: the keeper does it.
func die(*syscall.SysProcAttr) {}
