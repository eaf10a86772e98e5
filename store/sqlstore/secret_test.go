package sqlstore

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// refusal is what is said of a server that is not there.
func refusal(u *url.URL) string {
	return fmt.Sprintf("failed to connect to `user=%s database=dhruva`: 127.0.0.1:7499 (127.0.0.1): dial error: connection refused", u.User.Username())
}

// TestMasking: passwords of every length, and those that are parts of the words of
// an error. Where a URL has it, it is never shown; the rest stays what it is.
func TestMasking(t *testing.T) {
	passwords := []string{"failed", "conn", "connect", "fail", "error", "dial", "database", "ed to", "7499", "x", "xx", "xxxxx", "o", "e@:/?", "ü", "p%41", "a=b"}
	for n := 1; n <= 30; n++ {
		passwords = append(passwords, strings.Repeat("x", n), strings.Repeat("o", n), "hunter2/hunter2#hunter2&hunter2"[:n])
	}
	for _, password := range passwords {
		u := &url.URL{Scheme: "postgres", User: url.UserPassword("mira", password), Host: "127.0.0.1:7499", Path: "/dhruva"}
		s := secretsOf(u)
		text := refusal(u)
		if got := s.redact(text); len(got) > len(text)+40 {
			t.Errorf("%q makes %d bytes of %d: %s", password, len(got), len(text), got)
		}
		if got, want := s.redact("cannot parse "+u.String()), "cannot parse postgres://mira:"+mask+"@127.0.0.1:7499/dhruva"; got != want && !strings.Contains(want, password) {
			t.Errorf("%q: %s, want %s", password, got, want)
		}
		for _, at := range []string{u.String(), "password=" + password, "?sslpassword=" + url.QueryEscape(password) + "&x=1"} {
			if got := s.redact(at); strings.Contains(got, ":"+password+"@") || strings.HasSuffix(got, "="+password) || strings.Contains(got, "="+url.QueryEscape(password)+"&") {
				if password != mask {
					t.Errorf("%q is shown: %s", password, got)
				}
			}
		}
	}
}

// TestMaskedWords: as a word a secret is masked from four letters on, a part of a
// word is none, and a name that everybody is shown stays.
func TestMaskedWords(t *testing.T) {
	for password, want := range map[string]string{
		"x":       "user mira says: sesame, not sesames, of x",
		"say":     "user mira says: sesame, not sesames, of x",
		"sesame":  "user mira says: xxxxx, not sesames, of x",
		"mira":    "user mira says: sesame, not sesames, of x",
		"sesame,": "user mira says: xxxxx not sesames, of x",
	} {
		u := &url.URL{Scheme: "postgres", User: url.UserPassword("mira", password), Host: "db", Path: "/dhruva"}
		if got := secretsOf(u).redact("user mira says: sesame, not sesames, of x"); got != want {
			t.Errorf("%q: %s", password, got)
		}
	}
}
