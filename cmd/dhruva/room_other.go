//go:build !(linux || darwin)

package main

// freeBytes cannot be asked here; a write will tell.
func freeBytes(string) (n int64, known bool) { return 0, false }
