package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

var background = context.Background()

func (r *rig) job(id dhruva.JobID) (out dhruva.Job) {
	r.Helper()
	r.view(func(tx dhruva.Tx) (err error) {
		out, err = tx.Job(id)
		return err
	})
	return out
}

func (r *rig) claims(owner dhruva.NodeID, limit int) []dhruva.Job {
	r.Helper()
	out, _, err := r.l.ClaimJobs(background, r.owner.Tenant, owner, []string{"k"}, limit)
	r.must(err)
	return out
}

// What is written of a job is written by the number of the claim.
func TestAJobIsWrittenByItsLastClaim(t *testing.T) {
	each(t, func(r *rig) {
		r.queue("a")
		old := r.claims("slow", 1)[0]
		if len(r.claims("other", 1)) != 0 {
			t.Fatal("a leased job was claimed again")
		}
		r.later(2 * time.Minute)
		now := r.claims("other", 1)[0]
		if now.Fence != old.Fence+1 || now.Owner != "other" || now.Attempts != 2 {
			t.Errorf("%+v", now)
		}
		before := r.job("job-a")
		r.is(r.l.CompleteJob(background, old), dhruva.ErrConflict)
		r.is(r.l.ExtendJob(background, old), dhruva.ErrConflict)
		_, err := r.l.FailJob(background, old, errors.New("late"))
		r.is(err, dhruva.ErrConflict)
		r.must(r.l.ReturnJob(background, old)) // nothing to give back
		if d := cmp.Diff(before, r.job("job-a")); d != "" {
			t.Errorf("who lost it wrote: %s", d)
		}
		r.must(r.l.ExtendJob(background, now))
		if got := r.job("job-a"); !got.LeaseUntil.After(before.LeaseUntil) {
			t.Errorf("not extended: %s, was %s", got.LeaseUntil, before.LeaseUntil)
		}
		r.must(r.l.CompleteJob(background, now))
		r.must(r.l.CompleteJob(background, now)) // a second time changes nothing
		if got := r.job("job-a"); got.State != dhruva.JobDone || !got.LeaseUntil.IsZero() {
			t.Errorf("%+v", got)
		}
		_, err = r.l.FailJob(background, now, errors.New("after all"))
		r.is(err, dhruva.ErrConflict)
	})
}

// An extension never shortens, whatever the clock does.
func TestAClockThatJumpsBackShortensNoLeaseOfAJob(t *testing.T) {
	each(t, func(r *rig) {
		r.queue("a")
		j := r.claims("a", 1)[0]
		r.later(-time.Hour)
		r.must(r.l.ExtendJob(background, j))
		if got := r.job("job-a"); !got.LeaseUntil.Equal(j.LeaseUntil) {
			t.Errorf("%s, was %s", got.LeaseUntil, j.LeaseUntil)
		}
	})
}

// The wait after a failure is a random part of base times two for each attempt,
// at most the cap; when the attempts are used up the job is dead.
func TestFailedJobsWaitAndAreGivenUp(t *testing.T) {
	each(t, func(r *rig) {
		r.still = true
		r.l.Rand = func() float64 { return .5 }
		r.l.Upkeep.BackoffBase, r.l.Upkeep.BackoffCap, r.l.Upkeep.JobAttempts = 4*time.Second, 20*time.Second, 5
		r.queue("a")
		cause := errors.New("no\x00way " + strings.Repeat("é", 1000))
		for n, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second} {
			j, err := r.l.FailJob(background, r.claims("a", 1)[0], cause)
			r.must(err)
			if j.State != dhruva.JobQueued || j.Attempts != n+1 || j.NotBefore.Sub(r.now) != want {
				t.Errorf("attempt %d: %s, waits %s, want %s", j.Attempts, j.State, j.NotBefore.Sub(r.now), want)
			}
			if in, waits, err := r.l.DueIn(background, tenant, []string{"k"}); in != want || !waits || err != nil {
				t.Errorf("due in %s %v %v", in, waits, err)
			}
			if len(r.claims("a", 1)) != 0 {
				t.Error("claimed before its time")
			}
			r.later(want)
		}
		j, err := r.l.FailJob(background, r.claims("a", 1)[0], cause)
		r.must(err)
		if j.State != dhruva.JobDead || len(j.Error) > 500 || !strings.HasPrefix(j.Error, "no\uFFFDway") {
			t.Errorf("%+v", j)
		}
		r.later(24 * time.Hour)
		if _, waits, _ := r.l.DueIn(background, tenant, []string{"k"}); waits || len(r.claims("a", 1)) != 0 {
			t.Error("a dead job is done again")
		}
	})
}

// Draws of the system's randomness stay within the bounds, and differ.
func TestTheWaitIsSpread(t *testing.T) {
	r := newRig(t, openers["memory"](t))
	r.still = true
	seen := map[time.Duration]bool{}
	for range 100 {
		d := r.l.Jitter(time.Second)
		if d < time.Second/2 || d >= 3*time.Second/2 {
			t.Fatalf("%s", d)
		}
		seen[d] = true
	}
	if len(seen) < 90 {
		t.Errorf("%d different waits of 100", len(seen))
	}
}

// A job whose workers die without a word is given up as well.
func TestAJobThatKillsItsWorkersIsGivenUp(t *testing.T) {
	each(t, func(r *rig) {
		r.queue("a")
		for range 8 {
			if len(r.claims("a", 1)) != 1 {
				t.Fatal("not claimed")
			}
			r.later(2 * time.Minute)
		}
		out, more, err := r.l.ClaimJobs(background, tenant, "a", []string{"k"}, 1)
		r.must(err)
		if j := r.job("job-a"); len(out) != 0 || !more || j.State != dhruva.JobDead || j.Error == "" {
			t.Errorf("%v %v %+v", out, more, j)
		}
	})
}

// A job of a generation that has ended, or of a deleted space, is dropped when it
// is claimed.
func TestJobsWithoutAReasonAreDropped(t *testing.T) {
	each(t, func(r *rig) {
		r.queue("a")
		cleared := r.job("job-a").Space
		gone := r.space("gone").ID
		r.update(gone, func(tx dhruva.Tx) error {
			return tx.PutJob(dhruva.Job{Tenant: tenant, Space: gone, ID: "job-b", Kind: "k", Generation: 1, State: dhruva.JobQueued})
		})
		r.clear(cleared)
		r.must(r.l.DeleteSpace(r.ctx(), gone))
		if out := r.claims("a", 10); len(out) != 0 {
			t.Errorf("%+v", out)
		}
		r.view(func(tx dhruva.Tx) error {
			rows, err := tx.ListJobs(dhruva.JobQuery{})
			if len(rows) != 0 {
				t.Errorf("left: %+v", rows)
			}
			return err
		})
	})
}

func TestAJobThatIsGivenBackHasNotBeenTried(t *testing.T) {
	each(t, func(r *rig) {
		r.queue("a")
		j := r.claims("a", 1)[0]
		r.must(r.l.ReturnJob(background, j))
		again := r.claims("b", 1)
		if len(again) != 1 || again[0].Attempts != 1 || again[0].Fence != j.Fence+1 {
			t.Errorf("%+v", again)
		}
	})
}

// People list jobs and bring dead ones back; needs admin, within reach.
func TestPeopleBringDeadJobsBack(t *testing.T) {
	each(t, func(r *rig) {
		r.queue("a", "b")
		r.l.Upkeep.JobAttempts = 1
		for _, j := range r.claims("a", 2) {
			must[dhruva.Job](r)(r.l.FailJob(background, j, errors.New("no")))
		}
		rows, _, err := r.l.ListJobs(r.ctx(), dhruva.JobQuery{State: dhruva.JobDead})
		r.must(err)
		if len(rows) != 2 {
			t.Fatalf("%+v", rows)
		}
		space := rows[0].Space
		elsewhere, within := r.owner, r.owner
		elsewhere.Spaces, within.Spaces = []dhruva.SpaceID{"another"}, []dhruva.SpaceID{space}
		_, err = r.l.RequeueJob(r.as(elsewhere), "job-a")
		r.is(err, dhruva.ErrNotFound)
		if rows, _, _ := r.l.ListJobs(r.as(elsewhere), dhruva.JobQuery{}); len(rows) != 0 {
			t.Errorf("beyond reach: %+v", rows)
		}
		_, err = r.l.RequeueJob(r.with(dhruva.StateWrite, dhruva.MemoryWrite), "job-a")
		r.is(err, dhruva.ErrDenied)
		_, _, err = r.l.ListJobs(r.with(dhruva.StateRead), dhruva.JobQuery{})
		r.is(err, dhruva.ErrDenied)
		_, err = r.l.RequeueJob(r.ctx(), "none")
		r.is(err, dhruva.ErrNotFound)

		j := must[dhruva.Job](r)(r.l.RequeueJob(r.as(within), "job-a"))
		if j.State != dhruva.JobQueued || j.Attempts != 0 {
			t.Errorf("%+v", j)
		}
		must[dhruva.Job](r)(r.l.RequeueJob(r.ctx(), "job-a")) // it waits already
		claimed := r.claims("b", 1)[0]
		if j := must[dhruva.Job](r)(r.l.RequeueJob(r.ctx(), "job-a")); j.State != dhruva.JobLeased || j.Owner != "b" {
			t.Errorf("%+v", j)
		}
		r.must(r.l.CompleteJob(background, claimed))
		_, err = r.l.RequeueJob(r.ctx(), "job-a")
		r.is(err, dhruva.ErrConflict)
	})
}

// However many claim at once, each job is one's.
func TestClaimsAtOnce(t *testing.T) {
	each(t, func(r *rig) {
		var about []string
		for n := range 120 {
			about = append(about, fmt.Sprintf("%03d", n))
		}
		r.queue(about...)
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[dhruva.JobID]dhruva.NodeID{}
		for n := range 6 {
			wg.Go(func() {
				node := dhruva.NodeID(fmt.Sprint("node-", n))
				for more := true; more; {
					var rows []dhruva.Job
					var err error
					if rows, more, err = r.l.ClaimJobs(background, tenant, node, []string{"k"}, 7); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, j := range rows {
						if other, ok := got[j.ID]; ok {
							t.Errorf("%s is %s's and %s's", j.ID, other, node)
						}
						got[j.ID] = node
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(got) != len(about) {
			t.Errorf("%d of %d jobs claimed", len(got), len(about))
		}
	})
}

// Done jobs are kept for a while, dead ones until a person decides, unless their
// space is gone.
func TestJobsArePutAway(t *testing.T) {
	each(t, func(r *rig) {
		r.queue("a", "b", "c")
		r.l.Upkeep.JobAttempts = 1
		rows := r.claims("a", 3)
		r.must(r.l.CompleteJob(background, rows[0]))
		must[dhruva.Job](r)(r.l.FailJob(background, rows[1], errors.New("no")))
		drop := func(want int) {
			t.Helper()
			if n := must[int](r)(r.l.DropJobs(background, tenant)); n != want {
				t.Errorf("%d dropped, want %d", n, want)
			}
		}
		drop(0)
		r.later(23 * time.Hour)
		drop(0)
		r.later(2 * time.Hour)
		drop(1)
		if r.job("job-b").State != dhruva.JobDead || r.job("job-c").State != dhruva.JobLeased {
			t.Error("what is not done went")
		}
		r.must(r.l.DeleteSpace(r.ctx(), rows[0].Space))
		drop(1)
	})
}

// What a claim asks for is checked, and a failed claim leaves nothing.
func TestClaimsOfNothing(t *testing.T) {
	each(t, func(r *rig) {
		_, _, err := r.l.ClaimJobs(background, tenant, "a", []string{"k"}, 0)
		r.is(err, dhruva.ErrInvalid)
		_, _, err = r.l.ClaimJobs(background, tenant, "", []string{"k"}, 1)
		r.is(err, dhruva.ErrInvalid)
		r.is(r.l.FinishAttach(background, dhruva.Job{Kind: "k"}), dhruva.ErrInvalid)
		r.is(r.l.FinishAttach(background, dhruva.Job{Kind: ledger.JobAttach, Payload: "{"}), dhruva.ErrInvalid)
	})
}
