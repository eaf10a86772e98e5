package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// listCases are about order, filters and pages.
var listCases = []testCase{
	{"SpacesNamed", testSpacesNamed},
	{"ListSpaces", testListSpaces},
	{"ListSessions", testListSessions},
	{"SessionsWithEqualTimes", testSessionsWithEqualTimes},
	{"ListTurns", testListTurns},
	{"CheckpointsByPrefix", testCheckpointsByPrefix},
	{"ListCheckpoints", testListCheckpoints},
	{"ListBranches", testListBranches},
	{"ListSources", testListSources},
	{"ListReceipts", testListReceipts},
	{"ListKeys", testListKeys},
	{"Pages", testPages},
}

func spaceName(s dhruva.Space) string     { return string(s.ID) }
func sessionName(s dhruva.Session) string { return string(s.ID) }
func receiptName(r dhruva.Receipt) string { return string(r.ID) }
func sourceName(s dhruva.Source) string   { return string(s.ID) }

func testSpacesNamed(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for n, name := range awkward() {
			f.must(tx.PutSpace(dhruva.Space{Tenant: "t1", ID: dhruva.SpaceID(fmt.Sprintf("x%d", n)), Name: name, CreatedAt: at(n)}))
		}
		for _, s := range []dhruva.Space{
			{ID: "d", Name: "same", CreatedAt: at(2)}, {ID: "c", Name: "same", CreatedAt: at(1)},
			{ID: "b", Name: "same", CreatedAt: at(2)}, {ID: "e", Name: "same", DeletedAt: at(1)},
			{ID: "f", Name: "same", Home: true}, {ID: "g", Name: "sam"}, {ID: "h", Name: "Same"}, {ID: "i", Name: "same "},
		} {
			s.Tenant = "t1"
			f.must(tx.PutSpace(s))
		}
	})
	f.read(tenant, func(tx dhruva.Tx) {
		rows, err := tx.SpacesNamed("same")
		names(f, rows, err, spaceName, "c", "b", "d")
		for n, name := range awkward() {
			rows, err := tx.SpacesNamed(name)
			names(f, rows, err, spaceName, fmt.Sprintf("x%d", n))
		}
		rows, err = tx.SpacesNamed("nothing")
		empty(f, rows, err)
	})
}

func testListSpaces(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for _, id := range slices.Backward(awkward()) {
			f.must(tx.PutSpace(dhruva.Space{Tenant: "t1", ID: dhruva.SpaceID(id)}))
		}
		f.must(tx.PutSpace(dhruva.Space{Tenant: "t1", ID: "home", Home: true}))
		f.must(tx.PutSpace(dhruva.Space{Tenant: "t1", ID: "gone", DeletedAt: at(1)}))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		rows, err := tx.ListSpaces(dhruva.Page{})
		names(f, rows, err, spaceName, awkward()...)
		for n, id := range awkward() {
			rows, err := tx.ListSpaces(dhruva.Page{After: id, Limit: 2})
			names(f, rows, err, spaceName, awkward()[n+1:min(n+3, len(awkward()))]...)
		}
	})
	f.must(f.View(f.ctx, dhruva.SpaceScope("t1", "b"), func(tx dhruva.Tx) error {
		rows, err := tx.ListSpaces(dhruva.Page{})
		names(f, rows, err, spaceName, "b")
		rows, err = tx.ListSpaces(dhruva.Page{After: "b"})
		empty(f, rows, err)
		return nil
	}))
}

func testListSessions(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for n, id := range []string{"old", "mid", "new"} {
			f.must(tx.PutSession(session(spaceA, id, at(10*n))))
			f.must(tx.PutSession(session(spaceB, "b"+id, at(10*n+1))))
		}
		proxy := session(spaceA, "proxy", at(15))
		proxy.Kind = dhruva.SessionProxy
		f.must(tx.PutSession(proxy))
		gone := session(spaceA, "gone", at(16))
		gone.DeletedAt = at(17)
		f.must(tx.PutSession(gone))
	})
	list := func(scope dhruva.Scope, q dhruva.SessionQuery, want ...string) {
		f.Helper()
		f.read(scope, func(tx dhruva.Tx) {
			rows, err := tx.ListSessions(q)
			names(f, rows, err, sessionName, want...)
		})
	}
	list(spaceA, dhruva.SessionQuery{}, "new", "proxy", "mid", "old")
	list(spaceA, dhruva.SessionQuery{Space: "a", Kind: dhruva.SessionChat}, "new", "mid", "old")
	list(spaceA, dhruva.SessionQuery{Space: "b"})
	list(tenant, dhruva.SessionQuery{}, "bnew", "new", "proxy", "bmid", "mid", "bold", "old")
	list(tenant, dhruva.SessionQuery{Space: "b"}, "bnew", "bmid", "bold")
	list(tenant, dhruva.SessionQuery{Page: dhruva.Page{After: "proxy", Limit: 2}}, "bmid", "mid")
	list(spaceA, dhruva.SessionQuery{Page: dhruva.Page{After: "gone"}}, "proxy", "mid", "old")
	list(spaceA, dhruva.SessionQuery{Page: dhruva.Page{After: "bnew"}}) // a cursor that is not covered
	list(spaceA, dhruva.SessionQuery{Page: dhruva.Page{After: "never"}})
	f.must(f.Update(f.ctx, []dhruva.Scope{spaceA, spaceB}, func(tx dhruva.Tx) error { // two spaces, merged
		rows, err := tx.ListSessions(dhruva.SessionQuery{Page: dhruva.Page{Limit: 4}})
		names(f, rows, err, sessionName, "bnew", "new", "proxy", "bmid")
		rows, err = tx.ListSessions(dhruva.SessionQuery{Page: dhruva.Page{After: "bmid", Limit: 2}})
		names(f, rows, err, sessionName, "mid", "bold")
		return nil
	}))
}

func testSessionsWithEqualTimes(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		for _, id := range awkward() {
			f.must(tx.PutSession(session(spaceA, id, at(1))))
		}
	})
	want := awkward()
	slices.Reverse(want)
	f.read(spaceA, func(tx dhruva.Tx) {
		var got []string
		for after := ""; len(got) < len(want); {
			rows, err := tx.ListSessions(dhruva.SessionQuery{Page: dhruva.Page{After: after, Limit: 3}})
			f.must(err)
			if len(rows) == 0 {
				break
			}
			for _, r := range rows {
				got, after = append(got, string(r.ID)), string(r.ID)
			}
		}
		same(f, got, nil, want)
	})
}

func testListTurns(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.PutSession(session(spaceA, "s", at(0))))
		for _, seq := range []int64{1, 3, 2, 10, 9} {
			f.must(tx.AppendTurn(turn(spaceA, "s", seq)))
		}
		f.must(tx.AppendTurn(turn(spaceA, "S", 4)))
	})
	for _, c := range []struct {
		q    dhruva.TurnQuery
		want []int64
	}{
		{dhruva.TurnQuery{}, []int64{1, 2, 3, 9, 10}},
		{dhruva.TurnQuery{After: 2}, []int64{3, 9, 10}},
		{dhruva.TurnQuery{After: 2, Through: 9}, []int64{3, 9}},
		{dhruva.TurnQuery{Through: 2}, []int64{1, 2}},
		{dhruva.TurnQuery{Limit: 2}, []int64{1, 2}},
		{dhruva.TurnQuery{Newest: true}, []int64{10, 9, 3, 2, 1}},
		{dhruva.TurnQuery{Newest: true, Limit: 2, Through: 9}, []int64{9, 3}},
		{dhruva.TurnQuery{After: 10}, nil},
		{dhruva.TurnQuery{After: 3, Through: 2}, nil},
		{dhruva.TurnQuery{After: -5, Through: 1}, []int64{1}},
	} {
		c.q.Session = "s"
		f.read(spaceA, func(tx dhruva.Tx) {
			rows, err := tx.ListTurns(c.q)
			var got []int64
			for _, r := range rows {
				got = append(got, r.Seq)
			}
			same(f, got, err, c.want)
		})
	}
	f.read(spaceA, func(tx dhruva.Tx) {
		rows, err := tx.ListTurns(dhruva.TurnQuery{Session: "nobody"})
		empty(f, rows, err)
	})
	f.write(tenant, func(tx dhruva.Tx) { // turns without a session stand where they were written
		f.must(tx.AppendTurn(turn(spaceB, "orphan", 1)))
		f.must(tx.AppendTurn(turn(spaceA, "orphan", 2)))
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		rows, err := tx.ListTurns(dhruva.TurnQuery{Session: "orphan", Limit: 1})
		same(f, rows, err, []dhruva.Turn{turn(spaceA, "orphan", 2)})
	})
}

// manyCheckpoints puts n checkpoints and returns their hashes as put.
func manyCheckpoints(f *fixture, tx dhruva.Tx, n int) (out []dhruva.Checkpoint) {
	for i := range n {
		c := sealed(dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: dhruva.CheckpointID(fmt.Sprint("c", i)), CreatedAt: at(i / 3),
			Branch: []string{"main", "Main"}[i%2], Window: dhruva.Window{Session: dhruva.SessionID([]string{"s", "r", ""}[i%3])},
			Items: []dhruva.Item{{ID: dhruva.ItemID(fmt.Sprint(i)), Kind: dhruva.KindTitle, Text: fmt.Sprint("title ", i)}}})
		f.must(tx.PutCheckpoint(c))
		out = append(out, c)
	}
	return out
}

func hashName(c dhruva.Checkpoint) string { return c.Hash.String() }

func testCheckpointsByPrefix(f *fixture) {
	var all []dhruva.Checkpoint
	f.write(spaceA, func(tx dhruva.Tx) { all = manyCheckpoints(f, tx, 40) })
	begin := func(prefix string, limit int) (out []string) {
		for _, c := range all {
			if strings.HasPrefix(c.Hash.String(), prefix) {
				out = append(out, c.Hash.String())
			}
		}
		slices.Sort(out)
		return out[:min(limit, len(out))]
	}
	h := all[7].Hash.String()
	f.read(tenant, func(tx dhruva.Tx) {
		for _, prefix := range []string{"", h[:1], h[:2], h[:7], h, "0", "f", "ff"} {
			rows, err := tx.CheckpointsByPrefix(prefix, 1000)
			names(f, rows, err, hashName, begin(prefix, 1000)...)
			rows, err = tx.CheckpointsByPrefix(prefix, 2)
			names(f, rows, err, hashName, begin(prefix, 2)...)
		}
		for _, prefix := range []string{"g", "%", strings.ToUpper(h), h + "0", " ", "_"} {
			rows, err := tx.CheckpointsByPrefix(prefix, 10)
			if prefix != strings.ToUpper(prefix) || strings.ContainsAny(prefix, "ABCDEFg%_ ") || len(prefix) > 64 {
				empty(f, rows, err)
			}
		}
		rows, err := tx.CheckpointsByPrefix(h, 0)
		empty(f, rows, err)
	})
	f.read(spaceB, func(tx dhruva.Tx) {
		rows, err := tx.CheckpointsByPrefix("", 10)
		empty(f, rows, err)
	})
}

func testListCheckpoints(f *fixture) {
	var all []dhruva.Checkpoint
	f.write(spaceA, func(tx dhruva.Tx) { all = manyCheckpoints(f, tx, 20) })
	slices.SortFunc(all, func(a, b dhruva.Checkpoint) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(b.Hash.String(), a.Hash.String())
	})
	pick := func(ok func(dhruva.Checkpoint) bool) (out []string) {
		for _, c := range all {
			if ok(c) {
				out = append(out, c.Hash.String())
			}
		}
		return out
	}
	list := func(q dhruva.CheckpointQuery, want []string) {
		f.Helper()
		f.read(spaceA, func(tx dhruva.Tx) {
			rows, err := tx.ListCheckpoints(q)
			names(f, rows, err, hashName, want...)
			for _, r := range rows {
				f.must(dhruva.VerifyCheckpoint(&r))
			}
		})
	}
	any := pick(func(dhruva.Checkpoint) bool { return true })
	list(dhruva.CheckpointQuery{Space: "a"}, any)
	list(dhruva.CheckpointQuery{Space: "b"}, nil)
	list(dhruva.CheckpointQuery{Space: "a", Branch: "main"}, pick(func(c dhruva.Checkpoint) bool { return c.Branch == "main" }))
	list(dhruva.CheckpointQuery{Space: "a", Session: "s"}, pick(func(c dhruva.Checkpoint) bool { return c.Window.Session == "s" }))
	for n := range all {
		list(dhruva.CheckpointQuery{Space: "a", Page: dhruva.Page{After: any[n], Limit: 3}}, any[n+1:min(n+4, len(any))])
	}
	list(dhruva.CheckpointQuery{Space: "a", Page: dhruva.Page{After: digest("never").String()}}, nil)
	f.read(spaceA, func(tx dhruva.Tx) {
		_, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: "a", Page: dhruva.Page{After: "no hash"}})
		f.is(err, dhruva.ErrInvalid)
	})
}

func testListBranches(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		for _, name := range slices.Backward(awkward()) {
			f.must(tx.SwapBranch(dhruva.Branch{Space: "a", Name: name, Head: digest(name)}, dhruva.Hash{}))
		}
	})
	f.read(tenant, func(tx dhruva.Tx) {
		rows, err := tx.ListBranches("a")
		names(f, rows, err, func(b dhruva.Branch) string { return b.Name }, awkward()...)
		rows, err = tx.ListBranches("b")
		empty(f, rows, err)
	})
}

func testListSources(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		for n, id := range awkward() {
			row := source(spaceA, id)
			if n%2 == 1 {
				row.State, row.Class = dhruva.SourceHeld, dhruva.ClassDerived
			}
			f.must(tx.PutSource(row))
		}
		next := source(spaceA, "next")
		next.Generation = 2
		f.must(tx.PutSource(next))
	})
	var even, odd []string
	for n, id := range awkward() {
		if n%2 == 0 {
			even = append(even, id)
		} else {
			odd = append(odd, id)
		}
	}
	list := func(q dhruva.SourceQuery, want ...string) {
		f.Helper()
		f.read(tenant, func(tx dhruva.Tx) {
			rows, err := tx.ListSources(q)
			names(f, rows, err, sourceName, want...)
		})
	}
	list(dhruva.SourceQuery{Space: "a", Generation: 1}, awkward()...)
	list(dhruva.SourceQuery{Space: "a", Generation: 2}, "next")
	list(dhruva.SourceQuery{Space: "a"})
	list(dhruva.SourceQuery{Space: "b", Generation: 1})
	list(dhruva.SourceQuery{Space: "a", Generation: 1, State: dhruva.SourceReady}, even...)
	list(dhruva.SourceQuery{Space: "a", Generation: 1, Class: dhruva.ClassDerived}, odd...)
	list(dhruva.SourceQuery{Space: "a", Generation: 1, Class: dhruva.ClassDerived, State: dhruva.SourceReady})
	list(dhruva.SourceQuery{Space: "a", Generation: 1, State: dhruva.SourceHeld, Page: dhruva.Page{After: odd[1], Limit: 2}}, odd[2:4]...)
}

func testListReceipts(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for n, id := range awkward() {
			r := receipt([]dhruva.Scope{spaceA, spaceB, tenant}[n%3], id)
			r.Session, r.Kind = dhruva.SessionID([]string{"s", ""}[n%2]), []string{"send", "recall"}[n%2]
			f.must(tx.PutReceipt(r))
		}
	})
	pick := func(ok func(n int) bool) (out []string) {
		for n, id := range slices.Backward(awkward()) {
			if ok(n) {
				out = append(out, id)
			}
		}
		return out
	}
	list := func(scope dhruva.Scope, q dhruva.ReceiptQuery, want []string) {
		f.Helper()
		f.read(scope, func(tx dhruva.Tx) {
			rows, err := tx.ListReceipts(q)
			names(f, rows, err, receiptName, want...)
		})
	}
	all := pick(func(int) bool { return true })
	list(tenant, dhruva.ReceiptQuery{}, all)
	list(tenant, dhruva.ReceiptQuery{Space: "a"}, pick(func(n int) bool { return n%3 == 0 }))
	list(spaceB, dhruva.ReceiptQuery{}, pick(func(n int) bool { return n%3 == 1 }))
	list(spaceB, dhruva.ReceiptQuery{Space: "a"}, nil)
	list(tenant, dhruva.ReceiptQuery{Session: "s"}, pick(func(n int) bool { return n%2 == 0 }))
	list(tenant, dhruva.ReceiptQuery{Session: "s", Space: "b"}, pick(func(n int) bool { return n%2 == 0 && n%3 == 1 }))
	list(tenant, dhruva.ReceiptQuery{Kind: "recall"}, pick(func(n int) bool { return n%2 == 1 }))
	for n := range all {
		list(tenant, dhruva.ReceiptQuery{Page: dhruva.Page{After: all[n], Limit: 3}}, all[n+1:min(n+4, len(all))])
	}
	f.must(f.Update(f.ctx, []dhruva.Scope{spaceB, spaceA}, func(tx dhruva.Tx) error {
		rows, err := tx.ListReceipts(dhruva.ReceiptQuery{})
		names(f, rows, err, receiptName, pick(func(n int) bool { return n%3 != 2 })...)
		return nil
	}))
}

func testListKeys(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for _, id := range slices.Backward(awkward()) {
			f.must(tx.PutKey(dhruva.Key{Tenant: "t1", ID: dhruva.KeyID(id), Hash: []byte(id)}))
		}
	})
	f.read(tenant, func(tx dhruva.Tx) {
		rows, err := tx.ListKeys(dhruva.Page{})
		names(f, rows, err, func(k dhruva.Key) string { return string(k.ID) }, awkward()...)
		rows, err = tx.ListKeys(dhruva.Page{After: awkward()[2], Limit: 2})
		names(f, rows, err, func(k dhruva.Key) string { return string(k.ID) }, awkward()[3:5]...)
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		rows, err := tx.ListKeys(dhruva.Page{})
		empty(f, rows, err)
	})
}

// testPages: 100 by default, 1,000 at most.
func testPages(f *fixture) {
	for chunk := range 3 {
		f.write(spaceA, func(tx dhruva.Tx) {
			for n := range 400 {
				f.must(tx.PutSource(source(spaceA, fmt.Sprintf("%05d", 400*chunk+n))))
			}
		})
	}
	f.read(spaceA, func(tx dhruva.Tx) {
		for limit, want := range map[int]int{-1: 100, 0: 100, 1: 1, 999: 999, 1000: 1000, 5000: 1000} {
			rows, err := tx.ListSources(dhruva.SourceQuery{Space: "a", Generation: 1, Page: dhruva.Page{Limit: limit}})
			same(f, len(rows), err, want)
		}
		n, err := tx.CountSources("a", 1)
		same(f, n, err, 1200)
	})
}
