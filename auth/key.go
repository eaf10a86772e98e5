package auth

import (
	"crypto/rand"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// Env is the environment that a key names: live, or test (echo only).
type Env string

// The environments.
const (
	Live Env = "live"
	Test Env = "test"
)

// A key is "dhr_", the environment, "_", 27 base62 characters (160.7 bits) and
// 6 base62 characters of the CRC-32 (IEEE) of everything before them. The
// checksum lets a scanner or a mistyped key be told offline; it is no secret.
const (
	keyPrefix    = "dhr_"
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	bodyLength   = 27
	sumLength    = 6
	labelVisible = 4
)

// GenerateKey makes a new key from the system's randomness.
func GenerateKey(env Env) Secret {
	head := keyPrefix + string(env) + "_" + randomBase62(bodyLength)
	return NewSecret(head + checksum(head))
}

// ParseKey checks a key's form and checksum without looking anything up; a
// wrong one is ErrUnauthenticated. It tells the environment.
func ParseKey(s string) (Env, error) {
	for _, env := range []Env{Live, Test} {
		rest, ok := strings.CutPrefix(s, keyPrefix+string(env)+"_")
		if !ok {
			continue
		}
		sum := len(s) - sumLength
		if len(rest) == bodyLength+sumLength && isBase62(rest) && checksum(s[:sum]) == s[sum:] {
			return env, nil
		}
	}
	return "", fmt.Errorf("auth: key: %w", dhruva.ErrUnauthenticated)
}

// Label is what may be shown of a key: its prefix and its last four characters.
func Label(key Secret) string {
	s := key.Reveal()
	env, err := ParseKey(s)
	if err != nil {
		return redacted
	}
	return keyPrefix + string(env) + "_…" + s[len(s)-labelVisible:]
}

// randomBase62 draws characters without bias: bytes from 248 on are left out,
// because 248 is the largest multiple of 62 below 256.
func randomBase62(n int) string {
	out := make([]byte, 0, n)
	var buf [64]byte
	for len(out) < n {
		_, _ = rand.Read(buf[:]) // never fails: the runtime stops the process instead
		for _, b := range buf {
			if b < 248 && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

func checksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	var out [sumLength]byte
	for i := sumLength - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}

func isBase62(s string) bool {
	for i := range len(s) {
		if strings.IndexByte(base62, s[i]) < 0 {
			return false
		}
	}
	return true
}
