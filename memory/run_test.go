package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/recall"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// installation is a store that several processes share, in time that passes only
// when all of them wait.
type installation struct{ *rig }

// inTime runs a test with a store of its own whose clock is the bubble's.
func inTime(t *testing.T, fn func(*installation)) {
	synctest.Test(t, func(t *testing.T) {
		i := &installation{rig: newRig(t)}
		i.m.Ledger.Now, i.m.Recall.Now, i.m.Now = nil, nil, nil
		i.must(i.store.Update(t.Context(), []dhruva.Scope{dhruva.SystemScope(), dhruva.TenantScope("t")}, func(tx dhruva.Tx) error {
			return tx.PutTenant(dhruva.Tenant{ID: "t", Name: "t", CreatedAt: time.Now()})
		}))
		fn(i)
	})
}

// process is a memory of its own on the shared store.
func (i *installation) process(id dhruva.NodeID) *memory.Memory {
	l := *i.m.Ledger
	l.Node = id
	return &memory.Memory{Ledger: &l, Recall: recall.NewEngine(i.store, i.m.Keys), Keys: i.m.Keys, Providers: i.m.Providers, Limits: i.m.Limits}
}

func node(id dhruva.NodeID) memory.Node {
	return memory.Node{ID: id, Name: "test " + string(id), Version: "0", System: dhruva.SystemScope()}
}

// run works in the background until stop is called, which waits for its end.
func (i *installation) run(m *memory.Memory, n memory.Node) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx, n) }()
	return sync.OnceFunc(func() {
		i.Helper()
		cancel()
		if err := <-done; err != nil {
			i.Error(err)
		}
	})
}

// log is the audit log as it stands.
func (i *installation) log() (placed []dhruva.Leaf, pending int) {
	i.Helper()
	i.must(i.store.View(context.Background(), dhruva.TenantScope("t"), func(tx dhruva.Tx) error {
		head, err := tx.AuditHead()
		if err != nil {
			return err
		}
		if placed, err = tx.ListLeaves(0, 1_000_000); err != nil {
			return err
		}
		waiting, err := tx.PendingLeaves(1_000_000)
		pending = len(waiting)
		if int64(len(placed)) != head.Size {
			i.Errorf("%d leaves have a place, the head says %d", len(placed), head.Size)
		}
		return err
	}))
	seen := map[dhruva.LeafID]bool{}
	for n, l := range placed {
		if l.Seq != int64(n+1) || seen[l.ID] {
			i.Errorf("leaf %s stands at %d, want %d; twice: %v", l.ID, l.Seq, n+1, seen[l.ID])
		}
		seen[l.ID] = true
	}
	return placed, pending
}

func (i *installation) remember(m *memory.Memory, text string) {
	i.Helper()
	_, err := m.RememberIn(i.ctx(), memory.RememberInput{Space: "work", Text: text})
	i.must(err)
}

// Contracts 10: a leaf has its place within a second of its commit.
func TestLeavesGetTheirPlacesWithinASecond(t *testing.T) {
	inTime(t, func(i *installation) {
		i.space("work")
		m := i.process("a")
		i.remember(m, "said before anything ran")
		stop := i.run(m, node("a"))
		defer stop()
		for n := range 20 {
			time.Sleep(time.Second)
			if placed, pending := i.log(); len(placed) != n+1 || pending != 0 {
				t.Fatalf("after %d seconds: %d have a place, %d wait", n+1, len(placed), pending)
			}
			i.remember(m, fmt.Sprintf("fact number %d", n))
		}
	})
}

// Two nodes write and sequence at once; one of them dies without a word, and the
// other takes over when its lease has ended.
func TestSequencersOfTwoNodes(t *testing.T) {
	inTime(t, func(i *installation) {
		i.space("work")
		a, b := i.process("a"), i.process("b")
		stop := i.run(b, node("b"))
		defer stop()
		dying := &mortal{Store: i.store}
		a.Ledger.Store = dying
		stopA := i.run(a, node("a"))
		defer stopA()
		for n := range 30 {
			i.remember([]*memory.Memory{a, b}[n%2], fmt.Sprintf("fact number %d", n))
			time.Sleep(70 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if placed, pending := i.log(); len(placed) != 30 || pending != 0 {
			t.Fatalf("%d have a place, %d wait", len(placed), pending)
		}
		dying.dead.Store(true)
		for n := range 10 {
			i.remember(b, fmt.Sprintf("later fact number %d", n))
		}
		up := b.Ledger.Upkeep.WithDefaults()
		time.Sleep(up.Lease + up.Skew + time.Second)
		if placed, pending := i.log(); len(placed) != 40 || pending != 0 {
			t.Errorf("%d have a place, %d wait", len(placed), pending)
		}
		dying.dead.Store(false) // it was only paused
		i.remember(a, "the last fact")
		time.Sleep(time.Minute)
		if placed, pending := i.log(); len(placed) != 41 || pending != 0 {
			t.Errorf("%d have a place, %d wait", len(placed), pending)
		}
	})
}

// mortal is the store of a process that may be cut off.
type mortal struct {
	dhruva.Store
	dead atomic.Bool
}

func (m *mortal) Update(ctx context.Context, s []dhruva.Scope, fn func(dhruva.Tx) error) error {
	if m.dead.Load() {
		return fmt.Errorf("%w: cut off", dhruva.ErrUnavailable)
	}
	return m.Store.Update(ctx, s, fn)
}

// An end in order hands over at once: nothing waits for a lease to end.
func TestAnEndInOrderLeavesNothingBehind(t *testing.T) {
	inTime(t, func(i *installation) {
		i.space("work")
		a, b := i.process("a"), i.process("b")
		stop := i.run(a, node("a"))
		i.remember(a, "The cat is called Miso.")
		if _, err := a.RecallIn(i.ctx(), memory.RecallInput{Space: "work", Query: "cat"}); err != nil { // now it holds an index
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if n := len(i.cursors()); n != 1 {
			t.Errorf("%d cursors while it runs", n)
		}
		began := time.Now()
		stop()
		if took := time.Since(began); took != 0 {
			t.Errorf("the end took %s", took)
		}
		all, _, err := b.Ledger.Nodes(i.ctx(), dhruva.SystemScope())
		i.must(err)
		if len(all) != 0 || len(i.cursors()) != 0 {
			t.Errorf("left behind: %+v %+v", all, i.cursors())
		}
		i.remember(b, "The dog is called Biscuit.")
		stop = i.run(b, node("b"))
		defer stop()
		time.Sleep(time.Second)
		if _, pending := i.log(); pending != 0 {
			t.Errorf("%d leaves wait for the lease of who left", pending)
		}
	})
}

func (i *installation) cursors() (out []dhruva.Cursor) {
	i.Helper()
	i.must(i.store.View(context.Background(), dhruva.TenantScope("t"), func(tx dhruva.Tx) error {
		all, err := tx.ListSpaces(dhruva.Page{})
		for _, s := range all {
			found, err := tx.Cursors(s.ID)
			if err != nil {
				return err
			}
			out = append(out, found...)
		}
		return err
	}))
	return out
}

// enqueue puts a job down as an act would.
func (i *installation) enqueue(kind, about string) dhruva.Job {
	i.Helper()
	sp, err := i.m.Ledger.EnsureSpace(i.ctx(), "work")
	i.must(err)
	j := dhruva.Job{Tenant: "t", Space: sp.ID, ID: dhruva.JobID(dhruva.NewID()), Kind: kind, Subject: about, Generation: 1,
		State: dhruva.JobQueued, NotBefore: time.Now(), CreatedAt: time.Now(), UpdatedAt: time.Now()}
	i.must(i.store.Update(context.Background(), []dhruva.Scope{dhruva.SpaceScope("t", sp.ID)}, func(tx dhruva.Tx) error { return tx.PutJob(j) }))
	return j
}

func (i *installation) job(id dhruva.JobID) (out dhruva.Job) {
	i.Helper()
	i.must(i.store.View(context.Background(), dhruva.TenantScope("t"), func(tx dhruva.Tx) (err error) {
		out, err = tx.Job(id)
		return err
	}))
	return out
}

// A job that fails is tried again after a growing, random wait, and then done; one
// that always fails is given up and can be brought back by a person. A panic is a
// failure.
func TestJobsAreRetriedAndGivenUp(t *testing.T) {
	inTime(t, func(i *installation) {
		i.space("work")
		var mu sync.Mutex
		tries := map[string][]time.Time{}
		var mended atomic.Bool
		n := node("a")
		n.Work = map[string]memory.Work{"test": func(_ context.Context, j dhruva.Job) error {
			mu.Lock()
			defer mu.Unlock()
			tries[j.Subject] = append(tries[j.Subject], time.Now())
			switch {
			case j.Subject == "twice" && len(tries["twice"]) < 3:
				panic("not yet")
			case j.Subject == "never" && !mended.Load():
				return errors.New("this can not be done")
			}
			return nil
		}}
		m := i.process("a")
		defer i.run(m, n)()
		twice, never := i.enqueue("test", "twice"), i.enqueue("test", "never")
		time.Sleep(2 * time.Hour)
		if j := i.job(twice.ID); j.State != dhruva.JobDone || j.Attempts != 3 || j.Error != "" {
			t.Errorf("%+v", j)
		}
		up := m.Ledger.Upkeep.WithDefaults()
		j := i.job(never.ID)
		if j.State != dhruva.JobDead || j.Attempts != up.JobAttempts || !strings.Contains(j.Error, "can not be done") {
			t.Errorf("%+v", j)
		}
		for k, at := range tries["never"] {
			most := min(up.BackoffBase<<max(k-1, 0), up.BackoffCap) + 30*time.Second // and the next look
			if k > 0 && at.Sub(tries["never"][k-1]) > most {
				t.Errorf("attempt %d came %s after the one before", k+1, at.Sub(tries["never"][k-1]))
			}
		}
		mended.Store(true)
		if _, err := m.Ledger.RequeueJob(i.ctx(), never.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if j := i.job(never.ID); j.State != dhruva.JobDone {
			t.Errorf("brought back: %+v", j)
		}
	})
}

// A job that takes longer than its lease stays its worker's; one whose worker
// dies is done by another node; one whose worker ends in order is given back at
// once. No two do it at the same time.
func TestJobsStayWithWhoWorksOnThem(t *testing.T) {
	inTime(t, func(i *installation) {
		i.space("work")
		var running, most, done atomic.Int32
		work := map[string]memory.Work{"long": func(ctx context.Context, j dhruva.Job) error {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer running.Add(-1)
			select {
			case <-time.After(10 * time.Minute):
				done.Add(1)
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		a, b := node("a"), node("b")
		a.Work, b.Work = work, work
		stopA := i.run(i.process("a"), a)
		defer stopA()
		j := i.enqueue("long", "x")
		time.Sleep(time.Minute)
		defer i.run(i.process("b"), b)()
		time.Sleep(4 * time.Minute) // five leases
		if got := i.job(j.ID); got.Owner != "a" || got.Attempts != 1 || got.State != dhruva.JobLeased {
			t.Errorf("%+v", got)
		}
		stopA()
		time.Sleep(time.Second)
		if got := i.job(j.ID); got.Owner != "b" || got.Attempts != 1 || got.State != dhruva.JobLeased {
			t.Errorf("not handed over: %+v", got)
		}
		time.Sleep(11 * time.Minute)
		if got := i.job(j.ID); got.State != dhruva.JobDone || done.Load() != 1 || most.Load() != 1 {
			t.Errorf("%+v, done %d times, %d at once", got, done.Load(), most.Load())
		}
	})
}

// A worker that is cut off loses its job to another, and what it then says of it
// is refused.
func TestAJobOfADeadWorkerIsDoneByAnother(t *testing.T) {
	inTime(t, func(i *installation) {
		i.space("work")
		hung := make(chan struct{})
		a, b := node("a"), node("b")
		var ended atomic.Bool
		a.Work = map[string]memory.Work{"x": func(ctx context.Context, j dhruva.Job) error {
			close(hung)
			<-ctx.Done()
			ended.Store(true)
			return nil // it thinks that it is done
		}}
		b.Work = map[string]memory.Work{"x": func(ctx context.Context, j dhruva.Job) error { return nil }}
		cut := &mortal{Store: i.store}
		m := i.process("a")
		m.Ledger.Store = cut
		defer i.run(m, a)()
		j := i.enqueue("x", "x")
		<-hung
		cut.dead.Store(true)
		defer i.run(i.process("b"), b)()
		time.Sleep(3 * time.Minute)
		got := i.job(j.ID)
		if got.State != dhruva.JobDone || got.Owner != "b" || got.Fence != 2 {
			t.Errorf("%+v", got)
		}
		cut.dead.Store(false)
		time.Sleep(time.Minute)
		if !ended.Load() {
			t.Error("who lost a job goes on with it")
		}
		if d := cmp.Diff(got, i.job(j.ID)); d != "" {
			t.Errorf("who lost the job wrote: %s", d)
		}
	})
}

// No more than Workers at once, and a kind that nobody here knows waits for who
// does.
func TestWorkersAreBounded(t *testing.T) {
	inTime(t, func(i *installation) {
		i.space("work")
		var running, most, done atomic.Int32
		n := node("a")
		n.Pace.Workers = 3
		n.Work = map[string]memory.Work{"x": func(context.Context, dhruva.Job) error {
			if k := running.Add(1); k > most.Load() {
				most.Store(k)
			}
			time.Sleep(time.Second)
			running.Add(-1)
			done.Add(1)
			return nil
		}}
		for k := range 20 {
			i.enqueue("x", fmt.Sprint(k))
		}
		other := i.enqueue("of a later version", "y")
		defer i.run(i.process("a"), n)()
		time.Sleep(time.Minute)
		if done.Load() != 20 || most.Load() != 3 {
			t.Errorf("%d done, %d at once", done.Load(), most.Load())
		}
		if got := i.job(other.ID); got.State != dhruva.JobQueued || got.Attempts != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// The sweep: open receipts of processes that are gone are interrupted with a
// leaf, those of live nodes are not, however old; done jobs and dead nodes go.
func TestTheSweep(t *testing.T) {
	inTime(t, func(i *installation) {
		sp := i.space("work")
		gone, live := i.process("gone"), i.process("a")
		_, err := gone.Ledger.Heartbeat(i.ctx(), dhruva.SystemScope(), dhruva.Node{ID: "gone"})
		i.must(err)
		open := func(m *memory.Memory) dhruva.ReceiptID {
			r, err := m.Ledger.OpenReceipt(i.ctx(), dhruva.Receipt{Space: sp.ID, Kind: "proxy", Path: "hosted"})
			i.must(err)
			return r.ID
		}
		lost, mine := open(gone), open(live)
		done := i.enqueue("x", "x")
		n := node("a")
		n.Work = map[string]memory.Work{"x": func(context.Context, dhruva.Job) error { return nil }}
		defer i.run(live, n)()
		state := func(id dhruva.ReceiptID) string {
			r, err := i.m.Ledger.Receipt(i.ctx(), id)
			i.must(err)
			return r.State
		}
		time.Sleep(30 * time.Minute)
		if state(lost) != "open" || state(mine) != "open" {
			t.Errorf("too early: %s %s", state(lost), state(mine))
		}
		time.Sleep(2 * time.Hour)
		if state(lost) != "interrupted" || state(mine) != "open" {
			t.Errorf("%s, and that of a live node %s", state(lost), state(mine))
		}
		placed, pending := i.log()
		if len(placed) != 1 || placed[0].Kind != dhruva.LeafInterrupted || placed[0].ID != dhruva.LeafID(lost) || pending != 0 {
			t.Errorf("%+v, %d wait", placed, pending)
		}
		all, _, err := live.Ledger.Nodes(i.ctx(), dhruva.SystemScope())
		i.must(err)
		if len(all) != 1 || all[0].ID != "a" || all[0].Name != "test a" {
			t.Errorf("%+v", all)
		}
		if got := i.job(done.ID); got.State != dhruva.JobDone {
			t.Errorf("%+v", got)
		}
		time.Sleep(26 * time.Hour)
		if _, _, err := live.Ledger.ListJobs(i.ctx(), dhruva.JobQuery{}); err != nil {
			t.Fatal(err)
		} else if rows, _, _ := live.Ledger.ListJobs(i.ctx(), dhruva.JobQuery{}); len(rows) != 0 {
			t.Errorf("done jobs are kept: %+v", rows)
		}
		s, ok := live.Standing()
		if !ok || s.Live != 1 || len(s.Tenants) != 1 || s.Tenants[0].Placed != 1 || s.Tenants[0].Open != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// The feed of a space goes when it is old and every index has it; one that
// nobody asks follows all the same.
func TestFeedsAreKeptForTheirFollowers(t *testing.T) {
	inTime(t, func(i *installation) {
		sp := i.space("work")
		i.m.Ledger.Upkeep.FeedKept = 2 * time.Hour
		m := i.process("a")
		i.remember(m, "The cat is called Miso.")
		defer i.run(m, node("a"))()
		recalls := func(query, want string) {
			t.Helper()
			out, err := m.RecallIn(i.ctx(), memory.RecallInput{Space: "work", Query: query})
			i.must(err)
			if !strings.Contains(out.Answer, want) {
				t.Errorf("%q: %q", query, out.Answer)
			}
		}
		recalls("cat", "Miso")
		i.remember(m, "The dog is called Biscuit.")
		kept := func() (e dhruva.Epoch) {
			i.must(i.store.View(context.Background(), dhruva.SpaceScope("t", sp.ID), func(tx dhruva.Tx) (err error) {
				e, err = tx.Epoch(sp.ID)
				return err
			}))
			return e
		}
		time.Sleep(time.Hour)
		if e := kept(); e.Tail != 0 || e.Head != 2 {
			t.Errorf("before its time: %+v", e)
		}
		time.Sleep(2 * time.Hour)
		if e := kept(); e.Tail != 2 {
			t.Errorf("after its time: %+v", e)
		}
		recalls("dog", "Biscuit")
		i.remember(m, "The bird is called Pim.")
		recalls("bird", "Pim")
	})
}

// A process that stays for one command does what is due and keeps no lease.
func TestSettle(t *testing.T) {
	inTime(t, func(i *installation) {
		i.space("work")
		m := i.process("c")
		for n := range 3 {
			i.remember(m, fmt.Sprintf("fact number %d", n))
		}
		n, did := node("c"), 0
		n.Work = map[string]memory.Work{"x": func(context.Context, dhruva.Job) error { did++; return nil }}
		i.enqueue("x", "1")
		i.enqueue("x", "2")
		i.must(m.Settle(context.Background(), n))
		if placed, pending := i.log(); len(placed) != 3 || pending != 0 || did != 2 {
			t.Errorf("%d have a place, %d wait, %d jobs done", len(placed), pending, did)
		}
		i.remember(m, "another one")
		i.must(m.Settle(context.Background(), node("d"))) // at once: nobody holds a lease
		if placed, _ := i.log(); len(placed) != 4 {
			t.Errorf("%d have a place", len(placed))
		}
		if all, _, _ := m.Ledger.Nodes(i.ctx(), dhruva.SystemScope()); len(all) != 0 {
			t.Errorf("%+v", all)
		}
	})
}

// Beside a node that runs, a command leaves its leaves to it.
func TestSettleBesideANode(t *testing.T) {
	inTime(t, func(i *installation) {
		i.space("work")
		a, c := i.process("a"), i.process("c")
		defer i.run(a, node("a"))()
		i.remember(a, "fact one")
		time.Sleep(time.Second)
		i.remember(c, "fact two")
		i.must(c.Settle(context.Background(), node("c")))
		time.Sleep(time.Second)
		if placed, pending := i.log(); len(placed) != 2 || pending != 0 {
			t.Errorf("%d have a place, %d wait", len(placed), pending)
		}
	})
}

func TestRunNeedsANodeAndTheInstallation(t *testing.T) {
	r := newRigOn(t, memstore.New())
	for _, n := range []memory.Node{{System: dhruva.SystemScope()}, {ID: "a", System: dhruva.TenantScope("t")}} {
		if err := r.m.Run(t.Context(), n); !errors.Is(err, dhruva.ErrInvalid) {
			t.Errorf("%+v: %v", n, err)
		}
		if err := r.m.Settle(t.Context(), n); !errors.Is(err, dhruva.ErrInvalid) {
			t.Errorf("%+v: %v", n, err)
		}
	}
	if _, ok := r.m.Standing(); ok {
		t.Error("it stands without running")
	}
}

// A store that fails for a while ends nothing: the work goes on when it answers.
func TestRunOutlivesAStoreThatFails(t *testing.T) {
	inTime(t, func(i *installation) {
		i.space("work")
		m := i.process("a")
		cut := &mortal{Store: i.store}
		cut.dead.Store(true)
		m.Ledger.Store = cut
		defer i.run(m, node("a"))()
		i.remember(i.process("b"), "fact one")
		time.Sleep(10 * time.Minute)
		if _, pending := i.log(); pending != 1 {
			t.Fatalf("%d wait", pending)
		}
		cut.dead.Store(false)
		time.Sleep(time.Minute)
		if placed, pending := i.log(); len(placed) != 1 || pending != 0 {
			t.Errorf("%d have a place, %d wait", len(placed), pending)
		}
		if all, live, _ := m.Ledger.Nodes(i.ctx(), dhruva.SystemScope()); len(all) != 1 || !live["a"] {
			t.Errorf("%+v", all)
		}
	})
}
