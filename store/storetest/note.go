package storetest

import (
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// noteCases are about notes.
var noteCases = []testCase{
	{"ListNotes", testListNotes},
	{"RedactNote", testRedactNote},
}

func note(s dhruva.Scope, id string, on string, seconds int) dhruva.Note {
	return dhruva.Note{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.NoteID(id), Checkpoint: digest(on), Kind: dhruva.NotePlain, Text: "text " + id,
		CreatedAt: at(seconds)}
}

func noteName(n dhruva.Note) string { return string(n.ID) }

func testListNotes(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for n, id := range []string{"c", "b", "a", "B", "d"} {
			f.must(tx.PutNote(note(spaceA, id, []string{"x", "y"}[n%2], n/3)))
		}
		f.must(tx.PutNote(note(spaceB, "e", "x", 1)))
		f.is(tx.PutNote(note(spaceB, "a", "x", 1)), dhruva.ErrConflict) // an id is the tenant's
	})
	list := func(scope dhruva.Scope, q dhruva.NoteQuery, want ...string) {
		f.Helper()
		f.read(scope, func(tx dhruva.Tx) {
			rows, err := tx.ListNotes(q)
			names(f, rows, err, noteName, want...)
		})
	}
	page := func(after string, limit int) dhruva.Page { return dhruva.Page{After: after, Limit: limit} }
	list(spaceA, dhruva.NoteQuery{Space: "a"}, "a", "b", "c", "B", "d")
	list(spaceA, dhruva.NoteQuery{Space: "b"})
	list(tenant, dhruva.NoteQuery{})
	list(tenant, dhruva.NoteQuery{Space: "b"}, "e")
	list(spaceA, dhruva.NoteQuery{Space: "a", Checkpoint: digest("x")}, "a", "c", "d")
	list(spaceA, dhruva.NoteQuery{Space: "a", Checkpoint: digest("y")}, "b", "B")
	list(spaceA, dhruva.NoteQuery{Space: "a", Checkpoint: digest("z")})
	list(spaceA, dhruva.NoteQuery{Space: "a", Page: page("b", 2)}, "c", "B")
	list(spaceA, dhruva.NoteQuery{Space: "a", Checkpoint: digest("x"), Page: page("B", 1)}, "d")
	list(spaceA, dhruva.NoteQuery{Space: "a", Page: page("e", 0)}) // one that is not covered
	list(tenant, dhruva.NoteQuery{Space: "a", Page: page("e", 0)})
	list(spaceA, dhruva.NoteQuery{Space: "a", Page: page("never", 0)})
	f.write(tenant, func(tx dhruva.Tx) { f.must(tx.PutNote(note(spaceB, "0", "x", -5))) })
	list(tenant, dhruva.NoteQuery{Space: "a", Page: page("0", 0)}, "a", "b", "c", "B", "d") // a place in time, whatever space it is in
}

// testRedactNote: the text goes for good, the rest stays.
func testRedactNote(f *fixture) {
	row, other := note(spaceA, "n", "x", 1), note(spaceA, "o", "x", 2)
	redact := func(s dhruva.SpaceID) func(dhruva.Tx) error {
		return func(tx dhruva.Tx) error { return tx.RedactNote(s, "n") }
	}
	look := func(want ...dhruva.Note) {
		f.Helper()
		f.read(spaceA, func(tx dhruva.Tx) {
			rows, err := tx.ListNotes(dhruva.NoteQuery{Space: "a"})
			same(f, rows, err, want)
		})
	}
	f.write(spaceA, func(tx dhruva.Tx) {
		f.is(tx.RedactNote("a", "n"), dhruva.ErrNotFound)
		f.must(tx.PutNote(row))
		f.must(tx.PutNote(other))
	})
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
		f.must(redact("a")(tx))
		return errRollback
	}), errRollback)
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceB}, redact("a")), dhruva.ErrDenied)
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceB}, redact("b")), dhruva.ErrNotFound) // it is elsewhere
	f.is(f.Update(f.ctx, []dhruva.Scope{tenant}, redact("b")), dhruva.ErrNotFound)
	look(row, other)
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.RedactNote("a", "n"))
		f.must(tx.RedactNote("a", "n")) // again
		f.is(tx.PutNote(row), dhruva.ErrConflict)
	})
	row.Text, row.Redacted = "", true
	look(row, other)
	f.write(spaceB, func(tx dhruva.Tx) { // more than a page of them
		for n := range 150 {
			f.must(tx.PutNote(note(spaceB, fmt.Sprintf("%03d", n), "x", 0)))
		}
		rows, err := tx.ListNotes(dhruva.NoteQuery{Space: "b"})
		same(f, len(rows), err, 100)
	})
}
