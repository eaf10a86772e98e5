package egress

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
)

func TestCheckURLRefuses(t *testing.T) {
	cases := []string{
		"", "/v1", "api.example.com", "//api.example.com", "https:", "https://", "https:///v1", "https:api.example.com", "https://:443/",
		"http://api.example.com/v1", "ftp://api.example.com", "file:///etc/passwd", "gopher://127.0.0.1:70/", "unix:///run/docker.sock", "javascript:alert(1)", "HTTPS+unix://x",
		"https://user@api.example.com", "https://user:pw@api.example.com", "https://@api.example.com", "https://api.example.com@127.0.0.1/", "https://api.example.com:443@169.254.169.254/",
		"https://api.example.com#f", "https://api.example.com/#", "https://api.example.com#@127.0.0.1/",
		"https://api.example.com:8443", "https://api.example.com:80", "https://api.example.com:0", "https://api.example.com:65536", "https://api.example.com:99999", "https://api.example.com:-1", "https://api.example.com:4x3",
		"https://127.0.0.1", "https://127.0.0.1.", "https://127.1", "https://127.0.1", "https://2130706433", "https://0x7f000001", "https://0x7f.0.0.1", "https://0X7F.1", "https://0177.0.0.1", "https://017700000001", "https://0", "https://0x", "https://127.0.0.0x1",
		"https://1.1.1.0300", "https://1.1.1.1.1", "https://256.1.1.1", "https://00.0.0.0", "https://169.254.169.254", "https://169.254.169.254.", "https://2852039166", "https://0xa9fea9fe", "https://0251.0376.0251.0376",
		"https://[::1]", "https://[::1]:443", "https://[::]", "https://[::ffff:127.0.0.1]", "https://[::ffff:a9fe:a9fe]", "https://[0:0:0:0:0:ffff:7f00:1]", "https://[fe80::1%25eth0]", "https://[::1%25lo]", "https://[64:ff9b::a9fe:a9fe]", "https://[2002:7f00:1::]", "https://[fd00:ec2::254]", "https://[::127.0.0.1]", "https://[fec0::1]",
		"https://::1", "https://[127.0.0.1]", "https://[::1", "https://::1]/",
		"https://localhost", "https://LOCALHOST", "https://localhost.", "https://a.localhost", "https://a.LocalHost.",
		"https://127.0.0.1%00.example.com", "https://%31%32%37.0.0.1", "https://①②⑦.⓪.⓪.①", "https://１２７.0.0.1", "https://bücher.example", "https://127。0。0。1",
		"https://api.example.com\\@127.0.0.1", "https://127.0.0.1\\.example.com", "https:\\\\127.0.0.1", " https://api.example.com", "https://api.example.com ", "https://api .example.com", "https://api.example.com/\r\nHost: x", "https://api.example.com/\x00", "https://a..", "https://.", "https://..",
	}
	for _, raw := range cases {
		u, err := CheckURL(raw, false)
		if u != nil || !(errors.Is(err, dhruva.ErrInvalid) || errors.Is(err, dhruva.ErrDenied)) {
			t.Errorf("%q: %v, %v", raw, u, err)
		}
	}
	t.Logf("%d spellings refused", len(cases))
}

func TestCheckURLErrorsNeverRepeatTheURL(t *testing.T) {
	for _, raw := range []string{"https://user:CANARY@h", "https://h/%zz?key=CANARY", "http://h/CANARY", "https://h/#CANARY"} {
		if _, err := CheckURL(raw, false); err == nil || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestCheckURLPasses(t *testing.T) {
	for _, raw := range []string{
		"https://api.openai.com/v1", "https://api.anthropic.com", "https://api.example.com:443/v1/", "HTTPS://API.EXAMPLE.COM", "https://api.example.com./v1",
		"https://xn--bcher-kva.example", "https://my.openai.azure.com/openai?api-version=2024-10-21", "https://1.1.1.1", "https://[2606:4700::1111]/v1", "https://a1.0b", "https://h/%20",
	} {
		u, err := CheckURL(raw, false)
		if err != nil || u == nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestCheckURLAllowPrivate(t *testing.T) {
	for raw, ok := range map[string]bool{
		"http://127.0.0.1:11434/v1": true, "http://localhost:1234": true, "http://[::1]:8000": true, "http://ollama.internal:11434": true, "https://10.1.2.3": true, "http://[fd12::1]:1": true,
		"http://169.254.169.254": false, "http://[fd00:ec2::254]": false, "http://[fe80::1%25eth0]": false, "http://0.0.0.0:11434": false, "http://127.1": false, "http://u@127.0.0.1": false, "http://100.100.100.200": false, "http://h:0": false,
	} {
		if _, err := CheckURL(raw, true); (err == nil) != ok {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestPolicyPortsOpenListedPorts(t *testing.T) {
	p := Policy{Ports: []int{8443}}
	if _, err := p.CheckURL("https://api.example.com:8443"); err != nil {
		t.Error(err)
	}
	if _, err := p.CheckURL("https://api.example.com:8444"); !errors.Is(err, dhruva.ErrInvalid) {
		t.Error(err)
	}
}

// What passes has one reading: printing and parsing it again gives the same
// host, and that host passes again.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"https://a", "https://[::1%25a]:1/", "http://127.1#", "https://a@b", "https://\\a", "https://0x7f.1."} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, raw string, private bool) {
		u, err := CheckURL(raw, private)
		if err != nil {
			return
		}
		if u.User != nil || u.Fragment != "" || u.Hostname() == "" || (u.Scheme != "https" && !private) {
			t.Fatalf("%q passed as %#v", raw, u)
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Host != u.Host {
			t.Fatalf("%q: reads as %q, then as %v (%v)", raw, u.Host, again, err)
		}
		if _, err := CheckURL(u.String(), private); err != nil {
			t.Fatalf("%q passed, %q did not: %v", raw, u, err)
		}
	})
}
