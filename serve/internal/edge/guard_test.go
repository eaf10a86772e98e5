package edge_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

// whoami answers with the acting principal's id and key.
var whoami = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	p, err := dhruva.PrincipalFrom(r.Context())
	if err != nil {
		edge.WriteError(w, r, err)
		return
	}
	_, _ = io.WriteString(w, string(p.ID)+"/"+string(p.Key))
})

func with(r *http.Request, headers ...string) *http.Request {
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestOnlyKnownPrincipalsPass(t *testing.T) {
	keys, text := newKeys(t)
	h := edge.Authenticated(keys, whoami)
	for _, c := range []struct {
		name    string
		headers []string
		status  int
		code    string
	}{
		{"none", nil, 401, "unauthenticated"},
		{"bearer", []string{"Authorization", "Bearer " + text}, 200, ""},
		{"x-api-key", []string{"x-api-key", text}, 200, ""},
		{"own header beside the provider's", []string{"X-Dhruva-Key", text, "Authorization", "Bearer sk-1"}, 200, ""},
		{"unknown key", []string{"x-api-key", auth.GenerateKey(auth.Live).Reveal()}, 401, "unauthenticated"},
		{"a provider's key", []string{"x-api-key", "sk-ant-1"}, 401, "unauthenticated"},
		{"basic", []string{"Authorization", "Basic dTpw"}, 401, "unauthenticated"},
		{"two different", []string{"x-api-key", text, "Authorization", "Bearer sk-1"}, 400, "malformed"},
		{"cookie only", []string{"Cookie", "key=" + text}, 401, "unauthenticated"},
	} {
		w := serve(h, with(get("/x?key="+text), c.headers...))
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d", c.name, w.Code, c.status)
			continue
		}
		if c.status != 200 && problem(t, w).Code != c.code {
			t.Errorf("%s: %s, want %s", c.name, w.Body, c.code)
		}
		if c.status == 401 && w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no challenge", c.name)
		}
		if strings.Contains(w.Body.String(), text) {
			t.Errorf("%s: the answer shows the key", c.name)
		}
	}
}

func TestAClosedStoreIs503Not401(t *testing.T) {
	keys, text := newKeys(t)
	if err := keys.Store.Close(); err != nil {
		t.Fatal(err)
	}
	w := serve(edge.Authenticated(keys, whoami), with(get("/x"), "x-api-key", text))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, %v", w.Code, w.Header())
	}
}

// Local mode (contracts.md 54): nobody's key is needed, but a wrong one is still
// wrong.
func TestLocalActsOnlyWithoutACredential(t *testing.T) {
	keys, text := newKeys(t)
	local := func(r *http.Request) (dhruva.Principal, bool) {
		return auth.LocalPrincipal(), r.URL.Path != "/admin"
	}
	h := edge.Guard{Keys: keys, Local: local}.Wrap(whoami)
	if w := serve(h, get("/x")); w.Code != 200 || w.Body.String() != "local/" {
		t.Errorf("without a key: %d %s", w.Code, w.Body)
	}
	if w := serve(h, get("/admin")); w.Code != 401 {
		t.Errorf("where local declines: %d", w.Code)
	}
	if w := serve(h, with(get("/x"), "x-api-key", "wrong")); w.Code != 401 {
		t.Errorf("with a wrong key: %d", w.Code)
	}
	if w := serve(h, with(get("/x"), "x-api-key", text)); w.Code != 200 || w.Body.String() == "local/" {
		t.Errorf("with a key: %d %s", w.Code, w.Body)
	}
}

func TestADialectRefusesInItsOwnShape(t *testing.T) {
	keys, _ := newKeys(t)
	l := newLogged()
	h := l.Wrap(edge.Guard{Keys: keys, Refuse: func(w http.ResponseWriter, r *http.Request, err error) {
		edge.Report(w, r, err)
		p := edge.ProblemOf(err)
		p.SetHeader(w.Header())
		w.WriteHeader(p.Status)
		_, _ = io.WriteString(w, `{"error":{}}`)
	}}.Wrap(whoami))
	w := serve(h, get("/v1/messages"))
	if w.Code != 401 || w.Body.String() != `{"error":{}}` || w.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if line := l.line(t); line["code"] != "unauthenticated" {
		t.Errorf("logged %v", line)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	read := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			edge.WriteError(w, r, edge.Malformed(err))
		}
	})
	l := newLogged()
	h := l.Wrap(edge.MaxBytes(8, read))
	for _, c := range []struct {
		name    string
		body    string
		chunked bool
		status  int
		in      float64
	}{
		{"at the limit", "12345678", false, 200, 8},
		{"declared above", "123456789", false, 413, 0},
		{"chunked at the limit", "12345678", true, 200, 8},
		{"chunked above", "123456789", true, 413, 9},
	} {
		r := httptest.NewRequest(http.MethodPost, "/x", strings.NewReader(c.body))
		if c.chunked {
			r.ContentLength = -1
		}
		w := serve(h, r)
		line := l.line(t)
		if w.Code != c.status || line["in"] != c.in {
			t.Errorf("%s: status %d, %v bytes read; want %d, %v", c.name, w.Code, line["in"], c.status, c.in)
		}
		if c.status == 413 && (problem(t, w).Code != "too_large" || w.Header().Get("Connection") != "close") {
			t.Errorf("%s: %v %s", c.name, w.Header(), w.Body)
		}
	}
}

func TestCodedBodiesAre415(t *testing.T) {
	h := edge.PlainBodies(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for coding, status := range map[string]int{"": 200, "identity": 200, "Identity": 200, "gzip": 415, "zstd": 415, "gzip, identity": 415, "x": 415} {
		r := get("/x")
		if coding != "" {
			r.Header.Set("Content-Encoding", coding)
		}
		if w := serve(h, r); w.Code != status {
			t.Errorf("%q: %d, want %d", coding, w.Code, status)
		}
	}
	if w := serve(h, with(get("/x"), "Content-Encoding", "identity", "Content-Encoding", "gzip")); w.Code != 415 {
		t.Errorf("second header line: %d, want 415", w.Code)
	}
}

func TestUnknownRoutesAreProblems(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/things/{id}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("PUT /api/things/{id}", func(http.ResponseWriter, *http.Request) {})
	l := newLogged()
	h := l.Wrap(edge.SecurityHeaders(edge.Routes(mux)))
	if w := serve(h, get("/api/things/1")); w.Code != 200 || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("a known route: %d %v", w.Code, w.Header())
	}
	if line := l.line(t); line["route"] != "GET /api/things/{id}" {
		t.Errorf("logged %v", line)
	}
	w := serve(h, get("/api/nothing"))
	if w.Code != 404 || problem(t, w).Code != "no_route" {
		t.Errorf("an unknown path: %d %s", w.Code, w.Body)
	}
	w = serve(h, httptest.NewRequest(http.MethodPost, "/api/things/1", nil))
	if w.Code != 405 || problem(t, w).Code != "method_not_allowed" || w.Header().Get("Allow") != "GET, HEAD, PUT" {
		t.Errorf("a wrong method: %d %v", w.Code, w.Header())
	}
	if w := serve(h, get("/api//things/1")); w.Code/100 != 3 {
		t.Errorf("an unclean path: %d, want a redirect", w.Code)
	}
}
