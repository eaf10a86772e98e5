package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Erasing takes texts away for good. What goes with a text:
//
//   - A source goes with its references, records, vectors and the replays that
//     injected it. A turn that said it loses its text, unless another source that
//     was not erased is said by the same turn; an item that said it becomes a stub.
//   - A turn's text goes with the sources that nothing else says. Items of
//     checkpoints that cite the turn become stubs, and so do the title, objective,
//     summary and artifacts of every checkpoint whose window holds it: they were
//     drawn from the whole of it.
//   - An item that becomes a stub does so wherever the lineage has kept it, under
//     the same id and in the same words.
//
// Hashes, digests, numbers and places stay: a lineage verifies and a window is
// what it was. Every step is found in the rows themselves, so that an erasure
// that was interrupted anywhere is finished by doing it again.

// Gone names one thing whose text is to be erased; one of the three is set.
type Gone struct {
	// Source is put down as pending, unless it is there, before anything else: from
	// then on nobody is given the text. At the end it is completed.
	Source *dhruva.Tombstone
	Turn   *Place
	Item   *Stub
}

// Place is the place of a turn. With an id it means that turn only.
type Place struct {
	Session dhruva.SessionID
	Seq     int64
	ID      dhruva.TurnID
}

// Stub is an item of a checkpoint.
type Stub struct {
	Checkpoint dhruva.Hash
	Item       dhruva.ItemID
}

// Erased counts what was taken away.
type Erased struct {
	Tombstones int `json:"tombstones"`
	Sources    int `json:"sources"`
	Turns      int `json:"turns"`
	Items      int `json:"items"`
	Replays    int `json:"replays"`
	Jobs       int `json:"jobs"`
	Remarks    int `json:"remarks,omitempty"`
}

// Texts is how many texts were taken away.
func (e Erased) Texts() int { return e.Sources + e.Turns + e.Items + e.Remarks }

// Add adds another count.
func (e *Erased) Add(o Erased) {
	e.Tombstones += o.Tombstones
	e.Sources += o.Sources
	e.Turns += o.Turns
	e.Items += o.Items
	e.Replays += o.Replays
	e.Jobs += o.Jobs
	e.Remarks += o.Remarks
}

// Erase erases things of one space in as many Updates as it takes; each writes
// at most MaxUpdateRows rows. What is not there any more is passed over.
func (l *Ledger) Erase(ctx context.Context, s dhruva.Scope, gone []Gone) (Erased, error) {
	total, now := Erased{}, l.now()
	for len(gone) > 0 {
		var n int
		err := l.erasing(ctx, s, now, &total, func(e *Eraser) error {
			n = 0
			for n < len(gone) && n < eraseThings {
				done, err := e.Erase(gone[n])
				if err != nil || !done {
					return err
				}
				n++
			}
			return nil
		})
		if err != nil {
			return total, wrap("erase", err)
		}
		gone = gone[n:]
	}
	return total, nil
}

// eraseThings is how many things one Update of Erase looks at.
const eraseThings = 500

// erasing is one Update of an erasure; it adds up what it has done.
func (l *Ledger) erasing(ctx context.Context, s dhruva.Scope, now time.Time, total *Erased, fn func(*Eraser) error) error {
	var done Erased
	err := l.Store.Update(ctx, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
		e, err := NewEraser(tx, l.Keys, s, now)
		if err == nil {
			err = fn(e)
		}
		done = e.Erased
		return err
	})
	if err == nil {
		total.Add(done)
	}
	return err
}

// Eraser erases within one transaction of a space. Each of its methods does as
// much as fits the transaction's rows and reports whether it came to its end; if
// not, the transaction is to be committed and the method called again in the
// next one. It decides nothing about who may erase, and puts down no job.
type Eraser struct {
	Erased
	tx    dhruva.Tx
	keys  dhruva.Keyring
	space dhruva.Scope
	epoch dhruva.Epoch
	now   time.Time
	rows  int
	// saved are the checkpoints of sessions, as they stand in this transaction.
	saved map[dhruva.SessionID][]dhruva.Checkpoint
	// stubs are the items that it has made stubs of.
	stubs map[Stub]bool
}

// NewEraser is an eraser over a transaction of one space. now is when it is
// said to have happened.
func NewEraser(tx dhruva.Tx, keys dhruva.Keyring, s dhruva.Scope, now time.Time) (*Eraser, error) {
	e := &Eraser{tx: tx, keys: keys, space: s, now: now, saved: map[dhruva.SessionID][]dhruva.Checkpoint{}, stubs: map[Stub]bool{}}
	var err error
	e.epoch, err = tx.Epoch(s.Space())
	return e, err
}

// eraseSpare are rows that are kept back, so that one more small step fits.
const eraseSpare = 20

// room reports whether a further small step fits, and counts n rows of it.
func (e *Eraser) room() bool { return e.rows+eraseSpare <= dhruva.MaxUpdateRows }

// wrote counts the rows of steps that were done.
func (e *Eraser) wrote(n int, errs ...error) error {
	e.rows += n
	return firstOf(errs...)
}

// Erase erases one thing.
func (e *Eraser) Erase(g Gone) (done bool, err error) {
	switch {
	case g.Source != nil:
		return e.Source(*g.Source)
	case g.Turn != nil:
		return e.Turn(*g.Turn)
	case g.Item != nil:
		return e.Item(*g.Item)
	}
	return true, nil
}

// The states of tombstones that an erasure goes through.
const (
	tombPending   = "pending"
	tombCompleted = "completed"
)

// Source erases a source of a generation, and what said it. One of a generation
// that is not the current one has its tombstone put down and no more: the rows of
// those that have ended are End's.
func (e *Eraser) Source(t dhruva.Tombstone) (done bool, err error) {
	if !e.room() {
		return false, nil
	}
	if t.Generation != e.epoch.Generation {
		_, err := e.entomb(t)
		return err == nil, err
	}
	state, err := e.entomb(dhruva.Tombstone{Space: t.Space, Generation: t.Generation, Source: t.Source, State: tombPending, CreatedAt: t.CreatedAt})
	if err != nil {
		return false, err
	}
	if err := e.suspend(t); err != nil {
		return false, err
	}
	refs, err := e.tx.References(t.Space, t.Generation, t.Source)
	if err != nil {
		return false, err
	}
	for _, r := range refs {
		if done, err := e.unsay(r); err != nil || !done {
			return false, err
		}
	}
	if done, err := e.dropSource(t.Source); err != nil || !done || state != tombPending {
		return done, err
	}
	if t.State == tombPending {
		t.State = tombCompleted
	}
	return true, e.wrote(1, e.tx.PutTombstone(t))
}

// entomb puts a tombstone down where there is none, and answers the state of the
// one that is there.
func (e *Eraser) entomb(t dhruva.Tombstone) (string, error) {
	there, err := e.tx.Tombstone(t.Space, t.Generation, t.Source)
	if err == nil || !errors.Is(err, dhruva.ErrNotFound) {
		return there.State, err
	}
	e.Tombstones++
	return t.State, e.wrote(1, e.tx.PutTombstone(t))
}

// suspend takes a source that is being erased out of use.
func (e *Eraser) suspend(t dhruva.Tombstone) error {
	src, err := e.tx.Source(t.Space, t.Generation, t.Source)
	if err != nil || src.State == dhruva.SourcePurgePending {
		return ignoreMissing(err)
	}
	src.State, src.HeldFor = dhruva.SourcePurgePending, ""
	return e.wrote(2, e.tx.PutSource(src), announce(e.tx, src, dhruva.ChangeSource, e.now))
}

// unsay takes away the text that a reference of a source that is being erased
// refers to. The reference goes with it, or with the source.
func (e *Eraser) unsay(r dhruva.Reference) (done bool, err error) {
	if r.Session == "" {
		return e.Item(Stub{r.Checkpoint, r.Item})
	}
	if needed, err := e.needed(r); err != nil || needed {
		return err == nil, err
	}
	return e.Turn(Place{Session: r.Session, Seq: r.Seq})
}

// needed reports whether another source, which is not erased, is said by the
// turn of a reference.
func (e *Eraser) needed(r dhruva.Reference) (bool, error) {
	ids, err := e.tx.SourcesOfTurn(r.Space, r.Generation, r.Session, r.Seq)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if id == r.Source {
			continue
		}
		gone, err := tombstoned(e.tx, r.Space, r.Generation, id)
		if err != nil || !gone {
			return err == nil, err
		}
	}
	return false, nil
}

// Turn erases the text of a turn. Its sources that nothing else says go with it.
func (e *Eraser) Turn(p Place) (done bool, err error) {
	t, err := e.tx.Turn(p.Session, p.Seq)
	if err != nil {
		return true, ignoreMissing(err)
	}
	if p.ID != "" && p.ID != t.ID || t.Space != e.space.Space() {
		return true, nil
	}
	if done, err := e.stubCiting(t); err != nil || !done {
		return false, err
	}
	ids, err := e.tx.SourcesOfTurn(t.Space, e.epoch.Generation, t.Session, t.Seq)
	if err != nil {
		return false, err
	}
	return e.take(ids, dhruva.Reference{Session: t.Session, Seq: t.Seq}, func() error {
		if t.Redacted {
			return nil
		}
		e.Turns++
		return e.wrote(1, e.tx.RedactTurn(t.Session, t.Seq))
	})
}

// take takes away a text that sources refer to at one place: first what hangs on
// those that it leaves unsaid, in as many steps as that takes, then the text and
// the references in one.
func (e *Eraser) take(ids []dhruva.SourceID, at dhruva.Reference, text func() error) (done bool, err error) {
	at.Space, at.Generation = e.space.Space(), e.epoch.Generation
	for _, id := range ids {
		at.Source = id
		doomed, err := e.doomed(at)
		if err != nil {
			return false, err
		}
		if doomed {
			if done, err := e.dropReplays(id, e.epoch.Generation); err != nil || !done {
				return false, err
			}
		}
	}
	if e.rows+1+sourceRows*len(ids)+eraseSpare > dhruva.MaxUpdateRows {
		return false, nil
	}
	if err := text(); err != nil {
		return false, err
	}
	for _, id := range ids {
		at.Source = id
		if err := e.leave(at); err != nil {
			return false, err
		}
	}
	return true, nil
}

// sourceRows is how many rows leave writes at most.
const sourceRows = 5

// doomed reports whether a source is said at this place alone.
func (e *Eraser) doomed(at dhruva.Reference) (bool, error) {
	refs, err := e.tx.References(at.Space, at.Generation, at.Source)
	if err != nil {
		return false, err
	}
	for _, r := range refs {
		if r == at {
			continue
		}
		if _, ok := dhruva.ReferenceText(e.tx, r); ok {
			return false, nil
		}
	}
	return true, nil
}

// leave takes a reference whose text is gone away from a source, and the source
// too when nothing says it any more. One that is said only where nobody reads is
// held, as when its session was deleted.
func (e *Eraser) leave(at dhruva.Reference) error {
	if err := e.wrote(1, e.tx.DropReference(at)); err != nil {
		return err
	}
	src, err := e.tx.Source(at.Space, at.Generation, at.Source)
	if err != nil || src.State == dhruva.SourcePurgePending { // whoever erases it drops it at the end
		return ignoreMissing(err)
	}
	_, _, err = dhruva.SourceText(e.tx, src)
	if errors.Is(err, dhruva.ErrNotFound) {
		return e.dropRows(src)
	}
	if err != nil {
		return err
	}
	ok, err := standing(e.tx, src)
	if err != nil {
		return err
	}
	if !ok && src.State == dhruva.SourceReady {
		src.State, src.HeldFor = dhruva.SourceHeld, heldHidden
	}
	return e.wrote(2, e.tx.PutSource(src), announce(e.tx, src, dhruva.ChangeSource, e.now))
}

// dropSource removes a source of the current generation with all that was made
// of it. The row itself goes last.
func (e *Eraser) dropSource(id dhruva.SourceID) (done bool, err error) {
	if done, err := e.dropReplays(id, e.epoch.Generation); err != nil || !done || !e.room() {
		return false, err // and one more row fits, for the tombstone
	}
	space, g := e.space.Space(), e.epoch.Generation
	src, err := e.tx.Source(space, g, id)
	if errors.Is(err, dhruva.ErrNotFound) { // what is left of one, all the same
		return true, e.wrote(2, e.tx.DropRecords(space, g, id), e.tx.DropVectors(space, g, id))
	}
	if err != nil {
		return false, err
	}
	return true, e.dropRows(src)
}

// dropRows removes a source whose replays are gone.
func (e *Eraser) dropRows(src dhruva.Source) error {
	e.Sources++
	return e.wrote(4, e.tx.DropRecords(src.Space, src.Generation, src.ID), e.tx.DropVectors(src.Space, src.Generation, src.ID),
		e.tx.DropSource(src.Space, src.Generation, src.ID), announce(e.tx, src, dhruva.ChangeSourceGone, e.now))
}

// dropReplays removes the replays that injected a source, of the generations up
// to one: the same text may be a source again in a later one.
func (e *Eraser) dropReplays(id dhruva.SourceID, through int64) (done bool, err error) {
	for page := (dhruva.Page{Limit: 100}); ; {
		ids, err := e.tx.ReplaysOf(e.space.Space(), id, page)
		if err != nil {
			return false, err
		}
		for _, r := range ids {
			row, err := e.tx.Replay(e.space.Space(), r)
			if err != nil {
				return false, err
			}
			if row.Generation > through {
				continue
			}
			if !e.room() {
				return false, nil
			}
			e.Replays++
			if err := e.wrote(1, e.tx.DropReplay(e.space.Space(), r)); err != nil {
				return false, err
			}
		}
		if len(ids) < page.Limit {
			return true, nil
		}
		page.After = string(ids[len(ids)-1])
	}
}

// Item makes a stub of an item, wherever the lineage has kept it.
func (e *Eraser) Item(s Stub) (done bool, err error) {
	c, err := e.tx.Checkpoint(s.Checkpoint)
	if err != nil {
		return true, ignoreMissing(err)
	}
	if c.Space != e.space.Space() {
		return true, nil
	}
	for _, i := range c.Items {
		if i.ID == s.Item && !i.Redacted {
			return e.stub(c, i)
		}
	}
	return true, nil
}

// stubCiting makes stubs of the items that were drawn from a turn.
func (e *Eraser) stubCiting(t dhruva.Turn) (done bool, err error) {
	saved, err := e.savedFrom(t.Session)
	if err != nil {
		return false, err
	}
	for _, c := range saved {
		if c.Window.Through == 0 || !c.Window.Contains(t) {
			continue
		}
		for _, i := range c.Items {
			if i.Redacted || !drawnFrom(i, t.Seq) {
				continue
			}
			if done, err := e.stub(c, i); err != nil || !done {
				return false, err
			}
		}
	}
	return true, nil
}

// drawnFrom reports whether an item of a checkpoint whose window holds a turn
// was drawn from it.
func drawnFrom(i dhruva.Item, seq int64) bool {
	if slot(i.Kind) || i.Kind == dhruva.KindArtifact {
		return true
	}
	for _, c := range i.Cites {
		if c.From <= seq && seq <= c.Through {
			return true
		}
	}
	return false
}

// savedFrom are the checkpoints of this space whose window is of a session.
func (e *Eraser) savedFrom(id dhruva.SessionID) ([]dhruva.Checkpoint, error) {
	if saved, ok := e.saved[id]; ok {
		return saved, nil
	}
	var all []dhruva.Checkpoint
	err := eachCheckpoint(e.tx, dhruva.CheckpointQuery{Space: e.space.Space(), Session: id}, func(c dhruva.Checkpoint) (bool, error) {
		all = append(all, c)
		return true, nil
	})
	if err == nil {
		e.saved[id] = all
	}
	return all, err
}

// eachCheckpoint walks the checkpoints of a space, newest first, until fn says no:
// all of them, or those whose window is of a session. Hidden ones are among them:
// an erasure spares nothing because it was deleted before.
func eachCheckpoint(tx dhruva.Tx, q dhruva.CheckpointQuery, fn func(dhruva.Checkpoint) (bool, error)) error {
	err := eachOutline(tx, dhruva.OutlineQuery{Space: q.Space}, func(o dhruva.Outline) error {
		if q.Session != "" && o.Window.Session != q.Session {
			return nil
		}
		c, err := tx.Checkpoint(o.Hash)
		if err != nil {
			return err
		}
		on, err := fn(c)
		if err == nil && !on {
			err = errEnough
		}
		return err
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// errEnough ends a walk; nobody is told.
var errEnough = errors.New("enough")

// stub makes a stub of an item and of the copies that later checkpoints keep of
// it. Its own row goes last: while it stands, the copies are looked for again.
func (e *Eraser) stub(c dhruva.Checkpoint, i dhruva.Item) (done bool, err error) {
	done = true
	if !slot(i.Kind) {
		err = eachCheckpoint(e.tx, dhruva.CheckpointQuery{Space: c.Space}, func(later dhruva.Checkpoint) (bool, error) {
			if later.CreatedAt.Before(c.CreatedAt) {
				return false, nil
			}
			for _, copy := range later.Items {
				if later.Hash != c.Hash && copy.ID == i.ID && !copy.Redacted && sayingOf(copy) == sayingOf(i) {
					done, err = e.stubOne(later, copy)
				}
			}
			return done, err
		})
	}
	if err != nil || !done {
		return false, err
	}
	return e.stubOne(c, i)
}

// stubOne makes a stub of one item; its text's source loses this reference.
func (e *Eraser) stubOne(c dhruva.Checkpoint, i dhruva.Item) (done bool, err error) {
	s := Stub{c.Hash, i.ID}
	if e.stubs[s] {
		return true, nil
	}
	ids, err := e.sourcesOf(c, i)
	if err != nil {
		return false, err
	}
	done, err = e.take(ids, dhruva.Reference{Checkpoint: c.Hash, Item: i.ID}, func() error {
		e.Items++
		return e.wrote(1, e.tx.RedactItem(c.Hash, i.ID))
	})
	e.stubs[s] = done
	return done, err
}

// sourcesOf are the sources that an item says. It is saved under the content id
// of its text, in one role or the other.
func (e *Eraser) sourcesOf(c dhruva.Checkpoint, i dhruva.Item) (out []dhruva.SourceID, err error) {
	for _, role := range []dhruva.Role{dhruva.RoleUser, dhruva.RoleAssistant} {
		id := dhruva.ContentID(e.keys, e.space.Tenant(), c.Space, role, i.Text)
		refs, err := e.tx.References(c.Space, e.epoch.Generation, id)
		if err != nil {
			return nil, err
		}
		for _, r := range refs {
			if r.Checkpoint == c.Hash && r.Item == i.ID {
				out = append(out, id)
			}
		}
	}
	return out, nil
}
