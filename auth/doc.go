// Package auth turns a bearer key into a Principal, and holds the
// installation's secret material.
//
// It has three parts. Keyring derives every secret of the installation from
// one master key, which lives in a file beside the store and never in it. Keys
// makes, lists, revokes and recognises Dhruva keys, which the store knows only
// by a keyed hash. Credential is the one place that reads a credential from a
// request: every edge uses it, so that no header slips past a policy.
//
// Invariants:
//
//  1. A key's text is shown once, by Create (or written once, by Bootstrap);
//     what is stored is HMAC(pepper, key) and a label.
//  2. A key with a wrong checksum is refused before any store access, and a
//     credential that does not stand is always the same ErrUnauthenticated.
//  3. A key never exceeds its maker: not in rights, spaces, provider, lifetime
//     or tenant, and a test key makes test keys only. Rights are a closed list.
//     Only a holder of admin makes keys.
//  4. Revocation holds from the moment Revoke returns, in this process; another
//     process notices within CacheTTL. A key stands only while all its makers do.
//  5. The master key file is readable by its owner only, or it is refused.
//  6. A credential comes from three headers and from nowhere else: not from
//     the query, not from cookies.
//  7. A key that is made or revoked leaves a receipt and its audit leaf, in the
//     same Update.
//  8. No name that looks like a secret is stored with a key (Keys.Redact).
//
// It stores keys and the default tenant. All types are safe for concurrent use.
package auth
