package recall

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
)

var rigScope = dhruva.SpaceScope(rigTenant, rigSpace)

// compact takes the feed away up to its head.
func (r *rig) compact() {
	r.t.Helper()
	r.update(rigScope, func(tx dhruva.Tx) error {
		e, err := tx.Epoch(rigSpace)
		if err != nil {
			return err
		}
		return tx.CompactChanges(rigSpace, e.Head)
	})
}

// drop takes a source away, and says so or not.
func (r *rig) drop(id dhruva.SourceID) {
	r.t.Helper()
	r.update(rigScope, func(tx dhruva.Tx) error {
		return errors.Join(tx.DropSource(rigSpace, 1, id), announce(tx, dhruva.Change{Kind: dhruva.ChangeSourceGone, Ref: string(id), At: r.now}))
	})
}

// wantSame compares what the engine answers with what one answers that knows
// nothing but the rows.
func (r *rig) wantSame(queries ...string) {
	r.t.Helper()
	fresh := NewEngine(r.store, r.keys)
	fresh.Now = r.e.Now
	for _, q := range queries {
		ask := Ask{Space: rigSpace, Text: q, TopK: 50}
		got, err := r.e.Recall(r.ctx(), ask)
		if err != nil {
			r.t.Fatal(err)
		}
		want, err := fresh.Recall(r.ctx(), ask)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range [][]dhruva.Evidence{got.Evidence, want.Evidence} {
			for i := range e {
				e[i].Token = "" // sealed anew each time
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			r.t.Errorf("%q: (-fresh +followed)\n%s", q, d)
		}
	}
}

// M59: an index that fell behind a compaction rebuilds from the rows, and then
// follows again.
func TestM59_BehindACompaction(t *testing.T) {
	r := newRig(t)
	gone := r.user("The dog is called Biscuit and hates cats.")
	r.user("The cat is called Miso.")
	r.recall("cat") // from here on the engine follows
	r.drop(gone)
	r.user("The canary is called Pim and hates the cat.")
	r.compact()
	r.wantSame("what is the cat called?", "Biscuit", "Pim")
	if got := r.recall("Biscuit"); len(got.Evidence) != 0 {
		t.Errorf("what is gone is recalled: %+v", got.Evidence)
	}
	r.user("The cat sleeps in the kitchen.")
	r.wantSame("where does the cat sleep?")
	if got := r.e.Followed(); len(got) != 1 || got[0].Seq != 5 {
		t.Errorf("%+v", got)
	}
}

// The same while others write, compact and ask.
func TestM59_CompactionsWhileOthersWrite(t *testing.T) {
	r := newRig(t)
	r.user("The first crate stands in hall zero.")
	r.recall("crate")
	var wg sync.WaitGroup
	write := func(fn func(i int)) {
		wg.Go(func() {
			for i := range 60 {
				fn(i)
			}
		})
	}
	var mu sync.Mutex // say counts turns without a lock
	var said []dhruva.SourceID
	write(func(i int) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, r.user(fmt.Sprintf("Crate number %d stands in hall %d.", i, i%7)))
	})
	write(func(i int) {
		mu.Lock()
		defer mu.Unlock()
		if n := len(said); n > 0 && i%3 == 0 {
			r.drop(said[n/2])
			said = append(said[:n/2], said[n/2+1:]...)
		}
	})
	write(func(int) { r.compact() })
	for range 2 {
		write(func(i int) {
			if _, err := r.e.Recall(r.ctx(), Ask{Space: rigSpace, Text: fmt.Sprintf("crate in hall %d", i%7), TopK: 8}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r.wantSame("crate in hall 3", "which crate number stands in hall 5?", "first crate")
}

func TestFollowedTellsOnlyOfIndexesThatThereAre(t *testing.T) {
	r := newRig(t)
	r.user("The cat is called Miso.")
	follow := func() {
		t.Helper()
		if err := r.e.Follow(context.Background(), rigScope); err != nil {
			t.Fatal(err)
		}
	}
	follow() // a space that is not held is not taken up
	if got := r.e.Followed(); len(got) != 0 {
		t.Errorf("before the first recall: %+v", got)
	}
	r.recall("cat")
	r.user("The dog is called Biscuit.")
	want := []Progress{{rigScope, 1}}
	if d := cmp.Diff(want, r.e.Followed(), cmp.Comparer(func(a, b dhruva.Scope) bool { return a == b })); d != "" {
		t.Error(d)
	}
	follow()
	if got := r.e.Followed(); len(got) != 1 || got[0].Seq != 2 {
		t.Errorf("after following: %+v", got)
	}
	r.update(dhruva.TenantScope(rigTenant), func(tx dhruva.Tx) error {
		s, err := tx.Space(rigSpace)
		s.DeletedAt = r.now
		return errors.Join(err, tx.PutSpace(s))
	})
	follow()
	if got := r.e.Followed(); len(got) != 0 {
		t.Errorf("of a space that is gone: %+v", got)
	}
}

// An index that was given up half-way is none, and the next recall builds it.
func TestARebuildThatFailsLeavesNoIndex(t *testing.T) {
	r := newRig(t)
	r.user("The cat is called Miso.")
	r.recall("cat")
	r.user("The dog is called Biscuit.")
	r.compact()
	ctx, cancel := context.WithCancel(r.ctx())
	whole := r.e.Store
	r.e.Store = cutting{whole, cancel}
	if _, err := r.e.Recall(ctx, Ask{Space: rigSpace, Text: "dog", TopK: 8}); !errors.Is(err, dhruva.ErrUnavailable) {
		t.Fatalf("%v", err)
	}
	if got := r.e.Followed(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	r.e.Store = whole
	r.wantSame("dog", "cat")
}

// cutting is a store whose reader gives up in the middle of the rows.
type cutting struct {
	dhruva.Store
	cut func()
}

func (c cutting) View(ctx context.Context, s dhruva.Scope, fn func(dhruva.Tx) error) error {
	return c.Store.View(ctx, s, func(tx dhruva.Tx) error { return fn(cutTx{tx, c.cut}) })
}

type cutTx struct {
	dhruva.Tx
	cut func()
}

func (c cutTx) ListSources(dhruva.SourceQuery) ([]dhruva.Source, error) {
	c.cut()
	return nil, context.Canceled
}
