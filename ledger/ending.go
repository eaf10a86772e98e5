package ledger

import (
	"context"
	"strconv"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Ending is the end of generations of a space: what a clear does, and what a
// restored store catches up with.
type Ending struct {
	// Generation, Fence and ACLVersion are raised to these; none of them sinks.
	Generation, Fence, ACLVersion int64
	// Sessions are all sessions of the space, those that were deleted too, with
	// the number of the last turn that is of an ended generation.
	Sessions map[dhruva.SessionID]int64
	// Replays are all replays of ended generations.
	Replays []dhruva.ReplayID
}

// End raises a space's generation and fence first, so that nothing of what has
// ended is read or written any more, and then erases the rows of the generations
// at or below the fence: sources with what was made of them, replays, jobs, and
// the texts of turns and of checkpoints, which stay as stubs. It is finished by
// doing it again.
func (l *Ledger) End(ctx context.Context, s dhruva.Scope, in Ending) (Erased, error) {
	total, now := Erased{}, l.now()
	err := l.erasing(ctx, s, now, &total, func(e *Eraser) error { return e.raise(in) })
	if err != nil {
		return total, wrap("end generation", err)
	}
	for done := false; !done; {
		err := l.erasing(ctx, s, now, &total, func(e *Eraser) (err error) {
			done, err = e.Closed()
			return err
		})
		if err != nil {
			return total, wrap("end generation", err)
		}
	}
	for id, through := range in.Sessions {
		if err := l.redactThrough(ctx, s, id, through, now, &total); err != nil {
			return total, wrap("end generation", err)
		}
	}
	for ids := in.Replays; len(ids) > 0; ids = ids[min(eraseThings, len(ids)):] {
		err := l.erasing(ctx, s, now, &total, func(e *Eraser) error { return e.replays(ids[:min(eraseThings, len(ids))]) })
		if err != nil {
			return total, wrap("end generation", err)
		}
	}
	return total, nil
}

// raise puts the fence up.
func (e *Eraser) raise(in Ending) error {
	was := e.epoch
	e.epoch.Generation = max(was.Generation, in.Generation)
	e.epoch.Fence = max(was.Fence, in.Fence)
	e.epoch.ACLVersion = max(was.ACLVersion, in.ACLVersion)
	if e.epoch == was {
		return nil
	}
	if err := e.wrote(1, e.tx.PutEpoch(e.epoch)); err != nil || e.epoch.Generation == was.Generation {
		return err
	}
	_, err := e.tx.AppendChange(e.space.Space(), dhruva.Change{
		Kind: dhruva.ChangeGeneration, Ref: strconv.FormatInt(e.epoch.Generation, 10), At: e.now,
	})
	return e.wrote(1, err)
}

// Closed erases the rows of the generations at or below the fence, as far as
// they say which one is theirs: turns do not, and replays are found by the
// sources that they injected.
func (e *Eraser) Closed() (done bool, err error) {
	for g := int64(1); g <= e.epoch.Fence; g++ {
		if done, err := e.closedSources(g); err != nil || !done {
			return false, err
		}
	}
	if done, err := e.closedCheckpoints(); err != nil || !done {
		return false, err
	}
	if done, err := e.closedRemarks(); err != nil || !done {
		return false, err
	}
	return e.closedJobs()
}

func (e *Eraser) closedSources(g int64) (done bool, err error) {
	for {
		rows, err := e.tx.ListSources(dhruva.SourceQuery{Space: e.space.Space(), Generation: g, Page: dhruva.Page{Limit: 100}})
		if err != nil || len(rows) == 0 {
			return err == nil, err
		}
		for _, src := range rows {
			if done, err := e.dropReplays(src.ID, g); err != nil || !done || !e.room() {
				return false, err
			}
			e.Sources++ // nobody follows an ended generation: the end itself was announced
			err := e.wrote(3, e.tx.DropRecords(src.Space, g, src.ID), e.tx.DropVectors(src.Space, g, src.ID), e.tx.DropSource(src.Space, g, src.ID))
			if err != nil {
				return false, err
			}
		}
	}
}

func (e *Eraser) closedCheckpoints() (done bool, err error) {
	done = true
	if e.epoch.Fence == 0 {
		return done, nil
	}
	err = eachCheckpoint(e.tx, dhruva.CheckpointQuery{Space: e.space.Space()}, func(c dhruva.Checkpoint) (bool, error) {
		if c.Generation > e.epoch.Fence {
			return true, nil
		}
		for _, i := range c.Items {
			if i.Redacted || e.stubs[Stub{c.Hash, i.ID}] {
				continue
			}
			if done = e.room(); !done {
				return false, nil
			}
			e.Items++
			e.stubs[Stub{c.Hash, i.ID}] = true
			if err := e.wrote(1, e.tx.RedactItem(c.Hash, i.ID)); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	return done, err
}

// closedRemarks takes the texts of what was said about checkpoints of ended
// generations.
func (e *Eraser) closedRemarks() (done bool, err error) {
	ended := map[dhruva.Hash]bool{}
	for q := (dhruva.NoteQuery{Space: e.space.Space(), Page: dhruva.Page{Limit: 500}}); e.epoch.Fence > 0; {
		rows, err := e.tx.ListNotes(q)
		if err != nil {
			return false, err
		}
		for _, n := range rows {
			if n.Redacted {
				continue
			}
			over, known := ended[n.Checkpoint]
			if !known {
				c, err := e.tx.Checkpoint(n.Checkpoint)
				if err != nil {
					return false, err
				}
				over = c.Generation <= e.epoch.Fence
				ended[n.Checkpoint] = over
			}
			if !over {
				continue
			}
			if !e.room() {
				return false, nil
			}
			e.Remarks++
			if err := e.wrote(1, e.tx.RedactNote(n.Space, n.ID)); err != nil {
				return false, err
			}
		}
		if len(rows) < q.Limit {
			break
		}
		q.After = string(rows[len(rows)-1].ID)
	}
	return true, nil
}

func (e *Eraser) closedJobs() (done bool, err error) {
	q := dhruva.JobQuery{Space: e.space.Space(), Page: dhruva.Page{Limit: 100}}
	for {
		rows, err := e.tx.ListJobs(q)
		if err != nil {
			return false, err
		}
		for _, j := range rows {
			if j.Generation > e.epoch.Fence || j.Generation == 0 {
				continue
			}
			if !e.room() {
				return false, nil
			}
			e.Jobs++
			if err := e.wrote(1, e.tx.DropJob(j.ID)); err != nil {
				return false, err
			}
		}
		if len(rows) < q.Limit {
			return true, nil
		}
		q.After = string(rows[len(rows)-1].ID)
	}
}

func (e *Eraser) replays(ids []dhruva.ReplayID) error {
	for _, id := range ids {
		_, err := e.tx.Replay(e.space.Space(), id)
		if err := ignoreMissing(err); err != nil {
			return err
		}
		if err != nil {
			continue
		}
		e.Replays++
		if err := e.wrote(1, e.tx.DropReplay(e.space.Space(), id)); err != nil {
			return err
		}
	}
	return nil
}

// redactThrough takes the texts of a session's turns up to a number.
func (l *Ledger) redactThrough(ctx context.Context, s dhruva.Scope, id dhruva.SessionID, through int64, now time.Time, total *Erased) error {
	for after := int64(0); after < through; after += eraseThings {
		err := l.erasing(ctx, s, now, total, func(e *Eraser) error {
			return e.redactRange(id, after, min(after+eraseThings, through))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Eraser) redactRange(id dhruva.SessionID, after, through int64) error {
	turns, err := e.tx.ListTurns(dhruva.TurnQuery{Session: id, After: after, Through: through})
	if err != nil {
		return err
	}
	for _, t := range turns {
		if t.Redacted || t.Space != e.space.Space() {
			continue
		}
		e.Turns++
		if err := e.wrote(1, e.tx.RedactTurn(id, t.Seq)); err != nil {
			return err
		}
	}
	return nil
}
