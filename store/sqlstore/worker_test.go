package sqlstore_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// report is what a process that works together with others says at its end.
type report struct {
	Updates int
	Notes   []string
	// Claims are the fences of the claims of each job, Leases those of each lease
	// that changed hands to this process.
	Claims, Leases map[string][]int64
	// Refused counts writes of a claim that a later claim had ended.
	Refused int
	// Calls are the keys that were new when this process put them.
	Calls  []string
	Leaves int
	// Hints is how often the follower was woken.
	Hints int
}

// worker is one of the concurrent writers of a process.
type worker struct {
	task
	ctx    context.Context
	s      *sqlstore.Store
	name   string
	random *rand.Rand
	report
}

const togetherWorkers = 8

// workTogether does its part of the updates, while it follows the feeds; then it
// is told where they end, and reports when its follower is there.
func workTogether(ctx context.Context, s *sqlstore.Store, do task) error {
	f := newFollower(do.Spaces)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	followed := make(chan error, 1)
	go func() { followed <- f.run(ctx, s) }()
	total, err := work(ctx, s, do)
	if err != nil {
		return err
	}
	say("written")
	line, err := bufio.NewReader(os.Stdin).ReadBytes('\n')
	if err != nil {
		return err
	}
	heads := map[string]int64{}
	if err := json.Unmarshal(line, &heads); err != nil {
		return err
	}
	f.until(heads)
	hang := time.NewTimer(time.Minute)
	defer hang.Stop()
	select {
	case err = <-followed:
	case <-hang.C:
		err = fmt.Errorf("the follower was not woken: it is at %v of %v", f.where(), heads)
	}
	if err != nil {
		return err
	}
	total.Hints = f.hints
	text, err := json.Marshal(total)
	say("%s", text)
	return err
}

func work(ctx context.Context, s *sqlstore.Store, do task) (total report, err error) {
	workers := make([]*worker, togetherWorkers)
	errs := make([]error, togetherWorkers)
	var wg sync.WaitGroup
	for n := range workers {
		w := &worker{task: do, ctx: ctx, s: s, name: fmt.Sprintf("%s-%d", do.Name, n), random: rand.New(rand.NewPCG(do.Seed, uint64(n)))}
		w.report = report{Claims: map[string][]int64{}, Leases: map[string][]int64{}}
		workers[n] = w
		wg.Go(func() {
			for w.report.Updates*togetherWorkers < do.Updates && errs[n] == nil {
				errs[n] = w.step()
			}
		})
	}
	wg.Wait()
	total = report{Claims: map[string][]int64{}, Leases: map[string][]int64{}}
	for _, w := range workers {
		total.add(w.report)
	}
	return total, errors.Join(errs...)
}

func (r *report) add(o report) {
	r.Updates, r.Refused, r.Leaves = r.Updates+o.Updates, r.Refused+o.Refused, r.Leaves+o.Leaves
	r.Notes, r.Calls = append(r.Notes, o.Notes...), append(r.Calls, o.Calls...)
	for id, fences := range o.Claims {
		r.Claims[id] = append(r.Claims[id], fences...)
	}
	for name, fences := range o.Leases {
		r.Leases[name] = append(r.Leases[name], fences...)
	}
}

// step is one act, of one or two updates.
func (w *worker) step() error {
	switch n := w.random.IntN(20); {
	case n < 10:
		return w.note(1)
	case n < 13:
		return w.note(2)
	case n < 15:
		return w.job()
	case n < 16:
		return w.lease("", "work", dhruva.SystemScope(), func(dhruva.Tx, dhruva.Lease) error { return nil })
	case n < 17:
		return w.lease(owner, "audit", dhruva.TenantScope(owner), placeLeaves)
	case n < 18:
		return w.call()
	}
	return w.leaf()
}

// update counts, and is counted only when it is kept.
func (w *worker) update(fn func(dhruva.Tx) error, scopes ...dhruva.Scope) error {
	err := w.s.Update(w.ctx, scopes, fn)
	if err == nil {
		w.report.Updates++
	}
	return err
}

func (w *worker) space() string { return w.task.Spaces[w.random.IntN(len(w.task.Spaces))] }

// scope is one of the levels through which rows of the tenant are reached.
func (w *worker) scope() dhruva.Scope {
	if w.random.IntN(2) == 0 {
		return dhruva.TenantScope(owner)
	}
	return dhruva.SpaceScope(owner, dhruva.SpaceID(w.space()))
}

// note makes a note in one space, or in two.
func (w *worker) note(spaces int) error {
	var in []string
	for _, n := range w.random.Perm(len(w.task.Spaces))[:spaces] {
		in = append(in, w.task.Spaces[n])
	}
	id := fmt.Sprintf("%s-%d", w.name, w.report.Updates)
	at, err := note(w.ctx, w.s, id, fmt.Sprint(w.random.IntN(3)), in...)
	if err != nil {
		return err
	}
	w.report.Updates++
	w.Notes = append(w.Notes, acknowledged{id, at}.String())
	return nil
}

// job claims jobs, for long or for no time at all, and gives each back under
// the number of its claim.
func (w *worker) job() error {
	now := time.Now()
	claim := dhruva.JobClaim{Owner: dhruva.NodeID(w.name), Now: now, Until: now.Add(time.Hour), Limit: 1 + w.random.IntN(3)}
	short := w.random.IntN(4) == 0
	if short {
		claim.Until = now
	}
	var jobs []dhruva.Job
	err := w.update(func(tx dhruva.Tx) (err error) {
		jobs, err = tx.ClaimJobs(claim)
		return err
	}, w.scope())
	if err != nil {
		return err
	}
	for _, j := range jobs {
		w.Claims[string(j.ID)] = append(w.Claims[string(j.ID)], j.Fence)
		if err := w.finish(j, short); err != nil {
			return err
		}
	}
	return nil
}

// finish holds a file while the job is held: no other process may hold it too.
func (w *worker) finish(j dhruva.Job, short bool) error {
	if !short {
		path := filepath.Join(w.Dir, string(j.ID))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s was claimed twice at once", j.ID)
		}
		if err := errors.Join(err, f.Close(), os.Remove(path)); err != nil {
			return err
		}
	}
	fence := j.Fence
	j.State, j.NotBefore, j.LeaseUntil = dhruva.JobQueued, time.Now(), time.Time{}
	lost := false
	err := w.update(func(tx dhruva.Tx) error {
		err := tx.SwapJob(j, fence)
		if lost = errors.Is(err, dhruva.ErrConflict); lost {
			return nil
		}
		return err
	}, dhruva.SpaceScope(owner, j.Space))
	if lost && !short {
		return fmt.Errorf("%s was claimed by another while it was held", j.ID)
	}
	if lost {
		w.Refused++
	}
	return err
}

// lease takes a lease that has ended, for a very short while, and does under it
// what its holder alone may do.
func (w *worker) lease(t dhruva.TenantID, name string, scope dhruva.Scope, do func(dhruva.Tx, dhruva.Lease) error) error {
	now, me := time.Now(), dhruva.NodeID(w.name)
	var taken dhruva.Lease
	err := w.update(func(tx dhruva.Tx) error {
		taken = dhruva.Lease{}
		l, err := tx.Lease(t, name)
		if err != nil && !errors.Is(err, dhruva.ErrNotFound) || err == nil && l.Owner != me && l.Until.After(now) {
			return err
		}
		if l.Owner != me {
			l.Fence++
			taken = l
		}
		l.Tenant, l.Name, l.Owner, l.Until = t, name, me, now.Add(time.Millisecond)
		return errors.Join(do(tx, l), tx.PutLease(l))
	}, scope)
	if err == nil && taken.Fence > 0 {
		w.Leases[name] = append(w.Leases[name], taken.Fence)
	}
	return err
}

// placeLeaves is the sequencer of the audit log.
func placeLeaves(tx dhruva.Tx, l dhruva.Lease) error {
	head, err := tx.AuditHead()
	if err != nil {
		return err
	}
	if head.Fence > l.Fence {
		return fmt.Errorf("the log was written under fence %d, the lease has %d", head.Fence, l.Fence)
	}
	pending, err := tx.PendingLeaves(50)
	for _, leaf := range pending {
		head.Size++
		err = errors.Join(err, tx.PlaceLeaf(leaf.ID, head.Size))
	}
	head.Tenant, head.Fence = owner, l.Fence
	return errors.Join(err, tx.PutAuditHead(head))
}

// leaf puts an audit leaf, in the scope of whatever it attests.
func (w *worker) leaf() error {
	scope, id := w.scope(), dhruva.LeafID(fmt.Sprintf("%s-%d", w.name, w.report.Updates))
	err := w.update(func(tx dhruva.Tx) error {
		return tx.PutLeaf(dhruva.Leaf{Tenant: owner, Space: scope.Space(), ID: id, Kind: "k", At: time.Now()})
	}, scope)
	if err == nil {
		w.Leaves++
	}
	return err
}

// call puts the row of a call that several may put at once: it is new to one of
// them.
func (w *worker) call() error {
	key := fmt.Sprint(w.report.Updates / 40)
	fresh := false
	err := w.update(func(tx dhruva.Tx) error {
		err := tx.PutIdempotency(dhruva.Idempotency{Tenant: owner, Principal: "p", Route: "r", Key: dhruva.DigestText(key), State: dhruva.CallDone})
		fresh = err == nil
		return ignoring(err, dhruva.ErrConflict)
	}, w.scope())
	if err == nil && fresh {
		w.Calls = append(w.Calls, key)
	}
	return err
}

func ignoring(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

// follower follows the feeds of spaces, looking where hints tell it to.
type follower struct {
	mu    sync.Mutex
	at    map[string]int64
	heads map[string]int64 // where to end, when it is known
	done  chan struct{}
	hints int
}

func newFollower(spaces []string) *follower {
	f := &follower{at: map[string]int64{}, done: make(chan struct{})}
	for _, s := range spaces {
		f.at[s] = 0
	}
	return f
}

// run follows until the heads are known and reached.
func (f *follower) run(ctx context.Context, s dhruva.Store) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // hints may have come to an end before the heads are told
		select {
		case <-f.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for hint := range s.Hints(ctx) {
		f.hints++
		for space := range f.where() {
			scope := dhruva.SpaceScope(owner, dhruva.SpaceID(space))
			if hint != scope && hint.Level() == dhruva.LevelSpace {
				continue
			}
			if err := f.follow(ctx, s, scope); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
	select {
	case <-f.done:
		return nil
	default:
		return errors.New("the hints ended")
	}
}

func (f *follower) follow(ctx context.Context, s dhruva.Store, scope dhruva.Scope) error {
	last := f.where()[string(scope.Space())]
	for c, err := range s.Changes(ctx, scope, last) {
		if err != nil {
			return err
		}
		if c.Seq != last+1 {
			return fmt.Errorf("follower of %s: change %d follows %d", scope, c.Seq, last)
		}
		last = c.Seq
	}
	f.set(func() { f.at[string(scope.Space())] = last })
	return nil
}

// until says where to end.
func (f *follower) until(heads map[string]int64) { f.set(func() { f.heads = heads }) }

// set changes something, and sees whether the end is reached.
func (f *follower) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	for space, at := range f.at {
		if head, known := f.heads[space]; !known || at < head {
			return
		}
	}
	select {
	case <-f.done:
	default:
		close(f.done)
	}
}

func (f *follower) where() map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]int64{}
	for space, at := range f.at {
		out[space] = at
	}
	return out
}
