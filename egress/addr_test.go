package egress

import (
	"errors"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
)

// forbidden lists addresses no zero Policy may reach, in the spellings a
// resolver or a URL may hand over. The flag marks those AllowPrivate opens.
func forbidden() map[string]bool {
	const never, private = false, true
	return map[string]bool{
		"0.0.0.0": never, "0.0.0.1": never, "0.255.255.255": never,
		"10.0.0.0": private, "10.0.0.1": private, "10.255.255.255": private,
		"100.64.0.0": private, "100.100.100.200": never, "100.127.255.255": private,
		"127.0.0.1": private, "127.0.0.2": private, "127.1.2.3": private, "127.255.255.255": private,
		"169.254.0.1": never, "169.254.169.254": never, "169.254.170.2": never, "169.254.255.255": never,
		"168.63.129.16": never,
		"172.16.0.1":    private, "172.20.10.1": private, "172.31.255.255": private,
		"192.0.0.1": never, "192.0.0.192": never, "192.0.0.255": never,
		"192.0.2.1": never, "192.31.196.1": never, "192.52.193.1": never, "192.88.99.1": never, "192.175.48.6": never,
		"192.168.0.1": private, "192.168.255.255": private,
		"198.18.0.1": never, "198.19.255.255": never,
		"198.51.100.7": never, "203.0.113.9": never,
		"224.0.0.1": never, "239.255.255.250": never, "240.0.0.1": never, "254.1.2.3": never, "255.255.255.255": never,

		"::": never, "::1": private, "0:0:0:0:0:0:0:1": private,
		"::ffff:127.0.0.1": private, "::ffff:7f00:1": private, "::ffff:a9fe:a9fe": never, "::ffff:169.254.169.254": never,
		"::ffff:10.0.0.1": private, "::FFFF:C0A8:0001": private, "::ffff:0.0.0.0": never, "::ffff:100.100.100.200": never,
		"::127.0.0.1": never, "::a9fe:a9fe": never, "::10.0.0.1": never, "::8.8.8.8": never, // IPv4-compatible
		"::ffff:0:127.0.0.1": never, "::ffff:0:808:808": never, // SIIT
		"64:ff9b::127.0.0.1": private, "64:ff9b::a9fe:a9fe": never, "64:ff9b::10.0.0.1": private, "64:ff9b::0.0.0.0": never, "64:ff9b::c0a8:101": private,
		"64:ff9b:1::1": never, "64:ff9b:1::8.8.8.8": never, "64:ff9b:0:1::8.8.8.8": never,
		"100::1": never, "100:0:0:1::1": never,
		"2001::1": never, "2001:0:53aa:64c::7f00:1": never, "2001:2::1": never, "2001:10::1": never, "2001:20::1": never, "2001:1::1": never, "2001:1ff::1": never,
		"2001:db8::1": never, "2001:0db8:85a3::8a2e:370:7334": never,
		"2002:7f00:1::1": never, "2002:a9fe:a9fe::1": never, "2002:a00:1::": never, "2002:808:808::1": never,
		"2620:4f:8000::1": never, "3fff::1": never, "3fff:fff::1": never, "5f00::1": never, "4000::1": never,
		"fc00::1": private, "fd12:3456:789a::1": private, "fd00:ec2::254": never, "fd00:ec2::23": never, "fd20:ce::254": never, "fd00:c1::a9fe:a9fe": never,
		"fe80::1": never, "fe80::1%eth0": never, "::1%lo": never, "febf::1": never, "fec0::1": never, "feff::1": never,
		"ff02::1": never, "ff0e::1": never, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff": never,
	}
}

func TestCheckAddrRefusesEverySpecialRange(t *testing.T) {
	cases := forbidden()
	for s, private := range cases {
		addr := netip.MustParseAddr(s)
		if err := CheckAddr(addr, false); !errors.Is(err, dhruva.ErrDenied) {
			t.Errorf("%s: %v", s, err)
		}
		if err := CheckAddr(addr, true); (err == nil) != private {
			t.Errorf("%s with AllowPrivate: %v", s, err)
		}
	}
	if len(cases) < 60 {
		t.Fatalf("only %d spellings", len(cases))
	}
	if err := CheckAddr(netip.Addr{}, true); !errors.Is(err, dhruva.ErrDenied) {
		t.Errorf("the zero address: %v", err)
	}
}

func TestCheckAddrPassesNeighboursOfSpecialRanges(t *testing.T) {
	for _, s := range []string{
		"1.0.0.0", "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "168.63.129.15", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0",
		"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2000::1", "2001:200::1", "2001:4860:4860::8888", "2606:4700::1111", "2a00:1450:4001:80b::200a", "3ffe::1", "3fff:1000::1",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
	} {
		if err := CheckAddr(netip.MustParseAddr(s), false); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// Whatever the standard library already calls special is refused, and an IPv6
// address that is neither mapped nor NAT64 passes only inside 2000::/3.
func TestCheckAddrIsStricterThanNetip(t *testing.T) {
	global := netip.MustParsePrefix("2000::/3")
	nat64 := netip.MustParsePrefix("64:ff9b::/96")
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "addr")
		addr := netip.AddrFrom16([16]byte(raw))
		if rapid.Bool().Draw(t, "v4") {
			addr = netip.AddrFrom4([4]byte(raw[:4]))
		}
		if CheckAddr(addr, false) != nil {
			return
		}
		a := addr.Unmap()
		if a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
			t.Fatalf("%s passed", addr)
		}
		if a.Is6() && !global.Contains(a) && !nat64.Contains(a) {
			t.Fatalf("%s passed outside 2000::/3", addr)
		}
	})
}
