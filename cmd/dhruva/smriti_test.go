package main

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdHTTP sends a request without a key, whose answer must have a status and is
// printed: http METHOD URL STATUS [BODY, or a file that holds it]
func cmdHTTP(ts *testscript.TestScript, _ bool, args []string) {
	body := ""
	if len(args) == 4 {
		if body = args[3]; !strings.HasPrefix(body, "{") {
			body = ts.ReadFile(body)
		}
	}
	req, err := http.NewRequest(args[0], args[1], strings.NewReader(body))
	ts.Check(err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	ts.Check(err)
	_, err = ts.Stdout().Write(answer)
	ts.Check(err)
	if strconv.Itoa(res.StatusCode) != args[2] {
		ts.Fatalf("status %d, want %s: %s", res.StatusCode, args[2], answer)
	}
}

// TestKeylessOnlyOnLoopback: elsewhere the compatible API wants a key, and here
// too where the operator says so.
func TestKeylessOnlyOnLoopback(t *testing.T) {
	for _, c := range []struct {
		f    serveFlags
		want bool
	}{
		{serveFlags{listen: "127.0.0.1:1"}, true}, {serveFlags{listen: "[::1]:1"}, true}, {serveFlags{listen: "localhost:1"}, true},
		{serveFlags{listen: "127.0.0.1:1", needKey: true}, false},
		{serveFlags{listen: "0.0.0.0:1", insecure: true}, false}, {serveFlags{listen: ":1", insecure: true}, false}, {serveFlags{listen: "192.0.2.1:1"}, false},
	} {
		if got := c.f.keyless(); got != c.want {
			t.Errorf("%+v: %t", c.f, got)
		}
	}
}
