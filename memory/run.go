package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// Node is a process that works in the background.
type Node struct {
	// ID is the process's own, new at each start.
	ID            dhruva.NodeID
	Name, Version string
	// System is the installation's scope, which only the program mints.
	System dhruva.Scope
	// Work does jobs of further kinds; those of the ledger are known.
	Work map[string]Work
	Pace Pace
}

// Work does a claimed job. It is ended by its context, it may be begun again by
// another process before it has ended, and what it writes it writes by the fence
// of the claim.
type Work func(context.Context, dhruva.Job) error

// Pace is how often background work looks by itself, beside being woken by what
// is written. Zero fields mean the defaults; all times but Gather and End are
// spread at random.
type Pace struct {
	// Workers is how many jobs are done at once. Default 4.
	Workers int
	// Look is how often every tenant is looked at. Default 15 seconds.
	Look time.Duration
	// Gather is how long what is woken rests after each round, so that what comes
	// meanwhile shares the next one. Default 200 milliseconds.
	Gather time.Duration
	// Sweep is how often the sweep runs, Feed how often it goes through the feeds
	// of all spaces. Defaults 1 and 10 minutes.
	Sweep, Feed time.Duration
	// Cursors is how often cursors are put. Default 30 seconds.
	Cursors time.Duration
	// End bounds what is put in order at the end. Default 5 seconds.
	End time.Duration
}

func (p Pace) withDefaults() Pace {
	p.Workers = or(p.Workers, 4)
	p.Look = or(p.Look, 15*time.Second)
	p.Gather = or(p.Gather, 200*time.Millisecond)
	p.Sweep = or(p.Sweep, time.Minute)
	p.Feed = or(p.Feed, 10*time.Minute)
	p.Cursors = or(p.Cursors, 30*time.Second)
	p.End = or(p.End, 5*time.Second)
	return p
}

// runner is one Run.
type runner struct {
	*Memory
	node  Node
	pace  Pace
	work  map[string]Work
	kinds []string

	// everywhere is signalled when any tenant may have something to do.
	everywhere   chan struct{}
	leaves, jobs *tenants
	feeds        *scopes
}

// Run does the background work of a node until ctx ends: it registers the node
// and says that it lives, gives pending audit leaves their places, does jobs,
// sweeps, and keeps the feeds. Several nodes may run on one store. What fails is
// logged and tried again. When it returns nothing of it runs any more: claimed
// jobs were given back, leases and cursors released, the node has left; what that
// did not reach within Pace.End goes when its time is over.
func (m *Memory) Run(ctx context.Context, n Node) error {
	r, err := m.runner(n)
	if err != nil {
		return err
	}
	r.beat(ctx)
	var wg sync.WaitGroup
	for _, loop := range []func(context.Context){r.listen, r.look, r.heartbeat, r.sequenceAll, r.workAll, r.keep, r.report} {
		wg.Go(func() { loop(ctx) })
	}
	wg.Wait()
	end, cancel := r.ending(ctx)
	defer cancel()
	r.failed(end, "the node could not be taken off the list", r.Ledger.Leave(end, n.System, n.ID))
	return nil
}

func (m *Memory) runner(n Node) (*runner, error) {
	if n.ID == "" || n.System.Level() != dhruva.LevelSystem {
		return nil, fmt.Errorf("%w: memory: run needs a node's id and the installation's scope", dhruva.ErrInvalid)
	}
	r := &runner{
		Memory: m, node: n, pace: n.Pace.withDefaults(), work: map[string]Work{ledger.JobAttach: m.Ledger.FinishAttach},
		everywhere: make(chan struct{}, 1), leaves: newTenants(), jobs: newTenants(), feeds: newScopes(),
	}
	maps.Copy(r.work, n.Work)
	r.kinds = slices.Sorted(maps.Keys(r.work))
	return r, nil
}

// ending is the context of what is put in order when ctx has ended.
func (r *runner) ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), r.pace.End)
}

// failed logs an error, unless it is that the time is over.
func (r *runner) failed(ctx context.Context, what string, err error) bool {
	if err == nil {
		return false
	}
	if ctx.Err() == nil {
		r.log(ctx, what, err)
	}
	return true
}

// pause waits, and tells whether the work goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// listen wakes the others by what is written, by whatever process.
func (r *runner) listen(ctx context.Context) {
	for {
		for s := range r.Ledger.Store.Hints(ctx) {
			r.hinted(s)
		}
		if !pause(ctx, r.Ledger.Jitter(time.Second)) { // the store was closed: then everything ends soon
			return
		}
	}
}

func (r *runner) hinted(s dhruva.Scope) {
	if s.Level() == dhruva.LevelSystem {
		signal(r.everywhere)
		return
	}
	r.leaves.add(s.Tenant())
	r.jobs.add(s.Tenant())
	if s.Level() == dhruva.LevelSpace {
		r.feeds.add(s)
	}
}

// Looking at all tenants is spread: it comes again after rest at the earliest, and
// after eachTenant for each of them.
const (
	rest       = 500 * time.Millisecond
	eachTenant = 10 * time.Millisecond
)

// look looks at every tenant, now and then and when hints may have been missed.
func (r *runner) look(ctx context.Context) {
	for {
		wait, least := r.pace.Look, rest
		if all, err := r.Ledger.Tenants(ctx, r.node.System); !r.failed(ctx, "tenants could not be listed", err) {
			r.leaves.add(all...)
			r.jobs.add(all...)
			least = max(least, time.Duration(len(all))*eachTenant)
			wait = max(wait, least)
		} else {
			wait = min(wait, time.Second)
		}
		timer := time.NewTimer(r.Ledger.Jitter(wait))
		select {
		case <-timer.C:
		case <-r.everywhere:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil || !pause(ctx, least) {
			return
		}
	}
}

// heartbeat says that the node lives, three times within each of its leases.
func (r *runner) heartbeat(ctx context.Context) {
	every := r.Ledger.Upkeep.WithDefaults().NodeLease / 3
	for pause(ctx, r.Ledger.Jitter(every)) {
		r.beat(ctx)
	}
}

func (r *runner) beat(ctx context.Context) {
	_, err := r.Ledger.Heartbeat(ctx, r.node.System, dhruva.Node{ID: r.node.ID, Name: r.node.Name, Version: r.node.Version})
	r.failed(ctx, "the node could not be registered", err)
}

// sequenceAll gives pending leaves their places.
func (r *runner) sequenceAll(ctx context.Context) {
	held, again := map[dhruva.TenantID]*ledger.Tenure{}, map[dhruva.TenantID]time.Time{}
	up := r.Ledger.Upkeep.WithDefaults()
	ended := up.Lease + up.Skew + r.pace.Gather
	for r.leaves.wait(ctx) {
		for _, t := range r.leaves.take() {
			if held[t] == nil {
				held[t] = r.Ledger.Sequencer(t, r.node.ID)
			}
			// Another node's leaves are looked at again when its lease would have ended.
			if mine := r.sequence(ctx, t, held[t]); !mine && time.Now().After(again[t]) {
				again[t] = time.Now().Add(ended)
				time.AfterFunc(ended, func() { r.leaves.add(t) }) // after the end it wakes nobody
			}
		}
		if !pause(ctx, r.pace.Gather) {
			break
		}
	}
	end, cancel := r.ending(ctx)
	defer cancel()
	for _, tenure := range held {
		r.failed(end, "a sequencer's lease could not be released", tenure.Release(end))
	}
}

// sequence gives the pending leaves of one tenant their places, if this node is
// its sequencer or can be. It is false when leaves wait for another one's lease.
func (r *runner) sequence(ctx context.Context, t dhruva.TenantID, tenure *ledger.Tenure) bool {
	const what = "audit leaves have not got their places yet"
	pending, err := r.Ledger.PendingLeaves(ctx, t, 1)
	if r.failed(ctx, what, err) || len(pending) == 0 {
		return true
	}
	held, err := tenure.Hold(ctx)
	if r.failed(ctx, what, err) {
		return true
	}
	for more := held; more && ctx.Err() == nil; {
		_, more, err = r.Ledger.SequenceLeaves(ctx, tenure.Lease())
		if errors.Is(err, dhruva.ErrFenced) {
			tenure.Lost()
			r.leaves.add(t)
			return true
		}
		if r.failed(ctx, what, err) {
			return true
		}
	}
	return held
}
