package storetest

import (
	"strconv"

	"github.com/dhruva-memory/dhruva"
)

// headMoveCases are about reflogs.
var headMoveCases = []testCase{
	{"HeadMoves", testHeadMoves},
	{"HeadMovesAtOnce", testHeadMovesAtOnce},
}

func move(s dhruva.Scope, seq int64, branch string) dhruva.HeadMove {
	return dhruva.HeadMove{Tenant: s.Tenant(), Space: s.Space(), Seq: seq, Branch: branch, To: digest(branch), Act: "commit", At: at(int(seq % 7))}
}

func moveName(m dhruva.HeadMove) string { return strconv.FormatInt(m.Seq, 10) }

// testHeadMoves: numbers are of one space, and of all of its branches.
func testHeadMoves(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for n, branch := range []string{"main", "Main", "main", "side", "main", "main "} {
			f.must(tx.AppendHeadMove(move(spaceA, int64(n+1), branch)))
		}
		f.must(tx.AppendHeadMove(move(spaceB, 1, "main")))
		again := move(spaceA, 4, "another")
		f.is(tx.AppendHeadMove(again), dhruva.ErrConflict)
		f.must(tx.AppendHeadMove(move(spaceA, 7, "main"))) // a conflict spoils nothing
	})
	list := func(q dhruva.HeadMoveQuery, want ...string) {
		f.Helper()
		f.read(spaceA, func(tx dhruva.Tx) {
			rows, err := tx.HeadMoves(q)
			names(f, rows, err, moveName, want...)
		})
	}
	list(dhruva.HeadMoveQuery{Space: "a"}, "7", "6", "5", "4", "3", "2", "1")
	list(dhruva.HeadMoveQuery{Space: "b"})
	list(dhruva.HeadMoveQuery{})
	list(dhruva.HeadMoveQuery{Space: "a", Branch: "main"}, "7", "5", "3", "1")
	list(dhruva.HeadMoveQuery{Space: "a", Branch: "main", Before: 5, Limit: 1}, "3")
	list(dhruva.HeadMoveQuery{Space: "a", Before: 3}, "2", "1")
	list(dhruva.HeadMoveQuery{Space: "a", Before: 1})
	list(dhruva.HeadMoveQuery{Space: "a", Before: -1})
	list(dhruva.HeadMoveQuery{Space: "a", Limit: 2}, "7", "6")
	list(dhruva.HeadMoveQuery{Space: "a", Branch: "none"})
	f.read(tenant, func(tx dhruva.Tx) {
		rows, err := tx.HeadMoves(dhruva.HeadMoveQuery{Space: "b"})
		same(f, rows, err, []dhruva.HeadMove{move(spaceB, 1, "main")})
	})
	f.write(spaceB, func(tx dhruva.Tx) { // 100 by default
		for n := range int64(110) {
			f.must(tx.AppendHeadMove(move(spaceB, n+2, "main")))
		}
		rows, err := tx.HeadMoves(dhruva.HeadMoveQuery{Space: "b"})
		same(f, len(rows), err, 100)
		rows, err = tx.HeadMoves(dhruva.HeadMoveQuery{Space: "b", Limit: 5000})
		same(f, len(rows), err, 111)
	})
}

// testHeadMovesAtOnce: of those who append the same number, one does.
func testHeadMovesAtOnce(f *fixture) {
	for round := range int64(5) {
		next := func(w int) dhruva.HeadMove {
			row := move(spaceA, round+1, "main")
			row.By = dhruva.PrincipalID(strconv.Itoa(w))
			return row
		}
		w := f.swapsAtOnce(func(tx dhruva.Tx, w int) error { return tx.AppendHeadMove(next(w)) })
		f.read(spaceA, func(tx dhruva.Tx) {
			rows, err := tx.HeadMoves(dhruva.HeadMoveQuery{Space: "a", Limit: 1})
			same(f, rows, err, []dhruva.HeadMove{next(w)})
		})
	}
}
