package egress

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// CheckURL parses raw once and judges it: the returned value is the one to
// dial. Only https passes, and http with allowPrivate; user info, fragments,
// literal addresses that CheckAddr refuses, numeric spellings of addresses and
// (without allowPrivate) ports other than 443 are refused. The error wraps
// dhruva.ErrInvalid, or dhruva.ErrDenied for a forbidden address.
func CheckURL(raw string, allowPrivate bool) (*url.URL, error) {
	return Policy{AllowPrivate: allowPrivate}.CheckURL(raw)
}

// CheckURL is the function of the same name under this policy's ports.
func (p Policy) CheckURL(raw string) (*url.URL, error) {
	if i := strings.IndexFunc(raw, oddRune); i >= 0 {
		return nil, invalid("contains a space, a backslash, or a character outside ASCII (write an international name in punycode)")
	}
	if strings.Contains(raw, "#") {
		return nil, invalid("has a fragment")
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The parser's own error repeats the URL, which may hold a secret.
		return nil, invalid("cannot be parsed")
	}
	if err := p.checkTarget(newTable(), u); err != nil {
		return nil, err
	}
	return u, nil
}

func oddRune(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }

func invalid(why string) error {
	return fmt.Errorf("egress: the URL %s: %w", why, dhruva.ErrInvalid)
}

// checkTarget judges a parsed URL; the transport applies it to every request.
func (p Policy) checkTarget(t table, u *url.URL) error {
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return invalid("is not http or https")
	case u.Scheme == "http" && !p.AllowPrivate:
		return invalid("is plain http, which needs allow_private")
	case u.Opaque != "" || u.Host == "" || u.Hostname() == "":
		return invalid("has no host")
	case u.User != nil:
		return invalid("carries user information")
	case u.Fragment != "":
		return invalid("has a fragment")
	}
	if err := p.checkPort(u.Port()); err != nil {
		return err
	}
	return p.checkHost(t, u.Hostname())
}

func (p Policy) checkPort(port string) error {
	if port == "" || port == "443" {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return invalid("has an impossible port")
	}
	if !p.AllowPrivate && !slices.Contains(p.Ports, int(n)) {
		return invalid("names a port other than 443 that is not listed")
	}
	return nil
}

// checkHost judges literal addresses early, for a clear error when the
// configuration is read; names are judged when they are dialed. Spellings only
// some resolvers read as addresses (127.1, 0x7f.0.0.1, 2130706433) are refused.
func (p Policy) checkHost(t table, host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return t.check(addr, p.AllowPrivate)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if strings.ContainsAny(name, ":%") || name == "" || endsInNumber(name) {
		return invalid("has a host that is neither a name nor a plain address")
	}
	if local := name == "localhost" || strings.HasSuffix(name, ".localhost"); local && !p.AllowPrivate {
		return fmt.Errorf("egress: the URL names this machine (allow_private is off): %w", dhruva.ErrDenied)
	}
	return nil
}

// endsInNumber is the test browsers use for "this wants to be an IPv4
// address": the last label is decimal digits or 0x with hexadecimal digits.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" {
		return true // an empty label: no name at all
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
