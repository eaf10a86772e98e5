package auth_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
)

var purposes = []dhruva.Purpose{
	dhruva.PurposeKey, dhruva.PurposeContent, dhruva.PurposeProvenance,
	dhruva.PurposeBlock, dhruva.PurposeConversation, "a purpose added later",
}

func seed(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// The derivation is a file format: stored hashes and MACs hang on it.
func TestKeyringDerivationIsFixed(t *testing.T) {
	k := auth.NewKeyring(seed(7))
	got := map[string]string{
		"kid":    k.KID(),
		"mac":    hex.EncodeToString(k.MAC(dhruva.PurposeKey, "t", []byte("m"))),
		"public": hex.EncodeToString(k.Public()),
	}
	want := map[string]string{
		"kid":    "119244f2",
		"mac":    "9802214fcfb4114d47d6a84c525b388a74e6f2a9e21aa4b9a5c4946a8f8f6928",
		"public": "16d9922ae263c881cccd240dd83b58f2d97e302e7e5b1e11450f2b652b0929cb",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("derived values changed (-want +got):\n%s", diff)
	}
}

func TestKeyringSeparatesPurposesTenantsAndInstallations(t *testing.T) {
	seen := map[string]string{}
	for _, b := range []byte{1, 2} {
		k := auth.NewKeyring(seed(b))
		for _, p := range purposes {
			for _, tenant := range []dhruva.TenantID{"", "a", "ab"} {
				for _, msg := range []string{"", "b", "bc", "c"} {
					at := string(rune('0'+b)) + "/" + string(p) + "/" + string(tenant) + "/" + msg
					mac := string(k.MAC(p, tenant, []byte(msg)))
					if other, dup := seen[mac]; dup {
						t.Errorf("%s and %s have the same MAC", at, other)
					}
					seen[mac] = at
				}
			}
		}
	}
}

func TestKeyringVerify(t *testing.T) {
	k := auth.NewKeyring(seed(1))
	mac := k.MAC(dhruva.PurposeProvenance, "t", []byte("m"))
	flipped := bytes.Clone(mac)
	flipped[31] ^= 1
	for _, c := range []struct {
		name    string
		purpose dhruva.Purpose
		tenant  dhruva.TenantID
		kid     string
		msg     string
		mac     []byte
		want    bool
	}{
		{"right", dhruva.PurposeProvenance, "t", k.KID(), "m", mac, true},
		{"other purpose", dhruva.PurposeBlock, "t", k.KID(), "m", mac, false},
		{"other tenant", dhruva.PurposeProvenance, "u", k.KID(), "m", mac, false},
		{"unknown kid", dhruva.PurposeProvenance, "t", "00000000", "m", mac, false},
		{"no kid", dhruva.PurposeProvenance, "t", "", "m", mac, false},
		{"other message", dhruva.PurposeProvenance, "t", k.KID(), "n", mac, false},
		{"one bit", dhruva.PurposeProvenance, "t", k.KID(), "m", flipped, false},
		{"short", dhruva.PurposeProvenance, "t", k.KID(), "m", mac[:16], false},
		{"none", dhruva.PurposeProvenance, "t", k.KID(), "m", nil, false},
	} {
		if got := k.Verify(c.purpose, c.tenant, c.kid, []byte(c.msg), c.mac); got != c.want {
			t.Errorf("%s: Verify = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestKeyringSigns(t *testing.T) {
	k := auth.NewKeyring(seed(1))
	sig := k.Sign([]byte("head"))
	if !ed25519.Verify(k.Public(), []byte("head"), sig) {
		t.Error("the signature does not verify under Public")
	}
	if ed25519.Verify(auth.NewKeyring(seed(2)).Public(), []byte("head"), sig) {
		t.Error("the signature verifies under another installation's key")
	}
	k.Public()[0] ^= 1
	if !ed25519.Verify(k.Public(), []byte("head"), sig) {
		t.Error("a caller changed the key through Public")
	}
}

func TestSealOpensOnlyForItsTenant(t *testing.T) {
	k, other := auth.NewKeyring(seed(1)), auth.NewKeyring(seed(2))
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "payload")
		token := k.Seal("t", payload)
		got, err := k.Open("t", token)
		if err != nil || !bytes.Equal(got, payload) {
			t.Fatalf("Open = %x, %v; want %x", got, err, payload)
		}
		if _, err := k.Open("u", token); !errors.Is(err, dhruva.ErrNotFound) {
			t.Fatalf("foreign tenant: %v, want ErrNotFound", err)
		}
		if _, err := other.Open("t", token); !errors.Is(err, dhruva.ErrNotFound) {
			t.Fatalf("other installation: %v, want ErrNotFound", err)
		}
	})
}

func TestSealHidesLengthAndEquality(t *testing.T) {
	k := auth.NewKeyring(seed(1))
	short, long := k.Seal("t", []byte("x")), k.Seal("t", bytes.Repeat([]byte("x"), 120))
	if len(short) != len(long) {
		t.Errorf("lengths %d and %d tell payloads apart", len(short), len(long))
	}
	if k.Seal("t", []byte("x")) == short {
		t.Error("equal payloads give equal tokens")
	}
}

func TestOpenRefusesEveryChangedBit(t *testing.T) {
	k := auth.NewKeyring(seed(1))
	raw, err := base64.RawURLEncoding.DecodeString(k.Seal("t", []byte("payload")))
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(raw) * 8 {
		changed := bytes.Clone(raw)
		changed[bit/8] ^= 1 << (bit % 8)
		if _, err := k.Open("t", base64.RawURLEncoding.EncodeToString(changed)); !errors.Is(err, dhruva.ErrNotFound) {
			t.Fatalf("bit %d: %v, want ErrNotFound", bit, err)
		}
	}
	for n := range raw {
		if _, err := k.Open("t", base64.RawURLEncoding.EncodeToString(raw[:n])); !errors.Is(err, dhruva.ErrNotFound) {
			t.Fatalf("cut to %d: %v, want ErrNotFound", n, err)
		}
	}
}

func TestWrappedKeyStaysWithItsRecord(t *testing.T) {
	k := auth.NewKeyring(seed(1))
	wrapped := k.WrapKey("t", "provider/openai/1", seed(9))
	if got, err := k.UnwrapKey("t", "provider/openai/1", wrapped); err != nil || !bytes.Equal(got, seed(9)) {
		t.Errorf("UnwrapKey = %x, %v", got, err)
	}
	for _, c := range []struct {
		tenant dhruva.TenantID
		record string
	}{{"t", "provider/openai/2"}, {"u", "provider/openai/1"}} {
		if _, err := k.UnwrapKey(c.tenant, c.record, wrapped); !errors.Is(err, dhruva.ErrNotFound) {
			t.Errorf("%v: %v, want ErrNotFound", c, err)
		}
	}
	if _, err := k.Open("t", base64.RawURLEncoding.EncodeToString(wrapped)); !errors.Is(err, dhruva.ErrNotFound) {
		t.Errorf("a wrapped key opens as a token: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	k := auth.NewKeyring(seed(1))
	f.Add(k.Seal("t", []byte("payload")))
	f.Add("")
	f.Add("AQ==\n")
	f.Fuzz(func(t *testing.T, token string) {
		payload, err := k.Open("t", token)
		if err == nil && k.Seal("t", payload) == "" {
			t.Fatal("impossible")
		}
		if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
			t.Fatalf("Open(%q): %v, want ErrNotFound", token, err)
		}
	})
}
