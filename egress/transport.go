package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Policy says where a transport may connect. Its zero value reaches public
// https on port 443 and nothing else.
type Policy struct {
	// AllowPrivate opens loopback, RFC 1918, shared (100.64/10) and
	// unique-local addresses, plain http and any port: for a provider on this
	// machine or this network. Metadata services stay closed.
	AllowPrivate bool
	// Ports lists further https ports that public addresses may be reached on.
	Ports []int
	// Proxy sends every request through this proxy. The environment's proxy
	// variables are never read. The proxy itself may be on a private address.
	Proxy *url.URL
	// RootCAs replaces the system's certificate roots; verification stays on.
	RootCAs *x509.CertPool
	// Resolver replaces the system's name resolution; for tests.
	Resolver *net.Resolver
	// DialTimeout bounds one connection attempt, 10 s when zero.
	DialTimeout time.Duration
}

// The pool is sized for a proxy: many streams to few hosts. Idle connections
// go after 90 s, and HTTP/2 connections are probed so that a silent network
// does not hang a stream that has no timeout of its own.
const (
	idlePerHost = 256
	idleTotal   = 1024
	idleTimeout = 90 * time.Second
	handshake   = 10 * time.Second
	pingAfter   = 30 * time.Second
	pingWait    = 15 * time.Second
	maxHeader   = 1 << 20
)

// New returns a transport under the policy. There is no timeout on response
// headers or bodies: a model may think for minutes, and the caller's context
// is what ends a request. The caller closes idle connections when done.
func New(p Policy) *http.Transport {
	t := newTable()
	d := guard{policy: p, table: t}
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			// Called once for every request, which makes it the place to judge
			// the URL without wrapping the transport.
			if err := p.checkTarget(t, r.URL); err != nil {
				return nil, err
			}
			return p.Proxy, nil
		},
		DialContext:            d.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.RootCAs},
		TLSHandshakeTimeout:    handshake,
		DisableCompression:     true,
		MaxIdleConns:           idleTotal,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingWait},
	}
}

// Client returns a client over New(p) that hands redirects back as responses
// instead of following them.
func Client(p Policy) *http.Client { return NoRedirects(New(p)) }

// NoRedirects returns a client over rt that never follows a redirect.
func NoRedirects(rt http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     rt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guard dials under a policy.
type guard struct {
	policy Policy
	table  table
}

func (g guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{
		Timeout:        10 * time.Second,
		KeepAlive:      30 * time.Second,
		Resolver:       g.policy.Resolver,
		ControlContext: g.control,
	}
	if g.policy.DialTimeout > 0 {
		d.Timeout = g.policy.DialTimeout
	}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, &DialError{Target: address, err: err}
	}
	return conn, nil
}

// control runs for each address the resolver gave, before connect.
func (g guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("egress: network %s is not allowed: %w", network, dhruva.ErrDenied)
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("egress: the dialed address cannot be read: %w", dhruva.ErrDenied)
	}
	// With a proxy every dial goes to the proxy, which the operator chose.
	return g.table.check(ap.Addr(), g.policy.AllowPrivate || g.policy.Proxy != nil)
}

// DialError is a connection that could not be made. Its text names what the
// caller asked for, never the address the name resolved to; errors.Is and
// errors.As still see the cause. It is dhruva.ErrDenied when the address was
// refused and dhruva.ErrUnavailable otherwise.
type DialError struct {
	// Target is the host and port of the URL, unresolved.
	Target string
	err    error
}

// Error says what failed in one of a few fixed phrases.
func (e *DialError) Error() string {
	return "egress: connecting to " + e.Target + ": " + e.reason()
}

func (e *DialError) reason() string {
	var dns *net.DNSError
	var netErr net.Error
	var errno syscall.Errno
	switch {
	case errors.Is(e.err, dhruva.ErrDenied):
		return "the address is not allowed"
	case errors.As(e.err, &dns) && dns.IsNotFound:
		return "no such host"
	case errors.As(e.err, &dns):
		return "the name could not be resolved"
	case errors.Is(e.err, context.Canceled):
		return "canceled"
	case errors.As(e.err, &netErr) && netErr.Timeout():
		return "timed out"
	case errors.As(e.err, &errno):
		return errno.Error()
	}
	return "failed"
}

// Unwrap gives the sentinel and the cause.
func (e *DialError) Unwrap() []error {
	if errors.Is(e.err, dhruva.ErrDenied) {
		return []error{dhruva.ErrDenied, e.err}
	}
	return []error{dhruva.ErrUnavailable, e.err}
}
