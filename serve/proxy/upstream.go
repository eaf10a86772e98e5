package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// send is what goes upstream in place of the client's body; nil streams the
// client's own.
type send struct {
	length int64
	open   func() io.ReadCloser
	// edited: the body is ours, decoded, and carries no coding.
	edited bool
}

// forward runs the request through a ReverseProxy. modify sees the answer's
// header before the client does.
func (x *exchange) forward(body *send, modify func(*http.Response) error) {
	proxy := httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { x.rewrite(p, body) },
		Transport: x.upstream.Transport,
		ModifyResponse: func(res *http.Response) error {
			// net/http reads any three digits, and panics on writing some.
			if res.StatusCode < 200 || res.StatusCode > 599 {
				return fmt.Errorf("%w: %d", errStatus, res.StatusCode)
			}
			return modify(res)
		},
		ErrorHandler: x.upstreamFailed,
		ErrorLog:     x.h.copyLog,
		BufferPool:   &copyBuffers{x: x},
	}
	w := newPromptWriter(x)
	defer w.stall.end()
	proxy.ServeHTTP(w, x.r)
}

func (x *exchange) rewrite(p *httputil.ProxyRequest, body *send) {
	out := p.Out
	x.address(out.URL)
	out.Host = ""
	strip(out.Header, x.key)
	if !x.pass {
		x.upstream.credential(out.Header)
	}
	if body != nil {
		out.Body, out.ContentLength, out.TransferEncoding = body.open(), body.length, nil
		out.GetBody = func() (io.ReadCloser, error) { return body.open(), nil }
		if body.edited {
			out.Header.Del("Content-Encoding")
		}
	}
	x.forwarded = time.Now()
}

// address points u, which still holds the client's path, at the provider. An
// OpenAI base URL stands for /v1, an Anthropic one stands before it unless it
// says otherwise. The query is the client's, byte for byte: ReverseProxy has
// cleaned the copy.
func (x *exchange) address(u *url.URL) {
	base := x.upstream.BaseURL
	if base == nil {
		base = &url.URL{Scheme: "http", Host: "echo.invalid"}
	}
	in := x.r.URL
	path, raw := in.Path, in.EscapedPath()
	if x.upstream.Kind == KindOpenAI || strings.HasSuffix(strings.TrimSuffix(base.Path, "/"), "/v1") {
		path, raw = strings.TrimPrefix(path, "/v1"), strings.TrimPrefix(raw, "/v1")
	}
	u.Scheme, u.Host, u.User = base.Scheme, base.Host, nil
	u.Path, u.RawPath = under(base.Path)+path, under(base.EscapedPath())+raw
	u.RawQuery, u.ForceQuery = in.RawQuery, in.ForceQuery
	if base.RawQuery != "" { // an api-version that the operator configured
		u.RawQuery = strings.TrimSuffix(base.RawQuery+"&"+in.RawQuery, "&")
	}
}

// under is a base path in front of a path: a slash before it, none behind it.
// url.JoinPath makes base paths without the first.
func under(path string) string {
	if path = strings.Trim(path, "/"); path == "" {
		return ""
	}
	return "/" + path
}

// clean prepares an answer's header for the client: what is dropped and what
// the server must not invent.
func (x *exchange) clean(res *http.Response) {
	private(res.Header)
	private(res.Trailer)
	res.Body = &trailed{res.Body, res}
	if _, ok := res.Header["Content-Type"]; !ok {
		x.w.Header()["Content-Type"] = nil // net/http guesses none then
	}
}

// trailed drops from the trailer, which comes at the end, what clean drops.
type trailed struct {
	io.ReadCloser
	res *http.Response
}

// Read looks at the trailer when it is there.
func (b *trailed) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		private(b.res.Trailer)
	}
	return n, err
}

// private drops what a provider may not say to a client.
func private(h http.Header) {
	for name := range h {
		if name == "Set-Cookie" || strings.HasPrefix(name, prefix) {
			delete(h, name)
		}
	}
}

// hopByHop drops what is meant for this connection only, as ReverseProxy does
// for final answers.
func hopByHop(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range [...]string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		h.Del(name)
	}
}

// relay forwards a route that memory has nothing to do with.
func (x *exchange) relay() {
	if !x.reachable() {
		return
	}
	if x.r.ContentLength > x.h.config.Limits.Body {
		x.refuseBody(tooLarge(x.h.config.Limits.Body))
		return
	}
	x.streaming = x.h.unstalled(x.w, http.MaxBytesReader(x.w, x.r.Body, x.h.config.Limits.Body))
	defer x.streaming.end()
	if x.r.Body != http.NoBody {
		x.r.Body = x.streaming
	}
	x.forward(nil, func(res *http.Response) error {
		x.clean(res)
		h := x.w.Header()
		h.Set(headerRequestID, x.id)
		h.Set(headerMemory, string(dhruva.MemoryOff))
		h.Set(headerContinuity, string(dhruva.ContinuityNotApplicable))
		return nil
	})
}

// promptWriter flushes what it is given, and gives up on a client that does not
// read. ReverseProxy could flush by itself (FlushInterval -1, as it does for
// streams anyway), but would send the header of every answer alone.
type promptWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   *bound
	limit   time.Duration
	// informed: the client's HTTP knows informational answers.
	informed bool
}

func newPromptWriter(x *exchange) *promptWriter {
	c := http.NewResponseController(x.w)
	// Writers without deadlines (in tests) do not stall.
	stall := x.h.watch.over(func() { _ = c.SetWriteDeadline(time.Unix(1, 0)) })
	return &promptWriter{x.w, c, stall, x.h.config.Limits.WriteStall, x.r.ProtoAtLeast(1, 1)}
}

// WriteHeader passes informational answers on where they are understood.
// ReverseProxy copies their headers unseen and clears them afterwards.
func (w *promptWriter) WriteHeader(status int) {
	if status/100 == 1 {
		if !w.informed {
			return
		}
		private(w.Header())
		hopByHop(w.Header())
		w.stall.set(w.limit)
		defer w.stall.pause()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write returns when the bytes are with the kernel.
func (w *promptWriter) Write(p []byte) (int, error) {
	w.stall.set(w.limit)
	defer w.stall.pause()
	n, err := w.ResponseWriter.Write(p)
	if err == nil {
		err = w.control.Flush()
	}
	return n, err
}

// FlushError sends a stream's header before its first event.
func (w *promptWriter) FlushError() error {
	w.stall.set(w.limit)
	defer w.stall.pause()
	return w.control.Flush()
}

// Unwrap lets a ResponseController through.
func (w *promptWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// copyBuffers lends ReverseProxy a small buffer for a stream, which comes in
// events and may stay for long, and a large one for a document.
type copyBuffers struct{ x *exchange }

const (
	streamBuffer   = 8 << 10
	documentBuffer = 32 << 10
)

func (b *copyBuffers) pool() (*sync.Pool, int) {
	if b.x.call != nil && b.x.call.streamed {
		return &b.x.h.small, streamBuffer
	}
	return &b.x.h.large, documentBuffer
}

func (b *copyBuffers) Get() []byte {
	pool, size := b.pool()
	if buf, ok := pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, size)
}

func (b *copyBuffers) Put(buf []byte) {
	pool, _ := b.pool()
	pool.Put(&buf)
}
