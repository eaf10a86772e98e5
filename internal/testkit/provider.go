package testkit

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Request is one request as the Provider received it.
type Request struct {
	Method string
	// Target is the request target of the request line: raw path and query.
	Target string
	Host   string
	Proto  string
	Header http.Header
	// Body holds the bytes as received: transfer coding removed, content
	// coding (gzip, zstd) not.
	Body []byte
	// ContentLength is what the client declared, -1 for a chunked body.
	ContentLength int64
	// BodyErr is the error that ended the body early, or nil.
	BodyErr error
	// Gone is closed when the client went away before its reply was complete,
	// and never otherwise.
	Gone <-chan struct{}
}

// Path is Target without its query.
func (r Request) Path() string {
	for i, c := range r.Target {
		if c == '?' {
			return r.Target[:i]
		}
	}
	return r.Target
}

// Provider is a scripted model provider: an HTTP server on loopback that
// records what it is sent and answers from a queue.
type Provider struct {
	tb     testing.TB
	server *httptest.Server
	closed chan struct{}

	mu       sync.Mutex
	queue    []Reply
	fallback func(Request) Reply
	requests []Request
	arrived  chan struct{} // replaced and closed at every arrival
}

// NewProvider starts a Provider; the test's cleanup stops it. Replies that
// still wait on a channel then are abandoned.
func NewProvider(tb testing.TB) *Provider {
	tb.Helper()
	p := &Provider{
		tb: tb, fallback: Default,
		closed: make(chan struct{}), arrived: make(chan struct{}),
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	p.server.Start()
	tb.Cleanup(p.close)
	return p
}

func (p *Provider) close() {
	close(p.closed)
	p.server.CloseClientConnections()
	p.server.Close()
}

// URL is the root of the server, without a trailing slash. An OpenAI base URL
// is URL() + "/v1"; an Anthropic one is URL().
func (p *Provider) URL() string { return p.server.URL }

// Client is an HTTP client that trusts and pools connections to the server.
func (p *Provider) Client() *http.Client { return p.server.Client() }

// Enqueue appends replies to the script.
func (p *Provider) Enqueue(replies ...Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, replies...)
}

// SetDefault replaces the responder used when the queue is empty.
func (p *Provider) SetDefault(respond func(Request) Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fallback = respond
}

// Requests returns every request received so far, in order of arrival. A
// request counts as received once its body has been read to the end.
func (p *Provider) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Last returns the newest request and fails the test when there is none.
func (p *Provider) Last() Request {
	p.tb.Helper()
	all := p.Requests()
	if len(all) == 0 {
		p.tb.Fatal("testkit: the provider received no request")
	}
	return all[len(all)-1]
}

// Reset forgets the recorded requests and the queued replies.
func (p *Provider) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue, p.requests = nil, nil
}

// Pending is the number of queued replies that no request has taken.
func (p *Provider) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// Await blocks until at least n requests have been received and returns them.
// It fails the test after a minute: that is a hang, not a measurement.
func (p *Provider) Await(n int) []Request {
	p.tb.Helper()
	hang := time.NewTimer(time.Minute)
	defer hang.Stop()
	for {
		p.mu.Lock()
		got, arrived := slices.Clone(p.requests), p.arrived
		p.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-arrived:
		case <-hang.C:
			p.tb.Fatalf("testkit: waited for %d requests, received %d", n, len(got))
		}
	}
}

type connKey struct{}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	gone := make(chan struct{})
	req := Request{
		Method: r.Method, Target: r.RequestURI, Host: r.Host, Proto: r.Proto,
		Header: cloneHeader(r.Header), Body: body, BodyErr: err,
		ContentLength: r.ContentLength, Gone: gone,
	}
	reply := p.record(req)
	play := player{w: w, r: r, gone: gone, closed: p.closed}
	play.run(reply)
}

// record stores the request and takes its reply.
func (p *Provider) record(req Request) Reply {
	p.mu.Lock()
	p.requests = append(p.requests, req)
	close(p.arrived)
	p.arrived = make(chan struct{})
	if len(p.queue) > 0 {
		reply := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		return reply
	}
	fallback := p.fallback
	p.mu.Unlock()
	return fallback(req)
}

func cloneHeader(h http.Header) http.Header {
	out := maps.Clone(h)
	for k, v := range out {
		out[k] = slices.Clone(v)
	}
	return out
}
