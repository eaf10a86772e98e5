package auth

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"

	"github.com/dhruva-memory/dhruva"
)

// Labels under which keys are derived from the master key. A changed label is
// a changed key, so they are never edited.
const (
	extractSalt   = "dhruva.keyring.v1"
	labelKID      = "kid"
	labelMAC      = "mac/" // followed by the Purpose
	labelToken    = "read-token"
	labelSign     = "ed25519"
	labelWrap     = "key-encryption"
	kidBytes      = 4
	masterKeySize = 32
)

// Keyring derives the installation's keys from one master key by HKDF-SHA-256.
// Keys of different purposes are independent: none tells anything of another.
type Keyring struct {
	prk  []byte
	kid  string
	macs map[dhruva.Purpose][]byte
	tok  []byte
	wrap []byte
	sign ed25519.PrivateKey
}

var _ dhruva.Keyring = (*Keyring)(nil)

// NewKeyring derives a keyring from a seed. Equal seeds give equal keyrings;
// OpenKeyring is how a product process gets one.
func NewKeyring(seed []byte) *Keyring {
	prk, err := hkdf.Extract(sha256.New, seed, []byte(extractSalt))
	must(err)
	k := &Keyring{prk: prk, macs: map[dhruva.Purpose][]byte{}}
	k.kid = hex.EncodeToString(k.derive(labelKID, kidBytes))
	for _, p := range []dhruva.Purpose{
		dhruva.PurposeKey, dhruva.PurposeContent, dhruva.PurposeProvenance,
		dhruva.PurposeBlock, dhruva.PurposeConversation,
	} {
		k.macs[p] = k.derive(labelMAC+string(p), sha256.Size)
	}
	k.tok = k.derive(labelToken, sha256.Size)
	k.wrap = k.derive(labelWrap, sha256.Size)
	k.sign = ed25519.NewKeyFromSeed(k.derive(labelSign, ed25519.SeedSize))
	return k
}

func (k *Keyring) derive(label string, size int) []byte {
	b, err := hkdf.Expand(sha256.New, k.prk, label, size)
	must(err)
	return b
}

// must holds for calls that fail only when a constant of this package is wrong.
func must(err error) {
	if err != nil {
		panic("auth: " + err.Error())
	}
}

// KID names the master key: eight hexadecimal digits derived from it.
func (k *Keyring) KID() string { return k.kid }

// MAC is HMAC-SHA-256 under the purpose's key over the tenant and the message.
func (k *Keyring) MAC(p dhruva.Purpose, tenant dhruva.TenantID, msg []byte) []byte {
	key, ok := k.macs[p]
	if !ok { // a purpose added to the root later: still a key of its own
		key = k.derive(labelMAC+string(p), sha256.Size)
	}
	return tenantMAC(key, tenant, msg)
}

// tenantMAC puts the tenant's length first, so that no tenant and message can
// be cut differently into another pair.
func tenantMAC(key []byte, tenant dhruva.TenantID, msg []byte) []byte {
	h := hmac.New(sha256.New, key)
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(tenant)))
	h.Write(n[:])
	h.Write([]byte(tenant))
	h.Write(msg)
	return h.Sum(nil)
}

// Verify checks a MAC in constant time; an unknown kid is false.
func (k *Keyring) Verify(p dhruva.Purpose, tenant dhruva.TenantID, kid string, msg, mac []byte) bool {
	want := k.MAC(p, tenant, msg)
	return hmac.Equal(want, mac) && kid == k.kid
}

// Sign signs with the installation's Ed25519 key.
func (k *Keyring) Sign(msg []byte) []byte { return ed25519.Sign(k.sign, msg) }

// Public is the key under which Sign's signatures verify.
func (k *Keyring) Public() ed25519.PublicKey {
	return append(ed25519.PublicKey(nil), k.sign.Public().(ed25519.PublicKey)...)
}

// String names the keyring by its kid; no key shows.
func (k Keyring) String() string { return "auth.Keyring(" + k.kid + ")" }

// GoString is String.
func (k Keyring) GoString() string { return k.String() }

// Format writes String for every verb.
func (k Keyring) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalJSON is String as JSON.
func (k Keyring) MarshalJSON() ([]byte, error) { return []byte(`"` + k.String() + `"`), nil }

// LogValue is String.
func (k Keyring) LogValue() slog.Value { return slog.StringValue(k.String()) }
