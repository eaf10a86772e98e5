package auth_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

func adminFile(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, auth.AdminKeyFile)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("admin.key has mode %v, want 0600", info.Mode().Perm())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func (r rig) bootstrap(t *testing.T, dir string) string {
	t.Helper()
	if err := r.Bootstrap(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	return adminFile(t, dir)
}

func (r rig) liveKeys(t *testing.T) (n int) {
	t.Helper()
	keys, err := r.List(owner(), dhruva.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if k.RevokedAt.IsZero() {
			n++
		}
	}
	return n
}

func TestBootstrapMakesTheOwnersKeyOnce(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	text := r.bootstrap(t, dir)
	p, err := r.Authenticate(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	want := auth.LocalPrincipal()
	want.Key, want.Name = p.Key, "admin.key"
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("administrator (-want +got):\n%s", diff)
	}
	err = r.store.View(context.Background(), dhruva.SystemScope(), func(tx dhruva.Tx) error {
		tenant, err := tx.Tenant(auth.LocalTenant)
		if tenant.Name != "local" {
			t.Errorf("tenant %+v", tenant)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if again := r.bootstrap(t, dir); again != text || r.liveKeys(t) != 1 {
		t.Errorf("the second start changed the key, or made %d", r.liveKeys(t))
	}
}

func TestBootstrapReplacesAVanishedKey(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	old := r.bootstrap(t, dir)
	other, _ := r.make(t, owner(), auth.KeyInput{Name: "kept", Scopes: []dhruva.KeyScope{dhruva.Admin}})
	if err := os.Remove(filepath.Join(dir, auth.AdminKeyFile)); err != nil {
		t.Fatal(err)
	}
	text := r.bootstrap(t, dir)
	if text == old {
		t.Error("the old key came back")
	}
	if _, err := r.Authenticate(context.Background(), text); err != nil {
		t.Errorf("the new key: %v", err)
	}
	_, err := r.Authenticate(context.Background(), old)
	wantErr(t, "the old key", err, dhruva.ErrUnauthenticated)
	if n := r.liveKeys(t); n != 2 {
		t.Errorf("%d live keys, want the new one and %s", n, other.Name)
	}
}

func TestBootstrapGivesTheFilesKeyToANewStore(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	text := r.bootstrap(t, dir)
	fresh := rig{&auth.Keys{Store: memstore.New(), Keyring: r.Keyring, Now: r.clock.now}, nil, r.clock}
	if again := fresh.bootstrap(t, dir); again != text {
		t.Error("the file's key was replaced")
	}
	if _, err := fresh.Authenticate(context.Background(), text); err != nil {
		t.Errorf("the new store does not know the file's key: %v", err)
	}
}

func TestBootstrapLeavesARevokedKeyRevoked(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	text := r.bootstrap(t, dir)
	p, err := r.Authenticate(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Revoke(owner(), p.Key); err != nil {
		t.Fatal(err)
	}
	if again := r.bootstrap(t, dir); again != text {
		t.Error("a revoked administrator key was replaced")
	}
	_, err = r.Authenticate(context.Background(), text)
	wantErr(t, "revoked administrator", err, dhruva.ErrUnauthenticated)
}

func TestBootstrapRefusesAFileItDidNotWrite(t *testing.T) {
	test := auth.GenerateKey(auth.Test).Reveal()
	for name, file := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"empty": {"", 0o600}, "not a key": {"hello", 0o600}, "test key": {test, 0o600},
		"readable by others": {auth.GenerateKey(auth.Live).Reveal(), 0o644},
	} {
		r, dir := newRig(t), t.TempDir()
		path := filepath.Join(dir, auth.AdminKeyFile)
		if err := errors.Join(os.WriteFile(path, []byte(file.text), 0o600), os.Chmod(path, file.mode)); err != nil {
			t.Fatal(err)
		}
		err := r.Bootstrap(context.Background(), dir)
		wantErr(t, name, err, dhruva.ErrInvalid)
		if b, _ := os.ReadFile(path); string(b) != file.text {
			t.Errorf("%s: the file was changed", name)
		}
		if err != nil && file.text != "" && strings.Contains(err.Error(), file.text) {
			t.Errorf("%s: the error shows the file's text", name)
		}
		if r.store.opened.Load() != 0 {
			t.Errorf("%s: the store was touched", name)
		}
	}
}

func TestBootstrapSurvivesACrashBeforeTheStore(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	failure := error(dhruva.ErrUnavailable)
	r.store.broken.Store(&failure)
	wantErr(t, "crash", r.Bootstrap(context.Background(), dir), dhruva.ErrUnavailable)
	written := adminFile(t, dir)
	r.store.broken.Store(nil)
	if text := r.bootstrap(t, dir); text != written {
		t.Error("the next start made another key")
	}
	if _, err := r.Authenticate(context.Background(), written); err != nil {
		t.Error(err)
	}
}

func TestStartsAtOnceAgreeOnOneAdministrator(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		process := &auth.Keys{Store: r.store, Keyring: r.Keyring, Now: r.clock.now}
		wg.Go(func() {
			if err := process.Bootstrap(context.Background(), dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := r.Authenticate(context.Background(), adminFile(t, dir)); err != nil {
		t.Error(err)
	}
	if n := r.liveKeys(t); n != 1 {
		t.Errorf("%d live keys, want 1", n)
	}
	onlyFile(t, dir, auth.AdminKeyFile)
}

// A store that was made under another master key is refused, not orphaned.
func TestBootstrapRefusesAnotherMasterKey(t *testing.T) {
	store, dir := memstore.New(), t.TempDir()
	first := &auth.Keys{Store: store, Keyring: auth.NewKeyring([]byte("one key of thirty-two bytes, no more"))}
	if err := first.Bootstrap(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	other := &auth.Keys{Store: store, Keyring: auth.NewKeyring([]byte("another key of thirty-two bytes here"))}
	if err := other.Bootstrap(context.Background(), dir); !errors.Is(err, dhruva.ErrInvalid) || !strings.Contains(err.Error(), auth.MasterKeyFile) {
		t.Errorf("%v", err)
	}
	if err := first.Bootstrap(context.Background(), dir); err != nil {
		t.Errorf("the right one again: %v", err)
	}
}

func TestReadKeyringMakesNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := auth.ReadKeyring(dir); !errors.Is(err, dhruva.ErrNotFound) {
		t.Errorf("%v", err)
	}
	made, err := auth.OpenKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	if read, err := auth.ReadKeyring(dir); err != nil || read.KID() != made.KID() {
		t.Errorf("%v", err)
	}
}
