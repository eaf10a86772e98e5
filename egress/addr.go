package egress

import (
	"fmt"
	"net/netip"

	"github.com/dhruva-memory/dhruva"
)

// reach is what an address range may be used for.
type reach int

const (
	reachNever   reach = iota // no policy opens it
	reachPrivate              // only with AllowPrivate
	reachGlobal
)

// rangeOf pairs a range with its reach.
type rangeOf struct {
	prefix netip.Prefix
	reach  reach
}

// The tables follow the IANA special-purpose address registries. Ranges the
// registry calls globally reachable but that no provider serves from (AMT,
// AS112, PCP anycast inside 192.0.0.0/24 and 2001::/23) stay refused or open
// as their enclosing block is.
func v4Ranges() []rangeOf {
	return []rangeOf{
		{netip.MustParsePrefix("168.63.129.16/32"), reachNever},   // Azure platform address, globally numbered
		{netip.MustParsePrefix("100.100.100.200/32"), reachNever}, // Alibaba metadata, inside the shared range
		{netip.MustParsePrefix("0.0.0.0/8"), reachNever},          // this network; Linux routes it to loopback
		{netip.MustParsePrefix("10.0.0.0/8"), reachPrivate},
		{netip.MustParsePrefix("100.64.0.0/10"), reachPrivate}, // carrier-grade NAT, overlay networks
		{netip.MustParsePrefix("127.0.0.0/8"), reachPrivate},
		{netip.MustParsePrefix("169.254.0.0/16"), reachNever}, // link-local: metadata services
		{netip.MustParsePrefix("172.16.0.0/12"), reachPrivate},
		{netip.MustParsePrefix("192.0.0.0/24"), reachNever}, // protocol assignments, Oracle metadata
		{netip.MustParsePrefix("192.0.2.0/24"), reachNever}, // documentation
		{netip.MustParsePrefix("192.31.196.0/24"), reachNever},
		{netip.MustParsePrefix("192.52.193.0/24"), reachNever},
		{netip.MustParsePrefix("192.88.99.0/24"), reachNever}, // 6to4 relay anycast
		{netip.MustParsePrefix("192.168.0.0/16"), reachPrivate},
		{netip.MustParsePrefix("192.175.48.0/24"), reachNever},
		{netip.MustParsePrefix("198.18.0.0/15"), reachNever},   // benchmarking
		{netip.MustParsePrefix("198.51.100.0/24"), reachNever}, // documentation
		{netip.MustParsePrefix("203.0.113.0/24"), reachNever},  // documentation
		{netip.MustParsePrefix("224.0.0.0/4"), reachNever},     // multicast
		{netip.MustParsePrefix("240.0.0.0/4"), reachNever},     // reserved, broadcast
		{netip.MustParsePrefix("0.0.0.0/0"), reachGlobal},
	}
}

// Outside 2000::/3 only loopback and unique-local addresses can be opened, so
// site-local, IPv4-compatible, SIIT, discard, SRv6 and multicast ranges need
// no line of their own: the last line refuses them.
func v6Ranges() []rangeOf {
	return []rangeOf{
		{netip.MustParsePrefix("::1/128"), reachPrivate},
		{netip.MustParsePrefix("fd00:ec2::/32"), reachNever},       // AWS metadata, inside the unique-local range
		{netip.MustParsePrefix("fd20:ce::254/128"), reachNever},    // Google metadata
		{netip.MustParsePrefix("fd00:c1::a9fe:0/112"), reachNever}, // Oracle metadata (fd00:c1::a9fe:a9fe)
		{netip.MustParsePrefix("fc00::/7"), reachPrivate},
		{netip.MustParsePrefix("2001::/23"), reachNever}, // Teredo, benchmarking, ORCHID, other assignments
		{netip.MustParsePrefix("2001:db8::/32"), reachNever},
		{netip.MustParsePrefix("2002::/16"), reachNever}, // 6to4: embeds any IPv4 address
		{netip.MustParsePrefix("2620:4f:8000::/48"), reachNever},
		{netip.MustParsePrefix("3fff::/20"), reachNever}, // documentation
		{netip.MustParsePrefix("2000::/3"), reachGlobal},
		{netip.MustParsePrefix("::/0"), reachNever},
	}
}

// table holds the parsed ranges; it is read only.
type table struct{ v4, v6 []rangeOf }

func newTable() table { return table{v4: v4Ranges(), v6: v6Ranges()} }

// CheckAddr judges one address as dialed. It returns nil for an address the
// policy may connect to and an error wrapping dhruva.ErrDenied otherwise.
func CheckAddr(addr netip.Addr, allowPrivate bool) error {
	return newTable().check(addr, allowPrivate)
}

func (t table) check(addr netip.Addr, allowPrivate bool) error {
	switch r := t.reach(addr); {
	case r == reachGlobal, r == reachPrivate && allowPrivate:
		return nil
	case r == reachPrivate:
		return fmt.Errorf("egress: the address is private or loopback (allow_private is off): %w", dhruva.ErrDenied)
	}
	return fmt.Errorf("egress: the address is in a forbidden range: %w", dhruva.ErrDenied)
}

// reach finds the first range that holds addr. An address with a zone is
// link-local by nature and never passes.
func (t table) reach(addr netip.Addr) reach {
	if !addr.IsValid() || addr.Zone() != "" {
		return reachNever
	}
	addr = unwrap4(addr)
	ranges := t.v6
	if addr.Is4() {
		ranges = t.v4
	}
	for _, r := range ranges {
		if r.prefix.Contains(addr) {
			return r.reach
		}
	}
	return reachNever
}

// unwrap4 returns the IPv4 address that addr really leads to: IPv4-mapped, or
// behind the well-known NAT64 prefix 64:ff9b::/96, through which a provider is
// legitimately reached on a network that has only IPv6. The local-use NAT64
// prefix, 6to4, Teredo and IPv4-compatible addresses are refused as they are.
func unwrap4(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if !addr.Is6() {
		return addr
	}
	b := addr.As16()
	if [12]byte(b[:12]) == [12]byte{0x00, 0x64, 0xff, 0x9b} {
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr
}
