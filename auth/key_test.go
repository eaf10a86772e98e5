package auth_test

import (
	"errors"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
)

var keyForm = regexp.MustCompile(`^dhr_(live|test)_[0-9A-Za-z]{27}[0-9A-Za-z]{6}$`)

func TestGeneratedKeysHaveTheForm(t *testing.T) {
	seen := map[string]bool{}
	for _, env := range []auth.Env{auth.Live, auth.Test} {
		for range 500 {
			key := auth.GenerateKey(env).Reveal()
			if !keyForm.MatchString(key) || !strings.HasPrefix(key, "dhr_"+string(env)+"_") {
				t.Fatalf("key %q has not the form", key)
			}
			if got, err := auth.ParseKey(key); err != nil || got != env {
				t.Fatalf("ParseKey(%q) = %q, %v", key, got, err)
			}
			if seen[key] {
				t.Fatalf("key %q came twice", key)
			}
			seen[key] = true
		}
	}
}

// The checksum is computed here by another way than in the package.
func TestChecksumIsBase62OfCRC32(t *testing.T) {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	key := auth.GenerateKey(auth.Live).Reveal()
	value := 0
	for _, c := range key[len(key)-6:] {
		value = value*62 + strings.IndexRune(digits, c)
	}
	if want := crc32.ChecksumIEEE([]byte(key[:len(key)-6])); uint32(value) != want || value>>32 != 0 {
		t.Errorf("checksum of %q is %d, want %d", key, value, want)
	}
}

func TestEveryMistypedCharacterIsRefused(t *testing.T) {
	key := auth.GenerateKey(auth.Live).Reveal()
	for i := range len(key) {
		for _, c := range "0aZ_- é" {
			mistyped := key[:i] + string(c) + key[i+1:]
			if mistyped == key {
				continue
			}
			if _, err := auth.ParseKey(mistyped); !errors.Is(err, dhruva.ErrUnauthenticated) {
				t.Errorf("ParseKey(%q): %v, want ErrUnauthenticated", mistyped, err)
			}
		}
	}
	for _, wrong := range []string{"", "dhr_live_", key + "0", key[:len(key)-1], " " + key, key + "\n", strings.Replace(key, "live", "test", 1), strings.ToUpper(key)} {
		if _, err := auth.ParseKey(wrong); !errors.Is(err, dhruva.ErrUnauthenticated) {
			t.Errorf("ParseKey(%q): %v, want ErrUnauthenticated", wrong, err)
		}
	}
}

func TestLabelShowsPrefixAndLastFour(t *testing.T) {
	key := auth.GenerateKey(auth.Test)
	if got, want := auth.Label(key), "dhr_test_…"+key.Reveal()[38:]; got != want {
		t.Errorf("Label = %q, want %q", got, want)
	}
	if got := auth.Label(auth.NewSecret("sk-something-else")); strings.Contains(got, "else") {
		t.Errorf("Label of a foreign text shows it: %q", got)
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(auth.GenerateKey(auth.Live).Reveal())
	f.Add("dhr_test_000000000000000000000000000000000")
	f.Fuzz(func(t *testing.T, s string) {
		env, err := auth.ParseKey(s)
		if err == nil && (!keyForm.MatchString(s) || !strings.HasPrefix(s, "dhr_"+string(env)+"_")) {
			t.Fatalf("ParseKey accepts %q", s)
		}
		if err != nil && (!errors.Is(err, dhruva.ErrUnauthenticated) || s != "" && len(s) > 8 && strings.Contains(err.Error(), s)) {
			t.Fatalf("ParseKey(%q): %v", s, err)
		}
	})
}
