package storetest

import (
	"github.com/dhruva-memory/dhruva"
)

// scopeCases are about what a transaction may touch.
var scopeCases = []testCase{
	{"WritesOutsideAreDenied", testWritesOutside},
	{"ReadsOutsideAreAbsent", testReadsOutside},
	{"SameIDsInTwoTenants", testTwoTenants},
	{"SystemIsNotATenant", testSystem},
	{"Scopes", testScopes},
	{"SystemAndTenant", testSystemAndTenant},
}

// everyWrite writes one row of each kind into a tenant and a space.
func everyWrite(tx dhruva.Tx, s dhruva.Scope) map[string]error {
	t, sp := s.Tenant(), s.Space()
	src, ref, tomb, ses, tur, rec, key := fullSource(), fullReference(), fullTombstone(), fullSession(), fullTurn(), fullReceipt(), fullKey()
	src.Tenant, src.Space, ref.Space, tomb.Space = t, sp, sp, sp
	ses.Tenant, ses.Space, tur.Tenant, tur.Space, rec.Tenant, rec.Space, key.Tenant = t, sp, t, sp, t, sp, t
	key.Hash = []byte(t)
	c, b := fullCheckpoint(), fullBranch()
	c.Tenant, c.Space, b.Space = t, sp, sp
	_, change := tx.AppendChange(sp, dhruva.Change{})
	return map[string]error{
		"space": tx.PutSpace(dhruva.Space{Tenant: t, ID: sp, Name: "name"}), "epoch": tx.PutEpoch(dhruva.Epoch{Space: sp}), "change": change,
		"session": tx.PutSession(ses), "chain": tx.PutChain(dhruva.Chain{Space: sp, Session: "s", Hash: digest("h")}),
		"hint": tx.BindHint(sp, digest("h"), "s"), "turn": tx.AppendTurn(tur), "checkpoint": tx.PutCheckpoint(sealed(c)),
		"branch": tx.SwapBranch(b, dhruva.Hash{}), "source": tx.PutSource(src), "reference": tx.AddReference(ref),
		"tombstone": tx.PutTombstone(tomb), "receipt": tx.PutReceipt(rec), "key": tx.PutKey(key),
	}
}

// ownTenant are the writes that carry no tenant: they are always of the
// transaction's own.
var ownTenant = map[string]bool{"epoch": true, "change": true, "chain": true, "hint": true, "branch": true, "reference": true, "tombstone": true}

func testWritesOutside(f *fixture) {
	for _, c := range []struct {
		name     string
		scope    dhruva.Scope
		row      dhruva.Scope
		denied   func(kind string) bool
		tenantOK bool
	}{
		{"another space", spaceA, spaceB, func(string) bool { return true }, false},
		{"another tenant", other, spaceA, func(kind string) bool { return !ownTenant[kind] }, false},
		{"another tenant's space", dhruva.SpaceScope("t2", "a"), spaceA, func(kind string) bool { return !ownTenant[kind] }, false},
		{"system", system, spaceA, func(string) bool { return true }, true},
		{"own space", spaceA, spaceA, func(kind string) bool { return kind == "key" }, false},
		{"own tenant", tenant, spaceA, func(string) bool { return false }, true},
	} {
		rollback := errRollback
		f.is(f.Update(f.ctx, []dhruva.Scope{c.scope}, func(tx dhruva.Tx) error {
			for kind, err := range everyWrite(tx, c.row) {
				if c.denied(kind) {
					f.is(err, dhruva.ErrDenied)
				} else if err != nil {
					f.Errorf("%v", err)
				}
				if f.Failed() {
					f.Fatalf("%s: %s", c.name, kind)
				}
			}
			err := tx.PutTenant(dhruva.Tenant{ID: "t1"})
			if c.tenantOK != (err == nil) {
				f.Errorf("%s: put tenant: %v", c.name, err)
			}
			return rollback
		}), rollback)
	}
}

// seen counts what a transaction sees of space a, and wants the rest absent.
func seen(f *fixture, tx dhruva.Tx) int {
	n := 0
	one := func(err error) {
		f.Helper()
		if err == nil {
			n++
		} else {
			f.is(err, dhruva.ErrNotFound)
		}
	}
	some := func(rows int, err error) {
		f.Helper()
		f.must(err)
		n += min(rows, 1)
	}
	c := fullCheckpoint()
	var err error
	_, err = tx.Space("a")
	one(err)
	_, err = tx.Epoch("a")
	one(err)
	_, err = tx.Session("s")
	one(err)
	_, err = tx.Chain("a", digest("h"))
	one(err)
	_, err = tx.SessionHint("a", digest("h"))
	one(err)
	_, err = tx.Turn("s", 5)
	one(err)
	_, err = tx.Checkpoint(c.Hash)
	one(err)
	_, err = tx.CheckpointByID(c.ID)
	one(err)
	_, err = tx.Branch("a", "branch")
	one(err)
	_, err = tx.Source("a", 2, "source")
	one(err)
	_, err = tx.Tombstone("a", 2, "source")
	one(err)
	_, err = tx.Receipt("receipt")
	one(err)
	spaces, err := tx.SpacesNamed("name")
	some(len(spaces), err)
	spaces, err = tx.ListSpaces(dhruva.Page{})
	some(len(spaces), err)
	turns, err := tx.ListTurns(dhruva.TurnQuery{Session: "s"})
	some(len(turns), err)
	checkpoints, err := tx.CheckpointsByPrefix("", 10)
	some(len(checkpoints), err)
	for _, space := range []dhruva.SpaceID{"", "a"} {
		sessions, err := tx.ListSessions(dhruva.SessionQuery{Space: space, Kind: dhruva.SessionProxy})
		some(len(sessions), err)
		checkpoints, err = tx.ListCheckpoints(dhruva.CheckpointQuery{Space: space})
		some(len(checkpoints), err)
		receipts, err := tx.ListReceipts(dhruva.ReceiptQuery{Space: space})
		some(len(receipts), err)
	}
	branches, err := tx.ListBranches("a")
	some(len(branches), err)
	sources, err := tx.ListSources(dhruva.SourceQuery{Space: "a", Generation: 2})
	some(len(sources), err)
	count, err := tx.CountSources("a", 2)
	some(count, err)
	refs, err := tx.References("a", 2, "source")
	some(len(refs), err)
	ids, err := tx.SourcesOfTurn("a", 2, "s", 5)
	some(len(ids), err)
	return n
}

// everything is what seen counts when all is visible (the session of
// everyWrite is deleted, and is in no list).
const everything = 25

func testReadsOutside(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for kind, err := range everyWrite(tx, spaceA) {
			if err != nil {
				f.Fatalf("%s: %v", kind, err)
			}
		}
	})
	for scope, want := range map[dhruva.Scope]int{
		tenant: everything, spaceA: everything, spaceB: 0, system: 0, dhruva.SpaceScope("t2", "a"): 1, other: 1, // one: the epoch of an empty space
	} {
		f.read(scope, func(tx dhruva.Tx) {
			if got := seen(f, tx); got != want {
				f.Errorf("%s sees %d of %d kinds, want %d", scope, got, everything, want)
			}
		})
	}
}

func testTwoTenants(f *fixture) {
	theirs := dhruva.SpaceScope("t2", "a")
	f.write(tenant, func(tx dhruva.Tx) {
		for kind, err := range everyWrite(tx, spaceA) {
			if err != nil {
				f.Fatalf("%s: %v", kind, err)
			}
		}
	})
	f.write(other, func(tx dhruva.Tx) {
		for kind, err := range everyWrite(tx, theirs) {
			if err != nil {
				f.Fatalf("%s: %v", kind, err)
			}
		}
		got, err := tx.Session("s")
		same(f, got.Tenant, err, "t2")
		n, err := tx.AppendChange("a", dhruva.Change{})
		same(f, n, err, 2)
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Session("s")
		same(f, got, err, fullSession())
		e, err := tx.Epoch("a")
		same(f, e.Head, err, 1)
		k, err := tx.Key("key")
		same(f, k.Tenant, err, "t1")
	})
}

// testSystem: System reaches tenants and key hashes, and no tenant's rows.
func testSystem(f *fixture) {
	f.is(f.Update(f.ctx, []dhruva.Scope{system}, func(tx dhruva.Tx) error {
		return tx.PutKey(fullKey())
	}), dhruva.ErrDenied)
	f.write(other, func(tx dhruva.Tx) {
		got, err := tx.Tenant("t1")
		missing(f, got, err)
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Tenant("t1")
		missing(f, got, err)
	})
}

// testScopes: what scopes an update may have.
func testScopes(f *fixture) {
	never := func(dhruva.Tx) error {
		f.Error("fn ran")
		return nil
	}
	for _, scopes := range [][]dhruva.Scope{
		nil, {}, {tenant, other}, {spaceA, dhruva.SpaceScope("t2", "a")}, {dhruva.SpaceScope("", "a")}, {system, tenant, other},
	} {
		f.is(f.Update(f.ctx, scopes, never), dhruva.ErrInvalid)
	}
	f.is(f.View(f.ctx, dhruva.SpaceScope("", "a"), never), dhruva.ErrInvalid)
	for _, scopes := range [][]dhruva.Scope{
		{spaceA, spaceB}, {spaceB, spaceA}, {spaceA, spaceA, spaceB}, {tenant, spaceA}, {spaceB, tenant, system, spaceA},
	} {
		f.must(f.Update(f.ctx, scopes, func(tx dhruva.Tx) error {
			f.must(tx.PutSession(session(spaceA, "a", at(0))))
			f.must(tx.PutSession(session(spaceB, "b", at(0))))
			return nil
		}))
	}
}

func testSystemAndTenant(f *fixture) {
	f.must(f.Update(f.ctx, []dhruva.Scope{tenant, system}, func(tx dhruva.Tx) error {
		f.must(tx.PutTenant(dhruva.Tenant{ID: "t3"}))
		f.must(tx.PutKey(fullKey()))
		got, err := tx.KeyByHash(fullKey().Hash)
		same(f, got, err, fullKey())
		return nil
	}))
}
