package auth_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// watched counts the transactions of a store, can break it, and can act between
// a read and its use.
type watched struct {
	dhruva.Store
	opened    atomic.Int64
	broken    atomic.Pointer[error]
	afterView func()
}

func (w *watched) View(ctx context.Context, s dhruva.Scope, fn func(dhruva.Tx) error) error {
	w.opened.Add(1)
	if err := w.broken.Load(); err != nil {
		return *err
	}
	err := w.Store.View(ctx, s, fn)
	if w.afterView != nil {
		w.afterView()
	}
	return err
}

func (w *watched) Update(ctx context.Context, s []dhruva.Scope, fn func(dhruva.Tx) error) error {
	w.opened.Add(1)
	if err := w.broken.Load(); err != nil {
		return *err
	}
	return w.Store.Update(ctx, s, fn)
}

// clock is settable, and safe to read from several goroutines.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.UnixMicro(c.at.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.at.Add(d.Microseconds()) }

type rig struct {
	*auth.Keys
	store *watched
	clock *clock
}

func newRig(t testing.TB) rig {
	t.Helper()
	store, c := &watched{Store: memstore.New()}, &clock{}
	c.at.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
	return rig{&auth.Keys{Store: store, Keyring: auth.NewKeyring(seed(1)), Now: c.now}, store, c}
}

// as is a context in which p acts.
func as(p dhruva.Principal) context.Context {
	return dhruva.WithPrincipal(context.Background(), p)
}

func owner() context.Context { return as(auth.LocalPrincipal()) }

func (r rig) space(t testing.TB, tenant dhruva.TenantID, ids ...dhruva.SpaceID) {
	t.Helper()
	for _, id := range ids {
		err := r.store.Store.Update(context.Background(), []dhruva.Scope{dhruva.TenantScope(tenant)}, func(tx dhruva.Tx) error {
			return tx.PutSpace(dhruva.Space{Tenant: tenant, ID: id, Name: string(id), Owner: auth.LocalOwner, CreatedAt: r.clock.now(), UpdatedAt: r.clock.now()})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// make creates a key and returns its principal and text.
func (r rig) make(t testing.TB, ctx context.Context, in auth.KeyInput) (dhruva.Principal, string) {
	t.Helper()
	_, secret, err := r.Create(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Authenticate(context.Background(), secret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return p, secret.Reveal()
}

func wantErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestCreatedKeyIsWhoItSays(t *testing.T) {
	r := newRig(t)
	r.space(t, auth.LocalTenant, "s1", "s2")
	in := auth.KeyInput{
		Name: "laptop", Space: "s1", Spaces: []dhruva.SpaceID{"s2", "s1", "s2"}, Provider: "openai",
		Scopes:    []dhruva.KeyScope{dhruva.ProxyUse, dhruva.MemoryRead, dhruva.ProxyUse},
		ExpiresAt: r.clock.now().Add(time.Hour),
	}
	key, secret, err := r.Create(owner(), in)
	if err != nil {
		t.Fatal(err)
	}
	if key.Hash != nil || key.Label != auth.Label(secret) || !strings.HasPrefix(secret.Reveal(), "dhr_live_") {
		t.Errorf("key %+v, label of the text %q", key, auth.Label(secret))
	}
	got, err := r.Authenticate(context.Background(), secret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	want := dhruva.Principal{
		Tenant: auth.LocalTenant, ID: auth.LocalOwner, Key: key.ID, Name: "laptop", Provider: "openai",
		Scopes: []dhruva.KeyScope{dhruva.MemoryRead, dhruva.ProxyUse}, Space: "s1", Spaces: []dhruva.SpaceID{"s1", "s2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("principal (-want +got):\n%s", diff)
	}
	if _, err := dhruva.PrincipalFrom(dhruva.WithPrincipal(context.Background(), got)); err != nil {
		t.Error(err)
	}
}

func TestTheStoreNeverHoldsAKeysText(t *testing.T) {
	r := newRig(t)
	_, text := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.Admin}})
	keys, err := func() (keys []dhruva.Key, err error) {
		err = r.store.Store.View(context.Background(), dhruva.TenantScope(auth.LocalTenant), func(tx dhruva.Tx) (err error) {
			keys, err = tx.ListKeys(dhruva.Page{})
			return err
		})
		return keys, err
	}()
	if err != nil || len(keys) != 1 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	if strings.Contains(string(keys[0].Hash), text[9:20]) || strings.Contains(keys[0].Label, text[9:20]) || len(keys[0].Hash) != 32 {
		t.Errorf("the stored row shows the key: %+v", keys[0])
	}
}

// CVE-2026-47101: a user minted a key with more rights than its own.
func TestCVE2026_47101_AKeyNeverExceedsItsMaker(t *testing.T) {
	r := newRig(t)
	r.space(t, auth.LocalTenant, "s1", "s2", "s3")
	r.space(t, "other", "foreign")
	limited, _ := r.make(t, owner(), auth.KeyInput{
		Scopes: []dhruva.KeyScope{dhruva.Admin}, Spaces: []dhruva.SpaceID{"s1", "s2"},
		Provider: "openai", ExpiresAt: r.clock.now().Add(time.Hour),
	})
	reader, _ := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead, dhruva.ProxyUse}})
	test, _ := r.make(t, owner(), auth.KeyInput{Scopes: dhruva.KeyScopes(), Test: true})
	read := []dhruva.KeyScope{dhruva.MemoryRead}
	for _, c := range []struct {
		name  string
		maker dhruva.Principal
		in    auth.KeyInput
		want  error
	}{
		{"subset", limited, auth.KeyInput{Scopes: read, Space: "s1"}, nil},
		{"inherits spaces", limited, auth.KeyInput{Scopes: read}, nil},
		{"admin of the same spaces", limited, auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.Admin}}, nil},
		{"more rights", reader, auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead, dhruva.MemoryWrite}}, dhruva.ErrDenied},
		{"its own rights without admin", reader, auth.KeyInput{Scopes: read}, dhruva.ErrDenied},
		{"in a space without admin", reader, auth.KeyInput{Scopes: read, Space: "s1"}, dhruva.ErrDenied},
		{"admin", reader, auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.Admin}}, dhruva.ErrDenied},
		{"unknown right", limited, auth.KeyInput{Scopes: []dhruva.KeyScope{"/*"}}, dhruva.ErrInvalid},
		{"unknown right by the owner", auth.LocalPrincipal(), auth.KeyInput{Scopes: []dhruva.KeyScope{"*"}}, dhruva.ErrInvalid},
		{"right in another case", auth.LocalPrincipal(), auth.KeyInput{Scopes: []dhruva.KeyScope{"Admin"}}, dhruva.ErrInvalid},
		{"no right", limited, auth.KeyInput{}, dhruva.ErrInvalid},
		{"space out of reach", limited, auth.KeyInput{Scopes: read, Spaces: []dhruva.SpaceID{"s1", "s3"}}, dhruva.ErrNotFound},
		{"own space out of reach", limited, auth.KeyInput{Scopes: read, Space: "s3"}, dhruva.ErrNotFound},
		{"foreign space", auth.LocalPrincipal(), auth.KeyInput{Scopes: read, Space: "foreign"}, dhruva.ErrNotFound},
		{"no such space", auth.LocalPrincipal(), auth.KeyInput{Scopes: read, Space: "nowhere"}, dhruva.ErrNotFound},
		{"own space not among them", auth.LocalPrincipal(), auth.KeyInput{Scopes: read, Space: "s1", Spaces: []dhruva.SpaceID{"s2"}}, dhruva.ErrInvalid},
		{"other provider", limited, auth.KeyInput{Scopes: read, Provider: "anthropic"}, dhruva.ErrDenied},
		{"outlives", limited, auth.KeyInput{Scopes: read, ExpiresAt: r.clock.now().Add(2 * time.Hour)}, dhruva.ErrDenied},
		{"expired already", auth.LocalPrincipal(), auth.KeyInput{Scopes: read, ExpiresAt: r.clock.now()}, dhruva.ErrInvalid},
		{"live from test", test, auth.KeyInput{Scopes: read}, dhruva.ErrDenied},
		{"test from test", test, auth.KeyInput{Scopes: read, Test: true}, nil},
		{"test with a real provider", auth.LocalPrincipal(), auth.KeyInput{Scopes: read, Test: true, Provider: "openai"}, dhruva.ErrInvalid},
		{"long name", limited, auth.KeyInput{Scopes: read, Name: strings.Repeat("n", 201)}, dhruva.ErrInvalid},
		{"name on two lines", limited, auth.KeyInput{Scopes: read, Name: "a\nb"}, dhruva.ErrInvalid},
		{"reserved name", auth.LocalPrincipal(), auth.KeyInput{Scopes: read, Name: "admin.key"}, dhruva.ErrInvalid},
	} {
		key, secret, err := r.Create(as(c.maker), c.in)
		if c.want != nil {
			wantErr(t, c.name, err, c.want)
			if !secret.IsZero() {
				t.Errorf("%s: a key came with the error", c.name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(c.maker.Spaces) > 0 && (len(key.Spaces) == 0 || slices.ContainsFunc(key.Spaces, func(s dhruva.SpaceID) bool { return !c.maker.Reaches(s) })) {
			t.Errorf("%s: spaces %v exceed %v", c.name, key.Spaces, c.maker.Spaces)
		}
	}
	if _, _, err := r.Create(context.Background(), auth.KeyInput{Scopes: read}); !errors.Is(err, dhruva.ErrUnauthenticated) {
		t.Errorf("nobody: %v, want ErrUnauthenticated", err)
	}
}

// For any chain of makers, whatever each asks for, the last key is within the
// first one's rights, spaces, lifetime, provider and environment.
func TestDescendantsStayWithinTheirAncestors(t *testing.T) {
	spaces := []dhruva.SpaceID{"s1", "s2", "s3"}
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.space(t, auth.LocalTenant, spaces...)
		maker := auth.LocalPrincipal()
		var expires time.Time
		for range rapid.IntRange(1, 5).Draw(rt, "depth") {
			in := auth.KeyInput{
				Scopes:   rapid.SliceOfN(rapid.SampledFrom(dhruva.KeyScopes()), 0, 4).Draw(rt, "scopes"),
				Spaces:   rapid.SliceOfN(rapid.SampledFrom(spaces), 0, 3).Draw(rt, "spaces"),
				Space:    rapid.SampledFrom(append(spaces, "")).Draw(rt, "space"),
				Provider: rapid.SampledFrom([]string{"", "openai", "echo"}).Draw(rt, "provider"),
				Test:     rapid.Bool().Draw(rt, "test"),
			}
			if hours := rapid.IntRange(0, 5).Draw(rt, "hours"); hours > 0 {
				in.ExpiresAt = r.clock.now().Add(time.Duration(hours) * time.Hour)
			}
			key, secret, err := r.Create(as(maker), in)
			if err != nil {
				continue
			}
			for _, s := range key.Scopes {
				if !maker.May(s) {
					rt.Fatalf("right %s is not the maker's", s)
				}
			}
			if len(maker.Spaces) > 0 && (len(key.Spaces) == 0 || slices.ContainsFunc(key.Spaces, func(s dhruva.SpaceID) bool { return !maker.Reaches(s) })) {
				rt.Fatalf("spaces %v exceed %v", key.Spaces, maker.Spaces)
			}
			if key.Space != "" && len(key.Spaces) > 0 && !slices.Contains(key.Spaces, key.Space) {
				rt.Fatalf("own space %s is out of its reach %v", key.Space, key.Spaces)
			}
			if !expires.IsZero() && (key.ExpiresAt.IsZero() || key.ExpiresAt.After(expires)) {
				rt.Fatalf("expiry %v exceeds %v", key.ExpiresAt, expires)
			}
			if maker.Test && !key.Test || key.Test && key.Provider != dhruva.EchoProvider {
				rt.Fatalf("test %v provider %q from test %v", key.Test, key.Provider, maker.Test)
			}
			if maker.Provider != "" && key.Provider != maker.Provider && !key.Test {
				rt.Fatalf("provider %q from %q", key.Provider, maker.Provider)
			}
			if maker, err = r.Authenticate(context.Background(), secret.Reveal()); err != nil {
				rt.Fatal(err)
			}
			expires = key.ExpiresAt
		}
	})
}

func TestARevokedMakerMakesNothing(t *testing.T) {
	r := newRig(t)
	maker, _ := r.make(t, owner(), auth.KeyInput{Scopes: dhruva.KeyScopes()})
	if err := r.Revoke(owner(), maker.Key); err != nil {
		t.Fatal(err)
	}
	_, _, err := r.Create(as(maker), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}})
	wantErr(t, "revoked maker", err, dhruva.ErrUnauthenticated)
}

func TestHiddenSpacesCannotBeNamed(t *testing.T) {
	r := newRig(t)
	err := r.store.Store.Update(context.Background(), []dhruva.Scope{dhruva.TenantScope(auth.LocalTenant)}, func(tx dhruva.Tx) error {
		at := r.clock.now()
		return errors.Join(
			tx.PutSpace(dhruva.Space{Tenant: auth.LocalTenant, ID: "home", Owner: auth.LocalOwner, Home: true, CreatedAt: at, UpdatedAt: at}),
			tx.PutSpace(dhruva.Space{Tenant: auth.LocalTenant, ID: "gone", Name: "gone", CreatedAt: at, UpdatedAt: at, DeletedAt: at}))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []dhruva.SpaceID{"home", "gone"} {
		_, _, err := r.Create(owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}, Space: s})
		wantErr(t, string(s), err, dhruva.ErrNotFound)
	}
}

func TestListAndRevokeNeedTheWholeTenant(t *testing.T) {
	r := newRig(t)
	r.space(t, auth.LocalTenant, "s1")
	a, aText := r.make(t, owner(), auth.KeyInput{Name: "a", Scopes: []dhruva.KeyScope{dhruva.MemoryRead}})
	b, bText := r.make(t, owner(), auth.KeyInput{Name: "b", Scopes: []dhruva.KeyScope{dhruva.Admin}, Space: "s1"})
	foreign := dhruva.Principal{Tenant: "other", ID: "u", Scopes: dhruva.KeyScopes()}
	for name, p := range map[string]dhruva.Principal{"no admin": a, "admin of one space": b} {
		_, err := r.List(as(p), dhruva.Page{})
		wantErr(t, name+" lists", err, dhruva.ErrDenied)
		wantErr(t, name+" revokes", r.Revoke(as(p), "another"), dhruva.ErrDenied)
	}
	wantErr(t, "foreign key", r.Revoke(as(foreign), a.Key), dhruva.ErrNotFound)
	wantErr(t, "missing key", r.Revoke(owner(), "nowhere"), dhruva.ErrNotFound)
	if keys, err := r.List(as(foreign), dhruva.Page{}); err != nil || len(keys) != 0 {
		t.Errorf("another tenant lists %v, %v", keys, err)
	}
	keys, err := r.List(owner(), dhruva.Page{Limit: 1})
	if err != nil || len(keys) != 1 || keys[0].Name != "a" || keys[0].Hash != nil {
		t.Errorf("first page: %+v, %v", keys, err)
	}
	if err := r.Revoke(as(a), a.Key); err != nil {
		t.Errorf("a key cannot revoke itself: %v", err)
	}
	_, err = r.Authenticate(context.Background(), aText)
	wantErr(t, "after its own revocation", err, dhruva.ErrUnauthenticated)
	if _, err := r.Authenticate(context.Background(), bText); err != nil {
		t.Errorf("the other key fell too: %v", err)
	}
	if err := r.Revoke(owner(), a.Key); err != nil {
		t.Errorf("revoking twice: %v", err)
	}
}

// CVE-2026-42208: the key check reached SQL before the key was checked.
func TestCVE2026_42208_MalformedKeysNeverReachTheStore(t *testing.T) {
	r := newRig(t)
	good := auth.GenerateKey(auth.Live).Reveal()
	before := r.store.opened.Load()
	for _, credential := range []string{
		"", "dhr_live_' OR 1=1 --", good[:41], good + "x", "sk-ant-whatever", strings.Replace(good, "live", "prod", 1),
		good[:41] + string(good[41]^1), strings.Repeat("A", 1<<20), "\x00", "dhr_live_" + strings.Repeat("é", 17),
	} {
		_, err := r.Authenticate(context.Background(), credential)
		wantErr(t, "malformed", err, dhruva.ErrUnauthenticated)
	}
	if n := r.store.opened.Load() - before; n != 0 {
		t.Errorf("the store was asked %d times", n)
	}
}

func TestEveryWrongKeyIsTheSameError(t *testing.T) {
	r := newRig(t)
	revoked, revokedText := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.Admin}})
	if err := r.Revoke(owner(), revoked.Key); err != nil {
		t.Fatal(err)
	}
	_, expiredText := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.Admin}, ExpiresAt: r.clock.now().Add(time.Second)})
	r.clock.advance(time.Second)
	texts := map[string]bool{}
	for name, credential := range map[string]string{
		"malformed": "x", "unknown": auth.GenerateKey(auth.Live).Reveal(), "revoked": revokedText, "expired": expiredText,
	} {
		p, err := r.Authenticate(context.Background(), credential)
		wantErr(t, name, err, dhruva.ErrUnauthenticated)
		if err != nil {
			texts[err.Error()] = true
		}
		if diff := cmp.Diff(dhruva.Principal{}, p); diff != "" {
			t.Errorf("%s: a principal came with the error: %s", name, diff)
		}
	}
	if len(texts) != 1 {
		t.Errorf("the errors tell the reasons apart: %v", texts)
	}
}

// Unknown, revoked and expired keys cost the same store reads.
func TestWrongKeysAreOfOneTimingClass(t *testing.T) {
	r := newRig(t)
	revoked, revokedText := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.Admin}})
	if err := r.Revoke(owner(), revoked.Key); err != nil {
		t.Fatal(err)
	}
	for _, credential := range []string{revokedText, auth.GenerateKey(auth.Live).Reveal()} {
		for range 3 {
			before := r.store.opened.Load()
			_, err := r.Authenticate(context.Background(), credential)
			wantErr(t, "wrong key", err, dhruva.ErrUnauthenticated)
			if n := r.store.opened.Load() - before; n != 1 {
				t.Errorf("%d store reads, want 1", n)
			}
		}
	}
}

func TestAStoreFailureIsUnavailableNeverAYes(t *testing.T) {
	r := newRig(t)
	_, text := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.Admin}})
	r.clock.advance(auth.CacheTTL)
	for _, failure := range []error{errors.New("disk"), dhruva.ErrUnavailable, dhruva.ErrDenied} {
		r.store.broken.Store(&failure)
		_, err := r.Authenticate(context.Background(), text)
		wantErr(t, failure.Error(), err, dhruva.ErrUnavailable)
		if errors.Is(err, dhruva.ErrUnauthenticated) {
			t.Errorf("%v is taken for a wrong key", failure)
		}
	}
}

func TestKnownKeysAreAnsweredFromMemoryForAWhile(t *testing.T) {
	r := newRig(t)
	p, text := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}})
	before := r.store.opened.Load()
	got, err := r.Authenticate(context.Background(), text)
	if err != nil || r.store.opened.Load() != before {
		t.Errorf("asked the store again: %v", err)
	}
	got.Scopes[0] = dhruva.Admin
	again, _ := r.Authenticate(context.Background(), text)
	if again.May(dhruva.Admin) || p.May(dhruva.Admin) {
		t.Error("a caller changed the remembered rights")
	}
	// Another process revokes: noticed within the TTL.
	other := &auth.Keys{Store: r.store, Keyring: r.Keyring, Now: r.clock.now}
	if err := other.Revoke(owner(), p.Key); err != nil {
		t.Fatal(err)
	}
	r.clock.advance(auth.CacheTTL)
	_, err = r.Authenticate(context.Background(), text)
	wantErr(t, "after the TTL", err, dhruva.ErrUnauthenticated)
}

func TestAClockSetBackDoesNotProlongTrust(t *testing.T) {
	r := newRig(t)
	_, text := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}})
	r.clock.advance(-time.Hour)
	before := r.store.opened.Load()
	if _, err := r.Authenticate(context.Background(), text); err != nil || r.store.opened.Load() == before {
		t.Errorf("the store was not asked after the clock was set back: %v", err)
	}
}

func TestExpiryHoldsForRememberedKeys(t *testing.T) {
	r := newRig(t)
	_, text := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}, ExpiresAt: r.clock.now().Add(auth.CacheTTL / 2)})
	r.clock.advance(auth.CacheTTL / 2)
	_, err := r.Authenticate(context.Background(), text)
	wantErr(t, "expired in memory", err, dhruva.ErrUnauthenticated)
}

// A lookup that read the row before a revocation must not remember it after.
func TestRevocationDuringALookupIsNotUndoneByTheCache(t *testing.T) {
	r := newRig(t)
	p, text := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}})
	r.clock.advance(auth.CacheTTL)
	var once sync.Once
	r.store.afterView = func() {
		once.Do(func() {
			if err := r.Revoke(owner(), p.Key); err != nil {
				t.Error(err)
			}
		})
	}
	_, _ = r.Authenticate(context.Background(), text) // began before the revocation: either answer is right
	_, err := r.Authenticate(context.Background(), text)
	wantErr(t, "after the revocation", err, dhruva.ErrUnauthenticated)
}

func TestRevocationIsImmediateUnderLoad(t *testing.T) {
	r := newRig(t)
	for range 20 {
		p, text := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}})
		var revoked atomic.Bool
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 200 {
					ended := revoked.Load()
					if _, err := r.Authenticate(context.Background(), text); err == nil && ended {
						t.Error("a revoked key was accepted")
						return
					}
				}
			})
		}
		if err := r.Revoke(owner(), p.Key); err != nil {
			t.Fatal(err)
		}
		revoked.Store(true)
		wg.Wait()
	}
}

// CVE-2026-35030: the cache was keyed by the first 20 characters of the token.
func TestCVE2026_35030_KeysWithACommonPrefixAreNotConfused(t *testing.T) {
	r := newRig(t)
	_, text := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.Admin}})
	// A key that is well-formed and shares 35 of 36 characters before the sum.
	for c := byte('a'); c <= 'z'; c++ {
		forged := withSum(text[:35] + string(c))
		if forged == text {
			continue
		}
		_, err := r.Authenticate(context.Background(), forged)
		wantErr(t, forged, err, dhruva.ErrUnauthenticated)
	}
	if _, err := r.Authenticate(context.Background(), text); err != nil {
		t.Error(err)
	}
}

func TestOtherInstallationsDoNotKnowTheKey(t *testing.T) {
	r := newRig(t)
	_, text := r.make(t, owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.Admin}})
	other := &auth.Keys{Store: r.store, Keyring: auth.NewKeyring(seed(2)), Now: r.clock.now}
	_, err := other.Authenticate(context.Background(), text)
	wantErr(t, "another pepper", err, dhruva.ErrUnauthenticated)
}
