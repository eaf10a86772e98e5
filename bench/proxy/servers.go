package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/egress"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/recall"
	"github.com/dhruva-memory/dhruva/serve/proxy"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

const answer = `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`

// mock answers at once, having read the request.
func mock(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer)
}

// listen serves h until ctx ends and returns the URL.
func listen(ctx context.Context, address string, h http.Handler) (string, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: h}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "bench/proxy:", err)
		}
	}()
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return "http://" + l.Addr().String(), nil
}

// announce prints the one line that the parent waits for, and serves until the
// parent closes our standard input.
func announce(ctx context.Context, h http.Handler, key string, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	at, err := listen(ctx, "127.0.0.1:0", h)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, at, key)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// serveReverse is the baseline: nothing but the standard library's proxy.
func serveReverse(ctx context.Context, target string, out io.Writer) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	return announce(ctx, &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(u) },
		Transport: egress.New(egress.Policy{AllowPrivate: true}),
	}, "-", out)
}

// serveDhruva is the proxy over the real memory plane on a SQLite file, with
// authentication, receipts and logging on.
func serveDhruva(ctx context.Context, target string, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "dhruva-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store, err := sqlstore.Open(ctx, dir+"/dhruva.db", sqlstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	ring, err := auth.OpenKeyring(dir)
	if err != nil {
		return err
	}
	keys := &auth.Keys{Store: store, Keyring: ring}
	key, err := firstKey(ctx, keys, dir)
	if err != nil {
		return err
	}
	base, err := url.Parse(target + "/v1")
	if err != nil {
		return err
	}
	upstream := proxy.Upstream{Kind: proxy.KindOpenAI, BaseURL: base, Key: auth.NewSecret("sk-bench"), Transport: egress.New(egress.Policy{AllowPrivate: true})}
	h := proxy.New(proxy.Config{
		Memory:    &memory.Memory{Ledger: ledger.New(store, ring), Recall: recall.NewEngine(store, ring), Keys: ring},
		Keys:      keys,
		Upstreams: func(string) (proxy.Upstream, error) { return upstream, nil },
		Log:       slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	return errors.Join(announce(ctx, h, key.Reveal(), out), h.Drain(ctx))
}

func firstKey(ctx context.Context, keys *auth.Keys, dir string) (auth.Secret, error) {
	if err := keys.Bootstrap(ctx, dir); err != nil {
		return auth.Secret{}, err
	}
	ctx = dhruva.WithPrincipal(ctx, auth.LocalPrincipal())
	_, secret, err := keys.Create(ctx, auth.KeyInput{Name: "bench", Scopes: []dhruva.KeyScope{dhruva.ProxyUse, dhruva.MemoryRead, dhruva.MemoryWrite}})
	return secret, err
}

// child is this program in another role, on one core.
type child struct {
	url, key string
	cmd      *exec.Cmd
	stdin    io.Closer
}

func start(ctx context.Context, role, target string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-role", role, "-target", target)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not start: %w", role, err), cmd.Wait())
	}
	fields := strings.Fields(line)
	return &child{url: fields[0], key: fields[1], cmd: cmd, stdin: stdin}, nil
}

func (c *child) stop() error {
	return errors.Join(c.stdin.Close(), c.cmd.Wait())
}
