package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/serve/api"
	"github.com/dhruva-memory/dhruva/serve/mcpserver"
	"github.com/dhruva-memory/dhruva/serve/proxy"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	listen    string
	store     string
	providers string
	plane     string
	insecure  bool
	hosts     []string
	worktrees []string
	// needKey: the compatible API wants a key on loopback too.
	needKey bool
}

const defaultListen = "127.0.0.1:7373"

func (p *program) serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use: "serve", Short: "Serve everything in one process", Args: cobra.NoArgs,
		Example: `  dhruva serve
  dhruva serve --listen 127.0.0.1:0 --data ./data      a free port, a directory of its own
  OPENAI_API_KEY=sk-… dhruva serve                     then point a client's base URL at http://127.0.0.1:7373/v1`,
		Long: "Serves the provider proxy (/v1), the native API (/api/v6), the API of Smriti (/api/v1 to /api/v5)\nand MCP (/mcp), and works in the background.\n" +
			"Logs JSON lines to standard error; prints one line to standard output when ready. SIGHUP reads the providers again.",
		RunE: func(c *cobra.Command, _ []string) error { return p.serve(c.Context(), f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.listen, "listen", "", "address to listen on (DHRUVA_LISTEN; default "+defaultListen+")")
	fl.StringVar(&f.store, "store", "", "store: sqlite:///file.db, postgres://user@host/database or memory: (DHRUVA_STORE; default SQLite in the data directory)")
	fl.StringVar(&f.providers, "providers", "", "providers.yaml (default: the one in the data directory)")
	fl.StringVar(&f.plane, "plane", "all", "what to serve; this version: all")
	fl.BoolVar(&f.insecure, "insecure-bind", false, "listen on other than loopback without TLS")
	fl.StringSliceVar(&f.hosts, "allow-host", nil, "further names under which the loopback listener answers")
	fl.BoolVar(&f.needKey, "need-key", false, "want a key for /api/v1 to /api/v5 too; without it, requests from this machine need none on loopback (set it behind a proxy)")
	fl.StringSliceVar(&f.worktrees, "worktree-root", nil, "directory below which worktrees and their projects may lie; may be repeated (default: the state directory and, on loopback, each space's project root)")
	return c
}

func (p *program) serve(ctx context.Context, f serveFlags) error {
	f.listen = or(or(f.listen, p.env("DHRUVA_LISTEN")), defaultListen)
	if err := f.check(); err != nil {
		return err
	}
	dir, err := p.dataDir()
	if err != nil {
		return err
	}
	config, err := loadConfig(f.providers, dir, p.env)
	if err != nil {
		return err
	}
	return p.serveAt(ctx, dir, config, f, nil)
}

func (f serveFlags) check() error {
	if f.plane != "all" {
		return withFix(usage("--plane %s is not in this version", f.plane), "leave out --plane: one process serves all")
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return withFix(usage("--listen %q is not HOST:PORT", f.listen), "give an address such as %s", defaultListen)
	}
	if !f.insecure && !loopback(host) {
		return withFix(usage("%s is not a loopback address and there is no TLS", f.listen),
			"listen on 127.0.0.1 behind a TLS proxy, or add --insecure-bind on a network you trust")
	}
	return nil
}

// front guards a loopback listener against this machine's browsers.
func (f serveFlags) front(log *slog.Logger) api.Front {
	host, _, _ := net.SplitHostPort(f.listen) // checked before
	return api.Front{Log: log, Loopback: loopback(host), AllowedHosts: f.hosts}
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// serveAt serves a data directory until ctx ends. ready is called when the
// server answers; nil prints the one line.
func (p *program) serveAt(ctx context.Context, dir string, config Config, f serveFlags, ready func(*installation, string) error) error {
	log := slog.New(slog.NewJSONHandler(p.stderr, nil))
	if s, err := running(ctx, dir, func(s string) { log.Warn(s) }); err == nil {
		return withFix(fmt.Errorf("%w: %s is served already, at %s by process %d", dhruva.ErrConflict, dir, s.URL, s.PID), "use that server, end it, or give another --data")
	}
	all, err := newProviders(config)
	if err != nil {
		return err
	}
	at, err := p.storeURL(dir, f.store)
	if err != nil {
		return err
	}
	in, err := open(ctx, dir, at, all, log)
	if err != nil {
		return err
	}
	if before, err := readElsewhere(dir); err == nil && before != "" && in.at != inMemory && before != bareStore(in.at) {
		log.Warn("the data directory's store is another one from now on", "before", before, "now", bareStore(in.at))
	}
	warnExempt(ctx, in.at, func(s string) { log.Warn(s, "fix", exemptFix) })
	if err := keepElsewhere(dir, in.at); err != nil { // commands would take another store for this one
		return errors.Join(withFix(err, "%s", accessFix(dir)), in.closeSoon())
	}
	in.worktrees = p.worktrees(in, f.worktrees, f.front(log).Loopback)
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return errors.Join(withFix(fmt.Errorf("listen: %w", err), "%s", listenFix(err)), in.closeSoon())
	}
	all.warnOfBackground(log)
	in.work()
	me := serving{URL: urlOf(l.Addr()), PID: os.Getpid(), Instance: dhruva.NewID(), Store: bareStore(in.at)}
	srv := &http.Server{
		Handler:           proxy.Unclean(f.front(log).Wrap(in.routes(me.Instance, f))),
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	if err := me.write(dir); err != nil { // a full disk must not stop what can still be served
		log.Warn("commands will not find this server", "file", filepath.Join(dir, serverFile), "error", err)
	}
	defer me.remove(dir)
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	stop := p.reloading(in, f.providers)
	defer stop()
	if ready == nil {
		ready = func(_ *installation, url string) error {
			_, err := fmt.Fprintf(p.stdout, "listening on %s\n", url)
			return err
		}
	}
	err = ready(in, me.URL)
	if err == nil {
		select {
		case <-ctx.Done():
			log.Info("shutting down")
		case err = <-failed:
		}
	}
	return errors.Join(err, shutdown(srv), in.closeSoon())
}

// listenFix also speaks to who typed make run.
func listenFix(err error) string {
	const free = "127.0.0.1:7474"
	if errors.Is(err, syscall.EADDRINUSE) {
		return "give a free port: dhruva serve --listen " + free + " (make run LISTEN=" + free + "); port 0 takes any"
	}
	return "give an address of this machine with --listen, such as " + free
}

// shutdownTime is how long requests in flight may take to end.
const shutdownTime = 10 * time.Second

// shutdown closes the listener and lets requests end; what has not ended then
// is cut.
func shutdown(srv *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		return srv.Close()
	}
	return nil
}

// reloading reads the providers again at SIGHUP. A file with a mistake changes
// nothing.
func (p *program) reloading(in *installation, path string) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-hup:
				err := p.reload(in, path)
				if err != nil {
					in.log.Error("providers not reloaded", "error", err)
				}
				if p.reloaded != nil {
					p.reloaded(err)
				}
			}
		}
	}()
	return func() {
		signal.Stop(hup)
		close(done)
	}
}

func (p *program) reload(in *installation, path string) error {
	c, err := loadConfig(path, in.dir, p.env)
	if err != nil {
		return err
	}
	if err := in.providers.set(c); err != nil {
		return err
	}
	in.log.Info("providers reloaded", "default", c.defaultProvider())
	return nil
}

func urlOf(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "http://" + a.String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

func (p *program) mcpCommand() *cobra.Command {
	var space string
	c := &cobra.Command{
		Use: "mcp", Short: "Speak MCP over standard input and output", Args: cobra.NoArgs,
		Example: `  claude mcp add dhruva -- dhruva mcp --space work
  DHRUVA_URL=https://memory.example DHRUVA_KEY=dhr_live_… dhruva mcp`,
		Long: "Serves the memory tools to one client. A call that names no space works in the one given here.",
		RunE: func(c *cobra.Command, _ []string) error { return p.mcp(c.Context(), space) },
	}
	spaceFlag(c, &space)
	return c
}

func (p *program) mcp(ctx context.Context, space string) error {
	p.stays = true
	return p.with(ctx, func(c *client.Client) error {
		if space != "" {
			s, err := c.Space(ctx, space) // a mistake shows here, not at the first call
			if errors.Is(err, dhruva.ErrNotFound) {
				return withFix(err, "make it with `dhruva space create %s`", space)
			}
			if err != nil {
				return err
			}
			space = string(s.ID)
		}
		server := mcpserver.New(mcpserver.Config{Memory: remoteMemory{c, space}, Version: version()})
		return server.ServeStdio(ctx, io.NopCloser(p.stdin), nopWriteCloser{p.stdout})
	})
}

// nopWriteCloser leaves standard output open.
type nopWriteCloser struct{ io.Writer }

// Close does nothing.
func (nopWriteCloser) Close() error { return nil }
