package ledger_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
)

func (r *rig) epoch(space dhruva.SpaceID) (e dhruva.Epoch) {
	r.Helper()
	r.view(func(tx dhruva.Tx) (err error) {
		e, err = tx.Epoch(space)
		return err
	})
	return e
}

func (r *rig) cursors(space dhruva.SpaceID) map[dhruva.NodeID]int64 {
	r.Helper()
	out := map[dhruva.NodeID]int64{}
	r.view(func(tx dhruva.Tx) error {
		rows, err := tx.Cursors(space)
		for _, c := range rows {
			out[c.Node] = c.Seq
		}
		return err
	})
	return out
}

// changes appends so many to a feed.
func (r *rig) changes(space dhruva.SpaceID, n int) {
	r.Helper()
	for n > 0 {
		m := min(n, 500)
		r.update(space, func(tx dhruva.Tx) error {
			for range m {
				if _, err := tx.AppendChange(space, dhruva.Change{Kind: dhruva.ChangeCheckpoint, Ref: "x", At: r.now}); err != nil {
					return err
				}
			}
			return nil
		})
		n -= m
	}
}

func (r *rig) keepFeed(space dhruva.SpaceID, live ...dhruva.NodeID) int64 {
	r.Helper()
	nodes := map[dhruva.NodeID]bool{}
	for _, n := range live {
		nodes[n] = true
	}
	return must[int64](r)(r.l.KeepFeed(background, r.owner.In(space), nodes))
}

func TestCursorsNeverGoBack(t *testing.T) {
	each(t, func(r *rig) {
		space := r.space("work").ID
		r.changes(space, 9)
		s := r.owner.In(space)
		for _, seq := range []int64{3, 7, 5} {
			r.must(r.l.PutCursor(background, s, "a", seq))
		}
		r.must(r.l.PutCursor(background, s, "b", 2))
		if got := r.cursors(space); got["a"] != 7 || got["b"] != 2 {
			t.Errorf("%v", got)
		}
		for range 2 {
			r.must(r.l.DropCursor(background, s, "a"))
		}
		if got := r.cursors(space); len(got) != 1 {
			t.Errorf("%v", got)
		}
		r.is(r.l.PutCursor(background, s, "a", -1), dhruva.ErrInvalid)
		r.is(r.l.PutCursor(background, s, "a", 10), dhruva.ErrInvalid)
		r.update(space, func(tx dhruva.Tx) error { return tx.CompactChanges(space, 2) })
		r.is(r.l.PutCursor(background, s, "late", 1), dhruva.ErrCompacted)
		r.is(r.l.PutCursor(background, r.owner.Scope(), "a", 1), dhruva.ErrInvalid)
		r.is(r.l.PutCursor(background, r.owner.In("none"), "a", 1), dhruva.ErrNotFound)
		r.must(r.l.DeleteSpace(r.ctx(), space))
		r.is(r.l.PutCursor(background, s, "c", 1), dhruva.ErrNotFound)
		_, err := r.l.KeepFeed(background, r.owner.Scope(), nil)
		r.is(err, dhruva.ErrInvalid)
	})
}

// Contracts 8: kept until every registered cursor has passed and seven days.
func TestChangesAreKeptForTheirFollowersAndAWhile(t *testing.T) {
	each(t, func(r *rig) {
		r.still = true
		space := r.space("work").ID
		r.changes(space, 10)
		r.later(time.Hour)
		r.changes(space, 5)
		r.must(r.l.PutCursor(background, r.owner.In(space), "a", 15))
		r.must(r.l.PutCursor(background, r.owner.In(space), "slow", 4))
		want := func(gone, tail int64) {
			t.Helper()
			if got := r.keepFeed(space, "a", "slow"); got != gone || r.epoch(space).Tail != tail {
				t.Errorf("%d went, the tail is %d; want %d and %d", got, r.epoch(space).Tail, gone, tail)
			}
		}
		want(0, 0)
		r.later(7*24*time.Hour - time.Hour)
		want(0, 0) // to the microsecond
		r.later(time.Microsecond)
		want(4, 4)
		r.must(r.l.PutCursor(background, r.owner.In(space), "slow", 15))
		want(6, 10)
		r.later(time.Hour)
		want(5, 15)
		want(0, 15)
		for _, err := range r.store.Changes(background, r.owner.In(space), 14) {
			r.is(err, dhruva.ErrCompacted)
		}
		if e := r.epoch(space); e.Head != 15 {
			t.Errorf("%+v", e)
		}
		r.changes(space, 1)
		if e := r.epoch(space); e.Head != 16 {
			t.Errorf("%+v", e)
		}
	})
}

// A cursor of a node that is gone goes with it, one that was just put stays.
func TestCursorsOfDeadNodesGo(t *testing.T) {
	each(t, func(r *rig) {
		r.still = true
		space := r.space("work").ID
		r.changes(space, 10)
		r.must(r.l.PutCursor(background, r.owner.In(space), "dead", 2))
		r.later(8 * 24 * time.Hour)
		r.must(r.l.PutCursor(background, r.owner.In(space), "new", 9)) // it registered after the list was made
		r.must(r.l.PutCursor(background, r.owner.In(space), "live", 10))
		if n := r.keepFeed(space, "live"); n != 9 {
			t.Errorf("%d went", n)
		}
		if got := r.cursors(space); len(got) != 2 || got["new"] != 9 || got["live"] != 10 {
			t.Errorf("%v", got)
		}
	})
}

// Long feeds go in chunks that each fit an Update.
func TestLongFeedsGoInChunks(t *testing.T) {
	each(t, func(r *rig) {
		space := r.space("work").ID
		r.changes(space, 2500)
		r.later(8 * 24 * time.Hour)
		if n := r.keepFeed(space); n != 2500 || r.epoch(space).Tail != 2500 {
			t.Errorf("%d went, %+v", n, r.epoch(space))
		}
	})
}

// While others append and follow: a follower sees every number once, or is told
// that it came too late.
func TestCompactionWhileOthersFollow(t *testing.T) {
	each(t, func(r *rig) {
		space := r.space("work").ID
		s := r.owner.In(space)
		r.l.Upkeep.FeedKept = time.Nanosecond
		r.must(r.l.PutCursor(background, s, "slow", 0))
		stop := make(chan struct{})
		var writer, others sync.WaitGroup
		writer.Go(func() {
			for range 30 {
				err := r.store.Update(background, []dhruva.Scope{s}, func(tx dhruva.Tx) error {
					for range 5 {
						if _, err := tx.AppendChange(space, dhruva.Change{Kind: dhruva.ChangeCheckpoint, Ref: "x", At: r.clock()}); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
		until := func(fn func()) {
			others.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						fn()
					}
				}
			})
		}
		until(func() {
			if _, err := r.l.KeepFeed(background, s, map[dhruva.NodeID]bool{"slow": true}); err != nil {
				t.Error(err)
			}
		})
		rebuilt := 0
		var at, put int64
		until(func() {
			for c, err := range r.store.Changes(background, s, at) {
				if errors.Is(err, dhruva.ErrCompacted) {
					rebuilt++
					if err := r.store.View(background, s, func(tx dhruva.Tx) error {
						e, err := tx.Epoch(space)
						at = e.Head
						return err
					}); err != nil {
						t.Error(err)
					}
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if c.Seq != at+1 {
					t.Errorf("change %d after %d", c.Seq, at)
				}
				at = c.Seq
			}
		})
		until(func() { // one that says how far it is loses nothing
			for c, err := range r.store.Changes(background, s, put) {
				if err != nil {
					t.Errorf("compacted before its cursor had passed: %v", err)
					return
				}
				if err := r.l.PutCursor(background, s, "slow", c.Seq); err != nil {
					t.Error(err)
					return
				}
				put = c.Seq
			}
		})
		writer.Wait()
		close(stop)
		others.Wait()
		t.Logf("told %d times that it came too late; the slow one is at %d of %d", rebuilt, put, r.epoch(space).Head)
	})
}
