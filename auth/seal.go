package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// A sealed text is base64url of
//
//	version (1 byte) | kid (4) | salt (16, random) | AES-256-GCM ciphertext and tag
//
// The AES key is HMAC(purpose key, tenant, salt), so every text has a key of
// its own and the nonce may be zero: the limit of 2^32 random nonces under one
// key does not apply. Version and kid are authenticated as associated data. The
// plaintext is a 4-byte length, the payload, and zeros up to a multiple of
// sealBlock (at least sealMin), so that lengths say little.
const (
	sealVersion = 1
	sealHeader  = 1 + kidBytes
	sealSalt    = 16
	sealMin     = 128
	sealBlock   = 64
	sealMax     = 1 << 20 // longest text that Open looks at
)

// encoding is strict, so that one token has one spelling.
var encoding = base64.RawURLEncoding.Strict()

// Seal encrypts a read token's payload for a tenant. Two calls with the same
// payload give different texts of the same length.
func (k *Keyring) Seal(tenant dhruva.TenantID, payload []byte) string {
	return encoding.EncodeToString(k.seal(k.tok, tenant, pad(payload)))
}

// Open is the reverse of Seal; anything that was not sealed here for that
// tenant is ErrNotFound, without a reason.
func (k *Keyring) Open(tenant dhruva.TenantID, token string) ([]byte, error) {
	if len(token) > sealMax {
		return nil, fmt.Errorf("auth: token: %w", dhruva.ErrNotFound)
	}
	raw, err := encoding.DecodeString(token)
	if err != nil {
		return nil, fmt.Errorf("auth: token: %w", dhruva.ErrNotFound)
	}
	plain, ok := k.open(k.tok, tenant, raw)
	if !ok {
		return nil, fmt.Errorf("auth: token: %w", dhruva.ErrNotFound)
	}
	payload, ok := unpad(plain)
	if !ok {
		return nil, fmt.Errorf("auth: token: %w", dhruva.ErrNotFound)
	}
	return payload, nil
}

// WrapKey encrypts a data key under the key-encryption key, for one record of
// a tenant; record is authenticated, so a wrapped key cannot be moved.
func (k *Keyring) WrapKey(tenant dhruva.TenantID, record string, key []byte) []byte {
	return k.seal(tenantMAC(k.wrap, tenant, []byte(record)), tenant, key)
}

// UnwrapKey is the reverse of WrapKey; ErrNotFound when the key was not wrapped
// here for that record.
func (k *Keyring) UnwrapKey(tenant dhruva.TenantID, record string, wrapped []byte) ([]byte, error) {
	key, ok := k.open(tenantMAC(k.wrap, tenant, []byte(record)), tenant, wrapped)
	if !ok {
		return nil, fmt.Errorf("auth: unwrap key: %w", dhruva.ErrNotFound)
	}
	return key, nil
}

func (k *Keyring) seal(key []byte, tenant dhruva.TenantID, plain []byte) []byte {
	out := make([]byte, 0, sealHeader+sealSalt+len(plain)+16)
	out = append(out, sealVersion)
	out, err := hex.AppendDecode(out, []byte(k.kid))
	must(err)
	var salt [sealSalt]byte
	_, _ = rand.Read(salt[:]) // never fails: the runtime stops the process instead
	out = append(out, salt[:]...)
	gcm := aead(key, tenant, salt[:])
	return gcm.Seal(out, make([]byte, gcm.NonceSize()), plain, out[:sealHeader])
}

func (k *Keyring) open(key []byte, tenant dhruva.TenantID, raw []byte) ([]byte, bool) {
	if len(raw) < sealHeader+sealSalt || raw[0] != sealVersion || hex.EncodeToString(raw[1:sealHeader]) != k.kid {
		return nil, false
	}
	body := raw[sealHeader+sealSalt:]
	gcm := aead(key, tenant, raw[sealHeader:sealHeader+sealSalt])
	plain, err := gcm.Open(nil, make([]byte, gcm.NonceSize()), body, raw[:sealHeader])
	return plain, err == nil
}

func aead(key []byte, tenant dhruva.TenantID, salt []byte) cipher.AEAD {
	block, err := aes.NewCipher(tenantMAC(key, tenant, salt))
	must(err)
	gcm, err := cipher.NewGCM(block)
	must(err)
	return gcm
}

func pad(payload []byte) []byte {
	size := max(sealMin, (4+len(payload)+sealBlock-1)/sealBlock*sealBlock)
	out := make([]byte, size)
	binary.BigEndian.PutUint32(out, uint32(len(payload)))
	copy(out[4:], payload)
	return out
}

func unpad(plain []byte) ([]byte, bool) {
	if len(plain) < 4 {
		return nil, false
	}
	n := binary.BigEndian.Uint32(plain)
	if int64(n) > int64(len(plain)-4) {
		return nil, false
	}
	return plain[4 : 4+n], true
}
