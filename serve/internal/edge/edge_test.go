package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// logged is an Access whose lines can be read.
type logged struct {
	edge.Access
	buf *bytes.Buffer
}

func newLogged() logged {
	buf := &bytes.Buffer{}
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	now := func() time.Time { at = at.Add(250 * time.Microsecond); return at }
	return logged{edge.Access{Log: slog.New(slog.NewJSONHandler(buf, nil)), Now: now}, buf}
}

// line is the one line that a request must have left.
func (l logged) line(t *testing.T) map[string]any {
	t.Helper()
	defer l.buf.Reset()
	if n := strings.Count(l.buf.String(), "\n"); n != 1 {
		t.Fatalf("%d log lines, want 1:\n%s", n, l.buf)
	}
	out := map[string]any{}
	if err := json.Unmarshal(l.buf.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func problem(t *testing.T, w *httptest.ResponseRecorder) edge.Problem {
	t.Helper()
	var p edge.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("content type %q", ct)
	}
	if p.Status != w.Code || p.Title == "" || p.Type != "urn:dhruva:problem:"+p.Code {
		t.Errorf("status %d with problem %+v", w.Code, p)
	}
	return p
}

func failing(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { edge.WriteError(w, r, err) })
}

func get(target string) *http.Request { return httptest.NewRequest(http.MethodGet, target, nil) }

func TestTheTableOfErrors(t *testing.T) {
	const private = "/var/lib/dhruva disk I/O error"
	for _, c := range []struct {
		err    error
		status int
		code   string
		shown  bool
	}{
		{dhruva.ErrNotFound, 404, "not_found", true},
		{dhruva.ErrConflict, 409, "conflict", true},
		{dhruva.ErrInvalid, 422, "invalid", true},
		{dhruva.ErrDenied, 403, "denied", true},
		{dhruva.ErrUnauthenticated, 401, "unauthenticated", false},
		{dhruva.ErrFenced, 409, "stale_generation", true},
		{dhruva.ErrUnavailable, 503, "unavailable", false},
		{dhruva.ErrTooLarge, 413, "too_large", true},
		{context.DeadlineExceeded, 503, "unavailable", false},
		{context.Canceled, 503, "unavailable", false},
		{errors.New("anything"), 500, "internal", false},
		{errors.Join(dhruva.ErrUnavailable, dhruva.ErrNotFound), 503, "unavailable", false},
		{edge.Malformed(errors.New("bad JSON")), 400, "malformed", true},
		{edge.Malformed(dhruva.ErrInvalid), 400, "malformed", true},
		{edge.Malformed(dhruva.ErrTooLarge), 413, "too_large", true},
		{edge.Malformed(&http.MaxBytesError{Limit: 7}), 413, "too_large", false},
		{&http.MaxBytesError{Limit: 7}, 413, "too_large", false},
	} {
		l := newLogged()
		w := serve(l.Wrap(failing(fmt.Errorf("ledger: mount: %w: %s", c.err, private))), get("/x"))
		p := problem(t, w)
		if w.Code != c.status || p.Code != c.code {
			t.Errorf("%v: %d %s, want %d %s", c.err, w.Code, p.Code, c.status, c.code)
		}
		if shown := strings.Contains(w.Body.String(), private); shown && !c.shown {
			t.Errorf("%v: the client sees %s", c.err, p.Detail)
		}
		if p.RequestID == "" || p.RequestID != w.Header().Get(edge.HeaderRequestID) {
			t.Errorf("%v: request id %q in the problem, %q in the header", c.err, p.RequestID, w.Header().Get(edge.HeaderRequestID))
		}
		line := l.line(t)
		if line["request_id"] != p.RequestID || line["code"] != c.code {
			t.Errorf("%v: logged %v", c.err, line)
		}
		text, _ := line["error"].(string)
		if full := strings.Contains(text, private); full != (c.status >= 500) {
			t.Errorf("%v: logged error %q; 5xx in full, others by code", c.err, text)
		}
		if (line["level"] == "ERROR") != (c.status >= 500) {
			t.Errorf("%v: level %v", c.err, line["level"])
		}
		if got := w.Header().Get("Retry-After") != ""; got != (c.status == 503) {
			t.Errorf("%v: Retry-After %v", c.err, w.Header())
		}
		if got := strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer "); got != (c.status == 401) {
			t.Errorf("%v: WWW-Authenticate %q", c.err, w.Header().Get("WWW-Authenticate"))
		}
	}
}

// Every sentinel of the root is in the table: a new one must not fall to 500.
func TestEverySentinelIsInTheTable(t *testing.T) {
	for _, err := range []error{
		dhruva.ErrNotFound, dhruva.ErrConflict, dhruva.ErrInvalid, dhruva.ErrDenied,
		dhruva.ErrUnauthenticated, dhruva.ErrFenced, dhruva.ErrUnavailable, dhruva.ErrTooLarge,
	} {
		if edge.ProblemOf(err).Code == "internal" {
			t.Errorf("%v has no row", err)
		}
	}
}

func TestProblemsAreValidAndShort(t *testing.T) {
	w := serve(failing(fmt.Errorf("%w: \xff\x00 %s", dhruva.ErrInvalid, strings.Repeat("é", 5000))), get("/x"))
	if p := problem(t, w); len(p.Detail) > 1100 {
		t.Errorf("detail has %d bytes", len(p.Detail))
	}
}

func TestAProblemTakesBackTheHeadersOfTheAnswer(t *testing.T) {
	w := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="u"`)
		edge.WriteError(w, r, dhruva.ErrUnauthenticated)
	}), get("/x"))
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag"} {
		if v := w.Header().Get(name); v != "" {
			t.Errorf("%s: %s stays", name, v)
		}
	}
	if got := w.Header().Get("WWW-Authenticate"); got != `Bearer resource_metadata="u"` {
		t.Errorf("a handler's own challenge became %q", got)
	}
}

func TestRequestIDsAreMintedNeverTaken(t *testing.T) {
	l := newLogged()
	var inside string
	h := l.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inside = dhruva.RequestIDFrom(r.Context()) }))
	r := get("/x")
	r.Header.Set(edge.HeaderRequestID, "mine")
	first := serve(h, r).Header().Get(edge.HeaderRequestID)
	if first == "mine" || first == "" || first != inside {
		t.Errorf("id %q, in the context %q", first, inside)
	}
	if second := serve(h, r).Header().Get(edge.HeaderRequestID); second == first {
		t.Error("two requests have one id")
	}
}

// S§6: logs hold method, route template, key id, sizes, timings and status;
// never bodies, query strings, headers or prompts.
func TestTheLogHoldsNoContent(t *testing.T) {
	keys, text := newKeys(t)
	const canary = "CANARY-7f3a"
	l := newLogged()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /spaces/{space}", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Out", canary)
		_, _ = w.Write(b[:len(b)/2])
	})
	h := l.Wrap(edge.Authenticated(keys, mux))
	r := httptest.NewRequest(http.MethodPost, "/spaces/"+canary+"?q="+canary, strings.NewReader(strings.Repeat(canary, 10)))
	r.Header.Set("Authorization", "Bearer "+text)
	r.Header.Set("X-In", canary)
	r.Header.Set("User-Agent", canary)
	if w := serve(h, r); w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	raw := l.buf.String()
	line := l.line(t)
	if strings.Contains(raw, canary) || strings.Contains(raw, text[9:30]) {
		t.Errorf("the log shows content: %s", raw)
	}
	p, err := keys.Authenticate(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	delete(line, "time")
	delete(line, "request_id")
	want := map[string]any{
		"level": "INFO", "msg": "request", "method": "POST", "route": "POST /spaces/{space}", "status": 200.0,
		"in": 110.0, "out": 55.0, "us": 250.0, "key": string(p.Key),
	}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Errorf("log line (-want +got):\n%s", diff)
	}

	// Refusals quote their input; the log does not.
	serve(l.Wrap(failing(fmt.Errorf("%w: unknown scope %q", dhruva.ErrInvalid, canary))), httptest.NewRequest(canary, "/"+canary, nil))
	if raw := l.buf.String(); strings.Contains(raw, canary) {
		t.Errorf("the log shows a refusal's input: %s", raw)
	}
}

func TestPanicsBecomeProblemsBeforeTheAnswerBegins(t *testing.T) {
	l := newLogged()
	w := serve(l.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the cause") })), get("/x"))
	if p := problem(t, w); w.Code != 500 || p.Code != "internal" || strings.Contains(w.Body.String(), "the cause") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	line := l.line(t)
	if text, _ := line["error"].(string); !strings.Contains(text, "the cause") || !strings.Contains(text, "edge_test.go") {
		t.Errorf("the log lacks cause or stack: %v", line)
	}
}

func TestHalfAnAnswerIsCutOff(t *testing.T) {
	for name, end := range map[string]func(http.ResponseWriter, *http.Request){
		"panic":      func(http.ResponseWriter, *http.Request) { panic("the cause") },
		"abort":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"WriteError": func(w http.ResponseWriter, r *http.Request) { edge.WriteError(w, r, errors.New("the cause")) },
	} {
		l := newLogged()
		srv := httptest.NewServer(l.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			end(w, r)
		})))
		res, err := http.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		srv.Close()
		if err == nil || string(body) != "half" {
			t.Errorf("%s: read %q without an error", name, body)
		}
		line := l.line(t)
		if line["aborted"] != true || (name != "abort") != (line["level"] == "ERROR") {
			t.Errorf("%s: logged %v", name, line)
		}
	}
}

func TestStreamingReachesTheClientThroughTheLayers(t *testing.T) {
	keys, text := newKeys(t)
	seen := make(chan struct{})
	srv := httptest.NewServer(newLogged().Wrap(edge.Authenticated(keys, edge.MaxBytes(10, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-seen // the client has it while the handler still runs
	})))))
	defer srv.Close()
	r, _ := http.NewRequest(http.MethodGet, srv.URL, nil)
	r.Header.Set("x-api-key", text)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b := make([]byte, 5)
	if _, err := io.ReadFull(res.Body, b); err != nil || string(b) != "first" {
		t.Errorf("read %q, %v", b, err)
	}
	close(seen)
}

func newKeys(t *testing.T) (*auth.Keys, string) {
	t.Helper()
	keys := &auth.Keys{Store: memstore.New(), Keyring: auth.NewKeyring(bytes.Repeat([]byte{1}, 32))}
	_, secret, err := keys.Create(dhruva.WithPrincipal(context.Background(), auth.LocalPrincipal()), auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}})
	if err != nil {
		t.Fatal(err)
	}
	return keys, secret.Reveal()
}
