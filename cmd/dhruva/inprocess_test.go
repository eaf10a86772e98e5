package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestInProcessStreamsAndEnds(t *testing.T) {
	go1, ended := make(chan struct{}), make(chan error, 1)
	rt := inProcess{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Got", string(b))
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "one ")
		<-go1
		_, err := io.WriteString(w, "two")
		ended <- err
	})}
	call := func(ctx context.Context) *http.Response {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/x", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: rt}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := call(t.Context())
	buf := make([]byte, 4)
	if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != "one " || res.StatusCode != http.StatusTeapot || res.Header.Get("X-Got") != "body" {
		t.Fatalf("%d %q %v before the end", res.StatusCode, buf, err)
	}
	close(go1)
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(rest) != "two" {
		t.Errorf("then %q, %v", rest, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the handler's write: %v", err)
	}
	res = call(t.Context())
	_ = res.Body.Close() // early: the handler's writes fail instead of hanging
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a write after the reader left: %v", err)
	}
}

func TestInProcessObeysTheContext(t *testing.T) {
	stopped := make(chan struct{})
	rt := inProcess{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(stopped)
	})}
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := rt.RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-stopped
}
