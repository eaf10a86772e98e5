package auth_test

import "hash/crc32"

// withSum completes a key's head with its checksum, computed apart from the
// package.
func withSum(head string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	n := crc32.ChecksumIEEE([]byte(head))
	sum := ""
	for range 6 {
		sum = string(digits[n%62]) + sum
		n /= 62
	}
	return head + sum
}
