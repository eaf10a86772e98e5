package llm

import "strings"

// masked stands where a secret was.
const masked = "***"

// minSecret is the shortest word after a key prefix that is taken for a key;
// below it, ordinary words such as "sk-learn" would be hit.
const minSecret = 8

// Mask replaces the given secrets and every word that looks like a provider
// key, a Dhruva key or a bearer credential. Providers quote the key they were
// sent, sometimes shortened, in their error texts.
func Mask(s string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, masked)
		}
	}
	for _, prefix := range []string{"sk-", "sk_", "dhr_", "pk-", "rk-", "key-", "gsk_", "xai-", "AIza", "hf_", "Bearer ", "bearer ", "Basic "} {
		s = maskAfter(s, prefix)
	}
	return s
}

// maskAfter masks each run of key characters that follows prefix at the start
// of a word.
func maskAfter(s, prefix string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, prefix)
		if i < 0 {
			break
		}
		end := i + len(prefix)
		for end < len(s) && keyByte(s[end]) {
			end++
		}
		startsWord := i == 0 || !wordByte(s[i-1])
		if startsWord && end-i-len(prefix) >= minSecret {
			b.WriteString(s[:i] + prefix + masked)
		} else {
			b.WriteString(s[:end])
		}
		s = s[end:]
	}
	return b.String() + s
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// keyByte also takes the stars and dots with which providers shorten a key.
func keyByte(c byte) bool {
	return wordByte(c) || strings.IndexByte("-_*.~+/=", c) >= 0
}
