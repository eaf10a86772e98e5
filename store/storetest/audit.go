package storetest

import (
	"fmt"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// auditCases are about the audit log.
var auditCases = []testCase{
	{"PutLeaf", testPutLeaf},
	{"PendingLeaves", testPendingLeaves},
	{"PlaceLeaf", testPlaceLeaf},
	{"ListLeaves", testListLeaves},
	{"AuditHead", testAuditHead},
}

func leaf(s dhruva.Scope, id string, when int) dhruva.Leaf {
	return dhruva.Leaf{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.LeafID(id), Kind: "receipt", At: at(when)}
}

func leafName(l dhruva.Leaf) string { return string(l.ID) }

func testPutLeaf(f *fixture) {
	row, whole := fullLeaf(), leaf(tenant, "whole", 1)
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.PutLeaf(row))
		again := row
		again.Kind = "another"
		f.is(tx.PutLeaf(again), dhruva.ErrConflict)
		f.is(tx.PutLeaf(whole), dhruva.ErrDenied)
	})
	f.write(tenant, func(tx dhruva.Tx) {
		f.must(tx.PutLeaf(whole))
		f.must(tx.PlaceLeaf(row.ID, 1))
		f.is(tx.PutLeaf(row), dhruva.ErrConflict) // also one that has a place
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Leaf("leaf")
		row.Seq = 1
		same(f, got, err, row)
		got, err = tx.Leaf("whole")
		missing(f, got, err)
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Leaf("whole")
		same(f, got, err, whole)
	})
}

func testPendingLeaves(f *fixture) {
	want := slices.Concat([]string{"second"}, awkward(), []string{"late"})
	f.write(tenant, func(tx dhruva.Tx) {
		f.must(tx.PutLeaf(leaf(spaceA, "late", 9)))
		f.must(tx.PutLeaf(leaf(spaceB, "first", 1)))
		f.must(tx.PutLeaf(leaf(tenant, "second", 1)))
		for _, id := range slices.Backward(awkward()) {
			f.must(tx.PutLeaf(leaf(spaceA, id, 5)))
		}
		f.must(tx.PlaceLeaf("first", 1))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		for limit, n := range map[int]int{-1: 0, 0: 0, 1: 1, 7: 7, 100: len(want), 5000: len(want)} {
			rows, err := tx.PendingLeaves(limit)
			names(f, rows, err, leafName, want[:n]...)
		}
	})
	for _, scope := range []dhruva.Scope{spaceA, system, other} {
		f.read(scope, func(tx dhruva.Tx) {
			rows, err := tx.PendingLeaves(9)
			empty(f, rows, err)
			rows, err = tx.ListLeaves(0, 9)
			empty(f, rows, err)
		})
	}
}

func testPlaceLeaf(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		f.is(tx.PlaceLeaf("x", 1), dhruva.ErrNotFound)
		f.must(tx.PutLeaf(leaf(spaceA, "x", 1)))
		f.must(tx.PutLeaf(leaf(spaceB, "y", 1)))
		f.must(tx.PlaceLeaf("x", 5))
		f.is(tx.PlaceLeaf("x", 5), dhruva.ErrConflict) // it has one
		f.is(tx.PlaceLeaf("x", 6), dhruva.ErrConflict)
		f.is(tx.PlaceLeaf("y", 5), dhruva.ErrConflict) // it is taken
		f.is(tx.PlaceLeaf("never", 5), dhruva.ErrNotFound)
		f.must(tx.PlaceLeaf("y", 4))
		rows, err := tx.ListLeaves(0, 9)
		names(f, rows, err, leafName, "y", "x")
		rows, err = tx.PendingLeaves(9)
		empty(f, rows, err)
	})
	f.is(f.Update(f.ctx, []dhruva.Scope{tenant}, func(tx dhruva.Tx) error {
		f.must(tx.PutLeaf(leaf(spaceA, "z", 1)))
		f.must(tx.PlaceLeaf("z", 6))
		return errRollback
	}), errRollback)
	f.write(other, func(tx dhruva.Tx) { // places are a tenant's own
		theirs := leaf(dhruva.SpaceScope("t2", "a"), "x", 1)
		f.must(tx.PutLeaf(theirs))
		f.must(tx.PlaceLeaf("x", 5))
	})
	f.write(tenant, func(tx dhruva.Tx) { // the place is free again
		f.must(tx.PutLeaf(leaf(spaceA, "w", 1)))
		f.must(tx.PlaceLeaf("w", 6))
	})
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
		f.must(tx.PutLeaf(leaf(spaceA, "own", 1)))
		return tx.PlaceLeaf("own", 7)
	}), dhruva.ErrDenied)
}

func testListLeaves(f *fixture) {
	var want []string
	f.write(tenant, func(tx dhruva.Tx) {
		for n := range 30 {
			id := fmt.Sprint(29 - n)
			f.must(tx.PutLeaf(leaf([]dhruva.Scope{spaceA, spaceB, tenant}[n%3], id, n)))
			f.must(tx.PlaceLeaf(dhruva.LeafID(id), int64(n+1)))
			want = append(want, id)
		}
		f.must(tx.PutLeaf(leaf(spaceA, "pending", 1)))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		for after, from := range map[int64]int{-5: 0, -1: 0, 0: 0, 1: 1, 29: 29, 30: 30, 99: 30} {
			for _, limit := range []int{-1, 0, 1, 12, 5000} {
				rows, err := tx.ListLeaves(after, limit)
				names(f, rows, err, leafName, want[from:min(from+max(limit, 0), 30)]...)
			}
		}
	})
}

func testAuditHead(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		got, err := tx.AuditHead()
		same(f, got, err, dhruva.AuditHead{Tenant: "t1"})
		f.must(tx.PutAuditHead(fullAuditHead()))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.AuditHead()
		same(f, got, err, fullAuditHead())
	})
	f.read(other, func(tx dhruva.Tx) {
		got, err := tx.AuditHead()
		same(f, got, err, dhruva.AuditHead{Tenant: "t2"})
	})
	for _, scope := range []dhruva.Scope{spaceA, system} {
		f.read(scope, func(tx dhruva.Tx) {
			got, err := tx.AuditHead()
			missing(f, got, err)
		})
	}
}
