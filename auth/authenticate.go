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
// unknown, expired and revoked keys, and keys whose makers were revoked or have
// expired, are the same ErrUnauthenticated; a store that cannot be asked is ErrUnavailable, never a yes.
func (k *Keys) Authenticate(ctx context.Context, credential string) (dhruva.Principal, error) {
	if _, err := ParseKey(credential); err != nil {
		return dhruva.Principal{}, errNoKey
	}
	digest, now := [sha256.Size]byte(k.digest(credential)), k.now()
	found, hit, epoch := k.first().cache.lookup(digest, now)
	if !hit {
		var err error
		if found, err = k.find(ctx, digest[:], now); err != nil {
			return dhruva.Principal{}, err
		}
		k.first().cache.keep(digest, found, now, epoch)
	}
	// The comparison is made again although the row was found by it: an index
	// that compares otherwise must not decide who somebody is.
	if same := hmac.Equal(found.key.Hash, digest[:]); !same || !found.stands(now) {
		return dhruva.Principal{}, errNoKey
	}
	return principal(found.key), nil
}

// lineage is a key with all that must stand for it to stand.
type lineage struct {
	key    dhruva.Key
	makers []dhruva.Key
	// broken: a maker is missing, or there are more than maxMakers.
	broken bool
}

func (f lineage) stands(now time.Time) bool {
	dead := func(key dhruva.Key) bool { return !live(key, now) }
	return f.key.ID != "" && !f.broken && !dead(f.key) && !slices.ContainsFunc(f.makers, dead)
}

// find reads the key row and those of its makers; nothing when there is none.
// Makers are read only for a key that stands by itself, so that all wrong keys
// cost one read.
func (k *Keys) find(ctx context.Context, digest []byte, now time.Time) (found lineage, err error) {
	err = k.Store.View(ctx, dhruva.SystemScope(), func(tx dhruva.Tx) (err error) {
		found.key, err = tx.KeyByHash(digest)
		return err
	})
	if err == nil && found.key.Maker != "" && live(found.key, now) {
		err = k.Store.View(ctx, dhruva.TenantScope(found.key.Tenant), func(tx dhruva.Tx) (err error) {
			found, err = ancestry(tx, found.key)
			return err
		})
	}
	switch {
	case errors.Is(err, dhruva.ErrNotFound):
		return lineage{}, nil
	case errors.Is(err, dhruva.ErrUnavailable):
		return lineage{}, fmt.Errorf("auth: key lookup: %w", err)
	case err != nil:
		return lineage{}, fmt.Errorf("auth: key lookup: %w: %v", dhruva.ErrUnavailable, err)
	}
	return found, nil
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
	lineage
	at time.Time
}

// fresh is false after CacheTTL, and when the clock was set back.
func (e entry) fresh(now time.Time) bool {
	age := now.Sub(e.at)
	return age >= 0 && age < CacheTTL
}

// lookup also gives the epoch, which keep wants back.
func (c *cache) lookup(digest [sha256.Size]byte, now time.Time) (lineage, bool, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[digest]
	return e.lineage, ok && e.fresh(now), c.epoch
}

// keep remembers a key that stands, unless something was revoked since the
// epoch: the rows may have been read before that.
func (c *cache) keep(digest [sha256.Size]byte, found lineage, now time.Time, epoch uint64) {
	if !found.stands(now) {
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
	c.entries[digest] = entry{found, now}
}

// forget drops everything; revocations are rare.
func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.entries = nil
}
