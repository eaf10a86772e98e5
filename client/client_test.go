package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func server(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &Client{BaseURL: s.URL, Key: "dhr_test_x"}
}

func TestItemsComeBackInTheFormTheyWereSent(t *testing.T) {
	const sent = `{"decisions":["use SQLite",{"text":"ship it","id":"ship","cites":[{"from":1,"through":2}]}],` +
		`"tasks":["write docs",{"text":"test","intent_hint":"verify","blocked_by":"docs","status":"open"}],` +
		`"artifacts":["raw",{"id":"a1","type":"code","label":"main","content":"package main"}]}`
	var in CheckpointInput
	if err := json.Unmarshal([]byte(sent), &in); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent, string(out)); diff != "" {
		t.Fatalf("sent and returned differ:\n%s", diff)
	}
}

func TestItemsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		want := Task{Text: text.Draw(t, "text"), ID: text.Draw(t, "id"), Intent: text.Draw(t, "intent"), BlockedBy: text.Draw(t, "blocked"), Status: text.Draw(t, "status")}
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Task
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestItemRefusesOtherForms(t *testing.T) {
	for _, b := range []string{`1`, `null`, `["a"]`, `{"text":"a","extra":1}`, `{"text":`} {
		var items []Item
		if err := json.Unmarshal([]byte(`[`+b+`]`), &items); err == nil {
			t.Errorf("%s was accepted", b)
		}
	}
}

func TestProblemUnwrapsToTheSentinel(t *testing.T) {
	for status, want := range map[int]error{
		400: dhruva.ErrInvalid, 401: dhruva.ErrUnauthenticated, 403: dhruva.ErrDenied, 404: dhruva.ErrNotFound,
		409: dhruva.ErrConflict, 413: dhruva.ErrTooLarge, 415: dhruva.ErrInvalid, 422: dhruva.ErrInvalid,
		502: dhruva.ErrUnavailable, 503: dhruva.ErrUnavailable,
	} {
		c := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		_, err := c.Space(t.Context(), "x")
		if !errors.Is(err, want) {
			t.Errorf("%d gives %v, want %v", status, err, want)
		}
	}
}

func TestProblemCarriesCodeHintAndRequestID(t *testing.T) {
	want := Problem{Type: "about:blank", Title: "Conflict", Status: 409, Code: "stale_generation", Detail: "closed", Hint: "read again", RequestID: "r1",
		Errors: []Fault{{Location: "body.x", Message: "no"}}}
	c := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(409)
		_ = json.NewEncoder(w).Encode(want)
	})
	_, err := c.Space(t.Context(), "x")
	var got *Problem
	if !errors.As(err, &got) {
		t.Fatalf("not a problem: %v", err)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Fatal(diff)
	}
	if !errors.Is(err, dhruva.ErrFenced) {
		t.Errorf("code stale_generation gives %v", errors.Unwrap(err))
	}
}

func TestNoServerIsUnavailable(t *testing.T) {
	c := Client{BaseURL: "http://127.0.0.1:1"}
	if _, err := c.Health(t.Context()); !errors.Is(err, dhruva.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Health(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestHealthIsAskedWithoutTheKey(t *testing.T) {
	c := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the key was sent")
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(Health{Status: "store unavailable", Instance: "i"})
	})
	if got, err := c.Health(t.Context()); err != nil || got.Instance != "i" {
		t.Errorf("got %+v, %v", got, err)
	}
	other := server(t, func(http.ResponseWriter, *http.Request) {})
	if _, err := other.Health(t.Context()); !errors.Is(err, dhruva.ErrUnavailable) {
		t.Errorf("another server is taken for ours: %v", err)
	}
}

func TestKeyDoesNotFollowARedirect(t *testing.T) {
	other := server(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	c := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.BaseURL, http.StatusTemporaryRedirect)
	})
	if _, err := c.Space(t.Context(), "x"); err == nil {
		t.Fatal("a redirect was taken for an answer")
	}
}

func TestPathsAreEscaped(t *testing.T) {
	c := server(t, func(w http.ResponseWriter, r *http.Request) {
		if got, want := r.URL.EscapedPath(), "/api/v6/spaces/a%2Fb%3Fc"; got != want {
			t.Errorf("path %s, want %s", got, want)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer dhr_test_x" {
			t.Errorf("authorization %q", got)
		}
		_, _ = w.Write([]byte(`{}`))
	})
	if _, err := c.Space(t.Context(), "a/b?c"); err != nil {
		t.Fatal(err)
	}
}

func TestSendStream(t *testing.T) {
	for name, tt := range map[string]struct {
		body, want string
		err        error
	}{
		"whole":    {"event: delta\ndata: {\"text\":\"a\\nb\"}\n\nevent: delta\ndata: {\"text\":\"c\"}\n\nevent: done\ndata: {\"reply\":\"a\\nbc\"}\n\n", "a\nbc", nil},
		"cut":      {"event: delta\ndata: {\"text\":\"a\"}\n\n", "a", dhruva.ErrUnavailable},
		"error":    {"event: delta\ndata: {\"text\":\"a\"}\n\nevent: error\ndata: {\"status\":409,\"code\":\"conflict\"}\n\n", "a", dhruva.ErrConflict},
		"nonsense": {"event: delta\ndata: {\n\n", "", dhruva.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			c := server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tt.body)) })
			var got strings.Builder
			res, err := c.SendStream(t.Context(), "s", SendInput{Message: "m"}, func(s string) error { got.WriteString(s); return nil })
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if got.String() != tt.want {
				t.Errorf("deltas %q, want %q", got.String(), tt.want)
			}
			if tt.err == nil && res.Reply != tt.want {
				t.Errorf("reply %q, want %q", res.Reply, tt.want)
			}
		})
	}
}

func FuzzEventReader(f *testing.F) {
	f.Add("event: delta\ndata: x\n\n")
	f.Add(":c\r\ndata:1\ndata:2\n\n\n")
	f.Fuzz(func(t *testing.T, s string) {
		e := eventReader{r: bufio.NewReader(strings.NewReader(s))}
		for range len(s) + 1 {
			if _, _, err := e.next(); err != nil {
				return
			}
		}
		t.Fatalf("%q holds more events than bytes", s)
	})
}

func TestIdempotentCallsCarryTheirKey(t *testing.T) {
	var keys []string
	c := server(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Method+" "+r.Header.Get("Idempotency-Key"))
		if len(keys) == 4 {
			w.Header().Set("Idempotency-Replayed", "true")
		}
		_, _ = w.Write([]byte(`{}`))
	})
	once, ctx := c.Idempotent("k"), t.Context()
	for _, call := range []func() error{
		func() error { _, err := c.CreateSpace(ctx, SpaceInput{Name: "x"}); return err },
		func() error { _, err := once.CreateSpace(ctx, SpaceInput{Name: "x"}); return err },
		func() error { _, err := once.Space(ctx, "x"); return err },
		func() error {
			if once.Replayed() || c.Replayed() {
				t.Error("replayed before any answer said so")
			}
			return once.DeleteSpace(ctx, "x")
		},
		func() error { _, err := once.Space(ctx, "x"); return err },
	} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"POST ", "POST k", "GET ", "DELETE k", "GET "}, keys); diff != "" {
		t.Error(diff)
	}
	if !once.Replayed() || c.Replayed() {
		t.Errorf("replayed: %v, and without a key %v", once.Replayed(), c.Replayed())
	}
}

func TestProblemSaysWhenToComeBack(t *testing.T) {
	for header, want := range map[string]time.Duration{"2": 2 * time.Second, "": 0, "x": 0, "-1": 0, "Wed, 21 Oct 2015 07:28:00 GMT": 0} {
		c := server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusConflict)
		})
		_, err := c.Space(t.Context(), "x")
		var p *Problem
		if !errors.As(err, &p) || p.RetryAfter != want {
			t.Errorf("%q: %+v", header, p)
		}
	}
}
