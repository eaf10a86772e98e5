package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/recall"
	"github.com/dhruva-memory/dhruva/serve/api"
	"github.com/dhruva-memory/dhruva/serve/mcpserver"
	"github.com/dhruva-memory/dhruva/serve/proxy"
)

// installation is everything that one process needs to answer.
type installation struct {
	dir       string
	at        string // where the store is
	store     dhruva.Store
	keys      *auth.Keys
	memory    *memory.Memory
	proxy     *proxy.Handler
	mcp       *mcpserver.Server
	worktrees *agents.Worktrees // nil: none are made
	providers *providers
	limits    Limits
	log       *slog.Logger
	// node is this process; rest ends its background work, when it does any.
	node memory.Node
	rest func() error
}

// open opens an installation, and makes what is missing. The order is that of
// the arrows: keyring, store, keys, write model, index, verbs, edges.
func open(ctx context.Context, dir, storeURL string, all *providers, log *slog.Logger) (_ *installation, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, withFix(fmt.Errorf("data directory: %w", err), "%s", makeFix(dir, err))
	}
	limits, err := loadLimits(dir)
	if err != nil {
		return nil, err
	}
	path, err := storePath(dir, storeURL)
	if err != nil {
		return nil, err
	}
	store, keyring, err := openStore(ctx, dir, path, log)
	if err != nil {
		return nil, err
	}
	if path == inMemory {
		log.Warn("the store is in memory: nothing of it is kept when this process ends")
	}
	if err := aloneOrKnown(ctx, dir, path, ledger.New(store, keyring)); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	in := &installation{dir: dir, at: path, store: store, providers: all, limits: limits, log: log, node: thisNode(limits.Background)}
	in.keys = &auth.Keys{Store: store, Keyring: keyring}
	if err := in.keys.Bootstrap(ctx, dir); err != nil {
		return nil, errors.Join(withFix(err, "%s", bootstrapFix(dir, path, err)), store.Close())
	}
	writes := ledger.New(store, keyring)
	writes.Limits, writes.Upkeep, writes.Node = limits.Ledger, limits.Upkeep, in.node.ID
	if !limits.redacts() {
		writes.Redact = ledger.Verbatim
		log.Warn("redaction is off: secrets in texts are stored as they come", "file", filepath.Join(dir, limitsFile))
	}
	in.keys.Redact = writes.Redact
	in.memory = &memory.Memory{
		Ledger: writes, Recall: recall.NewEngine(store, keyring), Keys: keyring,
		Providers: in.providers.find, Background: in.providers.background, Limits: limits.Memory, Log: log,
	}
	in.proxy = proxy.New(proxy.Config{Memory: in.memory, Keys: in.keys, Upstreams: in.providers.upstream, Limits: limits.Proxy, Log: log})
	in.mcp = mcpserver.New(mcpserver.Config{Memory: in.memory, Keys: in.keys, Version: version(), Log: log})
	return in, nil
}

// aloneOrKnown refuses a data directory without an administrator key beside other
// directories that run on the same database: the key that would be made here would
// end theirs.
func aloneOrKnown(ctx context.Context, dir, at string, l *ledger.Ledger) error {
	_, err := os.Stat(filepath.Join(dir, auth.AdminKeyFile))
	if !onPostgres(at) || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := readServing(dir); err == nil { // the one that runs is this directory's own
		return nil
	}
	_, live, err := l.Nodes(ctx, dhruva.SystemScope())
	if err != nil || len(live) == 0 {
		return err
	}
	return withFix(fmt.Errorf("%w: %d other processes use %s, and there is no %s in %s", dhruva.ErrConflict, len(live), shownStore(at), auth.AdminKeyFile, dir),
		"copy %s and %s from the data directory of one of them", auth.MasterKeyFile, auth.AdminKeyFile)
}

// bootstrapFix: the administrator key's file, the master key or the store is at
// fault.
func bootstrapFix(dir, store string, err error) string {
	f, _ := adminFileCheck(dir)
	switch {
	case f.Status == "problem":
		return f.Fix
	case errors.Is(err, dhruva.ErrInvalid):
		return anotherMaster
	}
	return storeFix(store, err)
}

// makeFix is what to do when a data directory cannot be made.
func makeFix(dir string, err error) string {
	if _, denied := deniedPath(err); denied {
		return accessFix(filepath.Dir(dir)) + "; or give another directory with --data"
	}
	return "give a directory that can be written with --data"
}

// installed reports whether a directory is an installation, or is there for one
// to be begun in: empty, or with a file that somebody put there for us.
func installed(dir string) (bool, error) {
	found, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("data directory: %w", err)
	case len(found) == 0:
		return true, nil
	}
	ours := []string{storeFile, auth.MasterKeyFile, auth.AdminKeyFile, providersFile, serverFile, elsewhereFile}
	return slices.ContainsFunc(found, func(e fs.DirEntry) bool { return slices.Contains(ours, e.Name()) }), nil
}

// api is the native API alone.
func (in *installation) api() http.Handler {
	return api.New(api.Config{Memory: in.memory, Keys: in.keys, Worktrees: in.worktrees, Version: version(), MaxBody: in.limits.API.Body, MaxImport: in.limits.API.Import})
}

// routes is everything that is served.
func (in *installation) routes(instance string, f serveFlags) *http.ServeMux {
	mux := http.NewServeMux()
	compatible := in.compatible(f)
	for _, version := range []string{"v1", "v2", "v4", "v5"} {
		mux.Handle("/api/"+version+"/", compatible)
	}
	mux.Handle(client.Prefix+"/", in.api())
	mux.Handle("/mcp", in.mcp.Handler())
	mux.Handle("/v1/", in.echoByDefault(in.proxy))
	mux.Handle("GET /livez", plainOK())
	mux.Handle("GET /readyz", in.ready())
	mux.Handle("GET /health", in.health(instance))
	return mux
}

// echoByDefault sends calls that name no provider to echo, where echo is the
// configured default. A key that is bound, and a client that brings its own
// provider key, are left alone.
func (in *installation) echoByDefault(next http.Handler) http.Handler {
	const header = "X-Dhruva-Provider"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if in.providers.now.Load().config.Chat.DefaultProvider == echoName && len(r.Header.Values(header)) == 0 {
			c, err := auth.Credential(r)
			if err == nil && !c.PassThrough {
				if p, err := in.keys.Authenticate(r.Context(), c.Key.Reveal()); err == nil && p.Provider == "" && !p.Test {
					r = r.Clone(r.Context())
					r.Header.Set(header, echoName)
				}
			}
		}
		next.ServeHTTP(w, r) // which refuses a credential that does not stand
	})
}

// close ends what open began, in reverse; ctx bounds the wait for captures. The
// background work ends when nothing is left to be captured.
func (in *installation) close(ctx context.Context) error {
	err := in.proxy.Drain(ctx)
	if in.rest != nil {
		err = errors.Join(err, in.rest())
	}
	return errors.Join(err, in.store.Close())
}

// closeTime bounds the wait for captures at the end.
const closeTime = 10 * time.Second

func (in *installation) closeSoon() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return in.close(ctx)
}
