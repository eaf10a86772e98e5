package memory_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/recall"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// Two processes, each with its own handle of one durable store, write, work and
// sequence at once. Each is woken by what the other writes; nothing is done
// twice, nothing is left, and when they end nothing of them is.
func TestRunOnDurableStores(t *testing.T) {
	for name, at := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "dhruva.db") },
		"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) { runOn(t, at(t)) })
	}
}

func runOn(t *testing.T, at string) {
	const each = 25
	var done atomic.Int32
	work := map[string]memory.Work{"x": func(context.Context, dhruva.Job) error { done.Add(1); return nil }}
	var nodes [2]*rig
	for n := range nodes {
		nodes[n] = handle(t, at, dhruva.NodeID(fmt.Sprint("node-", n)))
	}
	first := nodes[0]
	err := first.store.Update(t.Context(), []dhruva.Scope{dhruva.SystemScope(), dhruva.TenantScope("t")}, func(tx dhruva.Tx) error {
		return tx.PutTenant(dhruva.Tenant{ID: "t", Name: "t", CreatedAt: time.Now()})
	})
	first.must(err)
	space := first.space("work")
	i := &installation{rig: first}
	for n := range each {
		i.enqueue("x", fmt.Sprint(n))
	}
	var stops [2]func()
	for n, r := range nodes {
		of := node(r.m.Ledger.Node)
		of.Work = work
		stops[n] = (&installation{rig: r}).run(r.m, of)
	}
	var writers sync.WaitGroup
	for n, r := range nodes {
		writers.Go(func() {
			for k := range each {
				(&installation{rig: r}).remember(r.m, fmt.Sprintf("fact number %d of process %d", k, n))
			}
		})
	}
	writers.Wait()
	first.await(func() bool {
		placed, pending := i.log()
		return len(placed) == 2*each && pending == 0
	})
	first.await(func() bool {
		rows, _, err := first.m.Ledger.ListJobs(first.ctx(), dhruva.JobQuery{State: dhruva.JobDone})
		first.must(err)
		return len(rows) == each
	})
	for _, r := range nodes {
		out, err := r.m.RecallIn(r.ctx(), memory.RecallInput{Space: "work", Query: "fact number 7 of process 1"})
		r.must(err)
		if len(out.Evidence) == 0 {
			t.Error("a process does not recall what the other one wrote")
		}
	}
	for _, stop := range stops {
		stop()
	}
	if n := done.Load(); n != each {
		t.Errorf("%d jobs were done %d times", each, n)
	}
	all, _, err := first.m.Ledger.Nodes(t.Context(), dhruva.SystemScope())
	first.must(err)
	if len(all) != 0 {
		t.Errorf("left behind: %+v", all)
	}
	if err := storetest.Check(t.Context(), first.store, dhruva.SpaceScope("t", space.ID)); err != nil {
		t.Error(err)
	}
}

// handle is a process's own handle of a store.
func handle(t *testing.T, at string, id dhruva.NodeID) *rig {
	store, err := sqlstore.Open(t.Context(), at, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{T: t, store: store}
	keys := auth.NewKeyring([]byte("0123456789abcdef0123456789abcdef"))
	l := ledger.New(store, keys)
	l.Node = id
	r.m = &memory.Memory{Ledger: l, Recall: recall.NewEngine(store, keys), Keys: keys, Limits: memory.Limits{RecallTime: time.Minute}}
	return r
}

// await returns when something holds; it is looked at when something was written.
func (r *rig) await(holds func() bool) {
	r.Helper()
	for range r.store.Hints(r.Context()) {
		if holds() {
			return
		}
	}
	r.Fatal("it never came to be")
}
