package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// backgroundOps are those of workers: nobody calls them with a key, and
// each can be done again by whoever comes next.
var backgroundOps = []writeOp{
	{name: "ClaimJobs", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.queue("a", "b")
		return func(l *ledger.Ledger) error {
			_, _, err := l.ClaimJobs(context.Background(), r.owner.Tenant, "worker", []string{"k"}, 10)
			return err
		}
	}},
	{name: "ClaimJobs of one given up", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.queue("a")
		for range 8 {
			r.claim()
			r.later(time.Hour)
		}
		return func(l *ledger.Ledger) error {
			_, _, err := l.ClaimJobs(context.Background(), r.owner.Tenant, "worker", []string{"k"}, 10)
			return err
		}
	}},
	{name: "CompleteJob", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.queue("a")
		j := r.claim()
		return func(l *ledger.Ledger) error { return l.CompleteJob(context.Background(), j) }
	}, also: attempts},
	{name: "FailJob", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.queue("a")
		j := r.claim()
		return act(func(l *ledger.Ledger) (dhruva.Job, error) {
			return l.FailJob(context.Background(), j, errors.New("it did not work"))
		})
	}, also: attempts},
	{name: "ExtendJob", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.queue("a")
		j := r.claim()
		return func(l *ledger.Ledger) error { return l.ExtendJob(context.Background(), j) }
	}, also: attempts},
	{name: "ReturnJob", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.queue("a")
		j := r.claim()
		return func(l *ledger.Ledger) error { return l.ReturnJob(context.Background(), j) }
	}, also: attempts},
	{name: "RequeueJob", prepare: func(r *rig) func(*ledger.Ledger) error {
		r.queue("a")
		r.l.Upkeep.JobAttempts = 1
		must[dhruva.Job](r)(r.l.FailJob(context.Background(), r.claim(), errors.New("never again")))
		return act(func(l *ledger.Ledger) (dhruva.Job, error) { return l.RequeueJob(r.ctx(), "job-a") })
	}, also: attempts},
	{name: "DropJobs", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.queue("a", "b")
		r.must(r.l.CompleteJob(context.Background(), r.claim()))
		r.later(48 * time.Hour)
		return act(func(l *ledger.Ledger) (int, error) { return l.DropJobs(context.Background(), r.owner.Tenant) })
	}},
	{name: "FinishAttach", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		to, fresh := r.space("work"), r.session("")
		r.talk(fresh.ID, "attached", 65)
		cut := *r.l
		cut.Store = storetest.NewFaulty(r.store, storetest.Lost, 2)
		_, err := cut.Attach(r.ctx(), fresh.ID, to.ID)
		r.is(err, dhruva.ErrUnavailable)
		jobs, _, err := r.l.ClaimJobs(context.Background(), r.owner.Tenant, "worker", []string{ledger.JobAttach}, 1)
		r.must(err)
		return func(l *ledger.Ledger) error { return l.FinishAttach(context.Background(), jobs[0]) }
	}},
	{name: "AcquireLease", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		return act(func(l *ledger.Ledger) (dhruva.Lease, error) {
			return l.AcquireLease(context.Background(), r.owner.Scope(), "lease", "worker")
		})
	}, also: leaseHolder},
	{name: "AcquireLease of the installation", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		return act(func(l *ledger.Ledger) (dhruva.Lease, error) {
			return l.AcquireLease(context.Background(), dhruva.SystemScope(), string(r.owner.Tenant), "worker")
		})
	}},
	{name: "RenewLease", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.l.Upkeep.Lease = time.Hour
		held := must[dhruva.Lease](r)(r.l.AcquireLease(context.Background(), r.owner.Scope(), "lease", "worker"))
		return act(func(l *ledger.Ledger) (dhruva.Lease, error) {
			return l.RenewLease(context.Background(), r.owner.Scope(), held)
		})
	}, also: leaseHolder},
	{name: "ReleaseLease", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		held := must[dhruva.Lease](r)(r.l.AcquireLease(context.Background(), r.owner.Scope(), "lease", "worker"))
		return func(l *ledger.Ledger) error { return l.ReleaseLease(context.Background(), r.owner.Scope(), held) }
	}, also: leaseHolder},
	{name: "SequenceLeaves", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.attested(3)
		return func(l *ledger.Ledger) error { // as a worker does, which may have lost the lease
			held, err := l.AcquireLease(context.Background(), r.owner.Scope(), "audit", "worker")
			if err == nil {
				_, _, err = l.SequenceLeaves(context.Background(), held)
			}
			return err
		}
	}},
	{name: "SettleLeaves", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.attested(3)
		return act(func(l *ledger.Ledger) (int, error) {
			return l.SettleLeaves(context.Background(), r.owner.Tenant, "command")
		})
	}},
	{name: "InterruptReceipts", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.opened("proxy", "")
		r.opened("proxy", r.space("work").ID)
		r.opened("send", r.space("other").ID)
		r.later(2 * time.Hour)
		return act(func(l *ledger.Ledger) (int, error) {
			return l.InterruptReceipts(context.Background(), r.owner.Tenant, nil)
		})
	}},
	{name: "ForgetCalls", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		must[ledger.Outcome](r)(r.l.Once(r.ctx(), ledger.Call{Route: "r", Key: "old"}, func(l *ledger.Ledger) error { return nil }))
		r.later(48 * time.Hour)
		return func(l *ledger.Ledger) error { return l.ForgetCalls(context.Background(), r.owner.Tenant) }
	}, also: func(r *rig) string { // nothing is left to be forgotten
		left := 0
		r.must(r.store.Update(context.Background(), []dhruva.Scope{r.owner.Scope()}, func(tx dhruva.Tx) (err error) {
			left, err = tx.ExpireIdempotency(r.now, 10)
			return err
		}))
		return fmt.Sprintf("%d calls", left)
	}},
	{name: "PutCursor", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.owner.In(r.space("work").ID)
		return func(l *ledger.Ledger) error { return l.PutCursor(context.Background(), s, "node", 0) }
	}},
	{name: "DropCursor", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.owner.In(r.space("work").ID)
		r.must(r.l.PutCursor(context.Background(), s, "node", 0))
		return func(l *ledger.Ledger) error { return l.DropCursor(context.Background(), s, "node") }
	}},
	{name: "KeepFeed", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		space := r.space("work").ID
		r.talk(r.session(space).ID, "old", 3)
		r.must(r.l.PutCursor(context.Background(), r.owner.In(space), "live", 4))
		r.must(r.l.PutCursor(context.Background(), r.owner.In(space), "dead", 1))
		r.later(30 * 24 * time.Hour)
		return act(func(l *ledger.Ledger) (int64, error) {
			return l.KeepFeed(context.Background(), r.owner.In(space), map[dhruva.NodeID]bool{"live": true})
		})
	}},
	{name: "Heartbeat", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		return act(func(l *ledger.Ledger) (dhruva.Node, error) {
			return l.Heartbeat(context.Background(), dhruva.SystemScope(), dhruva.Node{ID: dhruva.NodeID(r.owner.Tenant), Name: "n"})
		})
	}, also: nodeStands},
	{name: "Leave", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.heartbeat()
		return func(l *ledger.Ledger) error {
			return l.Leave(context.Background(), dhruva.SystemScope(), dhruva.NodeID(r.owner.Tenant))
		}
	}, also: nodeStands},
	{name: "RemoveDeadNodes", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		r.heartbeat()
		r.later(time.Hour)
		return act(func(l *ledger.Ledger) (int, error) {
			return l.RemoveDeadNodes(context.Background(), dhruva.SystemScope())
		})
	}, also: nodeStands},
	{name: "Erase", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "erased", 3)
		c := r.save(s.ID, "one")
		source := dhruva.ContentID(r.keys, r.owner.Tenant, s.Space, dhruva.RoleUser, "erased question number 1")
		gone := []ledger.Gone{
			{Source: &dhruva.Tombstone{Space: s.Space, Generation: 1, Source: source, State: "completed"}},
			{Turn: &ledger.Place{Session: s.ID, Seq: 4}}, {Item: &ledger.Stub{Checkpoint: c.Hash, Item: c.Items[0].ID}},
		}
		return act(func(l *ledger.Ledger) (ledger.Erased, error) {
			return l.Erase(context.Background(), r.owner.In(s.Space), gone)
		})
	}},
	{name: "End", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "ended", 3)
		r.save(s.ID, "one")
		in := ledger.Ending{Generation: 2, Fence: 1, Sessions: map[dhruva.SessionID]int64{s.ID: 6}}
		return act(func(l *ledger.Ledger) (ledger.Erased, error) {
			return l.End(context.Background(), r.owner.In(s.Space), in)
		})
	}},
	{name: "HideSession", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s, at := r.session(r.space("work").ID), r.clock()
		r.talk(s.ID, "hidden", 2)
		return act(func(l *ledger.Ledger) (bool, error) {
			return l.HideSession(context.Background(), r.owner.In(s.Space), s.ID, at)
		})
	}},
	{name: "HideCheckpoint", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s, at := r.session(r.space("work").ID), r.clock()
		r.talk(s.ID, "hidden", 2)
		c := r.save(s.ID, "one")
		return act(func(l *ledger.Ledger) (bool, error) {
			return l.HideCheckpoint(context.Background(), r.owner.In(s.Space), c.Hash, at)
		})
	}},
	{name: "ForgetDocument", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.space("work")
		d := must[dhruva.Document](r)(r.l.PutDocument(r.ctx(), ledger.DocumentInput{Space: s.ID, Kind: "test", Text: "forgotten"}))
		return act(func(l *ledger.Ledger) (bool, error) {
			return l.ForgetDocument(context.Background(), r.owner.In(s.ID), d.ID)
		})
	}},
	{name: "HideSpace", unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s, at := r.session(r.space("work").ID), r.clock()
		r.talk(s.ID, "hidden", 2)
		return act(func(l *ledger.Ledger) (bool, error) {
			return l.HideSpace(context.Background(), r.owner.In(s.Space), at)
		})
	}},
}

// finishAttach does what is left of a move, when the lease of who began it has
// ended.
func finishAttach(r *rig) {
	r.Helper()
	r.later(time.Hour)
	jobs, _, err := r.l.ClaimJobs(context.Background(), r.owner.Tenant, "worker", []string{ledger.JobAttach}, 1)
	r.must(err)
	for _, j := range jobs {
		r.must(r.l.FinishAttach(context.Background(), j))
	}
}

// queue puts jobs down, in a space of their own.
func (r *rig) queue(about ...string) {
	r.Helper()
	space := r.space("jobs").ID
	r.update(space, func(tx dhruva.Tx) error {
		for _, a := range about {
			j := dhruva.Job{Tenant: r.owner.Tenant, Space: space, ID: dhruva.JobID("job-" + a), Kind: "k", Subject: a, Generation: 1, State: dhruva.JobQueued}
			if err := tx.PutJob(j); err != nil {
				return err
			}
		}
		return nil
	})
}

// claim claims the one that is due longest.
func (r *rig) claim() dhruva.Job {
	r.Helper()
	jobs, _, err := r.l.ClaimJobs(context.Background(), r.owner.Tenant, "worker", []string{"k"}, 1)
	r.must(err)
	return jobs[0]
}

func (r *rig) later(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// attested makes final receipts, each with its leaf.
func (r *rig) attested(n int) {
	r.Helper()
	for range n {
		r.must(r.l.CloseReceipt(r.ctx(), r.opened("recall", "")))
	}
}

func (r *rig) heartbeat() {
	r.Helper()
	must[dhruva.Node](r)(r.l.Heartbeat(context.Background(), dhruva.SystemScope(), dhruva.Node{ID: dhruva.NodeID(r.owner.Tenant)}))
}

// attempts is how often job-a was tried.
func attempts(r *rig) (out string) {
	r.view(func(tx dhruva.Tx) error {
		j, err := tx.Job("job-a")
		out = fmt.Sprintf("attempts %d, fence %d", j.Attempts, j.Fence)
		return err
	})
	return out
}

func leaseHolder(r *rig) (out string) {
	r.view(func(tx dhruva.Tx) error {
		l, err := tx.Lease(r.owner.Tenant, "lease")
		out = fmt.Sprintf("owner %s, ended %v", l.Owner, l.Until.IsZero())
		return err
	})
	return out
}

func nodeStands(r *rig) string {
	_, live, err := r.l.Nodes(context.Background(), dhruva.SystemScope())
	r.must(err)
	all, _, err := r.l.Nodes(context.Background(), dhruva.SystemScope())
	r.must(err)
	known := false
	for _, n := range all {
		known = known || n.ID == dhruva.NodeID(r.owner.Tenant)
	}
	return fmt.Sprintf("known %v, stands %v", known, live[dhruva.NodeID(r.owner.Tenant)])
}
