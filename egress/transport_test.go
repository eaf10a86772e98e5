package egress

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dhruva-memory/dhruva"
)

// resolver is a name server in memory: every name resolves to what answer
// returns for its n-th query (from 0) of a type.
func resolver(t *testing.T, answer func(name string, n int) netip.Addr) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	go serveDNS(pc, answer)
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp4", pc.LocalAddr().String())
	}}
}

func serveDNS(pc net.PacketConn, answer func(string, int) netip.Addr) {
	buf := make([]byte, 1500)
	var queries [2]int
	for {
		n, from, err := pc.ReadFrom(buf)
		if err != nil {
			return
		}
		name, end := question(buf[:n])
		typ := binary.BigEndian.Uint16(buf[end:])
		k := 0
		if typ == 28 {
			k = 1
		}
		addr := answer(name, queries[k])
		queries[k]++
		_, _ = pc.WriteTo(dnsReply(buf[:end+4], typ, addr), from)
	}
}

// question returns the queried name and the offset of its type.
func question(msg []byte) (string, int) {
	var labels []string
	at := 12
	for msg[at] != 0 {
		n := int(msg[at])
		labels = append(labels, string(msg[at+1:at+1+n]))
		at += n + 1
	}
	return strings.Join(labels, "."), at + 1
}

func dnsReply(query []byte, typ uint16, addr netip.Addr) []byte {
	out := append([]byte(nil), query...)
	out[2], out[3] = 0x81, 0x80
	clear(out[6:12])
	if want := map[uint16]int{1: 32, 28: 128}[typ]; addr.BitLen() != want {
		return out
	}
	out[7] = 1
	out = append(out, 0xc0, 0x0c, byte(typ>>8), byte(typ), 0, 1, 0, 0, 0, 0, 0, byte(addr.BitLen()/8))
	return append(out, addr.AsSlice()...)
}

// trap is a TLS server on loopback that counts connections.
func trap(t *testing.T) (srv *httptest.Server, port string, hits *atomic.Int32) {
	t.Helper()
	hits = new(atomic.Int32)
	srv = httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			hits.Add(1)
		}
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return srv, port, hits
}

// Every forbidden address is refused by three ways in: as a literal URL, as a
// dialed literal, and as the answer to a DNS query.
func TestClientNeverConnectsToForbiddenAddresses(t *testing.T) {
	_, port, hits := trap(t)
	var current atomic.Value
	p := Policy{Ports: []int{atoi(port)}, Resolver: resolver(t, func(string, int) netip.Addr { return current.Load().(netip.Addr) })}
	client, g, ways := Client(p), guard{policy: p, table: newTable()}, 0
	for s := range forbidden() {
		addr := netip.MustParseAddr(s)
		current.Store(addr)
		_, dialErr := g.dial(t.Context(), "tcp", net.JoinHostPort(s, port))
		_, urlErr := client.Get("https://" + net.JoinHostPort(strings.ReplaceAll(s, "%", "%25"), port))
		errs := map[string]error{"dial": dialErr, "literal": urlErr}
		// A mapped answer in an AAAA record is a separate case for Go's
		// resolver; a zone cannot be in DNS at all.
		if addr.Zone() == "" {
			_, errs["dns"] = client.Get("https://name.example:" + port)
		}
		for way, err := range errs {
			ways++
			if !errors.Is(err, dhruva.ErrDenied) {
				t.Errorf("%s by %s: %v", s, way, err)
			}
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d connections reached the trap", hits.Load())
	}
	t.Logf("%d attempts, 0 connections", ways)
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}

// A name that answers with an allowed address first and loopback afterwards is
// refused at the second dial: the check sees the address of each dial.
func TestRebindingIsSeenAtTheSocket(t *testing.T) {
	srv, port, hits := trap(t)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	flip := resolver(t, func(_ string, n int) netip.Addr {
		if n == 0 {
			return netip.MustParseAddr("127.0.0.1")
		}
		return netip.MustParseAddr("169.254.169.254")
	})
	tr := New(Policy{AllowPrivate: true, RootCAs: roots, Resolver: flip})
	client := NoRedirects(tr)
	res, err := client.Get("https://example.com:" + port)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	tr.CloseIdleConnections()
	_, err = client.Get("https://example.com:" + port)
	if !errors.Is(err, dhruva.ErrDenied) || hits.Load() != 1 {
		t.Fatalf("%v after %d connections", err, hits.Load())
	}
	if strings.Contains(err.Error(), "169.254") {
		t.Errorf("the error names the resolved address: %v", err)
	}
}

func TestTLSIsVerifiedAndHTTP2Spoken(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // one handshake is meant to fail
	srv.StartTLS()
	defer srv.Close()
	var unknown x509.UnknownAuthorityError
	if _, err := Client(Policy{AllowPrivate: true}).Get(srv.URL); !errors.As(err, &unknown) {
		t.Fatalf("an unknown authority gave %v", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	res, err := Client(Policy{AllowPrivate: true, RootCAs: roots}).Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); string(body) != "HTTP/2.0" {
		t.Errorf("spoke %s", body)
	}
}

func TestRedirectsComeBackAndEncodingIsUntouched(t *testing.T) {
	var seen []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.Path+" "+r.Header.Get("Accept-Encoding"))
		http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
	}))
	defer srv.Close()
	res, err := Client(Policy{AllowPrivate: true}).Get(srv.URL + "/a")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusFound || len(seen) != 1 || seen[0] != "/a " {
		t.Errorf("status %d, requests %q", res.StatusCode, seen)
	}
	// A client that follows redirects is stopped by the transport itself.
	follow := &http.Client{Transport: New(Policy{AllowPrivate: true})}
	if _, err := follow.Get(srv.URL); !errors.Is(err, dhruva.ErrDenied) {
		t.Errorf("followed: %v", err)
	}
}

func TestEnvironmentProxyIsIgnored(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "https_proxy"} {
		t.Setenv(name, "http://127.0.0.1:9")
	}
	u, err := New(Policy{}).Proxy(httptest.NewRequest("GET", "https://api.example.com/", nil))
	if u != nil || err != nil {
		t.Fatal(u, err)
	}
}

func TestConfiguredProxyIsUsedAndLiteralsStayRefused(t *testing.T) {
	var seen atomic.Pointer[string]
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s := r.Method + " " + r.RequestURI
		seen.Store(&s)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	// The target is public https, the proxy on loopback: CONNECT arrives there.
	if res, err := Client(Policy{Proxy: at}).Get("https://api.example.com/"); err == nil {
		res.Body.Close()
	}
	if s := seen.Swap(nil); s == nil || *s != "CONNECT api.example.com:443" {
		t.Errorf("the proxy saw %v", s)
	}
	if _, err := Client(Policy{Proxy: at}).Get("https://169.254.169.254/"); !errors.Is(err, dhruva.ErrDenied) || seen.Load() != nil {
		t.Errorf("literal through the proxy: %v, %v", err, seen.Load())
	}
}

func TestDialErrorsAreUnavailableAndNameNoAddress(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ln.Close()
	to := resolver(t, func(string, int) netip.Addr { return netip.MustParseAddr("127.0.0.1") })
	_, err = Client(Policy{AllowPrivate: true, Resolver: to}).Get("http://name.example:" + port)
	if !errors.Is(err, dhruva.ErrUnavailable) || !strings.HasSuffix(err.Error(), "connecting to name.example:"+port+": connection refused") {
		t.Errorf("%v", err)
	}
	none := resolver(t, func(string, int) netip.Addr { return netip.Addr{} })
	if _, err = Client(Policy{Resolver: none}).Get("https://name.example"); !errors.Is(err, dhruva.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (guard{table: newTable()}).dial(ctx, "tcp", "1.1.1.1:443"); !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), "canceled") {
		t.Errorf("%v", err)
	}
}
