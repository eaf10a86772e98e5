package proxy

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/wire"
)

// Memory is what the proxy needs of the memory plane: memory.Memory in
// process, or a client of a remote one.
type Memory interface {
	Prepare(ctx context.Context, in memory.PrepareInput) (memory.Prepared, error)
	Capturing(p memory.Prepared) (done func())
	Capture(ctx context.Context, in memory.CaptureInput) (dhruva.Receipt, error)
}

// Keys turns the text of a Dhruva key into a principal, as auth.Keys does.
type Keys interface {
	Authenticate(ctx context.Context, credential string) (dhruva.Principal, error)
}

// Kind says how a provider wants to be addressed and given its key.
type Kind string

// The kinds of upstream.
const (
	// KindOpenAI: the base URL stands for /v1, the key is a bearer token.
	KindOpenAI Kind = "openai"
	// KindAnthropic: the base URL stands before /v1, the key is x-api-key.
	KindAnthropic Kind = "anthropic"
	// KindEcho answers in this process.
	KindEcho Kind = "echo"
)

// Upstream is one provider as the proxy reaches it.
type Upstream struct {
	Name    string
	Kind    Kind
	BaseURL *url.URL // nil is allowed for echo
	Key     auth.Secret
	// NeedsKey: without Key only a client that brings its own can call it.
	NeedsKey  bool
	Transport http.RoundTripper
}

// Limits bound what a request may cost. Zero fields mean the defaults.
type Limits struct {
	Body    int64 // request bytes on the wire: 32 MiB
	Decoded int64 // request bytes once decoded: 64 MiB
	// BodiesInFlight bounds the request bodies of all clients together, with
	// what they are decoded and edited into: 256 MiB. Beyond it requests are
	// refused.
	BodiesInFlight int64
	Observe        int           // backlog of an answer's copy: 8 MiB
	PrepareTime    time.Duration // until a call goes on without memory: 1 s
	CaptureTime    time.Duration // for the capture after the answer: 10 s
	BodyStall      time.Duration // silence while a request body is read: 10 s
	WriteStall     time.Duration // a client that does not read its answer: 10 s
}

func (l Limits) withDefaults() Limits {
	l.Body = or(l.Body, 32<<20)
	l.Decoded = or(l.Decoded, 64<<20)
	l.Observe = or(l.Observe, 8<<20)
	l.PrepareTime = or(l.PrepareTime, time.Second)
	l.CaptureTime = or(l.CaptureTime, 10*time.Second)
	l.BodiesInFlight = or(l.BodiesInFlight, 256<<20)
	l.BodyStall = or(l.BodyStall, 10*time.Second)
	l.WriteStall = or(l.WriteStall, 10*time.Second)
	return l
}

// Config says what a Handler serves. Memory, Keys and Upstreams are required.
type Config struct {
	Memory Memory
	Keys   Keys
	// Upstreams finds a provider by name. ErrNotFound: there is none of that
	// name; any other error: it cannot be used now, for the reason it says.
	Upstreams func(name string) (Upstream, error)
	Limits    Limits
	Path      string       // hosted (default) or local, for receipts
	Log       *slog.Logger // nil: discards
}

// Handler is the proxy. Mount it at /v1/.
type Handler struct {
	config Config
	// dialect is wire.ForRequest; tests put a broken one here.
	dialect func(method, path string) (wire.Dialect, bool)
	// copyLog takes what httputil says when a client or a provider breaks off.
	copyLog *log.Logger
	pending pending
	watch   watch
	// receipts gathers the receipts of requests that memory left alone.
	receipts batch
	inFlight budget
	bodies   pools
	// Buffers of *[]byte for copying answers, in two sizes.
	small, large sync.Pool
}

// New makes a Handler.
func New(c Config) *Handler {
	c.Limits = c.Limits.withDefaults()
	c.Path = or(c.Path, "hosted")
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{
		config: c, dialect: wire.ForRequest, inFlight: budget{limit: c.Limits.BodiesInFlight},
		copyLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
}

// Drain waits until every capture that has begun is committed or has given up,
// or until ctx ends. Call it once the server takes no more requests.
func (h *Handler) Drain(ctx context.Context) error {
	if err := h.pending.wait(ctx); err != nil {
		return fmt.Errorf("proxy: captures still running: %w", err)
	}
	return nil
}

// ServeHTTP relays one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := newExchange(w, r)
	x.h = h
	x.route = routeOf(r)
	if !x.admit() {
		return
	}
	switch x.route.kind {
	case routeCall:
		x.callModel()
	default:
		x.relay()
	}
}

// pending counts captures. Unlike a WaitGroup it may be added to while
// somebody waits.
type pending struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed when n falls to 0; nil while nobody waits
}

func (p *pending) begin() {
	p.mu.Lock()
	p.n++
	p.mu.Unlock()
}

func (p *pending) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n--; p.n == 0 && p.zero != nil {
		close(p.zero)
		p.zero = nil
	}
}

func (p *pending) wait(ctx context.Context) error {
	p.mu.Lock()
	if p.n == 0 {
		p.mu.Unlock()
		return nil
	}
	if p.zero == nil {
		p.zero = make(chan struct{})
	}
	zero := p.zero
	p.mu.Unlock()
	select {
	case <-zero:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
