package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/serve/smriti"
)

// readyTime bounds the question whether the store answers.
const readyTime = time.Second

// plainOK says that the process lives.
func plainOK() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ok\n") // a client that has gone cannot be told
	})
}

// answers asks the store for something small.
func (in *installation) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	return in.store.View(ctx, dhruva.SystemScope(), func(tx dhruva.Tx) error {
		_, err := tx.Tenant(auth.LocalTenant)
		return err
	})
}

// full reports whether the last write found no room. A node says every ten seconds
// that it lives, which is a write, so that it is known soon, and forgotten soon.
func (in *installation) full() bool {
	s, ok := in.store.(interface{ Full() bool })
	return ok && s.Full()
}

// ready says whether requests can be served.
func (in *installation) ready() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := in.answers(r.Context()); err != nil {
			in.log.ErrorContext(r.Context(), "not ready", "error", err)
			http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
			return
		}
		if in.full() {
			http.Error(w, "the store is full", http.StatusServiceUnavailable)
			return
		}
		plainOK().ServeHTTP(w, r)
	})
}

// health says how the server is, and which one it is.
func (in *installation) health(instance string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, status := client.Health{Status: "ok", Version: version(), Instance: instance, Work: in.workOf()}, http.StatusOK
		if err := in.answers(r.Context()); err != nil {
			h.Status, status = "store unavailable", http.StatusServiceUnavailable
		} else if in.full() {
			h.Status, status = "store full", http.StatusServiceUnavailable
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(compatibleHealth{h, gitSHA(), smriti.Capabilities()}) // a client that has gone cannot be told
	})
}
