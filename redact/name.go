package redact

import (
	"slices"
	"strings"
)

// class is what kind of secret a name announces.
type class int

const (
	noClass class = iota
	// passwords are chosen by people, and may be words.
	passwords
	// phrases are passwords of several words.
	phrases
	// tokens are made at random.
	tokens
)

// The words that name a secret when they stand last in a name.
var (
	passwordWords = []string{"password", "passwd", "passwort", "pass", "pwd", "passcode", "pw"}
	tokenWords    = []string{"token", "secret", "secrets", "apikey", "apitoken", "credential", "credentials", "creds", "auth", "authorization", "authtoken", "accesskey", "secretkey", "privatekey", "accountkey", "sharedaccesskey", "accesstoken", "authkey", "sig", "signature"}
	// keyWords make a key a secret one.
	keyWords = []string{"api", "access", "secret", "private", "encryption", "signing", "master", "auth", "security", "shared", "account", "admin", "service", "deploy", "webhook", "app", "consumer", "client", "license", "licence", "subscription", "storage", "functions", "session", "cookie", "jwt", "hmac", "aes", "ssh", "wallet", "server", "write", "root", "host", "integration"}
	// tailWords may follow what names a secret.
	tailWords = []string{"value", "val", "str", "string", "text", "plain", "plaintext", "raw", "b64", "base64", "encoded", "prod", "production", "dev", "staging", "stage", "test", "testing", "live", "sandbox", "local", "old", "new", "current", "next", "primary", "secondary", "hex", "env", "default", "a", "b", "id"}
)

// maxName bounds a name.
const maxName = 80

// nameAt is the name around a place in the text.
func nameAt(text string, from, to int) (lo, hi int) {
	for lo = from; lo > 0 && from-lo < maxName && nameByte(text[lo-1]); lo-- {
	}
	for hi = to; hi < len(text) && hi-to < maxName && nameByte(text[hi]); hi++ {
	}
	return lo, hi
}

func nameByte(c byte) bool { return wordByte(c) || c == '-' || c == '.' || c == '$' }

// classOf says what a name announces, and how the placeholder calls it. before
// is the text in front of it, for names of two words ("API key").
func classOf(name, before string) (class, string) {
	words := nameWords(name)
	for len(words) > 1 && (slices.Contains(tailWords, words[len(words)-1]) || digits(words[len(words)-1])) {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return noClass, ""
	}
	last := strings.TrimRight(words[len(words)-1], "0123456789")
	switch {
	case last == "passphrase" || last == "mnemonic":
		return phrases, kindPassword
	case slices.Contains(passwordWords, last) || strings.HasSuffix(last, "password") || strings.HasSuffix(last, "passwd") || len(last) < 9 && strings.HasSuffix(last, "pwd"):
		return passwords, kindPassword
	case last == "key":
		return keyClass(words, before)
	case last == "apikey" || last == "accesskey" || last == "secretkey" || strings.HasSuffix(last, "apikey"):
		return tokens, kindAPIKey
	case last == "secret" || last == "secrets" || strings.HasSuffix(last, "secret"):
		return tokens, kindSecret
	case slices.Contains(tokenWords, last) || strings.HasSuffix(last, "token"):
		return tokens, kindToken
	}
	return noClass, ""
}

func keyClass(words []string, before string) (class, string) {
	if len(words) > 1 {
		if slices.ContainsFunc(words[:len(words)-1], func(w string) bool { return slices.Contains(keyWords, w) }) {
			return tokens, kindAPIKey
		}
		return noClass, ""
	}
	if before = strings.TrimRight(before, " "); before == "" {
		return noClass, ""
	}
	i := len(before)
	for i > 0 && wordByte(before[i-1]) {
		i--
	}
	if slices.Contains(keyWords, lower(before[i:])) {
		return tokens, kindAPIKey
	}
	return noClass, ""
}

// nameWords splits a name at its marks and its capitals, in lower case.
func nameWords(name string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, lower(name[start:end]))
		}
	}
	for i := range len(name) {
		switch {
		case !letterByte(name[i]) && !digitByte(name[i]):
			cut(i)
			start = i + 1
		case i > start && upper(name[i]) && (!upper(name[i-1]) || i+1 < len(name) && letterByte(name[i+1]) && !upper(name[i+1])):
			cut(i)
			start = i
		}
	}
	cut(len(name))
	return out
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

func lower(s string) string { return strings.ToLower(s) }
