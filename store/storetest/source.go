package storetest

import (
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// sourceCases are about sources and what is said of them.
var sourceCases = []testCase{
	{"Source", testSource},
	{"Reference", testReference},
	{"Drop", testDrop},
	{"ListTombstones", testListTombstones},
}

func testSource(f *fixture) {
	row := fullSource()
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Source("a", 2, "source")
		missing(f, got, err)
		f.must(tx.PutSource(row))
		row.State, row.MAC = dhruva.SourceReady, nil
		f.must(tx.PutSource(row))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Source("a", 2, "source")
		same(f, got, err, row)
		got, err = tx.Source("a", 1, "source")
		missing(f, got, err)
		n, err := tx.CountSources("a", 2)
		same(f, n, err, 1)
		n, err = tx.CountSources("a", 3)
		same(f, n, err, 0)
	})
}

func testReference(f *fixture) {
	first := fullReference()
	second := dhruva.Reference{Space: "a", Generation: 2, Source: "source", Session: "s", Seq: 4}
	item := dhruva.Reference{Space: "a", Generation: 2, Source: "source", Checkpoint: digest("c"), Item: "i"}
	elsewhere := dhruva.Reference{Space: "a", Generation: 2, Source: "Source", Session: "s", Seq: 5}
	f.write(spaceA, func(tx dhruva.Tx) {
		for _, r := range []dhruva.Reference{first, second, first, elsewhere, item, second} {
			f.must(tx.AddReference(r))
		}
	})
	f.read(tenant, func(tx dhruva.Tx) {
		rows, err := tx.References("a", 2, "source")
		same(f, rows, err, []dhruva.Reference{first, second, item})
		rows, err = tx.References("a", 1, "source")
		empty(f, rows, err)
		ids, err := tx.SourcesOfTurn("a", 2, "s", 5)
		same(f, ids, err, []dhruva.SourceID{"Source", "source"})
		ids, err = tx.SourcesOfTurn("a", 2, "", 0)
		empty(f, ids, err)
		ids, err = tx.SourcesOfTurn("a", 1, "s", 5)
		empty(f, ids, err)
	})
}

// testDrop: a reference goes in both directions, a source with all of them, and
// neither takes more.
func testDrop(f *fixture) {
	ref := func(source, session string, seq int64) dhruva.Reference {
		return dhruva.Reference{Space: "a", Generation: 1, Source: dhruva.SourceID(source), Session: dhruva.SessionID(session), Seq: seq}
	}
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.DropReference(ref("x", "s", 1))) // absent
		f.must(tx.DropSource("a", 1, "x"))
		for _, id := range []string{"x", "y"} {
			f.must(tx.PutSource(source(spaceA, id)))
			for seq := range int64(3) {
				f.must(tx.AddReference(ref(id, "s", seq)))
			}
		}
		f.must(tx.DropReference(ref("x", "s", 1)))
		f.must(tx.DropReference(ref("x", "s", 9)))
		f.must(tx.AddReference(ref("x", "s", 1))) // again: now the last
	})
	look := func(xs, ys []dhruva.Reference, one ...dhruva.SourceID) {
		f.Helper()
		f.read(tenant, func(tx dhruva.Tx) {
			rows, err := tx.References("a", 1, "x")
			same(f, rows, err, xs)
			rows, err = tx.References("a", 1, "y")
			same(f, rows, err, ys)
			ids, err := tx.SourcesOfTurn("a", 1, "s", 1)
			same(f, ids, err, one)
		})
	}
	xs := []dhruva.Reference{ref("x", "s", 0), ref("x", "s", 2), ref("x", "s", 1)}
	ys := []dhruva.Reference{ref("y", "s", 0), ref("y", "s", 1), ref("y", "s", 2)}
	look(xs, ys, "x", "y")
	drop := func(tx dhruva.Tx) error { return tx.DropSource("a", 1, "x") }
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
		f.must(drop(tx))
		return errRollback
	}), errRollback)
	look(xs, ys, "x", "y")
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceB}, drop), dhruva.ErrDenied)
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceB}, func(tx dhruva.Tx) error { return tx.DropReference(xs[0]) }), dhruva.ErrDenied)
	f.is(f.View(f.ctx, spaceA, drop), dhruva.ErrDenied)
	f.must(f.Update(f.ctx, []dhruva.Scope{tenant}, drop))
	look(nil, ys, "y")
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Source("a", 1, "x")
		missing(f, got, err)
		n, err := tx.CountSources("a", 1)
		same(f, n, err, 1)
	})
}

func testListTombstones(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		for _, id := range slices.Backward(awkward()) {
			f.must(tx.PutTombstone(dhruva.Tombstone{Space: "a", Generation: 2, Source: dhruva.SourceID(id), State: id}))
		}
		f.must(tx.PutTombstone(dhruva.Tombstone{Space: "a", Generation: 3, Source: "later"}))
	})
	f.pages(tenant, awkward(), func(tx dhruva.Tx, p dhruva.Page) ([]string, error) {
		rows, err := tx.ListTombstones("a", 2, p)
		return keys(rows, func(t dhruva.Tombstone) string { return string(t.Source) }), err
	})
	f.read(tenant, func(tx dhruva.Tx) {
		for space, generation := range map[dhruva.SpaceID]int64{"a": 1, "b": 2, "": 2} {
			rows, err := tx.ListTombstones(space, generation, dhruva.Page{})
			empty(f, rows, err)
		}
		rows, err := tx.ListTombstones("a", 3, dhruva.Page{})
		same(f, rows, err, []dhruva.Tombstone{{Space: "a", Generation: 3, Source: "later"}})
	})
}
