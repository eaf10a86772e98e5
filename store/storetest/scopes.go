package storetest

import (
	"errors"
	"reflect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dhruva-memory/dhruva"
)

// scopeCases are about what a transaction may touch.
var scopeCases = []testCase{
	{"EveryWriteFromEveryScope", testWritesByScope},
	{"EveryReadFromEveryScope", testReadsByScope},
	{"TenantsDoNotMeet", testTwoTenants},
	{"SpacesDoNotMeet", testTwoSpaces},
	{"SystemIsNotATenant", testSystem},
	{"Scopes", testScopes},
	{"SystemAndTenant", testSystemAndTenant},
}

// scopeSets are what an update may name.
func scopeSets() [][]dhruva.Scope {
	theirs := dhruva.SpaceScope("t2", "a")
	return [][]dhruva.Scope{{system}, {tenant}, {spaceA}, {spaceB}, {other}, {theirs}, {spaceA, spaceB}, {system, tenant}, {system, spaceA},
		{system, spaceB}, {system, other}, {tenant, spaceB}}
}

// everywhere writes with all scopes of the first tenant.
func (f *fixture) everywhere(fn func(tx dhruva.Tx)) {
	f.Helper()
	f.must(f.Update(f.ctx, []dhruva.Scope{system, tenant}, func(tx dhruva.Tx) error {
		fn(tx)
		return nil
	}))
}

// tryDeeds does each deed at a place of its own in an update that is not kept,
// and tells what was answered.
func (f *fixture) tryDeeds(scopes []dhruva.Scope, first int64, answer func(d deed, p place, err error)) {
	f.Helper()
	all := deeds()
	f.everywhere(func(tx dhruva.Tx) {
		for n, d := range all {
			if d.before != nil {
				f.must(d.before(tx, at1a(first+int64(n))))
			}
		}
	})
	f.is(f.Update(f.ctx, scopes, func(tx dhruva.Tx) error {
		for n, d := range all {
			p := at1a(first + int64(n))
			answer(d, p, d.run(tx, p))
		}
		return errRollback
	}), errRollback)
}

func testWritesByScope(f *fixture) {
	for n, scopes := range scopeSets() {
		reach := dhruva.ReachOf(scopes)
		f.tryDeeds(scopes, int64(1000*(n+1)), func(d deed, p place, err error) {
			switch allowed := d.allowed(reach, p); {
			case !allowed && !errors.Is(err, dhruva.ErrDenied):
				f.Errorf("%s through %v: %v, want %v", d.method, scopes, err, dhruva.ErrDenied)
			case allowed && err != nil && reach.Tenant == p.tenant, allowed && errors.Is(err, dhruva.ErrDenied):
				f.Errorf("%s through %v: %v", d.method, scopes, err)
			}
		})
	}
}

func testReadsByScope(f *fixture) {
	p := at1a(1)
	f.everywhere(func(tx dhruva.Tx) { f.must(fill(tx, p)) })
	for _, scopes := range scopeSets() {
		reach := dhruva.ReachOf(scopes)
		f.must(f.Update(f.ctx, scopes, func(tx dhruva.Tx) error {
			f.seesWhatIsCovered(tx, reach, p)
			return nil
		}))
		if len(scopes) == 1 {
			f.must(f.View(f.ctx, scopes[0], func(tx dhruva.Tx) error {
				f.seesWhatIsCovered(tx, reach, p)
				return nil
			}))
		}
	}
}

func (f *fixture) seesWhatIsCovered(tx dhruva.Tx, reach dhruva.Reach, p place) {
	f.Helper()
	for _, l := range looks() {
		want := l.extent.within(reach, p.tenant, p.space)
		switch got, v, err := l.finds(tx, reach, p); {
		case got != want:
			f.Errorf("%s through %+v: %v, %v, want it found: %v", l.method, reach, v, err, want)
		case got && err != nil, !got && err != nil && !errors.Is(err, dhruva.ErrNotFound):
			f.Errorf("%s through %+v: %v", l.method, reach, err)
		}
	}
}

// all is everything that can be read at a place: what every look answers, and
// the feed.
func (f *fixture) all(p place) (out []answer) {
	f.Helper()
	for _, scope := range []dhruva.Scope{dhruva.TenantScope(p.tenant), system} {
		f.must(f.View(f.ctx, scope, func(tx dhruva.Tx) error {
			for _, l := range looks() {
				v, err := l.run(tx, p)
				out = append(out, answer{l.method, v, class(err)})
			}
			pending, err := tx.PendingLeaves(1000)
			out = append(out, answer{"PendingLeaves", pending, class(err)})
			home, err := tx.HomeSpace("owner")
			out = append(out, answer{"HomeSpace", home, class(err)})
			return nil
		}))
	}
	return append(out, answerOfFeed(f.Store, dhruva.SpaceScope(p.tenant, p.space), 0)...)
}

// unchanged wants everything as it was.
func (f *fixture) unchanged(p place, what string, before []answer) {
	f.Helper()
	after := f.all(p)
	if reflect.DeepEqual(before, after) { // much faster than a diff
		return
	}
	if d := cmp.Diff(before, after, cmpopts.EquateEmpty()); d != "" {
		f.Fatalf("%s changed (-before +after):\n%s", what, d)
	}
}

// testTwoTenants: the same ids in another tenant are other rows.
func testTwoTenants(f *fixture) {
	mine := at1a(1)
	f.everywhere(func(tx dhruva.Tx) { f.must(fill(tx, mine)) })
	theirs := place{"t2", "a", 1}
	f.must(f.Update(f.ctx, []dhruva.Scope{system, other}, func(tx dhruva.Tx) error { return putTenant(tx, theirs) }))
	before := f.all(mine)
	f.write(other, func(tx dhruva.Tx) {
		for _, put := range []func(dhruva.Tx, place) error{putSpace, putEpoch, appendChange, putSession, putChain, bindHint, putTurn, putCheckpoint,
			putBranch, putHeadMove, putNote, putClaim, putWorktree, putDocument, putSource, putReference, putTombstone, putRecord, putVector, putReplay, putReceipt, putLeaf, placeLeaf, putAuditHead,
			putJob, putCursor, putCall, putKey, putUser, putGrant, putProvider, putLease} {
			f.must(put(tx, theirs))
		}
	})
	f.unchanged(mine, "filling another tenant", before)
	for _, d := range deeds() {
		f.is(f.Update(f.ctx, []dhruva.Scope{other}, func(tx dhruva.Tx) error {
			d.run(tx, theirs) // allowed or not, conflicting or not
			d.run(tx, mine)
			return errRollback
		}), errRollback)
		f.must(f.Update(f.ctx, []dhruva.Scope{other}, func(tx dhruva.Tx) error {
			if d.own {
				d.run(tx, mine)
			}
			return nil
		}))
	}
	f.unchanged(mine, "every write of another tenant", before)
}

// testTwoSpaces: what is done through another space's scope with the same ids
// leaves a space as it is.
func testTwoSpaces(f *fixture) {
	mine := at1a(1)
	f.everywhere(func(tx dhruva.Tx) { f.must(fill(tx, mine)) })
	before := f.all(mine)
	theirs := mine
	theirs.space = "b"
	for _, d := range deeds() {
		if d.extent != ofSpace || d.method == "PutSpace" || d.method == "SwapJob" {
			continue
		}
		f.is(f.Update(f.ctx, []dhruva.Scope{spaceB}, func(tx dhruva.Tx) error {
			d.run(tx, theirs)
			if err := d.run(tx, mine); !errors.Is(err, dhruva.ErrDenied) {
				f.Errorf("%s in another space: %v", d.method, err)
			}
			return errRollback
		}), errRollback)
	}
	f.unchanged(mine, "every write through another space", before)
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
