package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dhruva-memory/dhruva"
)

// scriptedTransport answers as it is told.
type scriptedTransport func(*http.Request) (*http.Response, error)

func (f scriptedTransport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through makes every provider answer through t.
func (r *rig) through(t http.RoundTripper, base string) {
	u, err := url.Parse(base)
	if err != nil {
		r.Fatal(err)
	}
	r.handler.config.Upstreams = func(name string) (Upstream, error) {
		return Upstream{Kind: KindOpenAI, BaseURL: u, Transport: t}, nil
	}
}

// watched is a body that tells when it is closed, and panics if it is read.
type watched struct{ closed atomic.Bool }

func (b *watched) Read([]byte) (int, error) { panic("read of a body") }
func (b *watched) Close() error             { b.closed.Store(true); return nil }

// D19: what is no HTTP status is a bad gateway, not a crash.
func TestD19_OddStatuses(t *testing.T) {
	for _, status := range []int{0, 42, 99, 100, 101, 199, 600, 999} {
		for _, d := range dialects() {
			r := newRig(t)
			body := &watched{}
			r.through(scriptedTransport(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: body, ContentLength: 2}, nil
			}), "http://x/v1")
			res, got := r.call(d.path, d.body)
			code, _ := shaped(t, dhruva.Dialect(d.name), got)
			if res.StatusCode != http.StatusBadGateway || code != "upstream_invalid" || !body.closed.Load() {
				t.Errorf("%d %s: %d %s, closed %t", status, d.name, res.StatusCode, got, body.closed.Load())
			}
			if up := r.captured().Prepared.Receipt.Upstream; up.Error != causeStatus || up.Terminal != dhruva.TerminalFailed {
				t.Errorf("%d %s: %+v", status, d.name, up)
			}
			if res, got := r.call("/v1/responses/compact", "{}"); res.StatusCode != http.StatusBadGateway {
				t.Errorf("%d, relayed: %d %s", status, res.StatusCode, got)
			}
		}
	}
}

// The same from a real connection, where net/http reads "042".
func TestD19_OddStatusOnTheWire(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 042 Odd\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
			c.Close()
		}
	}))
	defer server.Close()
	r := newRig(t)
	r.through(http.DefaultTransport, server.URL)
	if res, got := r.call("/v1/chat/completions", dialects()[0].body); res.StatusCode != http.StatusBadGateway {
		t.Errorf("%d %s", res.StatusCode, got)
	}
	r.captured()
}

// A panic anywhere in the relay ends the connection and closes the receipt.
func TestD19_APanicClosesTheReceipt(t *testing.T) {
	header := http.Header{"Content-Type": {"application/json"}}
	for name, transport := range map[string]scriptedTransport{
		"before the answer": func(*http.Request) (*http.Response, error) { panic("transport") },
		"without a header": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: &watched{}}, nil // a nil header
		},
		"in the answer": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: header, Body: &watched{}, ContentLength: -1}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.server.Config.ErrorLog = r.handler.copyLog
			r.through(transport, "http://x/v1")
			res, err := r.server.Client().Do(r.request(http.MethodPost, "/v1/messages", dialects()[2].body))
			if err == nil { // the header may have been sent
				_, err = io.ReadAll(res.Body)
				res.Body.Close()
			}
			if err == nil {
				t.Error("the client takes it for an answer")
			}
			in := r.captured()
			if up := in.Prepared.Receipt.Upstream; up.Terminal == "" || up.Terminal == dhruva.TerminalCompleted {
				t.Errorf("%+v", up)
			}
			if events := r.memory.seen(); events[0] != "capturing" {
				t.Error(events)
			}
		})
	}
}

// informing answers with an informational header first.
func informing(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Connection", "X-Hop")
	h.Set("X-Hop", "1")
	h.Set("X-Dhruva-Key", "1")
	h.Set("Set-Cookie", "a=b")
	h.Set("Link", "</x>")
	w.WriteHeader(http.StatusEarlyHints)
	h.Set("Trailer", "X-End, X-Dhruva-End, Set-Cookie")
	_, _ = io.WriteString(w, "{}")
	h.Set("X-End", "1")
	h.Set("X-Dhruva-End", "1")
	h.Set("Set-Cookie", "a=b")
}

func (r *rig) informed() {
	server := httptest.NewServer(http.HandlerFunc(informing))
	r.Cleanup(server.Close)
	transport := &http.Transport{}
	r.Cleanup(transport.CloseIdleConnections)
	r.through(transport, server.URL)
}

// D22: an HTTP/1.0 client gets one answer.
func TestD22_InformationalAnswersAreNotForHTTP10(t *testing.T) {
	for _, target := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		r := newRig(t)
		r.informed()
		c := r.dial()
		request := strings.Replace(head(target, 15), "HTTP/1.1", "HTTP/1.0", 1) + `{"messages":[]}`
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(c)
		if first, _, _ := strings.Cut(string(raw), "\r\n"); err != nil || first != "HTTP/1.0 200 OK" || strings.Count(string(raw), "HTTP/1.") != 1 {
			t.Errorf("%s: %v %s", target, err, raw)
		}
	}
}

// D22: what the provider's connection alone is about, and what it may not say,
// goes to nobody, in any part of an answer.
func TestD22_HopByHopAndPrivateHeadersAreDropped(t *testing.T) {
	for _, target := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		r := newRig(t)
		r.informed()
		var hints []http.Header
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
			hints = append(hints, http.Header(h))
			return nil
		}})
		res := r.do(r.request(http.MethodPost, target, `{"messages":[]}`).WithContext(ctx))
		_ = r.read(res)
		if len(hints) != 1 || hints[0].Get("Link") != "</x>" || len(hints[0]) != 1 {
			t.Errorf("%s: %v", target, hints)
		}
		for _, h := range []http.Header{res.Header, res.Trailer} {
			for _, name := range []string{"X-Hop", "Set-Cookie", "X-Dhruva-Key", "X-Dhruva-End"} {
				if h.Get(name) != "" {
					t.Errorf("%s: %s is passed on", target, name)
				}
			}
		}
		if res.Trailer.Get("X-End") != "1" || res.Header.Get(headerRequestID) == "" {
			t.Errorf("%s: %v %v", target, res.Header, res.Trailer)
		}
	}
}

// D22: a path that a mux would redirect is no path.
func TestD22_UncleanPathsAreNotRedirected(t *testing.T) {
	r := newRig(t)
	mux := http.NewServeMux()
	mux.Handle("/v1/", r.handler)
	mux.HandleFunc("/other/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	server := httptest.NewServer(Unclean(mux))
	defer server.Close()
	for target, status := range map[string]int{
		"/v1//models": 404, "/v1/models/../x": 404, "/v1/models/.": 404, "/v1/../v1/models": 404, "//v1/models": 404, "/x/../v1/models": 404,
		"/v1": 404, "/v1/": 404, "/v1/models/": 404, "/v1/%2e%2e/x": 404, "/v1/models%2f..%2fx": 404, "/v1/models//": 404, "/../v1/models": 404,
		"/v1/models": 200, "/other/": 418, "/other/../other/": 307, "/v10/x/..": 307, "/": 404,
	} {
		for _, version := range []string{"", "2023-06-01"} {
			c, err := textproto.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			err = c.PrintfLine("GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\nAnthropic-Version: %s\r\n", target, dhruvaKey, version)
			res, readErr := http.ReadResponse(bufio.NewReader(c.R), nil)
			if err = errors.Join(err, readErr); err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			c.Close()
			if res.StatusCode != status && !(status == 307 && res.StatusCode == 301) {
				t.Errorf("%s: %d, want %d", target, res.StatusCode, status)
			}
			if status == 404 && target != "/" {
				dialect := map[string]dhruva.Dialect{"": dhruva.DialectChat}[version]
				if dialect == "" {
					dialect = dhruva.DialectMessages
				}
				if code, _ := shaped(t, dialect, string(body)); code != "not_found" || res.Header.Get("Location") != "" {
					t.Errorf("%s: %s", target, fmt.Sprint(res.Header, string(body)))
				}
			}
		}
	}
}
