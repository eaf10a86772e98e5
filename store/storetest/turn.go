package storetest

import (
	"github.com/dhruva-memory/dhruva"
)

// turnCases are about turns.
var turnCases = []testCase{
	{"Turn", testTurn},
	{"TurnsFollowTheirSession", testTurnsFollow},
	{"RedactTurn", testRedactTurn},
}

func testTurn(f *fixture) {
	row := fullTurn()
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Turn("s", 5)
		missing(f, got, err)
		f.must(tx.AppendTurn(row))
		got, err = tx.Turn("s", 5)
		same(f, got, err, row)
		again := row
		again.Content = "another"
		f.is(tx.AppendTurn(again), dhruva.ErrConflict)
		got, err = tx.Turn("s", 5)
		same(f, got, err, row)
		f.must(tx.AppendTurn(turn(spaceA, "s", 6))) // a conflict does not spoil the rest
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		rows, err := tx.ListTurns(dhruva.TurnQuery{Session: "s"})
		same(f, rows, err, []dhruva.Turn{row, turn(spaceA, "s", 6)})
	})
}

// testTurnsFollow: a session that moves takes its turns along.
func testTurnsFollow(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.PutSession(session(spaceA, "s", at(1))))
		f.must(tx.AppendTurn(turn(spaceA, "s", 1)))
	})
	move := func(tx dhruva.Tx) error { return tx.PutSession(session(spaceB, "s", at(2))) }
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceB}, move), dhruva.ErrDenied)
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, move), dhruva.ErrDenied)
	f.must(f.Update(f.ctx, []dhruva.Scope{spaceB, spaceA}, move))
	moved := turn(spaceB, "s", 1)
	f.write(spaceB, func(tx dhruva.Tx) {
		got, err := tx.Turn("s", 1)
		same(f, got, err, moved)
		f.must(tx.AppendTurn(turn(spaceB, "s", 2)))
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Turn("s", 1)
		missing(f, got, err)
		rows, err := tx.ListTurns(dhruva.TurnQuery{Session: "s"})
		empty(f, rows, err)
	})
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
		return tx.AppendTurn(turn(spaceA, "s", 3))
	}), dhruva.ErrDenied)
}

// testRedactTurn: the text goes for good, the rest stays, wherever the session
// has moved.
func testRedactTurn(f *fixture) {
	row, next := fullTurn(), turn(spaceA, "s", 6)
	row.Redacted = false
	f.write(spaceA, func(tx dhruva.Tx) {
		f.is(tx.RedactTurn("s", 5), dhruva.ErrNotFound)
		f.must(tx.AppendTurn(row))
		f.must(tx.AppendTurn(next))
	})
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
		f.must(tx.RedactTurn("s", 5))
		got, err := tx.Turn("s", 5)
		same(f, got.Content, err, "")
		return errRollback
	}), errRollback)
	look := func(scope dhruva.Scope, want ...dhruva.Turn) {
		f.Helper()
		f.read(scope, func(tx dhruva.Tx) {
			rows, err := tx.ListTurns(dhruva.TurnQuery{Session: "s"})
			same(f, rows, err, want)
		})
	}
	look(spaceA, row, next)
	row.Content, row.Redacted = "", true
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.RedactTurn("s", 5))
		f.must(tx.RedactTurn("s", 5)) // again
		f.is(tx.AppendTurn(fullTurn()), dhruva.ErrConflict)
	})
	look(spaceA, row, next)
	f.must(f.Update(f.ctx, []dhruva.Scope{spaceA, spaceB}, func(tx dhruva.Tx) error {
		return tx.PutSession(session(spaceB, "s", at(1)))
	}))
	redact := func(tx dhruva.Tx) error { return tx.RedactTurn("s", 6) }
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, redact), dhruva.ErrDenied) // it has moved away
	f.must(f.Update(f.ctx, []dhruva.Scope{spaceB}, redact))
	row.Space, next.Space, next.Content, next.Redacted = "b", "b", "", true
	look(spaceB, row, next)
}
