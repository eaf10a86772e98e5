package auth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

const (
	// LocalTenant is the tenant of an installation that has no accounts.
	LocalTenant dhruva.TenantID = "local"
	// LocalOwner is who the commands on this machine act as.
	LocalOwner dhruva.PrincipalID = "local"
	// AdminKeyFile is the name of the administrator key's file in the data
	// directory.
	AdminKeyFile = "admin.key"
	// adminKeyName marks the key rows that Bootstrap made.
	adminKeyName = "admin.key"
)

// LocalPrincipal is the local owner, with every right: commands that open the
// store in process, and the compatible API in local mode, act as it.
func LocalPrincipal() dhruva.Principal {
	return dhruva.Principal{Tenant: LocalTenant, ID: LocalOwner, Name: "local owner", Scopes: dhruva.KeyScopes()}
}

// Bootstrap makes the default tenant and an administrator key with every right,
// whose text it writes to DIR/admin.key (mode 0600). It may run at every start,
// and in several processes at once. The file decides: when it is missing a new
// key is made; a key in it that the store does not know (a new store in an old
// directory, or a crash half-way) is given to the store; both end the keys that
// earlier Bootstraps made. A key that is ended so hands over to the new one, and
// the keys that it made stand on; one that was revoked ends them (see Revoke), so
// a leaked administrator key is revoked first and replaced then. A key in the
// file that was revoked stays revoked: remove the file to have a new one. A file
// that holds no key is ErrInvalid.
func (k *Keys) Bootstrap(ctx context.Context, dir string) error {
	secret, err := adminKey(filepath.Join(dir, AdminKeyFile))
	if err != nil {
		return fmt.Errorf("auth: administrator key: %w", err)
	}
	row := dhruva.Key{
		Tenant: LocalTenant, ID: dhruva.KeyID(dhruva.NewID()), Owner: LocalOwner, Name: adminKeyName,
		Scopes: dhruva.KeyScopes(), CreatedAt: k.now(), Hash: k.digest(secret.Reveal()), Label: Label(secret),
	}
	account := k.account(ctx, LocalPrincipal(), dhruva.ActKeyCreate, row.ID)
	scopes := []dhruva.Scope{dhruva.SystemScope(), dhruva.TenantScope(LocalTenant)}
	err = k.Store.Update(ctx, scopes, func(tx dhruva.Tx) error {
		if err := k.ensureTenant(tx, row.CreatedAt); err != nil {
			return err
		}
		return installAdmin(tx, row, account)
	})
	k.first().cache.forget()
	if err != nil {
		return fmt.Errorf("auth: bootstrap: %w", err)
	}
	return nil
}

// adminKey reads the file, or makes it with a new key. The file comes before
// the store, so that a crash in between loses nothing.
func adminKey(path string) (Secret, error) {
	text, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = createPrivate(path, GenerateKey(Live).Reveal()+"\n"); err != nil && !errors.Is(err, fs.ErrExist) {
			return Secret{}, err
		}
		text, err = readPrivate(path)
	}
	if err != nil {
		return Secret{}, err
	}
	key := NewSecret(strings.TrimSpace(text))
	if env, err := ParseKey(key.Reveal()); err != nil || env != Live {
		return Secret{}, fmt.Errorf("%w: %s does not hold a %s%s_ key; remove the file to have a new one made", dhruva.ErrInvalid, path, keyPrefix, Live)
	}
	return key, nil
}

// ensureTenant makes the local tenant, or checks that its rows were made under
// this master key: under another one no key would work and no source verify.
func (k *Keys) ensureTenant(tx dhruva.Tx, now time.Time) error {
	kid := k.Keyring.KID()
	tenant, err := tx.Tenant(LocalTenant)
	switch {
	case errors.Is(err, dhruva.ErrNotFound):
		return tx.PutTenant(dhruva.Tenant{ID: LocalTenant, Name: string(LocalTenant), KID: kid, CreatedAt: now})
	case err == nil && tenant.KID != kid:
		return fmt.Errorf("%w: the store was made under another %s (%s, this one is %s): restore that file", dhruva.ErrInvalid, MasterKeyFile, tenant.KID, kid)
	}
	return err
}

// installAdmin gives the store the file's key, unless it knows it. The receipt of
// the new key accounts for those that it replaces, too.
func installAdmin(tx dhruva.Tx, row dhruva.Key, account dhruva.Receipt) error {
	_, err := tx.KeyByHash(row.Hash)
	if !errors.Is(err, dhruva.ErrNotFound) {
		return err
	}
	if err := replaceAdmins(tx, row.ID, row.CreatedAt); err != nil {
		return err
	}
	if err := tx.PutKey(row); err != nil {
		return err
	}
	return dhruva.Attest(tx, account)
}

// administrator reports whether Bootstrap made a key; the name is kept for it.
func administrator(key dhruva.Key) bool {
	return key.Name == adminKeyName && key.Owner == LocalOwner
}

// replaceAdmins ends the live administrator keys in favour of a new one. Those
// that were replaced before hand over to it too, so that a handing over is never
// more than one step. A revoked one hands over to nobody.
func replaceAdmins(tx dhruva.Tx, by dhruva.KeyID, now time.Time) error {
	page := dhruva.Page{Limit: 1000}
	for {
		keys, err := tx.ListKeys(page)
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, key := range keys {
			if err := replaceAdmin(tx, key, by, now); err != nil {
				return err
			}
		}
		page.After = string(keys[len(keys)-1].ID)
	}
}

// revokedAdmin: a person ended it, no successor did.
func revokedAdmin(key dhruva.Key) bool { return !key.RevokedAt.IsZero() && key.Maker == "" }

func replaceAdmin(tx dhruva.Tx, key dhruva.Key, by dhruva.KeyID, now time.Time) error {
	if !administrator(key) {
		return nil
	}
	if at, err := makerOf(tx, dhruva.Key{Maker: key.ID}); err != nil || revokedAdmin(at) {
		return err
	}
	key.Maker = by
	if key.RevokedAt.IsZero() {
		key.RevokedAt = now
	}
	return tx.PutKey(key)
}
