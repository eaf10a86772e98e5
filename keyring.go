package dhruva

import "crypto/ed25519"

// Purpose separates the keys of a Keyring: a MAC made for one purpose never
// verifies for another.
type Purpose string

// The purposes.
const (
	PurposeKey          Purpose = "key"          // lookup ids of Dhruva keys
	PurposeContent      Purpose = "content"      // content-stable source ids
	PurposeProvenance   Purpose = "provenance"   // Source.MAC
	PurposeBlock        Purpose = "block"        // tags of injected blocks
	PurposeConversation Purpose = "conversation" // chains of human turns
	PurposeIdempotency  Purpose = "idempotency"  // idempotency keys and the requests they were used for
)

// Keyring holds the installation's secret material and does the few things
// that need it. Its material lives beside the store, never in it or in a
// backup of it. Implementations are safe for concurrent use.
type Keyring interface {
	// KID names the current keys.
	KID() string
	// MAC is HMAC-SHA-256 under the purpose's key, bound to the tenant.
	MAC(p Purpose, tenant TenantID, msg []byte) []byte
	// Verify checks a MAC made under the keys named kid, in constant time. An
	// unknown kid is false.
	Verify(p Purpose, tenant TenantID, kid string, msg, mac []byte) bool
	// Seal encrypts and authenticates a read token's payload for a tenant into
	// base64url text; Open is the reverse and answers ErrNotFound to anything
	// that was not sealed here for that tenant.
	Seal(tenant TenantID, payload []byte) string
	Open(tenant TenantID, token string) ([]byte, error)
	// Sign signs with the installation's Ed25519 key.
	Sign(msg []byte) []byte
	// Public is the key that Sign's signatures verify under.
	Public() ed25519.PublicKey
}
