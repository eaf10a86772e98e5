package storetest

import (
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// replayCases are about the conversation ledger.
var replayCases = []testCase{
	{"Replays", testReplays},
	{"ReplaysOf", testReplaysOf},
	{"ReplacedReplay", testReplacedReplay},
	{"ReplayKeysAreSorted", testReplayKeys},
}

func replay(id string, created int, keys []string, sources ...string) dhruva.Replay {
	r := dhruva.Replay{Tenant: "t1", Space: "a", ID: dhruva.ReplayID(id), Dialect: dhruva.DialectChat, CreatedAt: at(created)}
	for _, k := range keys {
		r.Keys = append(r.Keys, digest(k))
	}
	for _, s := range sources {
		r.Evidence = append(r.Evidence, dhruva.Span{Source: dhruva.SourceID(s)})
	}
	return r
}

func replayName(r dhruva.Replay) string { return string(r.ID) }

// testReplays: the newest first, whatever else an entry has.
func testReplays(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		messages := replay("m", 9, []string{"k"})
		messages.Dialect = dhruva.DialectMessages
		for _, r := range []dhruva.Replay{replay("x", 2, []string{"k"}), replay("X", 2, []string{"k", "l"}), replay("y", 1, []string{"l", "k"}),
			replay("z", 3, []string{"l"}), replay("none", 4, nil), messages} {
			f.must(tx.PutReplay(r))
		}
	})
	list := func(key string, limit int, want ...string) {
		f.Helper()
		f.read(tenant, func(tx dhruva.Tx) {
			rows, err := tx.Replays("a", dhruva.DialectChat, digest(key), limit)
			names(f, rows, err, replayName, want...)
		})
	}
	list("k", 9, "x", "X", "y")
	list("k", 2, "x", "X")
	list("k", 0)
	list("k", -1)
	list("l", 9, "z", "X", "y")
	list("m", 9)
	f.read(tenant, func(tx dhruva.Tx) {
		rows, err := tx.Replays("a", dhruva.DialectMessages, digest("k"), 9)
		names(f, rows, err, replayName, "m")
		rows, err = tx.Replays("b", dhruva.DialectChat, digest("k"), 9)
		empty(f, rows, err)
		rows, err = tx.Replays("a", "\xff", digest("k"), 9)
		empty(f, rows, err)
	})
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.DropReplay("a", "x"))
		f.must(tx.DropReplay("a", "x"))
		f.must(tx.DropReplay("a", "never"))
	})
	list("k", 9, "X", "y")
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Replay("a", "x")
		missing(f, got, err)
	})
}

func testReplaysOf(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		for n, id := range slices.Backward(awkward()) {
			f.must(tx.PutReplay(replay(id, n, nil, "s", "other", "s"))) // a source twice
		}
		f.must(tx.PutReplay(replay("S", 1, nil, "S")))
	})
	of := func(source dhruva.SourceID) lister {
		return func(tx dhruva.Tx, p dhruva.Page) ([]string, error) {
			ids, err := tx.ReplaysOf("a", source, p)
			return keys(ids, func(id dhruva.ReplayID) string { return string(id) }), err
		}
	}
	f.pages(tenant, awkward(), of("s"))
	f.pages(spaceA, awkward(), of("other"))
	f.pages(spaceA, []string{"S"}, of("S"))
	f.pages(spaceA, nil, of("never"))
}

// testReplacedReplay: what an entry was found by before finds it no longer.
func testReplacedReplay(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.PutReplay(replay("x", 1, []string{"k", "l"}, "s", "t"))) })
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.PutReplay(replay("x", 2, []string{"l", "m"}, "t", "u"))) })
	f.read(spaceA, func(tx dhruva.Tx) {
		for key, n := range map[string]int{"k": 0, "l": 1, "m": 1} {
			rows, err := tx.Replays("a", dhruva.DialectChat, digest(key), 9)
			same(f, len(rows), err, n)
		}
		for source, n := range map[dhruva.SourceID]int{"s": 0, "t": 1, "u": 1} {
			rows, err := tx.ReplaysOf("a", source, dhruva.Page{})
			same(f, len(rows), err, n)
		}
	})
}

func testReplayKeys(f *fixture) {
	row := replay("x", 1, []string{"c", "a", "b", "a", "c"}, "z", "y", "z")
	same(f, row.Canonical().Rows(), nil, 1+3+3)
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.PutReplay(row)) })
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Replay("a", "x")
		same(f, got, err, row.Canonical())
		same(f, len(got.Keys), nil, 3)
		rows, err := tx.Replays("a", dhruva.DialectChat, digest("a"), 9)
		same(f, rows, err, []dhruva.Replay{row.Canonical()})
	})
}
