package edge_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

// CVE-2025-49596, CVE-2025-66416: a page on the internet reached a server on
// localhost by DNS rebinding.
func TestCVE2025_49596_HostsThatAreNotThisMachineAreRefused(t *testing.T) {
	reached := 0
	h := edge.Loopback(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }), []string{"Dhruva.internal", "box:7373", "10.0.0.5"})
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:7373": true, "LOCALHOST:1": true, "127.0.0.1": true, "127.0.0.1:7373": true,
		"127.8.9.1:80": true, "[::1]": true, "[::1]:7373": true, "[::ffff:127.0.0.1]:80": true,
		"dhruva.internal": true, "dhruva.internal:7373": true, "box:7373": true, "10.0.0.5:7373": true,

		"": false, "evil.example": false, "evil.example:7373": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"evil.example#localhost": false, "user@localhost": false, "localhost.": false, "box": false, "box:80": false,
		"0.0.0.0:7373": false, "[::]:7373": false, "10.0.0.6": false, "169.254.169.254": false, "2130706433": false, "0x7f000001": false,
		"127.1": false, "017700000001": false, "localhost:": false, "localhost:x": false, "localhost:80:80": false, "[::1": false,
		"::1": false, "[::1%25lo]:80": false, "localhost evil": false, "localhost/evil": false, "localhost\\evil": false,
	} {
		r := get("/x")
		r.Host = host
		before := reached
		w := serve(h, r)
		if (w.Code == 200) != ok || (reached > before) != ok {
			t.Errorf("Host %q: %d, reached %v; want passed %v", host, w.Code, reached > before, ok)
		}
		if !ok && (w.Code != 403 || problem(t, w).Code != "host_refused") {
			t.Errorf("Host %q: %d %s", host, w.Code, w.Body)
		}
	}
}

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	h := edge.Loopback(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), []string{"localhost:5173", "dhruva.internal"})
	for _, c := range []struct {
		host, origin string
		ok           bool
	}{
		{"localhost:7373", "http://localhost:7373", true},
		{"LocalHost:7373", "http://LOCALHOST:7373", true},
		{"127.0.0.1:7373", "http://127.0.0.1:7373", true},
		{"[::1]:7373", "http://[::1]:7373", true},
		{"localhost:7373", "http://localhost:5173", true},
		{"dhruva.internal", "https://dhruva.internal", true},

		{"localhost:7373", "http://localhost:3000", false},
		{"localhost:7373", "http://127.0.0.1:7373", false},
		{"localhost:7373", "https://evil.example", false},
		{"localhost:7373", "http://localhost:7373.evil.example", false},
		{"localhost:7373", "http://dhruva.internal", false},
		{"localhost:7373", "null", false},
		{"localhost:7373", "", false},
		{"localhost:7373", "file://", false},
		{"localhost:7373", "chrome-extension://localhost:7373", false},
		{"localhost:7373", "http://localhost:7373/", false},
		{"localhost:7373", "http://u@localhost:7373", false},
		{"localhost:7373", "http://localhost:7373, http://evil.example", false},
		{"localhost:7373", "http://[", false},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
			r := httptest.NewRequest(method, "/x", nil)
			r.Host = c.host
			r.Header.Set("Origin", c.origin)
			if w := serve(h, r); (w.Code == 200) != c.ok || !c.ok && w.Code != 403 {
				t.Errorf("%s from %q to %q: %d, want passed %v", method, c.origin, c.host, w.Code, c.ok)
			}
		}
	}
	r := with(get("/x"), "Origin", "http://localhost:7373", "Origin", "http://evil.example")
	r.Host = "localhost:7373"
	if w := serve(h, r); w.Code != 403 {
		t.Errorf("two Origins: %d, want 403", w.Code)
	}
}

func FuzzLoopback(f *testing.F) {
	f.Add("localhost:7373", "http://localhost:7373")
	f.Add("[::1%lo]:1", "null")
	passed := false
	h := edge.Loopback(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }), nil)
	f.Fuzz(func(t *testing.T, host, origin string) {
		r := &http.Request{Method: http.MethodGet, Host: host, Header: http.Header{"Origin": {origin}}}
		passed = false
		serve(h, r)
		if !passed {
			return
		}
		lower := strings.ToLower(host)
		if !strings.HasPrefix(lower, "localhost") && !strings.HasPrefix(lower, "127.") && !strings.HasPrefix(lower, "[") {
			t.Fatalf("Host %q passed", host)
		}
		if !strings.EqualFold(origin, "http://"+host) && !strings.EqualFold(origin, "https://"+host) {
			t.Fatalf("Origin %q passed to Host %q", origin, host)
		}
	})
}
