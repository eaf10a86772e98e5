package storetest

import (
	"github.com/dhruva-memory/dhruva"
)

// turnCases are about turns.
var turnCases = []testCase{
	{"Turn", testTurn},
	{"TurnsFollowTheirSession", testTurnsFollow},
	{"RedactTurn", testRedactTurn},
	{"Seams", testSeams},
	{"SeamsFollowTheirSession", testSeamsFollow},
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

// testSeams: each reason alone, and none.
func testSeams(f *fixture) {
	with := func(seq int64, change func(*dhruva.Turn)) dhruva.Turn {
		row := turn(spaceA, "s", seq)
		change(&row)
		return row
	}
	rows := []dhruva.Turn{
		with(1, func(*dhruva.Turn) {}),
		with(2, func(t *dhruva.Turn) { t.Role = dhruva.RoleAssistant }),
		with(3, func(t *dhruva.Turn) { t.Parent = 1 }),
		with(4, func(t *dhruva.Turn) { t.BeganAfter = 2 }), // just in time
		with(5, func(t *dhruva.Turn) { t.BeganAfter = 2 }),
		with(6, func(t *dhruva.Turn) { t.Role = dhruva.RoleTool }),
		with(7, func(t *dhruva.Turn) { t.Role = "" }),
		with(8, func(t *dhruva.Turn) { t.Role = "User" }),
		with(9, func(t *dhruva.Turn) { t.Redacted = true }),
		with(10, func(t *dhruva.Turn) { t.Interim, t.Truncated, t.Backfill, t.Speaker = true, true, true, "x" }),
		with(11, func(t *dhruva.Turn) { t.Parent = 12 }),
		with(12, func(t *dhruva.Turn) { t.BeganAfter = -5 }),
		with(13, func(*dhruva.Turn) {}),
	}
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.PutSession(session(spaceA, "s", at(1))))
		for _, row := range rows {
			f.must(tx.AppendTurn(row))
		}
		f.must(tx.AppendTurn(with(14, func(t *dhruva.Turn) { t.Session, t.Parent = "S", 1 })))
	})
	look := func(scope dhruva.Scope, after, through int64, want ...int64) {
		f.Helper()
		var seams []dhruva.Seam
		for _, seq := range want {
			t := rows[seq-1]
			seams = append(seams, dhruva.Seam{Seq: t.Seq, Parent: t.Parent, BeganAfter: t.BeganAfter, Role: t.Role, Redacted: t.Redacted})
		}
		f.read(scope, func(tx dhruva.Tx) {
			got, err := tx.Seams("s", after, through)
			same(f, got, err, seams)
		})
	}
	look(spaceA, 0, 0, 3, 5, 6, 7, 8, 9, 11, 12)
	look(tenant, 3, 9, 5, 6, 7, 8, 9)
	look(spaceA, -9, 5, 3, 5)
	look(spaceA, 9, 3)
	look(spaceA, 0, -1)
	look(spaceA, 12, 0)
	look(spaceB, 0, 0)
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.RedactTurn("s", 13)) })
	rows[12].Redacted = true
	look(spaceA, 12, 0, 13)
}

// testSeamsFollow: seams are where their turns are.
func testSeamsFollow(f *fixture) {
	odd := func(s dhruva.Scope, seq int64) dhruva.Turn {
		row := turn(s, "s", seq)
		row.Role = dhruva.RoleOther
		return row
	}
	f.write(tenant, func(tx dhruva.Tx) { // without a session they are where they were written
		f.must(tx.AppendTurn(odd(spaceA, 1)))
		f.must(tx.AppendTurn(odd(spaceB, 2)))
	})
	look := func(scope dhruva.Scope, want ...int64) {
		f.Helper()
		f.read(scope, func(tx dhruva.Tx) {
			seams, err := tx.Seams("s", 0, 0)
			var got []int64
			for _, s := range seams {
				got = append(got, s.Seq)
			}
			same(f, got, err, want)
		})
	}
	look(spaceA, 1)
	look(spaceB, 2)
	look(tenant, 1, 2)
	f.write(tenant, func(tx dhruva.Tx) { f.must(tx.PutSession(session(spaceB, "s", at(1)))) })
	look(spaceA)
	look(spaceB, 1, 2)
}
