package main

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// storeFile is the name of the embedded store in the data directory.
const storeFile = "dhruva.db"

// storeURL is where the store was said to be: by --store, else DHRUVA_STORE; ""
// is the data directory.
func (p *program) storeURL(flag string) string { return or(flag, p.env("DHRUVA_STORE")) }

// inMemory is the store that is forgotten when the server ends.
const inMemory = "memory:"

// storePath is the file of an embedded store, the URL of a Postgres database, or
// inMemory.
func storePath(dir, storeURL string) (string, error) {
	switch storeURL {
	case "":
		return filepath.Join(dir, storeFile), nil
	case inMemory:
		return inMemory, nil
	}
	u, err := url.Parse(storeURL)
	switch {
	case err == nil && u.Scheme == "sqlite" && u.Host == "" && u.Path != "":
		return u.Path, nil
	case err == nil && onPostgres(storeURL) && or(u.Host, u.Query().Get("host")) != "": // or a socket's directory
		return storeURL, nil
	}
	return "", withFix(usage("--store takes sqlite:///path/to/file.db, postgres://user@host/database or memory:"), "leave out --store for %s in the data directory", storeFile)
}

func onPostgres(at string) bool {
	return strings.HasPrefix(at, "postgres://") || strings.HasPrefix(at, "postgresql://")
}

// shownStore is where a store is, for people: without what nobody may read.
func shownStore(at string) string {
	if at == inMemory {
		return "memory"
	}
	if !onPostgres(at) {
		return at
	}
	u, err := url.Parse(at)
	if err != nil {
		return "the Postgres database"
	}
	return "the Postgres database " + or(u.Host, u.Query().Get("host")) + u.Path
}

// openStore opens a store with the keyring of its rows. A master key is made only
// where there is no store yet: beside one, the key it was made under is the only
// right one.
func openStore(ctx context.Context, dir, at string, log *slog.Logger) (dhruva.Store, *auth.Keyring, error) {
	if onPostgres(at) {
		return openPostgres(ctx, dir, at, log)
	}
	open := auth.OpenKeyring
	if _, err := os.Stat(at); err == nil {
		open = auth.ReadKeyring
	}
	keyring, err := open(dir)
	if err != nil {
		return nil, nil, masterFix(dir, err)
	}
	if at == inMemory {
		return memstore.New(), keyring, nil
	}
	store, err := sqlstore.Open(ctx, at, sqlstore.Options{Log: log})
	if err != nil {
		return nil, nil, withFix(err, "%s", storeFix(at, err))
	}
	return store, keyring, nil
}

// openPostgres looks into the database whether it is a store already.
func openPostgres(ctx context.Context, dir, at string, log *slog.Logger) (dhruva.Store, *auth.Keyring, error) {
	store, err := sqlstore.Open(ctx, at, sqlstore.Options{Log: log})
	if err != nil {
		return nil, nil, withFix(err, "%s", storeFix(at, err))
	}
	err = store.View(ctx, dhruva.SystemScope(), func(tx dhruva.Tx) error {
		_, err := tx.Tenant(auth.LocalTenant)
		return err
	})
	open := auth.ReadKeyring
	if errors.Is(err, dhruva.ErrNotFound) {
		open, err = auth.OpenKeyring, nil
	}
	if err != nil {
		return nil, nil, errors.Join(withFix(err, "%s", storeFix(at, err)), store.Close())
	}
	keyring, err := open(dir)
	if err != nil {
		return nil, nil, errors.Join(masterFix(dir, err), store.Close())
	}
	return store, keyring, nil
}

func masterFix(dir string, err error) error {
	f, _ := masterCheck(dir)
	return withFix(err, "%s", or(f.Fix, fixOf(err)))
}

// storeFix: a backup helps where the file itself is broken.
func storeFix(path string, err error) string {
	if onPostgres(path) {
		return "see that " + shownStore(path) + " runs, and that its user may use it"
	}
	for _, name := range []string{filepath.Dir(path), path, path + "-wal", path + "-shm"} {
		if blocked(name) != nil {
			return accessFix(name)
		}
	}
	switch {
	case errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "is full"):
		return "free space where " + path + " is"
	case errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "locked"):
		return "another program holds " + path + ": let it end, and try again"
	}
	return "restore it from a backup, or move " + path + " away to begin anew"
}
