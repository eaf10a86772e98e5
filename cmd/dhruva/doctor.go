package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/serve/api"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// finding is the result of one check.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warning or problem
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

func (p *program) doctorCommand() *cobra.Command {
	var network bool
	c := &cobra.Command{Use: "doctor", Short: "Find what is wrong with an installation", Args: cobra.NoArgs,
		Example: "  dhruva doctor\n  dhruva doctor --providers-reachable --json",
		Long:    "Looks and changes nothing; to see that there is room, a small file is written and removed. Exits with 0 when nothing is a problem (warnings are none), else with 1.",
		RunE:    func(c *cobra.Command, _ []string) error { return p.doctor(c.Context(), network) },
	}
	c.Flags().BoolVar(&network, "providers-reachable", false, "also ask each provider for one word (costs a few tokens)")
	return c
}

func (p *program) doctor(ctx context.Context, network bool) error {
	dir, err := p.dataDir()
	if err != nil {
		return err
	}
	found := p.diagnose(ctx, dir, network)
	problems := 0
	for _, f := range found {
		if f.Status == "problem" {
			problems++
		}
	}
	err = p.printBare(struct {
		OK       bool      `json:"ok"`
		Data     string    `json:"data"`
		Findings []finding `json:"findings"`
	}{problems == 0, dir, found}, func(w io.Writer) {
		fmt.Fprintf(w, "data directory %s\n", dir)
		printFindings(w, found)
	}, func(w io.Writer) {
		printFindings(w, slices.DeleteFunc(found, func(f finding) bool { return f.Status != "problem" }))
	})
	if err == nil && problems > 0 {
		err = withFix(fmt.Errorf("%d %s", problems, plural(problems, "problem", "problems")), "each is listed with its fix")
	}
	return err
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func printFindings(w io.Writer, found []finding) {
	for _, f := range found {
		fmt.Fprintf(w, "%-8s %-16s %s\n", f.Status, f.Check, f.Detail)
		if f.Fix != "" {
			fmt.Fprintf(w, "%-8s %-16s fix: %s\n", "", "", f.Fix)
		}
	}
}

// diagnose runs every check that makes sense for what is there.
func (p *program) diagnose(ctx context.Context, dir string, network bool) []finding {
	out := []finding{clock(time.Now())}
	if f, there := directory(dir); !there {
		return append(out, f)
	}
	master, keyring := masterCheck(dir)
	admin, key := adminFileCheck(dir)
	out = append(out, private(dir, "."), master, admin, private(dir, providersFile), private(dir, storeFile), redactionCheck(dir), copiesCheck(dir))
	server, live := p.server(ctx, dir)
	out = append(out, server, roomCheck(dir))
	out = append(out, p.storeFindings(ctx, dir, live, keyring, key)...)
	if live != nil && key != "" {
		out = append(out, serverKnows(ctx, dir, live.URL, key))
	}
	return append(out, p.providerChecks(ctx, dir, network)...)
}

// storeFindings look into the store of the data directory. The one that a running
// server has must be that one: another would be taken for it.
func (p *program) storeFindings(ctx context.Context, dir string, live *serving, keyring *auth.Keyring, key string) []finding {
	at, err := p.storeURL(dir, "")
	if err == nil {
		at, err = storePath(dir, at)
	}
	switch {
	case err != nil:
		return []finding{{"store", "problem", api.Words(err), "correct DHRUVA_STORE, or " + filepath.Join(dir, elsewhereFile)}}
	case live != nil && live.Store == inMemory:
		return []finding{{"store", "warning", "the server's is in memory: nothing of it is kept when the server ends", "give a store that lasts: sqlite:///path/to/file.db or postgres://user@host/database"}}
	case live != nil && live.Store != "" && live.Store != bareStore(at):
		return []finding{{"store", "problem", "the server has another store, " + live.Store + ", than this command would use, " + bareStore(at), "give the same DHRUVA_STORE to both, or another --data to one"}}
	case at == inMemory:
		return []finding{{"store", "warning", "in memory: nothing of it is kept when the server ends", "give a store that lasts: sqlite:///path/to/file.db or postgres://user@host/database"}}
	case !onPostgres(at) && blocked(at) != nil:
		return nil // private tells of it
	}
	limits, _ := loadLimits(dir) // what is wrong with them is told elsewhere
	return storeChecks(ctx, at, keyring, key, limits.Upkeep.WithDefaults().NodeLease, live != nil)
}

// directory tells whether there is a directory to look into. One that cannot be
// used is the one problem: all others would only follow from it.
func directory(dir string) (f finding, there bool) {
	const check = "data directory"
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{check, "warning", "does not exist yet", "`dhruva serve` makes it"}, false
	case err != nil:
		return finding{check, "problem", err.Error(), accessFix(dir)}, false
	case !info.IsDir():
		return finding{check, "problem", "is a file", "give a directory with --data"}, false
	}
	if err := blocked(dir); err != nil {
		return finding{check, "problem", "cannot be read and written: " + err.Error(), accessFix(dir)}, false
	}
	return f, true
}

// masterCheck opens the master key, and makes none.
func masterCheck(dir string) (finding, *auth.Keyring) {
	const check = auth.MasterKeyFile
	if f := private(dir, check); f.Status == "problem" {
		return f, nil
	}
	keyring, err := auth.ReadKeyring(dir)
	if errors.Is(err, dhruva.ErrNotFound) {
		if _, err := os.Stat(filepath.Join(dir, storeFile)); err == nil {
			return finding{check, "problem", "is gone, and " + storeFile + " was made under it", "restore it from where you keep it; a new one opens nothing of what is stored"}, nil
		}
		return finding{check, "warning", "not there yet", "`dhruva serve` makes it"}, nil
	}
	if err != nil {
		return finding{check, "problem", api.Words(err), "restore it from where you keep it"}, nil
	}
	return finding{check, "ok", "a master key, for its owner alone", ""}, keyring
}

// newAdmin is how a new administrator key comes about.
const newAdmin = "delete it and run any command: a new one is made"

// adminFileCheck reads the administrator key.
func adminFileCheck(dir string) (f finding, key string) {
	const check = auth.AdminKeyFile
	if f := private(dir, check); f.Status == "problem" {
		return f, ""
	}
	b, err := os.ReadFile(filepath.Join(dir, check))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{check, "warning", "not there yet", "run any command: it is made"}, ""
	case err != nil:
		return finding{check, "problem", err.Error(), newAdmin}, ""
	}
	key = strings.TrimSpace(string(b))
	if env, err := auth.ParseKey(key); err != nil || env != auth.Live {
		return finding{check, "problem", "does not hold a key", newAdmin}, ""
	}
	return finding{check, "ok", "a key, for its owner alone", ""}, key
}

// clock: times sort everything, so a clock that was never set is a problem.
func clock(now time.Time) finding {
	if now.Year() < 2025 {
		return finding{"clock", "problem", "it says " + now.Format(time.RFC3339), "set the system's clock"}
	}
	return finding{"clock", "ok", now.UTC().Format(time.RFC3339), ""}
}

// private: what is in the data directory is for its owner alone, and the owner
// can use it.
func private(dir, name string) finding {
	path := filepath.Join(dir, name)
	check := name
	if name == "." {
		check = "data directory"
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return finding{check, "ok", "none", ""}
	}
	if err == nil {
		err = blocked(path)
	}
	switch {
	case err != nil:
		return finding{check, "problem", err.Error(), accessFix(path)}
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0: // there, access lists say it
		return finding{check, "problem", fmt.Sprintf("others may read it (mode %04o)", info.Mode().Perm()), fmt.Sprintf("chmod go-rwx %s", path)}
	}
	return finding{check, "ok", fmt.Sprintf("mode %04o", info.Mode().Perm()), ""}
}

// redactionCheck reads the limits, of which one is no number: whether secrets are
// kept out of the store.
func redactionCheck(dir string) finding {
	limits, err := loadLimits(dir)
	switch {
	case err != nil:
		return finding{limitsFile, "problem", api.Words(err), fixOf(err)}
	case !limits.redacts():
		return finding{"redaction", "warning", "off: secrets in texts are stored as they come", "remove `redaction: off` from " + filepath.Join(dir, limitsFile)}
	}
	return finding{"redaction", "ok", "on: secrets in texts are replaced before they are stored", ""}
}

// server says whether one runs, and whether serve.json is stale.
func (p *program) server(ctx context.Context, dir string) (finding, *serving) {
	s, err := readServing(dir)
	bad := damaged("")
	switch {
	case errors.As(err, &bad):
		return finding{"server", "warning", bad.Error() + " and taken as absent", "start `dhruva serve`, which writes it anew, or remove it"}, nil
	case errors.Is(err, dhruva.ErrNotFound):
		return finding{"server", "ok", "none runs", ""}, nil
	case err != nil:
		return finding{"server", "problem", err.Error(), accessFix(filepath.Join(dir, serverFile))}, nil
	case !s.alive(ctx):
		return finding{"server", "warning", fmt.Sprintf("%s is stale: process %d does not answer at %s", serverFile, s.PID, s.URL), "start `dhruva serve`, or remove " + filepath.Join(dir, serverFile)}, nil
	}
	return finding{"server", "ok", fmt.Sprintf("process %d answers at %s", s.PID, s.URL), ""}, &s
}

// storeChecks open the store beside a server that may be running, read through
// it, recompute every checkpoint, try the keys on it, and look how background
// work stands.
func storeChecks(ctx context.Context, path string, keyring *auth.Keyring, key string, lease time.Duration, served bool) []finding {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && !onPostgres(path) {
		if _, err := os.Stat(path + "-wal"); err == nil {
			return []finding{{"store", "problem", path + " is gone, and its log " + filepath.Base(path) + "-wal is there", mendFix(path)}}
		}
		return []finding{{"store", "ok", "none yet", ""}}
	}
	if err == nil {
		if err := notEmptied(filepath.Dir(path), path, info.Size()); err != nil {
			return []finding{{"store", "problem", api.Words(err), mendFix(path)}}
		}
	}
	store, err := sqlstore.Open(ctx, path, sqlstore.Options{})
	if err != nil {
		return []finding{{"store", "problem", api.Words(err), storeFix(path, err)}}
	}
	defer store.Close()
	spaces, checked, err := verifyStore(ctx, store)
	if err != nil {
		return []finding{{"store", "problem", api.Words(err), "restore it from a backup, and keep this one for inspection"}}
	}
	out := []finding{{"store", "ok", fmt.Sprintf("%s: %s, %s verified", shownStore(path), count(spaces, "space"), count(checked, "checkpoint")), ""}}
	if role, err := sqlstore.Exempt(ctx, path); err == nil && role != "" {
		out = append(out, finding{"role", "warning", exemptWords(role), exemptFix})
	}
	if keyring != nil {
		out = append(out, keyCheck(ctx, store, keyring, key))
	}
	standing, err := ledger.New(store, keyring).Standing(ctx, dhruva.SystemScope())
	if err != nil {
		return append(out, finding{"background", "problem", api.Words(err), "restore the store from a backup, and keep this one for inspection"})
	}
	return append(out, workChecks(standing, lease, served)...)
}

// anotherMaster is what to do when a store was made under another master key.
const anotherMaster = "restore the " + auth.MasterKeyFile + " that belongs to this store"

// keyCheck tries both keys on the store: the master key is that of its rows,
// and the administrator key stands.
func keyCheck(ctx context.Context, store dhruva.Store, keyring *auth.Keyring, key string) finding {
	const check = "keys"
	known, err := knownKeys(ctx, store, auth.NewSecret(key))
	switch {
	case errors.Is(err, dhruva.ErrNotFound): // no command has come as far as to make the tenant
		return finding{check, "ok", "none in the store yet", ""}
	case err != nil:
		return finding{check, "problem", api.Words(err), "restore the store from a backup, and keep this one for inspection"}
	case known.kid != keyring.KID():
		return finding{check, "problem", fmt.Sprintf("the store was made under another %s (%s, this one is %s)", auth.MasterKeyFile, known.kid, keyring.KID()),
			anotherMaster}
	case key == "":
		return finding{check, "ok", auth.MasterKeyFile + " is the store's", ""}
	}
	_, err = (&auth.Keys{Store: store, Keyring: keyring}).Authenticate(ctx, key)
	switch {
	case err == nil:
		return finding{check, "ok", auth.MasterKeyFile + " is the store's, and the key in " + auth.AdminKeyFile + " stands", ""}
	case !errors.Is(err, dhruva.ErrUnauthenticated):
		return finding{check, "problem", api.Words(err), "restore the store from a backup, and keep this one for inspection"}
	case known.revoked:
		return finding{check, "problem", "the key in " + auth.AdminKeyFile + " was revoked", strings.Replace(newAdmin, "it", auth.AdminKeyFile, 1)}
	}
	return finding{check, "warning", "the store does not know the key in " + auth.AdminKeyFile + " yet", "run any command while no server runs: it is made known"}
}

// kept is what a store says of its keys.
type kept struct {
	kid     string
	revoked bool // a key like the one asked for was
}

func knownKeys(ctx context.Context, store dhruva.Store, key auth.Secret) (out kept, err error) {
	err = store.View(ctx, dhruva.TenantScope(auth.LocalTenant), func(tx dhruva.Tx) error {
		out = kept{}
		tenant, err := tx.Tenant(auth.LocalTenant)
		if err != nil {
			return err
		}
		out.kid = tenant.KID
		for page := (dhruva.Page{Limit: 1000}); ; {
			rows, err := tx.ListKeys(page)
			if err != nil || len(rows) == 0 {
				return err
			}
			for _, k := range rows {
				if k.Label == auth.Label(key) && !k.RevokedAt.IsZero() {
					out.revoked = true
				}
			}
			page.After = string(rows[len(rows)-1].ID)
		}
	})
	return out, err
}

// verifyStore reads the spaces and recomputes the hash of every checkpoint.
func verifyStore(ctx context.Context, store dhruva.Store) (spaces, checked int, err error) {
	err = store.View(ctx, dhruva.TenantScope(auth.LocalTenant), func(tx dhruva.Tx) error {
		rows, err := everySpace(tx)
		if err != nil {
			return err
		}
		for _, s := range rows {
			n, err := verifySpace(tx, s.ID)
			if err != nil {
				return err
			}
			spaces, checked = spaces+1, checked+n
		}
		return nil
	})
	return spaces, checked, err
}

func everySpace(tx dhruva.Tx) (all []dhruva.Space, err error) {
	page := dhruva.Page{Limit: 1000}
	for {
		rows, err := tx.ListSpaces(page)
		if err != nil || len(rows) == 0 {
			return all, err
		}
		all = append(all, rows...)
		page.After = string(rows[len(rows)-1].ID)
	}
}

func verifySpace(tx dhruva.Tx, id dhruva.SpaceID) (n int, err error) {
	page := dhruva.Page{Limit: 100}
	for {
		rows, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: id, Page: page})
		if err != nil || len(rows) == 0 {
			return n, err
		}
		for i := range rows {
			if err := dhruva.VerifyCheckpoint(&rows[i]); err != nil {
				return n, err
			}
		}
		n += len(rows)
		page.After = rows[len(rows)-1].Hash.String()
	}
}

// serverKnows: the key in the file is one that the server takes.
func serverKnows(ctx context.Context, dir, url, key string) finding {
	_, err := (&client.Client{BaseURL: url, Key: key}).Spaces(ctx, dhruva.Page{Limit: 1})
	switch {
	case errors.Is(err, dhruva.ErrUnauthenticated):
		return finding{"administrator", "problem", "the server refuses the key in " + auth.AdminKeyFile,
			"delete " + filepath.Join(dir, auth.AdminKeyFile) + " and run any command: a new one is made"}
	case err != nil:
		return finding{"administrator", "problem", wordsOf(err), "see the server's log, and start it again"}
	}
	return finding{"administrator", "ok", "the server knows the key in " + auth.AdminKeyFile, ""}
}

func (p *program) providerChecks(ctx context.Context, dir string, network bool) []finding {
	c, err := loadConfig("", dir, p.env)
	if err != nil {
		return []finding{{"providers", "problem", api.Words(err), fixOf(err)}}
	}
	all, err := newProviders(c)
	if err != nil {
		return []finding{{"providers", "problem", api.Words(err), fixOf(err)}}
	}
	var out []finding
	for _, name := range providerNames() {
		if !c.enabled(name) {
			continue
		}
		f := finding{"provider " + name, "ok", "configured", ""}
		if network {
			f = reach(ctx, all, name)
		}
		out = append(out, f)
	}
	if found, err := all.background(); err == nil {
		out = append(out, finding{"background model", "ok", found.Name + "/" + found.DefaultModel, ""})
	} else if len(out) > 0 {
		out = append(out, finding{"background model", "warning", api.Words(err) + ": no drafts, reviews and titles", backgroundFix})
	}
	if len(out) == 0 {
		out = append(out, finding{"providers", "warning", "only echo; clients may bring their own provider key", "set OPENAI_API_KEY or ANTHROPIC_API_KEY, or write " + filepath.Join(dir, providersFile)})
	}
	if p.env("OPENAI_BASE_URL") != "" {
		out = append(out, finding{"OPENAI_BASE_URL", "ok", "set, and not read here: it is for clients that point at this server", ""})
	}
	return out
}

// reachTime bounds the question to a provider.
const reachTime = 20 * time.Second

// reach asks a provider's default model for one word.
func reach(ctx context.Context, all *providers, name string) finding {
	check := "provider " + name
	p, err := all.find(name)
	if err != nil {
		return finding{check, "problem", err.Error(), fixOf(err)}
	}
	if p.DefaultModel == "" {
		return finding{check, "warning", "has no default_model to ask", "set providers." + name + ".default_model"}
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	_, err = p.Generator.Generate(ctx, llm.Request{MaxTokens: 16, Messages: []llm.Message{{Role: llm.RoleUser, Content: "Say ok."}}})
	if err != nil {
		return finding{check, "problem", strings.TrimPrefix(err.Error(), "llm: "), "check its key, base_url and default_model"}
	}
	return finding{check, "ok", "answers", ""}
}
