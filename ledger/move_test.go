package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// sourcesIn are the texts that a space's sources say, with their classes.
func (r *rig) sourcesIn(space dhruva.SpaceID) map[string]dhruva.SourceClass {
	r.Helper()
	out := map[string]dhruva.SourceClass{}
	r.view(func(tx dhruva.Tx) error {
		e, err := tx.Epoch(space)
		if err != nil {
			return err
		}
		q := dhruva.SourceQuery{Space: space, Generation: e.Generation, Page: dhruva.Page{Limit: 1000}}
		for {
			rows, err := tx.ListSources(q)
			if err != nil || len(rows) == 0 {
				return err
			}
			for _, src := range rows {
				text, _, err := dhruva.SourceText(tx, src)
				if err != nil {
					return err
				}
				out[text] = src.Class
			}
			q.After = string(rows[len(rows)-1].ID)
		}
	})
	return out
}

func (r *rig) wantMoved(from, to dhruva.SpaceID, n int) {
	r.Helper()
	if left := r.sourcesIn(from); len(left) != 0 {
		r.Errorf("%d sources stayed behind", len(left))
	}
	got := r.sourcesIn(to)
	if len(got) != n {
		r.Errorf("%d sources came, want %d", len(got), n)
	}
	for text, class := range got {
		if class != dhruva.ClassImported && class != dhruva.ClassDerived {
			r.Errorf("%q is %s", text, class)
		}
	}
}

// talked is a session of n exchanges, in a space of its own, and another space.
// An import is the quickest way to a long one.
func (r *rig) talked(n int) (s dhruva.Session, to dhruva.SpaceID) {
	r.Helper()
	in := ledger.ImportInput{Space: r.space("origin").ID, Key: "k"}
	for i := range n {
		in.Turns = append(in.Turns, ledger.ImportedTurn{Role: dhruva.RoleUser, Text: fmt.Sprintf("river question number %d", i)},
			ledger.ImportedTurn{Role: dhruva.RoleAssistant, Text: fmt.Sprintf("river answer number %d", i)})
	}
	got := must[ledger.ImportResult](r)(r.l.ImportTurns(r.ctx(), in))
	return must[dhruva.Session](r)(r.l.Session(r.ctx(), got.Session)), r.space("work").ID
}

// worker does what a worker does once the lease of who began has ended.
func (r *rig) worker() (done int) {
	r.Helper()
	r.later(2 * time.Minute)
	jobs, _, err := r.l.ClaimJobs(background, r.owner.Tenant, "worker", []string{ledger.JobAttach}, 10)
	r.must(err)
	for _, j := range jobs {
		if d, total, ok := ledger.JobProgress(j); !ok || d < 120 || total < d {
			r.Errorf("progress %d of %d, %v", d, total, ok)
		}
		r.must(r.l.FinishAttach(background, j))
		r.must(r.l.CompleteJob(background, j)) // which it did itself
	}
	return len(jobs)
}

// The process ends after every Update of an attach, kept or lost; a worker
// finishes it, and everything is there once.
func TestAttachSurvivesACrashAfterEveryUpdate(t *testing.T) {
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			defer store.Close()
			crashes := 0
			for _, kind := range faultKinds {
				for at := 1; ; at++ {
					r := newRig(t, store)
					r.owner.Tenant = dhruva.TenantID(fmt.Sprint("t", kind, "-", at))
					s, to := r.talked(122) // 244 turns: three updates
					broken := &process{Faulty: storetest.NewFaulty(store, kind, at), ends: true}
					mine := *r.l
					mine.Store, mine.Node = broken, "dying"
					_, err := mine.Attach(r.ctx(), s.ID, to)
					if broken.Updates() < at {
						r.must(err)
						if r.worker() != 0 {
							t.Error("a job is left of an attach that came to its end")
						}
						break
					}
					crashes++
					r.is(err, dhruva.ErrUnavailable)
					moved := must[dhruva.Session](r)(r.l.Session(r.ctx(), s.ID)).Space == to
					if done := r.worker(); moved && at < 3 && done != 1 || !moved && done != 0 {
						t.Errorf("%v at %d: moved %v, the worker did %d jobs", kind, at, moved, done)
					}
					if !moved {
						must[dhruva.Session](r)(r.l.Attach(r.ctx(), s.ID, to))
					}
					r.wantMoved(s.Space, to, 244)
					r.check()
				}
			}
			t.Logf("%s: %d crashes", name, crashes)
		})
	}
}

// Who was only paused, and comes back after a worker took the job, is refused and
// moves nothing twice.
func TestAnAttachThatWasPausedIsRefused(t *testing.T) {
	each(t, func(r *rig) {
		s, to := r.talked(63)
		paused := &hooked{Store: r.store, at: 2}
		paused.hook = func() {
			if r.worker() != 1 {
				r.Error("no job for the worker")
			}
		}
		mine := *r.l
		mine.Store = paused
		_, err := mine.Attach(r.ctx(), s.ID, to)
		if err != nil { // the worker has done it all: both answers are true
			r.is(err, dhruva.ErrConflict)
		}
		r.wantMoved(s.Space, to, 126)
		must[dhruva.Session](r)(r.l.Attach(r.ctx(), s.ID, to))
	})
}

// hooked calls a hook before the n-th update.
type hooked struct {
	dhruva.Store
	n, at int
	hook  func()
}

func (h *hooked) Update(ctx context.Context, s []dhruva.Scope, fn func(dhruva.Tx) error) error {
	if h.n++; h.n == h.at {
		h.hook()
	}
	return h.Store.Update(ctx, s, fn)
}

// cut begins an attach of 126 turns whose process ends after the first Update.
func (r *rig) cut() (s dhruva.Session, to dhruva.SpaceID) {
	r.Helper()
	s, to = r.talked(63)
	mine := *r.l
	mine.Store = &process{Faulty: storetest.NewFaulty(r.store, storetest.Lost, 2), ends: true}
	_, err := mine.Attach(r.ctx(), s.ID, to)
	r.is(err, dhruva.ErrUnavailable)
	return s, to
}

// The same call again finishes what an earlier one began, unless somebody is at it.
func TestAttachAgainFinishesTheMove(t *testing.T) {
	each(t, func(r *rig) {
		s, to := r.cut()
		must[dhruva.Session](r)(r.l.Attach(r.ctx(), s.ID, to)) // the job is still the other one's
		if n := len(r.sourcesIn(to)); n != 120 {
			t.Errorf("%d sources came", n)
		}
		r.later(2 * time.Minute)
		must[dhruva.Session](r)(r.l.Attach(r.ctx(), s.ID, to))
		r.wantMoved(s.Space, to, 126)
		if r.worker() != 0 {
			t.Error("a job is left")
		}
	})
}

// A fault that the caller survives gives the job back at once.
func TestAttachThatFailsGivesItsJobBack(t *testing.T) {
	each(t, func(r *rig) {
		s, to := r.talked(122)
		mine := *r.l
		mine.Store = storetest.NewFaulty(r.store, storetest.Kept, 2)
		_, err := mine.Attach(r.ctx(), s.ID, to)
		r.is(err, dhruva.ErrUnavailable)
		if in, waits, err := r.l.DueIn(background, tenant, []string{ledger.JobAttach}); in > 0 || !waits || err != nil {
			t.Errorf("due in %s, %v %v", in, waits, err)
		}
		must[dhruva.Session](r)(r.l.Attach(r.ctx(), s.ID, to))
		r.wantMoved(s.Space, to, 244)
	})
}

// What may become of the session and the spaces before the worker comes.
func TestMovesWhoseSessionOrSpaceChanged(t *testing.T) {
	each(t, func(r *rig) {
		s, first := r.cut()
		second := r.space("second").ID
		must[dhruva.Session](r)(r.l.Attach(r.ctx(), s.ID, second)) // it moved on
		if r.worker() != 1 {
			t.Error("no job was left")
		}
		r.wantMoved(s.Space, second, 126)
		r.wantMoved(first, second, 126)
	})
	each(t, func(r *rig) { // and back, where the rest still is
		s, away := r.cut()
		must[dhruva.Session](r)(r.l.Attach(r.ctx(), s.ID, s.Space))
		if r.worker() != 1 {
			t.Error("no job was left")
		}
		r.wantMoved(away, s.Space, 126)
	})
	for what, end := range map[string]func(*rig, dhruva.Session, dhruva.SpaceID){
		"the session was deleted": func(r *rig, s dhruva.Session, _ dhruva.SpaceID) { r.must(r.l.DeleteSession(r.ctx(), s.ID)) },
		"its space was cleared":   func(r *rig, _ dhruva.Session, to dhruva.SpaceID) { r.clear(to) },
		"its space was deleted":   func(r *rig, _ dhruva.Session, to dhruva.SpaceID) { r.must(r.l.DeleteSpace(r.ctx(), to)) },
		"it had moved on, to a space that was deleted": func(r *rig, s dhruva.Session, _ dhruva.SpaceID) {
			third := r.space("third").ID
			must[dhruva.Session](r)(r.l.Attach(r.ctx(), s.ID, third))
			r.must(r.l.DeleteSpace(r.ctx(), third))
		},
	} {
		t.Run(what, func(t *testing.T) {
			each(t, func(r *rig) {
				s, to := r.cut()
				end(r, s, to)
				before := len(r.sourcesIn(to))
				if r.worker() != 1 {
					t.Error("no job was left")
				}
				if n := len(r.sourcesIn(s.Space)); n != 0 {
					t.Errorf("%d sources stayed behind", n)
				}
				if n := len(r.sourcesIn(to)); n != before {
					t.Errorf("%d sources came", n-before)
				}
			})
		})
	}
}

// A step that takes longer than a lease stays its worker's, which extends the job
// meanwhile; on a store with many writers that does not wait for the step.
func TestAStepThatTakesLongerThanItsLease(t *testing.T) {
	store := openers["postgres"](t)
	defer store.Close()
	r := newRig(t, store)
	r.still = true
	s, to := r.cut()
	r.later(2 * time.Minute)
	jobs, _, err := r.l.ClaimJobs(background, r.owner.Tenant, "worker", []string{ledger.JobAttach}, 1)
	r.must(err)
	steps := 0
	mine := *r.l
	mine.Store = midway{r.store, func() {
		steps++
		for range 3 { // nearly three leases, with a word within each of them
			r.later(50 * time.Second)
			r.must(r.l.ExtendJob(background, jobs[0]))
		}
		if in, _, err := r.l.DueIn(background, r.owner.Tenant, []string{ledger.JobAttach}); err != nil || in <= 0 {
			t.Errorf("due in %s %v", in, err)
		}
	}}
	r.must(mine.FinishAttach(background, jobs[0]))
	if steps == 0 {
		t.Error("nothing was held up")
	}
	r.wantMoved(s.Space, to, 126)
	r.check()
}

// midway calls a hook in the middle of every update that reads turns.
type midway struct {
	dhruva.Store
	hook func()
}

func (m midway) Update(ctx context.Context, s []dhruva.Scope, fn func(dhruva.Tx) error) error {
	return m.Store.Update(ctx, s, func(tx dhruva.Tx) error { return fn(midwayTx{tx, m.hook}) })
}

type midwayTx struct {
	dhruva.Tx
	hook func()
}

func (m midwayTx) ListTurns(q dhruva.TurnQuery) ([]dhruva.Turn, error) {
	m.hook()
	return m.Tx.ListTurns(q)
}
