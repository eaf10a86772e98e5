package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// fullStore is one whose last write found no room.
type fullStore struct {
	dhruva.Store
	full bool
}

func (f *fullStore) Full() bool { return f.full }

// TestHealthTellsOfAFullStore, and names no path; with room it is well again.
func TestHealthTellsOfAFullStore(t *testing.T) {
	in, err := open(context.Background(), t.TempDir(), inMemory, (&program{env: func(string) string { return "" }}).providersOrFault(t.TempDir()), discard())
	if err != nil {
		t.Fatal(err)
	}
	defer in.closeSoon()
	s := &fullStore{Store: in.store}
	in.store = s
	for _, full := range []bool{true, false} {
		s.full = full
		for path, h := range map[string]http.Handler{"/health": in.health("i"), "/readyz": in.ready()} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if (w.Code == http.StatusServiceUnavailable) != full || strings.Contains(w.Body.String(), "store full") != (full && path == "/health") || strings.Contains(w.Body.String(), in.dir) {
				t.Errorf("full %v: %s is %d: %s", full, path, w.Code, w.Body)
			}
		}
	}
	if memory := (&installation{store: memstore.New()}); memory.full() {
		t.Error("a store that cannot be full is")
	}
}

// TestQuietNodes: one that was killed is not said to run until its lease ends.
func TestQuietNodes(t *testing.T) {
	at, lease := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), 30*time.Second
	node := func(quiet time.Duration) dhruva.Node { return dhruva.Node{Until: at.Add(lease - quiet)} }
	s := ledger.Standing{At: at, Live: 4, Nodes: []dhruva.Node{node(time.Second), node(20 * time.Second), node(25 * time.Second), node(29 * time.Second)}}
	if f := nodesCheck(s, lease, true); f.Status != "warning" || !strings.HasPrefix(f.Detail, "1 answers, 3 not heard from since 2026-12-31T23:59:40") {
		t.Errorf("%+v", f)
	}
	s = ledger.Standing{At: at, Live: 1, Nodes: []dhruva.Node{node(15 * time.Second)}}
	if f := nodesCheck(s, lease, true); f.Status != "ok" || f.Detail != "1 run" {
		t.Errorf("%+v", f)
	}
}

// TestFlagsHaveNoBackquotes: cobra takes what stands in them for the name of a
// flag's value.
func TestFlagsHaveNoBackquotes(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		eachUsage(c.Flags().VisitAll, func(usage string) {
			if strings.Contains(usage, "`") {
				t.Errorf("%s: %s", c.CommandPath(), usage)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&program{env: func(string) string { return "" }}).root())
}

// eachUsage visits what flags say of themselves, whose package is not one of ours to
// name.
func eachUsage[F any](visit func(func(F)), do func(string)) {
	visit(func(f F) { do(reflect.ValueOf(f).Elem().FieldByName("Usage").String()) })
}

// TestInterrupted: an interruption keeps what the command says is to be done.
func TestInterrupted(t *testing.T) {
	var out strings.Builder
	err := interruption(context.Canceled, withFix(fmt.Errorf("import: %w", context.Canceled), "repeat the command: what is done already is skipped"))
	complain(&out, err, "dhruva import jsonl", false)
	if got, want := out.String(), "dhruva: interrupted\nfix: repeat the command: what is done already is skipped\n"; got != want || exitCode(err) != exitInterrupted {
		t.Errorf("%q", got)
	}
}
