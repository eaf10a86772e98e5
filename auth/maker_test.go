package auth_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
)

func admin() auth.KeyInput { return auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.Admin}} }

func (r rig) wantStands(t testing.TB, what, text string, want bool) {
	t.Helper()
	_, err := r.Authenticate(context.Background(), text)
	if want && err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if !want {
		wantErr(t, what, err, dhruva.ErrUnauthenticated)
	}
}

// Revoking a key ends what it made, and what that made; nothing else.
func TestRevokingAKeyEndsTheKeysItMade(t *testing.T) {
	r := newRig(t)
	maker, makerText := r.make(t, owner(), admin())
	child, childText := r.make(t, as(maker), admin())
	_, grandchild := r.make(t, as(child), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}})
	_, sibling := r.make(t, owner(), admin())
	if err := r.Revoke(owner(), maker.Key); err != nil {
		t.Fatal(err)
	}
	r.wantStands(t, "the key", makerText, false)
	r.wantStands(t, "its child", childText, false)
	r.wantStands(t, "its grandchild", grandchild, false)
	r.wantStands(t, "another key", sibling, true)
	_, _, err := r.Create(as(child), admin())
	wantErr(t, "a key by the child", err, dhruva.ErrUnauthenticated)
	keys, err := r.List(owner(), dhruva.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if k.ID == child.Key && (k.Maker != maker.Key || !k.RevokedAt.IsZero()) {
			t.Errorf("the child's row: %+v", k)
		}
	}
}

// Another process revokes the maker: noticed within the TTL, as for the key itself.
func TestARevokedMakerIsNoticedWithinTheTTL(t *testing.T) {
	r := newRig(t)
	maker, _ := r.make(t, owner(), admin())
	_, text := r.make(t, as(maker), admin())
	other := &auth.Keys{Store: r.store, Keyring: r.Keyring, Now: r.clock.now}
	if err := other.Revoke(owner(), maker.Key); err != nil {
		t.Fatal(err)
	}
	r.clock.advance(auth.CacheTTL)
	r.wantStands(t, "after the TTL", text, false)
}

// The rows say what a Create never lets happen.
func TestAKeyStandsOnlyOnMakersThatStand(t *testing.T) {
	r := newRig(t)
	maker, _ := r.make(t, owner(), admin())
	child, text := r.make(t, as(maker), admin())
	edit := func(id dhruva.KeyID, fn func(*dhruva.Key)) {
		t.Helper()
		err := r.store.Store.Update(context.Background(), []dhruva.Scope{dhruva.TenantScope(auth.LocalTenant)}, func(tx dhruva.Tx) error {
			key, err := tx.Key(id)
			fn(&key)
			return errors.Join(err, tx.PutKey(key))
		})
		if err != nil {
			t.Fatal(err)
		}
		r.clock.advance(auth.CacheTTL)
	}
	edit(maker.Key, func(k *dhruva.Key) { k.ExpiresAt = r.clock.now().Add(auth.CacheTTL + time.Second) })
	r.wantStands(t, "before its maker's end", text, true)
	r.clock.advance(time.Second) // remembered
	r.wantStands(t, "after its maker's end", text, false)
	edit(maker.Key, func(k *dhruva.Key) { k.ExpiresAt = time.Time{} })
	r.wantStands(t, "again", text, true)
	edit(maker.Key, func(k *dhruva.Key) { k.Maker = "nowhere" })
	r.wantStands(t, "a maker above is missing", text, false)
	edit(maker.Key, func(k *dhruva.Key) { k.Maker = child.Key })
	r.wantStands(t, "makers in a circle", text, false)
}

func TestChainsOfMakersEnd(t *testing.T) {
	r := newRig(t)
	maker := auth.LocalPrincipal()
	for n := range 17 { // the first has no key above it
		var text string
		maker, text = r.make(t, as(maker), admin())
		r.wantStands(t, "key", text, true)
		if t.Failed() {
			t.Fatal(n)
		}
	}
	_, _, err := r.Create(as(maker), admin())
	wantErr(t, "one more", err, dhruva.ErrDenied)
}

// A vanished admin.key hands over to its successor; a revoked one does not.
func TestAReplacedAdministratorKeyHandsOver(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	replace := func() dhruva.Principal {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, auth.AdminKeyFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		p, err := r.Authenticate(context.Background(), r.bootstrap(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := replace()
	_, ofFirst := r.make(t, as(first), admin())
	for range 20 { // a handing over counts as no maker
		replace()
	}
	r.wantStands(t, "made by the first", ofFirst, true)
	_, _, err := r.Create(as(first), admin())
	wantErr(t, "a key by the replaced one", err, dhruva.ErrUnauthenticated)

	leaked := replace()
	_, ofLeaked := r.make(t, as(leaked), admin())
	if err := r.Revoke(owner(), leaked.Key); err != nil {
		t.Fatal(err)
	}
	r.wantStands(t, "made by the leaked", ofLeaked, false)
	r.wantStands(t, "handed over to the leaked", ofFirst, false)
	replace()
	r.wantStands(t, "made by the leaked, replaced then", ofLeaked, false)
	r.wantStands(t, "handed over to the leaked, replaced then", ofFirst, false)
}

func TestAReplacedAdministratorKeyCanBeRevokedLater(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	old, err := r.Authenticate(context.Background(), r.bootstrap(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	_, text := r.make(t, as(old), admin())
	if err := os.Remove(filepath.Join(dir, auth.AdminKeyFile)); err != nil {
		t.Fatal(err)
	}
	now := r.bootstrap(t, dir)
	if err := r.Revoke(owner(), old.Key); err != nil {
		t.Fatal(err)
	}
	r.wantStands(t, "made by the old one", text, false)
	r.wantStands(t, "the new one", now, true)
}
