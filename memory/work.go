package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// workAll does the jobs of all tenants, at most Workers at once. At the end it
// waits for those that run; they are ended by their context and given back.
func (r *runner) workAll(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, r.pace.Workers)
	for r.jobs.wait(ctx) {
		for _, t := range r.jobs.take() {
			r.workFor(ctx, t, slots, &running)
		}
		if !pause(ctx, r.pace.Gather) {
			return
		}
	}
}

// workFor begins the due jobs of one tenant.
func (r *runner) workFor(ctx context.Context, t dhruva.TenantID, slots chan struct{}, running *sync.WaitGroup) {
	for more := r.due(ctx, t); more; {
		free := take(ctx, slots)
		if free == 0 {
			return
		}
		var claimed []dhruva.Job
		var err error
		claimed, more, err = r.Ledger.ClaimJobs(ctx, t, r.node.ID, r.kinds, free)
		for _, j := range claimed {
			running.Go(func() {
				defer func() { <-slots }()
				r.do(ctx, j)
			})
		}
		for range free - len(claimed) {
			<-slots
		}
		if r.failed(ctx, "jobs could not be claimed", err) {
			r.later(t, time.Second)
			return
		}
	}
}

// due looks whether a tenant has a job to be done now; when it has one to be
// done soon, it is looked at again then.
func (r *runner) due(ctx context.Context, t dhruva.TenantID) bool {
	in, waits, err := r.Ledger.DueIn(ctx, t, r.kinds)
	if r.failed(ctx, "jobs could not be looked at", err) {
		r.later(t, time.Second)
	}
	if err != nil || !waits {
		return false
	}
	if in > 0 {
		r.later(t, in)
	}
	return in <= 0
}

// later has a tenant's jobs looked at again in a while, if that is before all of
// them are looked at anyway.
func (r *runner) later(t dhruva.TenantID, in time.Duration) {
	if in < r.pace.Look {
		time.AfterFunc(in, func() { r.jobs.add(t) }) // after the end it wakes nobody
	}
}

// take takes all slots that are free, and waits for one; 0 when ctx has ended.
func take(ctx context.Context, slots chan struct{}) (n int) {
	select {
	case slots <- struct{}{}:
		n++
	case <-ctx.Done():
		return 0
	}
	for {
		select {
		case slots <- struct{}{}:
			n++
		default:
			return n
		}
	}
}

// do does one claimed job, and says how it ended.
func (r *runner) do(ctx context.Context, j dhruva.Job) {
	working, lost := context.WithCancelCause(ctx)
	extended := r.extend(working, lost, j)
	err := r.guarded(working, j)
	lost(nil)
	<-extended
	end, cancel := r.ending(ctx)
	defer cancel()
	switch {
	case err == nil:
		err = r.Ledger.CompleteJob(end, j)
	case ctx.Err() != nil:
		err = r.Ledger.ReturnJob(end, j)
	default:
		r.log(ctx, "a job failed", fmt.Errorf("%s, job %s, attempt %d: %w", j.Kind, j.ID, j.Attempts, err))
		if j, err = r.Ledger.FailJob(end, j, err); err == nil && j.State == dhruva.JobQueued {
			r.jobs.add(j.Tenant) // which arms its next attempt
		}
	}
	if !errors.Is(err, dhruva.ErrConflict) { // then another one has it, and says how it ends
		r.failed(end, "how a job ended could not be written; it is done again", err)
	}
}

// extend keeps a job claimed while it is worked on. When it was lost to another
// claim the work is ended.
func (r *runner) extend(ctx context.Context, lost context.CancelCauseFunc, j dhruva.Job) <-chan struct{} {
	done := make(chan struct{})
	every := r.Ledger.Upkeep.WithDefaults().JobLease / 3
	go func() {
		defer close(done)
		for pause(ctx, every) {
			err := r.Ledger.ExtendJob(ctx, j)
			if errors.Is(err, dhruva.ErrConflict) {
				lost(err)
				return
			}
			r.failed(ctx, "a job's lease could not be extended", err)
		}
	}()
	return done
}

// guarded turns a panic of the work into a failed attempt.
func (r *runner) guarded(ctx context.Context, j dhruva.Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return r.work[j.Kind](ctx, j)
}
