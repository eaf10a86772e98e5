package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// CacheTTL is how long a recognised key is taken on trust before the store is
// asked again. It bounds how late another process's revocation is noticed.
const CacheTTL = 2 * time.Second

// cacheSize bounds the number of remembered keys.
const cacheSize = 4096

// errNoKey is the one answer to a credential that does not stand, whatever is
// wrong with it.
var errNoKey = fmt.Errorf("auth: key: %w", dhruva.ErrUnauthenticated)

// Authenticate turns a key's text into the Principal it acts as. Malformed,
// unknown, expired and revoked keys are the same ErrUnauthenticated; a store
// that cannot be asked is ErrUnavailable, never a yes.
func (k *Keys) Authenticate(ctx context.Context, credential string) (dhruva.Principal, error) {
	if _, err := ParseKey(credential); err != nil {
		return dhruva.Principal{}, errNoKey
	}
	digest, now := [sha256.Size]byte(k.digest(credential)), k.now()
	key, hit, epoch := k.cache.lookup(digest, now)
	if !hit {
		var err error
		if key, err = k.find(ctx, digest[:]); err != nil {
			return dhruva.Principal{}, err
		}
		k.cache.keep(digest, key, now, epoch)
	}
	// The comparison is made again although the row was found by it: an index
	// that compares otherwise must not decide who somebody is.
	if same := hmac.Equal(key.Hash, digest[:]); !same || !live(key, now) {
		return dhruva.Principal{}, errNoKey
	}
	return principal(key), nil
}

// find reads the key row; the zero Key when there is none.
func (k *Keys) find(ctx context.Context, digest []byte) (dhruva.Key, error) {
	var key dhruva.Key
	err := k.Store.View(ctx, dhruva.SystemScope(), func(tx dhruva.Tx) (err error) {
		key, err = tx.KeyByHash(digest)
		return err
	})
	switch {
	case errors.Is(err, dhruva.ErrNotFound):
		return dhruva.Key{}, nil
	case errors.Is(err, dhruva.ErrUnavailable):
		return dhruva.Key{}, fmt.Errorf("auth: key lookup: %w", err)
	case err != nil:
		return dhruva.Key{}, fmt.Errorf("auth: key lookup: %w: %v", dhruva.ErrUnavailable, err)
	}
	return key, nil
}

// principal is who a key acts as: its owner, with the key's rights.
func principal(key dhruva.Key) dhruva.Principal {
	return dhruva.Principal{
		Tenant: key.Tenant, ID: key.Owner, Key: key.ID, Name: key.Name,
		Scopes: slices.Clone(key.Scopes), Space: key.Space, Spaces: slices.Clone(key.Spaces),
		Provider: key.Provider, Test: key.Test,
	}
}

// cache remembers recognised keys by their full digest. The zero value is
// empty and ready. It holds rows, not verdicts: expiry is judged at each use.
type cache struct {
	mu      sync.Mutex
	epoch   uint64
	entries map[[sha256.Size]byte]entry
}

type entry struct {
	key dhruva.Key
	at  time.Time
}

// fresh is false after CacheTTL, and when the clock was set back.
func (e entry) fresh(now time.Time) bool {
	age := now.Sub(e.at)
	return age >= 0 && age < CacheTTL
}

// lookup also gives the epoch, which keep wants back.
func (c *cache) lookup(digest [sha256.Size]byte, now time.Time) (dhruva.Key, bool, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[digest]
	return e.key, ok && e.fresh(now), c.epoch
}

// keep remembers a live key, unless something was revoked since the epoch: the
// row may have been read before that.
func (c *cache) keep(digest [sha256.Size]byte, key dhruva.Key, now time.Time, epoch uint64) {
	if key.ID == "" || !live(key, now) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != epoch {
		return
	}
	if c.entries == nil || len(c.entries) >= cacheSize {
		c.entries = map[[sha256.Size]byte]entry{}
	}
	c.entries[digest] = entry{key, now}
}

// forget drops everything; revocations are rare.
func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.entries = nil
}
