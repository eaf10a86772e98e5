package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// JobAttach moves the rest of a long session's sources (Attach). The job is of
// the space that the session was attached to; whoever claims it calls
// FinishAttach. It is claimed also when that space was cleared or deleted: then
// the rest is taken away where it was.
const JobAttach = "attach"

// move is a JobAttach's payload: the sources of the session's turns in the space
// From, after After and up to Through, are still to be moved.
type move struct {
	Session dhruva.SessionID `json:"session"`
	From    dhruva.SpaceID   `json:"from"`
	After   int64            `json:"after"`
	Through int64            `json:"through"`
}

func (m move) String() string {
	b, _ := json.Marshal(m) // strings and integers never fail
	return string(b)
}

func moveOf(j dhruva.Job) (m move, err error) {
	if j.Kind != JobAttach {
		return m, fmt.Errorf("%w: job %s is of kind %s", dhruva.ErrInvalid, j.ID, j.Kind)
	}
	if err := json.Unmarshal([]byte(j.Payload), &m); err != nil {
		return m, fmt.Errorf("%w: job %s: payload: %w", dhruva.ErrInvalid, j.ID, err)
	}
	return m, nil
}

// JobProgress tells how much of a job is done, in its own steps; ok is false for
// a kind that has none.
func JobProgress(j dhruva.Job) (done, total int64, ok bool) {
	m, err := moveOf(j)
	if err != nil {
		return 0, 0, false
	}
	return min(m.After, m.Through), m.Through, true
}

// newMove is the job of a move, already in the hands of who moves. A session may
// come back to a space, so that the job is about this move of it.
func (l *Ledger) newMove(s dhruva.Session, to dhruva.SpaceID, now time.Time) dhruva.Job {
	j := l.newJob(s.Tenant, to, JobAttach, "", "", now)
	j.Subject = string(s.ID) + " " + string(j.ID)
	j.State, j.Owner, j.Attempts, j.Fence, j.LeaseUntil = dhruva.JobLeased, l.self(), 1, 1, now.Add(l.upkeep().JobLease)
	return j
}

// self is this process as the owner of a job.
func (l *Ledger) self() dhruva.NodeID {
	if l.Node == "" {
		return "unregistered"
	}
	return l.Node
}

// leaveRest puts the job down.
func leaveRest(tx dhruva.Tx, draft dhruva.Job, m move) (dhruva.Job, error) {
	draft.Payload = m.String()
	return enqueue(tx, draft)
}

// driveMove does a move to its end, or gives it back.
func (l *Ledger) driveMove(ctx context.Context, j dhruva.Job) error {
	err := l.FinishAttach(ctx, j)
	if err != nil {
		// What cannot be given back is free when its lease ends.
		_ = l.ReturnJob(context.WithoutCancel(ctx), j)
	}
	return err
}

// FinishAttach does a claimed JobAttach to its end. Each step is one Update that
// moves the next turns' sources and says so in the job, so that it may be ended
// anywhere and claimed again. A session that was attached elsewhere meanwhile gets
// them there; when it was deleted, or its space cleared or deleted, they go.
func (l *Ledger) FinishAttach(ctx context.Context, j dhruva.Job) error {
	for done := false; !done; {
		var err error
		if done, err = l.moveStep(ctx, j); err != nil {
			return wrap("attach", err)
		}
	}
	return nil
}

// moveStep does the next step of a claimed move.
func (l *Ledger) moveStep(ctx context.Context, j dhruva.Job) (done bool, err error) {
	m, err := moveOf(j)
	if err != nil {
		return false, err
	}
	at, err := l.whereabouts(ctx, j.Tenant, m.Session)
	if err != nil {
		return false, err
	}
	scopes := []dhruva.Scope{dhruva.SpaceScope(j.Tenant, m.From), dhruva.SpaceScope(j.Tenant, j.Space)}
	if at != "" {
		scopes = append(scopes, dhruva.SpaceScope(j.Tenant, at))
	}
	now := l.now()
	err = l.Store.Update(ctx, scopes, func(tx dhruva.Tx) error {
		more(tx) // there may be other moves of the session to be finished
		row, err := ownJob(tx, j)
		if done = row.State == dhruva.JobDone; err != nil || done {
			return err
		}
		if done, err = l.step(tx, &row, at, now); err != nil {
			return err
		}
		return l.progress(tx, row, done)
	})
	return done, err
}

// progress says in a job how far it came. The step may have taken long, and the
// job may have been extended meanwhile: it is kept from the end of the step.
func (l *Ledger) progress(tx dhruva.Tx, j dhruva.Job, done bool) error {
	row, err := ownJob(tx, j)
	if err != nil {
		return err
	}
	now := l.now()
	row.Payload, row.UpdatedAt = j.Payload, now
	if done {
		row.State, row.LeaseUntil = dhruva.JobDone, time.Time{}
	} else {
		row.LeaseUntil = latest(row.LeaseUntil, now.Add(l.upkeep().JobLease))
	}
	return tx.SwapJob(row, j.Fence)
}

// whereabouts is the space of a session, "" when there is none.
func (l *Ledger) whereabouts(ctx context.Context, t dhruva.TenantID, id dhruva.SessionID) (at dhruva.SpaceID, err error) {
	err = l.Store.View(ctx, dhruva.TenantScope(t), func(tx dhruva.Tx) error {
		at = ""
		s, err := tx.Session(id)
		at = s.Space
		return ignoreMissing(err)
	})
	return at, err
}

// step moves the next sources to where the session is, and says in the job how
// far it came; true when nothing is left.
func (l *Ledger) step(tx dhruva.Tx, row *dhruva.Job, at dhruva.SpaceID, now time.Time) (bool, error) {
	m, err := moveOf(*row)
	if err != nil {
		return false, err
	}
	s, read, err := readAt(tx, *row, m.Session)
	switch {
	case err != nil:
		return false, err
	case read && s.Space == m.From: // it came back, where the rest still is
		return true, nil
	case read && s.Space != at:
		return false, fmt.Errorf("%w: the session was attached elsewhere meanwhile", dhruva.ErrConflict)
	case read:
		s.LastSeq = m.Through
		err = l.moveSources(tx, dhruva.Principal{Tenant: row.Tenant}, s, m.From, m.After, now)
	default:
		err = takeSources(tx, m.Session, m.From, m.After, m.Through, now)
	}
	m.After = min(m.After+maxAttach, m.Through)
	row.Payload = m.String()
	return m.After == m.Through, err
}

// readAt is the session of a move; false when it is not read any more where it
// is: it was deleted, or its space was, or the space of the move was cleared.
func readAt(tx dhruva.Tx, row dhruva.Job, id dhruva.SessionID) (dhruva.Session, bool, error) {
	s, err := tx.Session(id)
	if err != nil || !s.DeletedAt.IsZero() {
		return s, false, ignoreMissing(err)
	}
	sp, err := tx.Space(s.Space)
	if err != nil || !sp.DeletedAt.IsZero() {
		return s, false, ignoreMissing(err)
	}
	e, err := tx.Epoch(s.Space)
	return s, s.Space != row.Space || e.Generation == row.Generation, err
}

// resumeMoves does what is left of earlier moves of a session into its space,
// unless somebody is at it.
func (l *Ledger) resumeMoves(ctx context.Context, s dhruva.Session) error {
	scope, now := dhruva.SpaceScope(s.Tenant, s.Space), l.now()
	var left []dhruva.Job
	err := l.Store.View(ctx, scope, func(tx dhruva.Tx) error {
		left = nil
		for _, state := range []dhruva.JobState{dhruva.JobQueued, dhruva.JobLeased} {
			rows, err := tx.ListJobs(dhruva.JobQuery{Space: s.Space, Kind: JobAttach, State: state, Page: dhruva.Page{Limit: 1000}})
			if err != nil {
				return err
			}
			for _, j := range rows {
				if strings.HasPrefix(j.Subject, string(s.ID)+" ") && (state == dhruva.JobQueued || j.Due(now)) {
					left = append(left, j)
				}
			}
		}
		return nil
	})
	for _, j := range left {
		if err != nil {
			return err
		}
		j, err = l.takeJob(ctx, j)
		if errors.Is(err, dhruva.ErrConflict) { // somebody else has it now
			err = nil
			continue
		}
		if err == nil {
			err = l.driveMove(ctx, j)
		}
	}
	return err
}

// takeJob claims one job that waits, or whose lease has ended.
func (l *Ledger) takeJob(ctx context.Context, j dhruva.Job) (out dhruva.Job, err error) {
	now := l.now()
	claim := dhruva.JobClaim{Owner: l.self(), Now: now, Until: now.Add(l.upkeep().JobLease)}
	err = l.inJob(ctx, j, func(tx dhruva.Tx) error {
		more(tx)
		if out, err = ownJob(tx, j); err != nil {
			return err
		}
		if out.State != dhruva.JobQueued && !out.Due(now) {
			return fmt.Errorf("%w: job %s is being worked on", dhruva.ErrConflict, j.ID)
		}
		out = out.Claimed(claim)
		return tx.SwapJob(out, j.Fence)
	})
	return out, err
}
