package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Jobs: work that an act leaves for later. It is put down in the Update of the
// act (enqueue), claimed under a lease, done at least once, and everything that
// is written of it is written by the number of the claim (Fence), so that who
// lost a job writes nothing more of it.

// maxClaim is how many jobs one claim takes at most.
const maxClaim = 100

// maxJobError bounds, in bytes, what is kept of how an attempt ended.
const maxJobError = 500

// newJob is a job without its generation, made before the Update that puts it
// down. About is what it is unique for in its space and generation.
func (l *Ledger) newJob(t dhruva.TenantID, space dhruva.SpaceID, kind, about, payload string, now time.Time) dhruva.Job {
	return dhruva.Job{
		Tenant: t, Space: space, ID: dhruva.JobID(dhruva.NewID()), Kind: kind, Subject: about, Payload: payload,
		State: dhruva.JobQueued, NotBefore: now, CreatedAt: now, UpdatedAt: now,
	}
}

// enqueue puts a job down in the Update of the act that it belongs to. One
// about the same is ErrConflict.
func enqueue(tx dhruva.Tx, j dhruva.Job) (dhruva.Job, error) {
	e, err := tx.Epoch(j.Space)
	if err != nil {
		return j, err
	}
	j.Generation = e.Generation
	return j, tx.PutJob(j)
}

// ClaimJobs leases due jobs of a tenant to a node, at most limit (and 100), of
// the kinds given. A job of a space that was deleted, or of a generation that
// has ended, is dropped; one that has used up its attempts, because whoever had
// it never said how it ended, is given up. More tells that others may be due.
func (l *Ledger) ClaimJobs(ctx context.Context, t dhruva.TenantID, owner dhruva.NodeID, kinds []string, limit int) (out []dhruva.Job, more bool, err error) {
	now, up := l.now(), l.upkeep()
	claim := dhruva.JobClaim{Kinds: kinds, Owner: owner, Now: now, Until: now.Add(up.JobLease), Limit: min(limit, maxClaim)}
	err = l.Store.Update(ctx, []dhruva.Scope{dhruva.TenantScope(t)}, func(tx dhruva.Tx) error {
		out = nil
		rows, err := tx.ClaimJobs(claim)
		if err != nil {
			return err
		}
		more = len(rows) == claim.Limit
		for _, j := range rows {
			if ok, err := l.admit(tx, j, up.JobAttempts); err != nil {
				return err
			} else if ok {
				out = append(out, j)
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, wrap("claim jobs", err)
	}
	return out, more, nil
}

// admit decides whether a claimed job is to be done.
func (l *Ledger) admit(tx dhruva.Tx, j dhruva.Job, attempts int) (bool, error) {
	if moot, err := mootJob(tx, j); err != nil || moot && j.Kind != JobAttach { // which has something to put away
		return false, firstOf(err, tx.DropJob(j.ID))
	}
	if j.Attempts <= attempts {
		return true, nil
	}
	fence := j.Fence
	j.State, j.LeaseUntil = dhruva.JobDead, time.Time{}
	j.Error = fmt.Sprintf("%d attempts ended without saying how", attempts)
	return false, tx.SwapJob(j, fence)
}

// mootJob reports a job whose reason is gone.
func mootJob(tx dhruva.Tx, j dhruva.Job) (bool, error) {
	s, err := tx.Space(j.Space)
	if err != nil {
		return errors.Is(err, dhruva.ErrNotFound), ignoreMissing(err)
	}
	e, err := tx.Epoch(j.Space)
	return !s.DeletedAt.IsZero() || e.Generation != j.Generation, err
}

// DueIn is how long it is until a claim of these kinds finds something in a
// tenant, at most 0 when it would now; false when nothing waits. It only reads,
// so that looking costs no write.
func (l *Ledger) DueIn(ctx context.Context, t dhruva.TenantID, kinds []string) (in time.Duration, waits bool, err error) {
	now, first := l.now(), time.Time{}
	err = l.Store.View(ctx, dhruva.TenantScope(t), func(tx dhruva.Tx) error {
		first, waits = time.Time{}, false
		for _, kind := range kinds {
			for _, state := range []dhruva.JobState{dhruva.JobQueued, dhruva.JobLeased} {
				rows, err := tx.ListJobs(dhruva.JobQuery{Kind: kind, State: state, Page: dhruva.Page{Limit: 1000}})
				if err != nil {
					return err
				}
				for _, j := range rows {
					if at := dueAt(j); !waits || at.Before(first) {
						first, waits = at, true
					}
				}
			}
		}
		return nil
	})
	if err != nil || !waits {
		return 0, false, wrap("due jobs", err)
	}
	return first.Sub(now), true, nil
}

// dueAt is when a claim takes a job that waits or is worked on.
func dueAt(j dhruva.Job) time.Time {
	if j.State == dhruva.JobLeased {
		return j.LeaseUntil
	}
	return j.NotBefore
}

// CompleteJob ends a claimed job well; a second time it changes nothing. When a
// later claim has it, it is ErrConflict.
func (l *Ledger) CompleteJob(ctx context.Context, j dhruva.Job) error {
	now := l.now()
	return wrap("complete job", l.inJob(ctx, j, func(tx dhruva.Tx) error { return completeJob(tx, j, now) }))
}

// completeJob is CompleteJob within the Update that does the last of the work.
func completeJob(tx dhruva.Tx, j dhruva.Job, now time.Time) error {
	row, err := ownJob(tx, j)
	if err != nil || row.State == dhruva.JobDone {
		return err
	}
	row.State, row.LeaseUntil, row.Error, row.Payload, row.UpdatedAt = dhruva.JobDone, time.Time{}, "", j.Payload, now
	return tx.SwapJob(row, j.Fence)
}

// FailJob ends an attempt that failed: the job waits for its next one, or is
// given up when that was the last (dead; RequeueJob brings it back). The row as
// it is then comes back. When a later claim has the job it is ErrConflict.
func (l *Ledger) FailJob(ctx context.Context, j dhruva.Job, cause error) (out dhruva.Job, err error) {
	now, up, wait := l.now(), l.upkeep(), l.backoff(j.Attempts)
	err = l.inJob(ctx, j, func(tx dhruva.Tx) error {
		if out, err = ownJob(tx, j); err != nil || out.State == dhruva.JobDead || out.State == dhruva.JobQueued {
			return err
		}
		if out.State == dhruva.JobDone {
			return fmt.Errorf("%w: job %s is done", dhruva.ErrConflict, j.ID)
		}
		out.State, out.LeaseUntil, out.NotBefore, out.UpdatedAt = dhruva.JobQueued, time.Time{}, now.Add(wait), now
		if out.Attempts >= up.JobAttempts {
			out.State = dhruva.JobDead
		}
		out.Error, _ = clean(cause.Error(), maxJobError)
		return tx.SwapJob(out, j.Fence)
	})
	if err != nil {
		return dhruva.Job{}, wrap("fail job", err)
	}
	return out, nil
}

// ExtendJob keeps a claimed job for as long again from now, and never for less
// than it was kept already. When a later claim has it, it is ErrConflict. It takes
// the tenant's lock, so that it need not wait for the work itself, which may hold
// the space's for long.
func (l *Ledger) ExtendJob(ctx context.Context, j dhruva.Job) error {
	until := l.now().Add(l.upkeep().JobLease)
	return wrap("extend job", l.Store.Update(ctx, []dhruva.Scope{dhruva.TenantScope(j.Tenant)}, func(tx dhruva.Tx) error {
		row, err := ownJob(tx, j)
		if err != nil || row.State != dhruva.JobLeased {
			return err
		}
		row.LeaseUntil = latest(row.LeaseUntil, until)
		return tx.SwapJob(row, j.Fence)
	}))
}

// ReturnJob gives a claimed job back undone, as if it had not been claimed: its
// worker ends. When a later claim has it there is nothing to give back.
func (l *Ledger) ReturnJob(ctx context.Context, j dhruva.Job) error {
	now := l.now()
	err := l.inJob(ctx, j, func(tx dhruva.Tx) error {
		more(tx) // what the job is for is not done
		row, err := ownJob(tx, j)
		if err != nil || row.State != dhruva.JobLeased {
			return err
		}
		row.State, row.LeaseUntil, row.NotBefore, row.UpdatedAt = dhruva.JobQueued, time.Time{}, now, now
		row.Attempts = max(row.Attempts-1, 0)
		return tx.SwapJob(row, j.Fence)
	})
	if errors.Is(err, dhruva.ErrConflict) {
		return nil
	}
	return wrap("return job", err)
}

// inJob runs fn alone in the space of a job.
func (l *Ledger) inJob(ctx context.Context, j dhruva.Job, fn func(dhruva.Tx) error) error {
	return l.Store.Update(ctx, []dhruva.Scope{dhruva.SpaceScope(j.Tenant, j.Space)}, fn)
}

// ownJob reads a claimed job again; a later claim, or its removal, is
// ErrConflict.
func ownJob(tx dhruva.Tx, j dhruva.Job) (dhruva.Job, error) {
	row, err := tx.Job(j.ID)
	if errors.Is(err, dhruva.ErrNotFound) || err == nil && row.Fence != j.Fence {
		err = fmt.Errorf("%w: job %s is not this worker's any more", dhruva.ErrConflict, j.ID)
	}
	return row, err
}

// ListJobs lists the jobs of the spaces within reach, by id. Needs admin.
func (l *Ledger) ListJobs(ctx context.Context, q dhruva.JobQuery) (out []dhruva.Job, next string, err error) {
	p, err := principal(ctx, dhruva.Admin)
	if err != nil {
		return nil, "", wrap("list jobs", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		fetch := func(page dhruva.Page) ([]dhruva.Job, error) {
			q := q
			q.Page = page
			return tx.ListJobs(q)
		}
		out, next, err = filled(q.Page, fetch, func(j dhruva.Job) string { return string(j.ID) },
			func(j dhruva.Job) (bool, error) { return p.Reaches(j.Space), nil })
		return err
	})
	return out, next, wrap("list jobs", err)
}

// Job finds a job within reach. Needs admin.
func (l *Ledger) Job(ctx context.Context, id dhruva.JobID) (out dhruva.Job, err error) {
	p, err := principal(ctx, dhruva.Admin)
	if err != nil {
		return out, wrap("job", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out, err = reachedJob(tx, p, id)
		return err
	})
	return out, wrap("job", err)
}

// RequeueJob gives a dead job its attempts again, from now. One that waits or
// is worked on is returned as it is; one that is done is ErrConflict. Needs
// admin.
func (l *Ledger) RequeueJob(ctx context.Context, id dhruva.JobID) (out dhruva.Job, err error) {
	p, err := principal(ctx, dhruva.Admin)
	if err != nil {
		return out, wrap("requeue job", err)
	}
	if out, err = l.Job(ctx, id); err != nil {
		return dhruva.Job{}, err
	}
	now := l.now()
	err = l.inJob(ctx, out, func(tx dhruva.Tx) error {
		if out, err = reachedJob(tx, p, id); err != nil {
			return err
		}
		switch out.State {
		case dhruva.JobDone:
			return fmt.Errorf("%w: job %s is done", dhruva.ErrConflict, id)
		case dhruva.JobQueued, dhruva.JobLeased:
			return nil
		}
		out.State, out.Attempts, out.NotBefore, out.UpdatedAt = dhruva.JobQueued, 0, now, now
		return tx.SwapJob(out, out.Fence)
	})
	if err != nil {
		return dhruva.Job{}, wrap("requeue job", err)
	}
	return out, nil
}

func reachedJob(tx dhruva.Tx, p dhruva.Principal, id dhruva.JobID) (dhruva.Job, error) {
	j, err := tx.Job(id)
	if err == nil && !p.Reaches(j.Space) {
		err = dhruva.ErrNotFound
	}
	if err != nil {
		return dhruva.Job{}, notFound(err, "job", string(id))
	}
	return j, nil
}

// latest is the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
