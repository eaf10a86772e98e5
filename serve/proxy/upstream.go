package proxy

import (
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
		Rewrite:        func(p *httputil.ProxyRequest) { x.rewrite(p, body) },
		Transport:      x.upstream.Transport,
		ModifyResponse: modify,
		ErrorHandler:   x.upstreamFailed,
		ErrorLog:       x.h.copyLog,
		BufferPool:     &copyBuffers{x: x},
	}
	w := newPromptWriter(x.w, x.h)
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

// clean prepares an answer's header for the client: what is dropped, what the
// server must not invent, and our own additions.
func (x *exchange) clean(res *http.Response) {
	for name := range res.Header {
		if name == "Set-Cookie" || strings.HasPrefix(name, prefix) {
			delete(res.Header, name)
		}
	}
	if _, ok := res.Header["Content-Type"]; !ok {
		x.w.Header()["Content-Type"] = nil // net/http guesses none then
	}
}

// relay forwards a route that memory has nothing to do with.
func (x *exchange) relay() {
	if x.r.ContentLength > x.h.config.Limits.Body {
		x.refuseBody(tooLarge(x.h.config.Limits.Body))
		return
	}
	x.r.Body = http.MaxBytesReader(x.w, x.r.Body, x.h.config.Limits.Body)
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
}

func newPromptWriter(w http.ResponseWriter, h *Handler) *promptWriter {
	c := http.NewResponseController(w)
	// Writers without deadlines (in tests) do not stall.
	stall := h.watch.over(func() { _ = c.SetWriteDeadline(time.Unix(1, 0)) })
	return &promptWriter{w, c, stall, h.config.Limits.WriteStall}
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
