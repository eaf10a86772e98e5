package storetest

import (
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// rowCases are about one row of each kind: absent, put, replaced, unique.
var rowCases = []testCase{
	{"Tenant", testTenant},
	{"Space", testSpace},
	{"Epoch", testEpoch},
	{"Session", testSession},
	{"Chain", testChain},
	{"Hint", testHint},
	{"Turn", testTurn},
	{"TurnsFollowTheirSession", testTurnsFollow},
	{"Checkpoint", testCheckpoint},
	{"Branch", testBranch},
	{"Source", testSource},
	{"Reference", testReference},
	{"Drop", testDrop},
	{"Tombstone", testTombstone},
	{"Receipt", testReceipt},
	{"Key", testKey},
	{"Times", testTimes},
	{"LargeText", testLargeText},
	{"HugeIDs", testHugeIDs},
	{"BadRows", testBadRows},
	{"Copies", testCopies},
}

func testTenant(f *fixture) {
	row := fullTenant()
	f.write(system, func(tx dhruva.Tx) {
		got, err := tx.Tenant("t1")
		missing(f, got, err)
		f.must(tx.PutTenant(row))
		got, err = tx.Tenant("t1")
		same(f, got, err, row)
	})
	f.read(system, func(tx dhruva.Tx) {
		got, err := tx.Tenant("t1")
		same(f, got, err, row)
	})
	f.write(tenant, func(tx dhruva.Tx) {
		row.Name = "changed"
		f.must(tx.PutTenant(row))
		got, err := tx.Tenant("t1")
		same(f, got, err, row)
	})
}

func testSpace(f *fixture) {
	row := fullSpace()
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Space("a")
		missing(f, got, err)
		f.must(tx.PutSpace(row))
		got, err = tx.Space("a")
		same(f, got, err, row)
	})
	f.write(tenant, func(tx dhruva.Tx) {
		row.DeletedAt, row.Home = time.Time{}, true
		f.must(tx.PutSpace(row))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Space("a")
		same(f, got, err, row)
		got, err = tx.HomeSpace("owner")
		same(f, got, err, row)
		got, err = tx.HomeSpace("Owner")
		missing(f, got, err)
		rows, err := tx.SpacesNamed("name")
		empty(f, rows, err)
	})
}

func testEpoch(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Epoch("a")
		same(f, got, err, dhruva.Epoch{Space: "a", Generation: 1})
		n, err := tx.AppendChange("a", dhruva.Change{Seq: 77, Kind: dhruva.ChangeSource, Ref: "r"})
		same(f, n, err, 1)
		f.must(tx.PutEpoch(dhruva.Epoch{Space: "a", Generation: 3, Fence: 2, ACLVersion: 5, Head: 99}))
		n, err = tx.AppendChange("a", dhruva.Change{Kind: dhruva.ChangeGeneration, Ref: "3"})
		same(f, n, err, 2)
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Epoch("a")
		same(f, got, err, dhruva.Epoch{Space: "a", Generation: 3, Fence: 2, ACLVersion: 5, Head: 2})
		got, err = tx.Epoch("b")
		same(f, got, err, dhruva.Epoch{Space: "b", Generation: 1})
	})
	f.write(spaceB, func(tx dhruva.Tx) { // an epoch put first, then a change
		f.must(tx.PutEpoch(dhruva.Epoch{Space: "b", Generation: 2}))
		n, err := tx.AppendChange("b", dhruva.Change{})
		same(f, n, err, 1)
	})
}

func testSession(f *fixture) {
	row := fullSession()
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Session("s")
		missing(f, got, err)
		f.must(tx.PutSession(row))
		got, err = tx.Session("s")
		same(f, got, err, row)
	})
	f.write(spaceA, func(tx dhruva.Tx) {
		row.Mount, row.DeletedAt, row.Seeded, row.Fresh = nil, time.Time{}, dhruva.Hash{}, false
		f.must(tx.PutSession(row))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Session("s")
		same(f, got, err, row)
	})
}

func testChain(f *fixture) {
	link := func(h, session string, seq int64) dhruva.Chain {
		return dhruva.Chain{Space: "a", Hash: digest(h), Session: dhruva.SessionID(session), Seq: seq}
	}
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Chain("a", digest("h"))
		missing(f, got, err)
		for _, l := range []dhruva.Chain{link("h", "s1", 3), link("h", "s2", 5), link("h", "s1", 4), link("h", "s2", 5), link("g", "s3", 9)} {
			f.must(tx.PutChain(l))
		}
		got, err = tx.Chain("a", digest("h"))
		same(f, got, err, link("h", "s2", 5))
		f.must(tx.PutChain(link("h", "s10", 5))) // the same number: the greater session id
		got, err = tx.Chain("a", digest("h"))
		same(f, got, err, link("h", "s2", 5))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Chain("b", digest("h"))
		missing(f, got, err)
	})
}

func testHint(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.SessionHint("a", digest("h"))
		missing(f, got, err)
		f.must(tx.BindHint("a", digest("h"), "s1"))
		f.must(tx.BindHint("a", digest("h"), "s2"))
		got, err = tx.SessionHint("a", digest("h"))
		same(f, got, err, "s2")
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.SessionHint("b", digest("h"))
		missing(f, got, err)
	})
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

func testCheckpoint(f *fixture) {
	row := fullCheckpoint()
	bare := sealed(dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: "bare", CreatedAt: at(9)})
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Checkpoint(row.Hash)
		missing(f, got, err)
		got, err = tx.CheckpointByID(row.ID)
		missing(f, got, err)
		f.must(tx.PutCheckpoint(row))
		f.must(tx.PutCheckpoint(bare))
	})
	f.write(spaceA, func(tx dhruva.Tx) {
		again := row
		again.ID = "another"
		f.is(tx.PutCheckpoint(again), dhruva.ErrConflict)
		again = sealed(dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: row.ID})
		f.is(tx.PutCheckpoint(again), dhruva.ErrConflict)
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Checkpoint(row.Hash)
		same(f, got, err, row)
		f.must(dhruva.VerifyCheckpoint(&got))
		got, err = tx.CheckpointByID("bare")
		same(f, got, err, bare)
		got, err = tx.CheckpointByID("another")
		missing(f, got, err)
	})
}

func testBranch(f *fixture) {
	row := fullBranch()
	next := row
	next.Head, next.Disposition, next.UpdatedAt = digest("next"), "active", at(2)
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Branch("a", "branch")
		missing(f, got, err)
		f.is(tx.SwapBranch(row, digest("expected")), dhruva.ErrConflict) // expects a head where none is
		got, err = tx.Branch("a", "branch")
		missing(f, got, err)
		f.must(tx.SwapBranch(row, dhruva.Hash{}))
		f.is(tx.SwapBranch(next, dhruva.Hash{}), dhruva.ErrConflict) // expects none where one is
		f.is(tx.SwapBranch(next, digest("stale")), dhruva.ErrConflict)
		got, err = tx.Branch("a", "branch")
		same(f, got, err, row)
		f.must(tx.SwapBranch(next, row.Head))
		f.is(tx.SwapBranch(row, row.Head), dhruva.ErrConflict)
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Branch("a", "branch")
		same(f, got, err, next)
		got, err = tx.Branch("a", "Branch")
		missing(f, got, err)
	})
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

func testTombstone(f *fixture) {
	row := fullTombstone()
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Tombstone("a", 2, "source")
		missing(f, got, err)
		f.must(tx.PutTombstone(row))
		row.State = "completed"
		f.must(tx.PutTombstone(row))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Tombstone("a", 2, "source")
		same(f, got, err, row)
		got, err = tx.Tombstone("a", 1, "source")
		missing(f, got, err)
	})
}

func testReceipt(f *fixture) {
	row := fullReceipt()
	whole := dhruva.Receipt{Tenant: "t1", ID: "whole", Context: &dhruva.ContextUsed{}}
	f.write(tenant, func(tx dhruva.Tx) {
		got, err := tx.Receipt("receipt")
		missing(f, got, err)
		f.must(tx.PutReceipt(row))
		f.must(tx.PutReceipt(whole))
	})
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Receipt("receipt")
		same(f, got, err, row)
		row.State, row.Context = "interrupted", nil
		f.must(tx.PutReceipt(row))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Receipt("receipt")
		same(f, got, err, row)
		got, err = tx.Receipt("whole")
		same(f, got, err, whole)
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Receipt("whole") // of the tenant as a whole
		missing(f, got, err)
	})
}

func testKey(f *fixture) {
	row := fullKey()
	f.write(tenant, func(tx dhruva.Tx) {
		got, err := tx.Key("key")
		missing(f, got, err)
		f.must(tx.PutKey(row))
		twin := row
		twin.ID = "twin"
		f.is(tx.PutKey(twin), dhruva.ErrConflict)
		row.Hash, row.RevokedAt = []byte{9}, time.Time{}
		f.must(tx.PutKey(row))
		twin.Hash = []byte{0, 1, 2} // free again
		f.must(tx.PutKey(twin))
		got, err = tx.KeyByHash([]byte{9}) // System only
		missing(f, got, err)
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Key("key")
		same(f, got, err, row)
	})
	f.read(system, func(tx dhruva.Tx) {
		got, err := tx.KeyByHash([]byte{9})
		same(f, got, err, row)
		got, err = tx.KeyByHash(nil)
		missing(f, got, err)
		got, err = tx.KeyByHash([]byte{0, 1})
		missing(f, got, err)
		got, err = tx.Key("key")
		missing(f, got, err)
	})
	f.is(f.Update(f.ctx, []dhruva.Scope{other}, func(tx dhruva.Tx) error { // a hash is the installation's
		return tx.PutKey(dhruva.Key{Tenant: "t2", ID: "key", Hash: []byte{9}})
	}), dhruva.ErrConflict)
}

// testTimes: microseconds, UTC, before 1970, and none.
func testTimes(f *fixture) {
	zone := time.FixedZone("x", 3*3600)
	for _, c := range []struct{ in, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.Date(2026, 1, 2, 3, 4, 5, 123456789, zone), time.Date(2026, 1, 2, 0, 4, 5, 123456000, time.UTC)},
		{time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC)},
		{time.Unix(0, 0), time.Unix(0, 0).UTC()},
		{time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
	} {
		f.write(tenant, func(tx dhruva.Tx) {
			f.must(tx.PutKey(dhruva.Key{Tenant: "t1", ID: "k", Hash: []byte{1}, CreatedAt: c.in, ExpiresAt: c.in}))
			f.must(tx.PutReceipt(dhruva.Receipt{Tenant: "t1", ID: "r", CreatedAt: c.in}))
		})
		f.read(tenant, func(tx dhruva.Tx) {
			key, err := tx.Key("k")
			same(f, key, err, dhruva.Key{Tenant: "t1", ID: "k", Hash: []byte{1}, CreatedAt: c.want, ExpiresAt: c.want})
			r, err := tx.Receipt("r")
			same(f, r, err, dhruva.Receipt{Tenant: "t1", ID: "r", CreatedAt: c.want})
			if key.CreatedAt != c.want { // == also compares the location
				f.Errorf("got %#v, want %#v", key.CreatedAt, c.want)
			}
		})
	}
}

func testLargeText(f *fixture) {
	row := turn(spaceA, "s", 1)
	row.Content = string(slices.Repeat([]byte("many words \u4e2d "), 1<<20/15))
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.AppendTurn(row)) })
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Turn("s", 1)
		same(f, len(got.Content), err, len(row.Content))
		if got != row {
			f.Error("text differs")
		}
	})
}

func testHugeIDs(f *fixture) {
	scope := dhruva.SpaceScope(dhruva.TenantID("t"+huge), dhruva.SpaceID("s"+huge))
	src := source(scope, huge)
	f.write(scope, func(tx dhruva.Tx) {
		for _, id := range []string{huge, huge + "a", huge + "b"} {
			f.must(tx.PutSession(session(scope, id, at(0))))
		}
		f.must(tx.PutSource(src))
		_, err := tx.AppendChange(scope.Space(), dhruva.Change{Ref: huge})
		f.must(err)
	})
	f.read(scope, func(tx dhruva.Tx) {
		got, err := tx.Source(scope.Space(), 1, src.ID)
		same(f, got, err, src)
		rows, err := tx.ListSessions(dhruva.SessionQuery{Page: dhruva.Page{After: huge + "a"}})
		names(f, rows, err, func(s dhruva.Session) string { return string(s.ID) }, huge)
	})
}

// testBadRows: text that is not UTF-8 or holds a NUL, and empty keys, are
// refused and leave nothing.
func testBadRows(f *fixture) {
	bad := func(tx dhruva.Tx, text string) []error {
		item := sealed(dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: "c", Items: []dhruva.Item{{Text: text}}})
		attr := sealed(dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: "c", Items: []dhruva.Item{{Attrs: []dhruva.Attr{{Name: "n", Value: text}}}}})
		_, change := tx.AppendChange("a", dhruva.Change{Ref: text})
		return []error{
			change,
			tx.PutTenant(dhruva.Tenant{ID: "t1", Name: text}),
			tx.PutSpace(dhruva.Space{Tenant: "t1", ID: "a", Name: text}),
			tx.PutSession(dhruva.Session{Tenant: "t1", Space: "a", ID: "s", Title: text}),
			tx.AppendTurn(dhruva.Turn{Tenant: "t1", Space: "a", Session: "s", Seq: 1, Content: text}),
			tx.PutCheckpoint(item), tx.PutCheckpoint(attr),
			tx.SwapBranch(dhruva.Branch{Space: "a", Name: text, Head: digest("h")}, dhruva.Hash{}),
			tx.PutSource(dhruva.Source{Tenant: "t1", Space: "a", ID: dhruva.SourceID(text)}),
			tx.AddReference(dhruva.Reference{Space: "a", Source: "s", Item: dhruva.ItemID(text)}),
			tx.PutTombstone(dhruva.Tombstone{Space: "a", Source: "s", State: text}),
			tx.PutReceipt(dhruva.Receipt{Tenant: "t1", ID: "r", Recall: dhruva.RecallAccount{Note: text}}),
			tx.PutReceipt(dhruva.Receipt{Tenant: "t1", ID: "r", TurnIDs: []dhruva.TurnID{dhruva.TurnID(text)}}),
			tx.PutKey(dhruva.Key{Tenant: "t1", ID: "k", Hash: []byte{1}, Scopes: []dhruva.KeyScope{dhruva.KeyScope(text)}}),
			tx.PutKey(dhruva.Key{Tenant: "t1", ID: "k", Hash: []byte{1}, Maker: dhruva.KeyID(text)}),
			tx.PutChain(dhruva.Chain{Space: "a", Session: dhruva.SessionID(text)}),
			tx.BindHint("a", digest("h"), dhruva.SessionID(text)),
		}
	}
	f.write(tenant, func(tx dhruva.Tx) {
		for _, text := range []string{"a\x00b", "\xff", "\xed\xa0\x80", "half \xe4\xb8"} {
			for n, err := range bad(tx, text) {
				if f.is(err, dhruva.ErrInvalid); f.Failed() {
					f.Fatalf("write %d of %q", n, text)
				}
			}
		}
		for n, err := range emptyKeys(tx) {
			if f.is(err, dhruva.ErrInvalid); f.Failed() {
				f.Fatalf("write %d", n)
			}
		}
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Session("s")
		missing(f, got, err)
		e, err := tx.Epoch("a")
		same(f, e.Head, err, 0)
	})
}

func emptyKeys(tx dhruva.Tx) []error {
	return []error{
		tx.PutSpace(dhruva.Space{Tenant: "t1"}),
		tx.PutSession(dhruva.Session{Tenant: "t1", ID: "s"}),
		tx.PutSession(dhruva.Session{Tenant: "t1", Space: "a"}),
		tx.AppendTurn(dhruva.Turn{Tenant: "t1", Space: "a", Seq: 1}),
		tx.AppendTurn(dhruva.Turn{Tenant: "t1", Space: "a", Session: "s"}),
		tx.AppendTurn(dhruva.Turn{Tenant: "t1", Space: "a", Session: "s", Seq: -1}),
		tx.PutCheckpoint(dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: "c"}),
		tx.PutCheckpoint(dhruva.Checkpoint{Tenant: "t1", Space: "a", Hash: digest("h")}),
		tx.SwapBranch(dhruva.Branch{Space: "a", Name: "b"}, dhruva.Hash{}),
		tx.PutSource(dhruva.Source{Tenant: "t1", Space: "a"}),
		tx.PutReceipt(dhruva.Receipt{Tenant: "t1"}),
		tx.PutKey(dhruva.Key{Tenant: "t1", ID: "k"}),
		tx.PutReceipt(dhruva.Receipt{Tenant: "t1", ID: "r", CreatedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}),
	}
}

// testCopies: neither what was put in nor what came out shares memory with a row.
func testCopies(f *fixture) {
	s, c, r, k, src := fullSession(), fullCheckpoint(), fullReceipt(), fullKey(), fullSource()
	f.write(tenant, func(tx dhruva.Tx) {
		f.must(tx.PutSession(s))
		f.must(tx.PutCheckpoint(c))
		f.must(tx.PutReceipt(r))
		f.must(tx.PutKey(k))
		f.must(tx.PutSource(src))
	})
	spoil := func(s dhruva.Session, c dhruva.Checkpoint, r dhruva.Receipt, k dhruva.Key, src dhruva.Source) {
		s.Mount.Depth = 99
		c.Parents[0], c.Items[0].Text, c.Items[1].Attrs[0].Value, c.Items[1].Cites[0].From = dhruva.Hash{}, "x", "x", 99
		r.Edits[0].Len, r.TurnIDs[0], r.Recall.Sources[0], r.Context.Turns[0], r.Context.Base = 99, "x", "x", 99, 99
		r.Context.Checkpoints[0], r.Context.Evidence[0] = dhruva.Hash{}, "x"
		k.Hash[0], k.Scopes[0], k.Spaces[0], src.MAC[0] = 99, "x", "x", 99
	}
	spoil(s, c, r, k, src)
	for range 2 {
		f.read(tenant, func(tx dhruva.Tx) {
			s, err := tx.Session("s")
			same(f, s, err, fullSession())
			c, err := tx.CheckpointByID("checkpoint")
			same(f, c, err, fullCheckpoint())
			r, err := tx.Receipt("receipt")
			same(f, r, err, fullReceipt())
			k, err := tx.Key("key")
			same(f, k, err, fullKey())
			src, err := tx.Source("a", 2, "source")
			same(f, src, err, fullSource())
			spoil(s, c, r, k, src)
		})
	}
}
