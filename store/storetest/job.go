package storetest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dhruva-memory/dhruva"
)

// jobCases are about background work.
var jobCases = []testCase{
	{"PutJob", testPutJob},
	{"ClaimOrder", testClaimOrder},
	{"ClaimKinds", testClaimKinds},
	{"ClaimScope", testClaimScope},
	{"SwapJob", testSwapJob},
	{"ListJobs", testListJobs},
	{"DropJob", testDropJob},
	{"ClaimsAtOnce", testClaimsAtOnce},
	{"SwapJobAtOnce", testSwapJobAtOnce},
	{"SubjectAtOnce", testSubjectAtOnce},
}

// job is a queued one of a space, about itself.
func job(s dhruva.Scope, id string, due int) dhruva.Job {
	return dhruva.Job{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.JobID(id), Kind: "k", Subject: id, State: dhruva.JobQueued, NotBefore: at(due)}
}

func jobName(j dhruva.Job) string { return string(j.ID) }

func claimOf(limit int, now int, kinds ...string) dhruva.JobClaim {
	return dhruva.JobClaim{Kinds: kinds, Owner: "o", Now: at(now), Until: at(now + 60), Limit: limit}
}

// testPutJob: two jobs are about the same when space, generation, kind and
// subject are.
func testPutJob(f *fixture) {
	row := fullJob()
	f.write(tenant, func(tx dhruva.Tx) {
		f.must(tx.PutJob(row))
		f.is(tx.PutJob(row), dhruva.ErrConflict)
		twin := row
		twin.ID, twin.State = "twin", dhruva.JobDone
		f.is(tx.PutJob(twin), dhruva.ErrConflict)
		for n, change := range []func(*dhruva.Job){
			func(j *dhruva.Job) { j.Space = "b" }, func(j *dhruva.Job) { j.Generation++ }, func(j *dhruva.Job) { j.Kind = "Purge" },
			func(j *dhruva.Job) { j.Subject = "" },
		} {
			other := row
			other.ID = dhruva.JobID(fmt.Sprint(n))
			change(&other)
			f.must(tx.PutJob(other))
			other.ID = "another"
			f.is(tx.PutJob(other), dhruva.ErrConflict)
		}
		got, err := tx.Job(row.ID)
		same(f, got, err, row)
		got, err = tx.Job("another")
		missing(f, got, err)
	})
	f.write(other, func(tx dhruva.Tx) { // another tenant's work
		theirs := row
		theirs.Tenant = "t2"
		f.must(tx.PutJob(theirs))
	})
}

// testClaimOrder: the longest due first, in the order of its bytes where that
// is the same; queued and abandoned ones alike.
func testClaimOrder(f *fixture) {
	var want []string
	f.write(spaceA, func(tx dhruva.Tx) {
		for _, id := range slices.Backward(awkward()) {
			f.must(tx.PutJob(job(spaceA, id, 5)))
			want = append(want, id)
		}
		for id, change := range map[string]func(*dhruva.Job){
			"first":   func(j *dhruva.Job) { j.NotBefore = at(1) },
			"lost":    func(j *dhruva.Job) { j.State, j.NotBefore, j.LeaseUntil, j.Fence = dhruva.JobLeased, at(2), at(10), 7 },
			"held":    func(j *dhruva.Job) { j.State, j.NotBefore, j.LeaseUntil = dhruva.JobLeased, at(2), at(10).Add(1000) },
			"later":   func(j *dhruva.Job) { j.NotBefore = at(10).Add(1000) },
			"done":    func(j *dhruva.Job) { j.State = dhruva.JobDone },
			"dead":    func(j *dhruva.Job) { j.State = dhruva.JobDead },
			"unknown": func(j *dhruva.Job) { j.State = "unknown" },
		} {
			row := job(spaceA, id, 5)
			change(&row)
			f.must(tx.PutJob(row))
		}
	})
	slices.Sort(want)
	want = append([]string{"first", "lost"}, want...)
	var got []string
	for len(got) < len(want) {
		before := len(got)
		f.write(tenant, func(tx dhruva.Tx) {
			c := claimOf(5, 10)
			c.Until = c.Until.Add(999)
			rows, err := tx.ClaimJobs(c)
			f.must(err)
			for _, j := range rows {
				wantJob := job(spaceA, string(j.ID), 5)
				switch j.ID {
				case "first":
					wantJob.NotBefore = at(1)
				case "lost":
					wantJob.NotBefore, wantJob.Fence = at(2), 7
				}
				wantJob = wantJob.Claimed(c)
				same(f, j, nil, wantJob)
				stored, err := tx.Job(j.ID)
				same(f, stored, err, wantJob)
				got = append(got, string(j.ID))
			}
		})
		if len(got) == before {
			break
		}
	}
	same(f, got, nil, want)
	f.write(tenant, func(tx dhruva.Tx) {
		rows, err := tx.ClaimJobs(claimOf(100, 10))
		empty(f, rows, err)
	})
	f.write(tenant, func(tx dhruva.Tx) { // when the leases have ended they are claimed again
		rows, err := tx.ClaimJobs(claimOf(2, 70))
		f.must(err)
		names(f, rows, err, jobName, "first", "held")
		if rows[0].Attempts != 2 || rows[0].Fence != 2 {
			f.Errorf("claimed again: %+v", rows[0])
		}
	})
}

func testClaimKinds(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		for n, kind := range []string{"k", "K", "k ", "é"} {
			row := job(spaceA, fmt.Sprint(n), 9-n)
			row.Kind = kind
			f.must(tx.PutJob(row))
		}
	})
	claim := func(limit int, kinds []string, want ...string) {
		f.Helper()
		f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
			rows, err := tx.ClaimJobs(claimOf(limit, 10, kinds...))
			names(f, rows, err, jobName, want...)
			return errRollback
		}), errRollback)
	}
	claim(9, nil, "3", "2", "1", "0")
	claim(9, []string{"k"}, "0")
	claim(9, []string{"k", "é", "never", "k"}, "3", "0")
	claim(1, []string{"k", "K"}, "1")
	claim(9, []string{""})
	claim(9, []string{"never"})
}

// testClaimScope: a claim gets the jobs of the spaces that its scopes cover.
func testClaimScope(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		f.must(tx.PutJob(job(spaceA, "a", 2)))
		f.must(tx.PutJob(job(spaceB, "b", 1)))
		f.must(tx.PutJob(job(dhruva.SpaceScope("t1", "c"), "c", 0)))
	})
	f.write(other, func(tx dhruva.Tx) { f.must(tx.PutJob(job(dhruva.SpaceScope("t2", "a"), "theirs", 0))) })
	for _, c := range []struct {
		scopes []dhruva.Scope
		want   []string
	}{
		{[]dhruva.Scope{spaceA}, []string{"a"}}, {[]dhruva.Scope{spaceA, spaceB}, []string{"b", "a"}}, {[]dhruva.Scope{tenant}, []string{"c", "b", "a"}},
		{[]dhruva.Scope{system, spaceB}, []string{"b"}}, {[]dhruva.Scope{other}, []string{"theirs"}}, {[]dhruva.Scope{dhruva.SpaceScope("t1", "d")}, nil},
	} {
		var rows []dhruva.Job
		var err error
		for range 1000 { // what the claim before has not let go of yet may be passed over
			f.is(f.Update(f.ctx, c.scopes, func(tx dhruva.Tx) error {
				rows, err = tx.ClaimJobs(claimOf(9, 10))
				return errRollback
			}), errRollback)
			if err != nil || len(rows) >= len(c.want) {
				break
			}
		}
		names(f, rows, err, jobName, c.want...)
	}
}

func testSwapJob(f *fixture) {
	row := fullJob()
	f.write(spaceA, func(tx dhruva.Tx) {
		f.is(tx.SwapJob(row, row.Fence), dhruva.ErrConflict) // absent
		f.must(tx.PutJob(row))
		next := row
		next.State, next.Fence, next.Payload, next.Error, next.Owner = dhruva.JobDone, 9, "", "", ""
		next.Attempts, next.NotBefore, next.LeaseUntil, next.CreatedAt, next.UpdatedAt = 0, at(7), at(0), at(8), at(9)
		f.is(tx.SwapJob(next, 4), dhruva.ErrConflict)
		f.is(tx.SwapJob(next, 6), dhruva.ErrConflict)
		for _, change := range []func(*dhruva.Job){
			func(j *dhruva.Job) { j.Generation++ }, func(j *dhruva.Job) { j.Kind = "another" }, func(j *dhruva.Job) { j.Subject = "another" },
		} { // what never changes
			moved := next
			change(&moved)
			f.is(tx.SwapJob(moved, 5), dhruva.ErrConflict)
		}
		got, err := tx.Job(row.ID)
		same(f, got, err, row)
		f.must(tx.SwapJob(next, 5))
		got, err = tx.Job(row.ID)
		same(f, got, err, next)
		f.is(tx.SwapJob(row, 5), dhruva.ErrConflict)
	})
	f.is(f.Update(f.ctx, []dhruva.Scope{tenant}, func(tx dhruva.Tx) error {
		row.Space = "b"
		return tx.SwapJob(row, 9)
	}), dhruva.ErrConflict)
}

func testListJobs(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for n, id := range slices.Backward(awkward()) {
			row := job([]dhruva.Scope{spaceA, spaceB}[n%2], id, 1)
			row.State, row.Kind = []dhruva.JobState{dhruva.JobQueued, dhruva.JobDead, dhruva.JobLeased}[n%3], []string{"k", "l"}[n/2%2]
			f.must(tx.PutJob(row))
		}
	})
	pick := func(is func(n int) bool) (out []string) {
		for n, id := range awkward() {
			if is(n) {
				out = append(out, id)
			}
		}
		return out
	}
	of := func(q dhruva.JobQuery) lister {
		return func(tx dhruva.Tx, p dhruva.Page) ([]string, error) {
			q.Page = p
			rows, err := tx.ListJobs(q)
			return keys(rows, jobName), err
		}
	}
	f.pages(tenant, awkward(), of(dhruva.JobQuery{}))
	f.pages(tenant, pick(func(n int) bool { return n%2 == 0 }), of(dhruva.JobQuery{Space: "a"}))
	f.pages(spaceB, pick(func(n int) bool { return n%2 == 1 }), of(dhruva.JobQuery{}))
	f.pages(spaceB, nil, of(dhruva.JobQuery{Space: "a"}))
	f.pages(tenant, pick(func(n int) bool { return n%3 == 1 }), of(dhruva.JobQuery{State: dhruva.JobDead}))
	f.pages(tenant, pick(func(n int) bool { return n/2%2 == 1 }), of(dhruva.JobQuery{Kind: "l"}))
	f.pages(tenant, pick(func(n int) bool { return n%2 == 0 && n%3 == 2 && n/2%2 == 0 }), of(dhruva.JobQuery{Space: "a", State: dhruva.JobLeased, Kind: "k"}))
	f.must(f.Update(f.ctx, []dhruva.Scope{spaceB, spaceA}, func(tx dhruva.Tx) error { // two spaces, merged
		rows, err := tx.ListJobs(dhruva.JobQuery{Page: dhruva.Page{After: awkward()[1], Limit: 5}})
		names(f, rows, err, jobName, awkward()[2:7]...)
		return nil
	}))
}

func testDropJob(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.DropJob("never"))
		f.must(tx.PutJob(job(spaceA, "x", 1)))
		f.must(tx.PutJob(job(spaceA, "y", 1)))
	})
	drop := func(tx dhruva.Tx) error { return tx.DropJob("x") }
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceB}, drop), dhruva.ErrDenied)
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
		f.must(drop(tx))
		return errRollback
	}), errRollback)
	f.write(spaceA, func(tx dhruva.Tx) {
		f.is(tx.PutJob(job(spaceA, "x", 1)), dhruva.ErrConflict)
		f.must(drop(tx))
		again := job(spaceA, "z", 1)
		again.Subject = "x" // free again
		f.must(tx.PutJob(again))
		rows, err := tx.ListJobs(dhruva.JobQuery{})
		names(f, rows, err, jobName, "y", "z")
	})
}

// testClaimsAtOnce: from whatever level, no job is claimed twice, and all are
// claimed in the end.
func testClaimsAtOnce(f *fixture) {
	const jobs = 60
	f.write(tenant, func(tx dhruva.Tx) {
		for n := range jobs {
			f.must(tx.PutJob(job([]dhruva.Scope{spaceA, spaceB}[n%2], fmt.Sprint(n), n)))
		}
	})
	var mu sync.Mutex
	var left atomic.Int64
	owners := map[dhruva.JobID][]dhruva.NodeID{}
	left.Store(jobs)
	together(9, func(w int) {
		scopes := [][]dhruva.Scope{{tenant}, {spaceA}, {spaceB}}[w%3]
		c := claimOf(3, 1000)
		c.Owner = dhruva.NodeID(fmt.Sprint(w))
		for w%3 == 0 && left.Load() > 0 || w%3 > 0 && left.Load() > jobs/2 {
			var got []dhruva.Job
			if err := f.Update(f.ctx, scopes, func(tx dhruva.Tx) (err error) {
				got, err = tx.ClaimJobs(c)
				return err
			}); err != nil {
				f.Error(err)
				return
			}
			mu.Lock()
			for _, j := range got {
				owners[j.ID] = append(owners[j.ID], c.Owner)
			}
			mu.Unlock()
			left.Add(-int64(len(got)))
			runtime.Gosched()
		}
	})
	same(f, len(owners), nil, jobs)
	f.read(tenant, func(tx dhruva.Tx) {
		for id, by := range owners {
			j, err := tx.Job(id)
			if err != nil || len(by) != 1 || j.Owner != by[0] || j.Fence != 1 || j.Attempts != 1 || j.State != dhruva.JobLeased {
				f.Errorf("job %s claimed by %v: %+v, %v", id, by, j, err)
			}
		}
	})
}

// swapsAtOnce wants one winner of many compare-and-swaps from every level.
func (f *fixture) swapsAtOnce(swap func(tx dhruva.Tx, w int) error) (winner int) {
	f.Helper()
	errs := make([]error, 9)
	together(len(errs), func(w int) {
		errs[w] = f.Update(f.ctx, [][]dhruva.Scope{{tenant}, {spaceA}, {spaceA, spaceB}}[w%3], func(tx dhruva.Tx) error { return swap(tx, w) })
	})
	won := 0
	for w, err := range errs {
		if err == nil {
			won, winner = won+1, w
		} else if !errors.Is(err, dhruva.ErrConflict) {
			f.Error(err)
		}
	}
	same(f, won, nil, 1)
	return winner
}

func testSwapJobAtOnce(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.PutJob(job(spaceA, "x", 1))) })
	for round := range int64(10) {
		next := func(w int) dhruva.Job {
			j := job(spaceA, "x", 1)
			j.Fence, j.Owner = round+1, dhruva.NodeID(fmt.Sprint(w))
			return j
		}
		w := f.swapsAtOnce(func(tx dhruva.Tx, w int) error { return tx.SwapJob(next(w), round) })
		f.read(tenant, func(tx dhruva.Tx) {
			got, err := tx.Job("x")
			same(f, got, err, next(w))
		})
	}
}

// testSubjectAtOnce: of many jobs about the same one is put.
func testSubjectAtOnce(f *fixture) {
	for round := range 10 {
		next := func(w int) dhruva.Job {
			j := job(spaceA, fmt.Sprint(round, w), 1)
			j.Subject = fmt.Sprint(round)
			return j
		}
		w := f.swapsAtOnce(func(tx dhruva.Tx, w int) error { return tx.PutJob(next(w)) })
		f.read(tenant, func(tx dhruva.Tx) {
			got, err := tx.Job(next(w).ID)
			same(f, got, err, next(w))
		})
	}
}
