package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// maxKeyName bounds a key's name, in bytes.
const maxKeyName = 200

// Keys makes, lists, revokes and recognises Dhruva keys. Use one value in a
// process: what it remembers of recent keys is forgotten by its own Revoke.
type Keys struct {
	Store   dhruva.Store
	Keyring dhruva.Keyring
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Redact is that of the ledger: it replaces secrets, and counts them. A key
	// whose name, or whose provider's name, holds one is refused. Nil refuses none:
	// this package cannot reach the redactor, and its owner decides whether
	// secrets in texts are replaced at all.
	Redact func(text string) (string, int)

	cache cache
	of    *Keys // whose cache counts; nil: its own
}

// Over is these keys over another store, such as one whose Updates carry more
// than is written here. What is remembered of recent keys is shared.
func (k *Keys) Over(s dhruva.Store) *Keys {
	return &Keys{Store: s, Keyring: k.Keyring, Now: k.Now, Redact: k.Redact, of: k.first()}
}

func (k *Keys) first() *Keys {
	if k.of != nil {
		return k.of
	}
	return k
}

func (k *Keys) now() time.Time {
	if k.Now == nil {
		return dhruva.Micros(time.Now())
	}
	return dhruva.Micros(k.Now())
}

// KeyInput is what a new key shall be.
type KeyInput struct {
	// Name is for people; it may be empty.
	Name string
	// Space is the key's own space, used where a request names none.
	Space dhruva.SpaceID
	// Spaces are those the key may touch. Empty means only Space when that is
	// given, else all that the maker may touch.
	Spaces []dhruva.SpaceID
	// Scopes are the key's rights; at least one.
	Scopes []dhruva.KeyScope
	// Provider binds proxied calls to one provider; "" follows the route, or
	// the maker's binding.
	Provider string
	// ExpiresAt zero means as long as the maker.
	ExpiresAt time.Time
	// Test makes a dhr_test_ key, which reaches only the echo provider.
	Test bool
}

// Create makes a key for the principal in ctx, who needs admin: over the whole
// tenant, or over the spaces that the key may touch. The key stands only while
// the maker's does. The Secret is shown here and never again. More than the maker
// holds is ErrDenied; a space that does not exist, or that the maker does not reach, is
// ErrNotFound; anything that can never be a key is ErrInvalid.
func (k *Keys) Create(ctx context.Context, in KeyInput) (dhruva.Key, Secret, error) {
	p, key, err := k.draft(ctx, in)
	if err != nil {
		return dhruva.Key{}, Secret{}, fmt.Errorf("auth: create key: %w", err)
	}
	secret, account := k.seal(&key), k.account(ctx, p, dhruva.ActKeyCreate, key.ID)
	err = k.Store.Update(ctx, []dhruva.Scope{p.Scope()}, func(tx dhruva.Tx) error {
		row, err := underMaker(tx, p, key, key.CreatedAt)
		if err != nil {
			return err
		}
		if err := tx.PutKey(row); err != nil {
			return err
		}
		key.ExpiresAt = row.ExpiresAt
		return dhruva.Attest(tx, account)
	})
	if err != nil {
		return dhruva.Key{}, Secret{}, fmt.Errorf("auth: create key: %w", err)
	}
	return public(key), secret, nil
}

// Check tells whether Create would make this key now, and makes nothing: for
// who has something else to make first, such as the key's space.
func (k *Keys) Check(ctx context.Context, in KeyInput) error {
	p, key, err := k.draft(ctx, in)
	if err == nil {
		err = k.Store.View(ctx, p.Scope(), func(tx dhruva.Tx) error {
			_, err := underMaker(tx, p, key, key.CreatedAt)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("auth: create key: %w", err)
	}
	return nil
}

// draft is the row of a key as far as input and principal decide it.
func (k *Keys) draft(ctx context.Context, in KeyInput) (dhruva.Principal, dhruva.Key, error) {
	p, err := dhruva.PrincipalFrom(ctx)
	if err != nil {
		return p, dhruva.Key{}, err
	}
	if !p.May(dhruva.Admin) {
		return p, dhruva.Key{}, fmt.Errorf("%w: making keys needs %s", dhruva.ErrDenied, dhruva.Admin)
	}
	if err := firstOf(k.notSecret("name of the key", in.Name), k.notSecret("provider", in.Provider)); err != nil {
		return p, dhruva.Key{}, err
	}
	key, err := newKey(p, in, k.now())
	return p, key, err
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// notSecret refuses a name that looks like a secret, and does not repeat it.
func (k *Keys) notSecret(what, name string) error {
	if k.Redact == nil {
		return nil
	}
	if _, n := k.Redact(name); n > 0 {
		return fmt.Errorf("%w: the %s looks like a secret; secrets are not stored", dhruva.ErrInvalid, what)
	}
	return nil
}

// seal gives a key row its text, hash and label.
func (k *Keys) seal(key *dhruva.Key) Secret {
	env := Live
	if key.Test {
		env = Test
	}
	secret := GenerateKey(env)
	key.Hash, key.Label = k.digest(secret.Reveal()), Label(secret)
	return secret
}

// digest is the lookup id of a key. It is bound to no tenant, since the tenant
// is what is looked up.
func (k *Keys) digest(text string) []byte {
	return k.Keyring.MAC(dhruva.PurposeKey, "", []byte(text))
}

// public is a key as it is handed out: its lookup id stays inside.
func public(key dhruva.Key) dhruva.Key {
	key.Hash = nil
	return key
}

// newKey checks everything that the input and the principal decide.
func newKey(p dhruva.Principal, in KeyInput, now time.Time) (dhruva.Key, error) {
	key := dhruva.Key{
		Tenant: p.Tenant, ID: dhruva.KeyID(dhruva.NewID()), Owner: p.ID, Name: in.Name,
		Maker: p.Key, Test: in.Test, Space: in.Space, CreatedAt: now, ExpiresAt: dhruva.Micros(in.ExpiresAt),
	}
	if err := checkName(in.Name); err != nil {
		return key, err
	}
	if !key.ExpiresAt.IsZero() && !key.ExpiresAt.After(now) {
		return key, fmt.Errorf("%w: the key would have expired already", dhruva.ErrInvalid)
	}
	var err error
	if key.Scopes, err = grant(in.Scopes); err != nil {
		return key, err
	}
	if key.Spaces, err = reach(p, in); err != nil {
		return key, err
	}
	key.Provider, err = provider(p, in)
	return key, err
}

func checkName(name string) error {
	if name == adminKeyName {
		return fmt.Errorf("%w: the name %q is reserved", dhruva.ErrInvalid, name)
	}
	if len(name) > maxKeyName {
		return fmt.Errorf("%w: a key's name has at most %d bytes", dhruva.ErrInvalid, maxKeyName)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("%w: a key's name is text on one line", dhruva.ErrInvalid)
	}
	return nil
}

// grant checks rights against the closed list and puts them in its order. The
// maker's own need no look: admin holds all of them.
func grant(asked []dhruva.KeyScope) ([]dhruva.KeyScope, error) {
	if len(asked) == 0 {
		return nil, fmt.Errorf("%w: a key needs at least one scope of: %s", dhruva.ErrInvalid, scopeList())
	}
	for _, s := range asked {
		if !slices.Contains(dhruva.KeyScopes(), s) {
			return nil, fmt.Errorf("%w: unknown scope %.40q; the scopes are: %s", dhruva.ErrInvalid, s, scopeList())
		}
	}
	return slices.DeleteFunc(dhruva.KeyScopes(), func(s dhruva.KeyScope) bool { return !slices.Contains(asked, s) }), nil
}

func scopeList() string {
	var names []string
	for _, s := range dhruva.KeyScopes() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// reach is the list of spaces the key may touch. A space out of the maker's
// reach is ErrNotFound, as a missing one is.
func reach(p dhruva.Principal, in KeyInput) ([]dhruva.SpaceID, error) {
	spaces := slices.Clone(in.Spaces)
	switch {
	case len(spaces) == 0 && in.Space != "":
		spaces = []dhruva.SpaceID{in.Space}
	case len(spaces) == 0:
		spaces = slices.Clone(p.Spaces)
	case in.Space != "" && !slices.Contains(spaces, in.Space):
		return nil, fmt.Errorf("%w: the key's own space is not among its spaces", dhruva.ErrInvalid)
	}
	slices.Sort(spaces)
	spaces = slices.Compact(spaces)
	for _, s := range spaces {
		if !p.Reaches(s) {
			return nil, fmt.Errorf("space %.64q: %w", s, dhruva.ErrNotFound)
		}
	}
	return spaces, nil
}

// provider keeps the maker's binding and holds test keys to echo.
func provider(p dhruva.Principal, in KeyInput) (string, error) {
	name := in.Provider
	if name == "" {
		name = p.Provider
	}
	if p.Test && !in.Test {
		return "", fmt.Errorf("%w: a test key makes test keys only", dhruva.ErrDenied)
	}
	if in.Test && in.Provider == "" {
		return dhruva.EchoProvider, nil
	}
	if in.Test && name != dhruva.EchoProvider {
		return "", fmt.Errorf("%w: test keys reach only %s", dhruva.ErrInvalid, dhruva.EchoProvider)
	}
	if p.Provider != "" && name != p.Provider {
		return "", fmt.Errorf("%w: the maker is bound to another provider", dhruva.ErrDenied)
	}
	return name, checkProvider(name)
}

// maxProviderName bounds the name of a provider, in bytes.
const maxProviderName = 64

// checkProvider holds a provider's name to the form of one: letters, digits and
// what joins them.
func checkProvider(name string) error {
	other := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.')
	}
	if len(name) > maxProviderName || strings.ContainsFunc(name, other) {
		return fmt.Errorf("%w: a provider's name is at most %d letters, digits, dashes, dots and underscores", dhruva.ErrInvalid, maxProviderName)
	}
	return nil
}

// underMaker checks what only the store knows: that the maker's own key and
// those above it still stand and how long, and that the named spaces exist.
func underMaker(tx dhruva.Tx, p dhruva.Principal, key dhruva.Key, now time.Time) (dhruva.Key, error) {
	if p.Key != "" {
		maker, err := standingMaker(tx, key, now)
		if err != nil {
			return key, err
		}
		if key.ExpiresAt.IsZero() {
			key.ExpiresAt = maker.ExpiresAt
		}
		if !maker.ExpiresAt.IsZero() && key.ExpiresAt.After(maker.ExpiresAt) {
			return key, fmt.Errorf("%w: the key would outlive its maker", dhruva.ErrDenied)
		}
	}
	for _, s := range key.Spaces {
		space, err := tx.Space(s)
		if err != nil {
			return key, err
		}
		if space.Home || !space.DeletedAt.IsZero() { // hidden: as if it were not there
			return key, fmt.Errorf("space: %w", dhruva.ErrNotFound)
		}
	}
	return key, nil
}

// live reports whether a key stands.
func live(key dhruva.Key, now time.Time) bool {
	return key.RevokedAt.IsZero() && (key.ExpiresAt.IsZero() || now.Before(key.ExpiresAt))
}

// List lists the tenant's keys by id, revoked ones too. It needs admin over the
// whole tenant.
func (k *Keys) List(ctx context.Context, page dhruva.Page) ([]dhruva.Key, error) {
	p, err := dhruva.PrincipalFrom(ctx)
	if err != nil {
		return nil, fmt.Errorf("auth: list keys: %w", err)
	}
	if !administers(p) {
		return nil, fmt.Errorf("auth: list keys: %w: needs %s over the whole tenant", dhruva.ErrDenied, dhruva.Admin)
	}
	var keys []dhruva.Key
	err = k.Store.View(ctx, p.Scope(), func(tx dhruva.Tx) (err error) {
		keys, err = tx.ListKeys(page)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("auth: list keys: %w", err)
	}
	for i := range keys {
		keys[i] = public(keys[i])
	}
	return keys, nil
}

// Revoke ends a key of the tenant, and with it every key that it made, and that
// those made, at once in this process. Their rows stay as they are: a key is
// refused because a maker of it is revoked. It needs admin over the whole
// tenant, but a key may always revoke itself. Revoking twice is no error.
func (k *Keys) Revoke(ctx context.Context, id dhruva.KeyID) error {
	p, err := dhruva.PrincipalFrom(ctx)
	if err != nil {
		return fmt.Errorf("auth: revoke key: %w", err)
	}
	if !administers(p) && (p.Key == "" || p.Key != id) {
		return fmt.Errorf("auth: revoke key: %w: needs %s over the whole tenant", dhruva.ErrDenied, dhruva.Admin)
	}
	now, account := k.now(), k.account(ctx, p, dhruva.ActKeyRevoke, id)
	err = k.Store.Update(ctx, []dhruva.Scope{p.Scope()}, func(tx dhruva.Tx) error {
		if ended, err := revoke(tx, id, now); err != nil || !ended {
			return err
		}
		return dhruva.Attest(tx, account)
	})
	// Also after a failure: the outcome of a failed commit is unknown.
	k.first().cache.forget()
	if err != nil {
		return fmt.Errorf("auth: revoke key: %w", err)
	}
	return nil
}

// revoke reports whether there was something to end.
func revoke(tx dhruva.Tx, id dhruva.KeyID, now time.Time) (bool, error) {
	key, err := tx.Key(id)
	handedOver := administrator(key) && key.Maker != ""
	if err != nil || !key.RevokedAt.IsZero() && !handedOver {
		return false, err
	}
	if handedOver { // a replaced one may be revoked still: then what it made ends
		key.Maker = ""
	}
	if key.RevokedAt.IsZero() {
		key.RevokedAt = now
	}
	return true, tx.PutKey(key)
}

func administers(p dhruva.Principal) bool { return p.May(dhruva.Admin) && len(p.Spaces) == 0 }
