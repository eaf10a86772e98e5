package sqlstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// togetherJobs is how many jobs the processes fight for.
const togetherJobs = 40

// togetherSpaces are written to by all of them.
var togetherSpaces = []string{"north", "east", "south", "west"}

// TestProcessesTogether lets processes work on one store: notes in sessions
// that they share, in one space and in two at once, jobs, leases, audit leaves,
// calls with one key. Every number of every sequence is given out once, whoever
// gave it, and each process follows the feeds all along.
func TestProcessesTogether(t *testing.T) {
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			seed, d := testkit.Seed(t), e.create(t)
			prepareTogether(t, d)
			updates := testkit.Count(1_000, 10_000, 100_000)
			dir := t.TempDir()
			var all []*process
			for n := range e.processes {
				all = append(all, spawn(t, task{Role: "together", URL: d.url, Name: fmt.Sprint("p", n), Seed: seed + uint64(n), Dir: dir,
					Spaces: togetherSpaces, Updates: (updates + e.processes - 1) / e.processes}))
			}
			for _, p := range all { // they have written their part
				if line := p.line(); line != "written" {
					t.Fatalf("%s said %q", p.Name, line)
				}
			}
			s := open(t, d.url, sqlstore.Options{})
			heads := headsOf(t, s)
			told, err := json.Marshal(heads)
			if err != nil {
				t.Fatal(err)
			}
			var reports []report
			for _, p := range all {
				p.tell(string(told))
				var r report
				if err := json.Unmarshal([]byte(p.line()), &r); err != nil {
					t.Fatal(err)
				}
				reports = append(reports, r)
				p.wait()
			}
			checkTogether(t, s, reports)
			testkit.Figure(t, "%d processes, %s", len(all), summary(reports, heads))
		})
	}
}

// prepareTogether queues the jobs.
func prepareTogether(t *testing.T, d database) {
	t.Helper()
	s := open(t, d.url, sqlstore.Options{})
	err := s.Update(context.Background(), []dhruva.Scope{dhruva.TenantScope(owner)}, func(tx dhruva.Tx) error {
		for n := range togetherJobs {
			id := fmt.Sprint("job-", n)
			if err := tx.PutJob(dhruva.Job{Tenant: owner, Space: dhruva.SpaceID(togetherSpaces[n%4]), ID: dhruva.JobID(id), Kind: "k", Subject: id,
				State: dhruva.JobQueued, NotBefore: time.UnixMicro(int64(n))}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// headsOf are the ends of the feeds.
func headsOf(t *testing.T, s dhruva.Store) map[string]int64 {
	t.Helper()
	heads := map[string]int64{}
	err := s.View(context.Background(), dhruva.TenantScope(owner), func(tx dhruva.Tx) error {
		for _, space := range togetherSpaces {
			e, err := tx.Epoch(dhruva.SpaceID(space))
			if err != nil {
				return err
			}
			heads[space] = e.Head
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return heads
}

// checkTogether compares what the processes say with what is there.
func checkTogether(t *testing.T, s *sqlstore.Store, reports []report) {
	t.Helper()
	ctx := context.Background()
	if err := storetest.Check(ctx, s, dhruva.TenantScope(owner)); err != nil {
		t.Error(err)
	}
	if err := s.Integrity(ctx); err != nil {
		t.Error(err)
	}
	changes, turns := map[dhruva.SpaceID][]int64{}, map[dhruva.SessionID][]int64{}
	claims, leases, calls, leaves := map[string][]int64{}, map[string][]int64{}, map[string]int{}, 0
	for _, r := range reports {
		var acks []acknowledged
		for _, line := range r.Notes {
			a, err := parseAck(line)
			if err != nil {
				t.Fatal(err)
			}
			acks = append(acks, a)
			for _, p := range a.at {
				changes[p.space] = append(changes[p.space], p.change)
				turns[p.session] = append(turns[p.session], p.seq)
			}
		}
		allKept(t, s, acks)
		for id, fences := range r.Claims {
			claims[id] = append(claims[id], fences...)
		}
		for name, fences := range r.Leases {
			leases[name] = append(leases[name], fences...)
		}
		for _, key := range r.Calls {
			calls[key]++
		}
		leaves += r.Leaves
	}
	for space, given := range changes {
		unbroken(t, "changes of "+string(space), given)
	}
	for session, given := range turns {
		unbroken(t, "turns of "+string(session), given)
	}
	for id, given := range claims {
		unbroken(t, "claims of "+id, given)
	}
	for name, given := range leases {
		unbroken(t, "holders of the lease "+name, given)
	}
	for key, n := range calls {
		if n != 1 {
			t.Errorf("the call %s was new %d times", key, n)
		}
	}
	fences(t, s, claims, leases)
	places(t, s, leaves)
}

// unbroken: the numbers given out are 1 to n, each once.
func unbroken(t *testing.T, what string, given []int64) {
	t.Helper()
	slices.Sort(given)
	for n, v := range given {
		if v != int64(n+1) {
			t.Errorf("%s: %d stands where %d is expected", what, v, n+1)
			return
		}
	}
}

// fences: the last numbers that were given out are the ones that are kept.
func fences(t *testing.T, s dhruva.Store, claims, leases map[string][]int64) {
	t.Helper()
	last := func(what string, kept int64, err error, given []int64) {
		if err != nil || kept != int64(len(given)) {
			t.Errorf("%s has fence %d of %d given out: %v", what, kept, len(given), err)
		}
	}
	err := s.View(context.Background(), dhruva.TenantScope(owner), func(tx dhruva.Tx) error {
		for id, given := range claims {
			j, err := tx.Job(dhruva.JobID(id))
			last(id, j.Fence, err, given)
		}
		l, err := tx.Lease(owner, "audit")
		last("audit", l.Fence, err, leases["audit"])
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	err = s.View(context.Background(), dhruva.SystemScope(), func(tx dhruva.Tx) error {
		l, err := tx.Lease("", "work")
		last("work", l.Fence, err, leases["work"])
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// places: the audit log has every leaf once, in places without a gap.
func places(t *testing.T, s dhruva.Store, put int) {
	t.Helper()
	err := s.View(context.Background(), dhruva.TenantScope(owner), func(tx dhruva.Tx) error {
		head, err := tx.AuditHead()
		if err != nil {
			return err
		}
		placed, err := tx.ListLeaves(0, put+1)
		if err != nil {
			return err
		}
		pending, err := tx.PendingLeaves(put + 1)
		if head.Size != int64(len(placed)) || len(placed)+len(pending) != put {
			t.Errorf("%d leaves were put; %d have a place, %d wait; the log has size %d", put, len(placed), len(pending), head.Size)
		}
		for n, leaf := range placed {
			if leaf.Seq != int64(n+1) {
				t.Errorf("leaf %d stands where %d is expected", leaf.Seq, n+1)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func summary(reports []report, heads map[string]int64) string {
	var updates, notes, claims, refused, hands, leaves, calls, hints int
	for _, r := range reports {
		updates, notes, leaves, calls, hints = updates+r.Updates, notes+len(r.Notes), leaves+r.Leaves, calls+len(r.Calls), hints+r.Hints
		refused += r.Refused
		for _, f := range r.Claims {
			claims += len(f)
		}
		for _, f := range r.Leases {
			hands += len(f)
		}
	}
	changes := int64(0)
	for _, h := range heads {
		changes += h
	}
	return fmt.Sprintf("%d updates: %d notes, %d claims (%d writes of a lost claim refused), %d changes of hands of leases, %d leaves, %d calls; "+
		"each followed %d changes, by %d hints in all", updates, notes, claims, refused, hands, leaves, calls, changes, hints)
}
