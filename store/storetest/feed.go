package storetest

import (
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// feedCases are about the changes of a space.
var feedCases = []testCase{
	{"Changes", testChanges},
	{"FullChange", testFullChange},
	{"CompactChanges", testCompact},
	{"CompactionInOneUpdate", testCompactAndAppend},
	{"CompactionIsAWrite", testCompactionRows},
	{"CompactionOvertakes", testCompactionOvertakes},
}

func testChanges(f *fixture) {
	if got := f.feed(spaceA, 0); len(got) != 0 {
		f.Errorf("feed of nothing: %v", got)
	}
	var want []dhruva.Change
	for range 3 {
		f.write(tenant, func(tx dhruva.Tx) {
			for n := range 400 {
				c := dhruva.Change{Kind: dhruva.ChangeSource, Ref: fmt.Sprint("r", n), At: at(n)}
				seq, err := tx.AppendChange("a", c)
				c.Seq = int64(len(want) + 1)
				same(f, seq, err, c.Seq)
				want = append(want, c)
			}
			_, err := tx.AppendChange("b", dhruva.Change{Kind: dhruva.ChangeGeneration})
			f.must(err)
		})
	}
	same(f, f.feed(spaceA, 0), nil, want)
	same(f, f.feed(spaceA, -3), nil, want)
	same(f, f.feed(spaceA, 1150), nil, want[1150:])
	same(f, f.feed(spaceA, 1200), nil, nil)
	same(f, f.feed(spaceA, 5000), nil, nil)
	same(f, len(f.feed(spaceB, 0)), nil, 3)
	same(f, len(f.feed(dhruva.SpaceScope("t2", "a"), 0)), nil, 0)
	all := f.Changes(f.ctx, spaceA, 0)
	for range 2 { // leaving early, and again
		for c, err := range all {
			f.must(err)
			f.write(spaceA, func(dhruva.Tx) {}) // a consumer may use the store
			if c.Seq == 3 {
				break
			}
		}
	}
	for _, scope := range []dhruva.Scope{system, tenant} {
		for _, err := range f.Changes(f.ctx, scope, 0) {
			f.is(err, dhruva.ErrInvalid)
		}
	}
}

func testFullChange(f *fixture) {
	want := fullChange()
	f.write(spaceA, func(tx dhruva.Tx) {
		c := want
		c.At = c.At.Add(999)
		_, err := tx.AppendChange("a", c)
		f.must(err)
		_, err = tx.AppendChange("a", dhruva.Change{})
		f.must(err)
	})
	same(f, f.feed(spaceA, 0), nil, []dhruva.Change{want, {Seq: 2}})
}

// append puts n changes into space a.
func (f *fixture) appendChanges(n int) {
	f.Helper()
	f.write(spaceA, func(tx dhruva.Tx) {
		for range n {
			_, err := tx.AppendChange("a", fullChange())
			f.must(err)
		}
	})
}

// refusedFeed wants the feed after a number to be compacted.
func (f *fixture) refusedFeed(after int64) {
	f.Helper()
	n := 0
	for c, err := range f.Changes(f.ctx, spaceA, after) {
		n++
		if f.is(err, dhruva.ErrCompacted); n > 1 || c != (dhruva.Change{}) {
			f.Errorf("after %d: %+v, %v", after, c, err)
		}
	}
	same(f, n, nil, 1)
}

// holdsFeed wants the feed to hold exactly the numbers after tail up to head.
func (f *fixture) holdsFeed(tail, head int64) {
	f.Helper()
	f.read(spaceA, func(tx dhruva.Tx) {
		e, err := tx.Epoch("a")
		same(f, []int64{e.Tail, e.Head}, err, []int64{tail, head})
	})
	for after := tail; after <= head+1; after++ {
		var want, got []int64
		for n := after + 1; n <= head; n++ {
			want = append(want, n)
		}
		for _, c := range f.feed(spaceA, after) {
			got = append(got, c.Seq)
		}
		same(f, got, nil, want)
	}
	if tail > 0 {
		for _, after := range []int64{-7, 0, tail - 1} {
			f.refusedFeed(after)
		}
	}
}

func (f *fixture) compact(through int64) {
	f.Helper()
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.CompactChanges("a", through)) })
}

// testCompact: what is gone is gone, what is left keeps its number.
func testCompact(f *fixture) {
	f.compact(0) // of nothing
	f.compact(-3)
	f.holdsFeed(0, 0)
	f.appendChanges(9)
	f.compact(4)
	f.holdsFeed(4, 9)
	f.compact(4)
	f.compact(1)
	f.holdsFeed(4, 9)
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error { return tx.CompactChanges("a", 10) }), dhruva.ErrInvalid)
	f.is(f.Update(f.ctx, []dhruva.Scope{tenant}, func(tx dhruva.Tx) error {
		f.must(tx.CompactChanges("a", 8))
		return errRollback
	}), errRollback)
	f.holdsFeed(4, 9)
	f.write(tenant, func(tx dhruva.Tx) { // an epoch that is put leaves both ends
		f.must(tx.PutEpoch(dhruva.Epoch{Space: "a", Generation: 2, Head: 77, Tail: 66}))
	})
	f.holdsFeed(4, 9)
	f.compact(9) // all of it
	f.holdsFeed(9, 9)
	f.appendChanges(2)
	f.holdsFeed(9, 11)
	f.write(spaceB, func(tx dhruva.Tx) { // another space's is untouched
		n, err := tx.AppendChange("b", fullChange())
		same(f, n, err, 1)
	})
	same(f, len(f.feed(spaceB, 0)), nil, 1)
}

func testCompactAndAppend(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		for want := range int64(6) {
			n, err := tx.AppendChange("a", fullChange())
			same(f, n, err, want+1)
			if want == 3 {
				f.must(tx.CompactChanges("a", 3))
				e, err := tx.Epoch("a")
				same(f, e, err, dhruva.Epoch{Space: "a", Generation: 1, Head: 4, Tail: 3})
			}
		}
	})
	f.holdsFeed(3, 6)
}

// testCompactionRows: it counts what it removes.
func testCompactionRows(f *fixture) {
	f.appendChanges(600)
	f.appendChanges(600)
	compact := func(through int64) error {
		return f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error { return tx.CompactChanges("a", through) })
	}
	f.is(compact(dhruva.MaxUpdateRows+1), dhruva.ErrTooLarge)
	f.must(compact(dhruva.MaxUpdateRows))
	f.must(compact(dhruva.MaxUpdateRows + 1))
	e := f.feed(spaceA, dhruva.MaxUpdateRows+1)
	same(f, len(e), nil, 199)
}

// testCompactionOvertakes: a consumer that is overtaken by a compaction sees no
// gap: either the rest, or ErrCompacted.
func testCompactionOvertakes(f *fixture) {
	for range 3 {
		f.appendChanges(900)
	}
	last, ended := int64(0), false
	for c, err := range f.Changes(f.ctx, spaceA, 0) {
		if err != nil {
			f.is(err, dhruva.ErrCompacted)
			ended = true
			continue
		}
		if c.Seq != last+1 || ended {
			f.Fatalf("change %d follows %d", c.Seq, last)
		}
		if last = c.Seq; last == 10 {
			for through := int64(900); through <= 2700; through += 900 {
				f.compact(through)
			}
		}
	}
	if !ended && last != 2700 {
		f.Errorf("the feed ended at %d without a word", last)
	}
}
