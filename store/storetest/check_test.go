package storetest_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

var (
	ctx   = context.Background()
	scope = dhruva.SpaceScope("t", "s")
	whole = dhruva.TenantScope("t")
)

// good fills a store so that no invariant is broken.
func good(tx dhruva.Tx) error {
	c := sealed(dhruva.Checkpoint{ID: "c", Items: []dhruva.Item{{ID: "i", Kind: dhruva.KindTitle, Text: "title"}}})
	d := sealed(dhruva.Checkpoint{ID: "d", Parents: []dhruva.Hash{c.Hash}})
	_, change := tx.AppendChange("s", dhruva.Change{Kind: dhruva.ChangeSource, Ref: "x"})
	return errors.Join(change,
		tx.PutSpace(dhruva.Space{Tenant: "t", ID: "s"}),
		tx.PutSession(dhruva.Session{Tenant: "t", Space: "s", ID: "a", LastSeq: 2}),
		tx.AppendTurn(dhruva.Turn{Tenant: "t", Space: "s", Session: "a", Seq: 1}),
		tx.AppendTurn(dhruva.Turn{Tenant: "t", Space: "s", Session: "a", Seq: 2, Parent: 1, BeganAfter: 1}),
		tx.PutCheckpoint(c), tx.PutCheckpoint(d),
		tx.SwapBranch(dhruva.Branch{Space: "s", Name: "main", Head: d.Hash}, dhruva.Hash{}),
		tx.PutSource(dhruva.Source{Tenant: "t", Space: "s", Generation: 1, ID: "x", State: dhruva.SourceReady}),
		tx.AddReference(dhruva.Reference{Space: "s", Generation: 1, Source: "x", Session: "a", Seq: 1}),
		tx.AddReference(dhruva.Reference{Space: "s", Generation: 1, Source: "x", Checkpoint: c.Hash, Item: "i"}))
}

func sealed(c dhruva.Checkpoint) dhruva.Checkpoint {
	c.Tenant, c.Space, c.Generation = "t", "s", 1
	for n := range c.Items {
		c.Items[n].Digest = dhruva.DigestItem(c.Items[n])
	}
	c.Hash = dhruva.HashCheckpoint(&c)
	return c
}

func session(last int64) dhruva.Session {
	return dhruva.Session{Tenant: "t", Space: "s", ID: "b", LastSeq: last}
}

func turn(seq, parent, began int64) dhruva.Turn {
	return dhruva.Turn{Tenant: "t", Space: "s", Session: "b", Seq: seq, Parent: parent, BeganAfter: began}
}

// TestCheckFinds breaks one invariant at a time.
func TestCheckFinds(t *testing.T) {
	forged := sealed(dhruva.Checkpoint{ID: "e", Author: "before"})
	forged.Author = "after"
	for name, c := range map[string]struct {
		want string
		bad  func(dhruva.Tx) error
	}{
		"nothing": {"", func(dhruva.Tx) error { return nil }},
		"a gap": {"turn 3 stands where 2", func(tx dhruva.Tx) error {
			return errors.Join(tx.PutSession(session(2)), tx.AppendTurn(turn(1, 0, 0)), tx.AppendTurn(turn(3, 1, 1)))
		}},
		"LastSeq": {"1 turns, LastSeq 2", func(tx dhruva.Tx) error { return errors.Join(tx.PutSession(session(2)), tx.AppendTurn(turn(1, 0, 0))) }},
		"parent":  {"has parent 1", func(tx dhruva.Tx) error { return errors.Join(tx.PutSession(session(1)), tx.AppendTurn(turn(1, 1, 0))) }},
		"began":   {"began after 1", func(tx dhruva.Tx) error { return errors.Join(tx.PutSession(session(1)), tx.AppendTurn(turn(1, 0, 1))) }},
		"forged":  {"does not match its hash", func(tx dhruva.Tx) error { return tx.PutCheckpoint(forged) }},
		"parent missing": {"parent ", func(tx dhruva.Tx) error {
			return tx.PutCheckpoint(sealed(dhruva.Checkpoint{ID: "e", Parents: []dhruva.Hash{{1}}}))
		}},
		"head missing": {`branch "x"`, func(tx dhruva.Tx) error {
			return tx.SwapBranch(dhruva.Branch{Space: "s", Name: "x", Head: dhruva.Hash{1}}, dhruva.Hash{})
		}},
		"turn missing": {"refers to session a, turn 9", func(tx dhruva.Tx) error {
			return tx.AddReference(dhruva.Reference{Space: "s", Generation: 1, Source: "x", Session: "a", Seq: 9})
		}},
		"source missing": {"referred to by source y", func(tx dhruva.Tx) error {
			return tx.AddReference(dhruva.Reference{Space: "s", Generation: 1, Source: "y", Session: "a", Seq: 1})
		}},
		"item missing": {`item "z": none`, func(tx dhruva.Tx) error {
			c, _ := tx.CheckpointByID("c")
			return tx.AddReference(dhruva.Reference{Space: "s", Generation: 1, Source: "x", Checkpoint: c.Hash, Item: "z"})
		}},
		"tombstone": {"ready beside a tombstone", func(tx dhruva.Tx) error {
			return tx.PutTombstone(dhruva.Tombstone{Space: "s", Generation: 1, Source: "x"})
		}},
		"below the fence": {"generation 1: 1 sources, fence 1", func(tx dhruva.Tx) error { return tx.PutEpoch(dhruva.Epoch{Space: "s", Generation: 2, Fence: 1}) }},
		"text below it":   {"has text below the fence 1", func(tx dhruva.Tx) error { return tx.PutEpoch(dhruva.Epoch{Space: "s", Generation: 2, Fence: 1}) }},
		"too new": {"generation 2: 1 sources", func(tx dhruva.Tx) error {
			return tx.PutSource(dhruva.Source{Tenant: "t", Space: "s", Generation: 2, ID: "n"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New()
			err := s.Update(ctx, []dhruva.Scope{scope}, func(tx dhruva.Tx) error { return errors.Join(good(tx), c.bad(tx)) })
			if err != nil {
				t.Fatal(err)
			}
			for _, sc := range []dhruva.Scope{scope, whole} {
				switch err := storetest.Check(ctx, s, sc); {
				case c.want == "" && err != nil:
					t.Error(err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("check of %s: %v, want %q", sc, err, c.want)
				}
			}
		})
	}
}

// shortFeed drops the second change.
type shortFeed struct{ dhruva.Store }

func (s shortFeed) Changes(ctx context.Context, sc dhruva.Scope, after int64) iter.Seq2[dhruva.Change, error] {
	return func(yield func(dhruva.Change, error) bool) {
		for c, err := range s.Store.Changes(ctx, sc, after) {
			if c.Seq != 2 && !yield(c, err) {
				return
			}
		}
	}
}

func TestCheckFindsAGapInTheFeed(t *testing.T) {
	for changes, want := range map[int]string{2: "feed ends at 1, the head is 2", 3: "change 3 follows 1"} {
		s := shortFeed{memstore.New()}
		err := s.Update(ctx, []dhruva.Scope{scope}, func(tx dhruva.Tx) (err error) {
			for range changes {
				_, change := tx.AppendChange("s", dhruva.Change{})
				err = errors.Join(err, change)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := storetest.Check(ctx, s, scope); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check: %v, want %q", err, want)
		}
	}
}

func TestFaultyAndRerun(t *testing.T) {
	put := func(s dhruva.Store, id string) error {
		return s.Update(ctx, []dhruva.Scope{scope}, func(tx dhruva.Tx) error {
			_, err := tx.AppendChange("s", dhruva.Change{Ref: id})
			return err
		})
	}
	for fault, want := range map[storetest.Fault]int{storetest.Lost: 2, storetest.Kept: 3} {
		s := storetest.NewFaulty(memstore.New(), fault, 2)
		for n := 1; n <= 3; n++ {
			if err := put(s, "x"); (n == 2) != errors.Is(err, dhruva.ErrUnavailable) {
				t.Errorf("fault %d, update %d: %v", fault, n, err)
			}
		}
		n := 0
		for range s.Changes(ctx, scope, 0) {
			n++
		}
		if n != want || s.Updates() != 3 {
			t.Errorf("fault %d: %d changes, want %d", fault, n, want)
		}
		own := errors.New("fn's own")
		s = storetest.NewFaulty(memstore.New(), fault, 1)
		if err := s.Update(ctx, []dhruva.Scope{scope}, func(dhruva.Tx) error { return own }); err != own {
			t.Errorf("fault %d: %v, want fn's own error", fault, err)
		}
	}
	runs := 0
	err := storetest.Rerun{Store: memstore.New()}.Update(ctx, []dhruva.Scope{scope}, func(dhruva.Tx) error { runs++; return nil })
	if err != nil || runs != 2 {
		t.Errorf("rerun: %d runs, %v", runs, err)
	}
}
