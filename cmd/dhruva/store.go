package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// storeFile is the name of the embedded store in the data directory.
const storeFile = "dhruva.db"

// storeURL is where the store of a data directory is: by --store, else
// DHRUVA_STORE, else as the directory itself says; "" is the file in it.
func (p *program) storeURL(dir, flag string) (string, error) {
	if said := or(flag, p.env("DHRUVA_STORE")); said != "" {
		return said, nil
	}
	return readElsewhere(dir)
}

// elsewhereFile is in a data directory whose store is not the file in it: the
// store's URL without its password. A server and `dhruva migrate` write it, so that
// no command takes a file that was left behind for the store.
const elsewhereFile = "store.url"

func readElsewhere(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, elsewhereFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	at := strings.TrimSpace(string(b))
	if err == nil && at == "" {
		err = fmt.Errorf("%w: it is empty", dhruva.ErrInvalid)
	}
	if err != nil {
		return "", withFix(fmt.Errorf("%s says where the store is: %w", filepath.Join(dir, elsewhereFile), err), "give the store with DHRUVA_STORE, or mend the file")
	}
	return at, nil
}

// keepElsewhere notes where the store of a data directory is. A store that is
// forgotten is not noted.
func keepElsewhere(dir, at string) error {
	name := filepath.Join(dir, elsewhereFile)
	switch at {
	case inMemory:
		return nil
	case filepath.Join(dir, storeFile):
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", elsewhereFile, err)
		}
		return nil
	}
	if now, err := readElsewhere(dir); err == nil && now == bareStore(at) {
		return nil
	}
	return writeWhole(dir, elsewhereFile, []byte(bareStore(at)+"\n"))
}

// bareStore is the URL of a store without a password.
func bareStore(at string) string {
	switch {
	case at == inMemory:
		return at
	case !onPostgres(at):
		return (&url.URL{Scheme: "sqlite", Path: at}).String()
	}
	u, err := url.Parse(at)
	if err != nil { // openStore has parsed it
		return "postgres:"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for name := range q {
		if strings.Contains(strings.ToLower(name), "password") {
			q.Del(name)
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

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
	fix := "leave out --store for " + storeFile + " in the data directory"
	if file := strings.TrimPrefix(storeURL, "sqlite:"); !strings.Contains(file, "://") {
		if abs, err := filepath.Abs(file); err == nil {
			fix = "did you mean " + bareStore(abs) + "?"
		}
	}
	return "", withFix(usage("--store takes sqlite:///path/to/file.db, postgres://user@host/database or memory:"), "%s", fix)
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
	if info, err := os.Stat(at); err == nil {
		open = auth.ReadKeyring
		if err := notEmptied(dir, at, info.Size()); err != nil {
			return nil, nil, err
		}
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
		return nil, nil, withFix(refused(at, err), "%s", storeFix(at, err))
	}
	return store, keyring, nil
}

// notEmptied refuses a store's file without a byte where there has been a store
// already: the administrator key is made after it.
func notEmptied(dir, at string, size int64) error {
	if size > 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, auth.AdminKeyFile)); err != nil {
		return nil
	}
	return withFix(damagedData{fmt.Errorf("%w: %s is empty: it was cut, for a store is never", dhruva.ErrInvalid, at)}, "%s", mendFix(at))
}

// mendFix is what to do about a store's file that is broken.
func mendFix(path string) string {
	return "restore it from a backup; or, to begin anew, move " + path + " away together with " + filepath.Base(path) + "-wal and -shm, where they are: they belong together"
}

// openPostgres looks into the database whether it is a store already.
func openPostgres(ctx context.Context, dir, at string, log *slog.Logger) (dhruva.Store, *auth.Keyring, error) {
	store, err := sqlstore.Open(ctx, at, sqlstore.Options{Log: log})
	if err != nil {
		return nil, nil, withFix(refusedStore(err), "%s", storeFix(at, err))
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
	if errors.Is(err, dhruva.ErrNotFound) {
		err = withFix(err, "copy %s and %s from the data directory that this database was used with", auth.MasterKeyFile, auth.AdminKeyFile)
		return nil, nil, errors.Join(err, store.Close())
	}
	if err != nil {
		return nil, nil, errors.Join(masterFix(dir, err), store.Close())
	}
	return store, keyring, nil
}

// refusedStore is an error of what is in a file or a database, where its name is
// right: it is damaged, or none of ours.
func refusedStore(err error) error {
	words := []string{"newer than this program", "another program", "damaged", "no SQLite database", "cut short", "no migration was applied",
		"has a log beside it", "are not those of", "is not one of ours", "no statement of ours"}
	says := func(words string) bool { return strings.Contains(err.Error(), words) }
	if sqlstore.Damaged(err) || errors.Is(err, dhruva.ErrInvalid) && slices.ContainsFunc(words, says) {
		return damagedData{err}
	}
	return err
}

func masterFix(dir string, err error) error {
	f, _ := masterCheck(dir)
	return withFix(err, "%s", or(f.Fix, fixOf(err)))
}

// storeFix: a backup helps where the file itself is broken.
func storeFix(path string, err error) string {
	if onPostgres(path) {
		switch text := err.Error(); {
		case strings.Contains(text, "newer than this program"):
			return "use the version of dhruva that made it, or a later one"
		case strings.Contains(text, "another program"):
			return "give an empty database, or an empty schema of one: …?search_path=NAME"
		case strings.Contains(text, "it is damaged"):
			return "restore the database from a dump or a base backup; docs/operate.md says how"
		case strings.Contains(text, "42501"), strings.Contains(text, "permission denied"):
			return "grant the user the right to make tables in the schema: GRANT CREATE, USAGE ON SCHEMA … TO …"
		case strings.Contains(text, "3F000"), strings.Contains(text, "schema of the search_path"):
			return "make the schema that the URL names: CREATE SCHEMA … AUTHORIZATION …"
		}
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
	case absentDir(path):
		return "make the directory " + filepath.Dir(path) + ", or correct the path"
	case errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "locked"):
		return "another program holds " + path + ": let it end, and try again"
	}
	if strings.Contains(err.Error(), "newer than this program") {
		return "use the version of dhruva that made it, or a later one"
	}
	return mendFix(path)
}

// absentDir: a file cannot be there, because its directory is not.
func absentDir(path string) bool {
	_, err := os.Stat(filepath.Dir(path))
	return errors.Is(err, fs.ErrNotExist)
}
