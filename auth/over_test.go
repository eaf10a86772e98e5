package auth_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// Keys over another store are the same keys: everything that is set goes along,
// and a revocation through either is noticed at once by both.
func TestKeysOverAnotherStore(t *testing.T) {
	r := newRig(t)
	first := &auth.Keys{Store: memstore.New(), Keyring: r.Keys.Keyring, Now: time.Now, Redact: func(s string) (string, int) { return s, 0 }}
	over := first.Over(r.Keys.Store)
	for i := range reflect.TypeFor[auth.Keys]().NumField() {
		f := reflect.TypeFor[auth.Keys]().Field(i)
		if v := reflect.ValueOf(over).Elem().Field(i); f.IsExported() && v.IsZero() {
			t.Errorf("%s is left behind", f.Name)
		}
	}
	key, secret, err := r.Keys.Create(owner(), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Keys.Authenticate(t.Context(), secret.Reveal()); err != nil {
		t.Fatal(err)
	}
	if err := r.Keys.Over(r.Keys.Store).Over(r.Keys.Store).Revoke(owner(), key.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Keys.Authenticate(t.Context(), secret.Reveal()); !errors.Is(err, dhruva.ErrUnauthenticated) {
		t.Errorf("the revoked key: %v", err)
	}
}
