package storetest

import (
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// cursorCases are about followers, nodes and leases.
var cursorCases = []testCase{
	{"Cursors", testCursors},
	{"Nodes", testNodes},
	{"Leases", testLeases},
}

func testCursors(f *fixture) {
	cursor := func(node string, seq int64) dhruva.Cursor {
		return dhruva.Cursor{Tenant: "t1", Space: "a", Node: dhruva.NodeID(node), Seq: seq, At: at(1)}
	}
	f.write(spaceA, func(tx dhruva.Tx) {
		for _, id := range slices.Backward(awkward()) {
			f.must(tx.PutCursor(cursor(id, 1)))
		}
		for n := range 200 { // a list of all, without pages
			f.must(tx.PutCursor(cursor("\uffff"+string(rune('a'+n)), 1)))
		}
		f.must(tx.PutCursor(cursor("A", 7)))
		f.must(tx.PutCursor(cursor("A", 3))) // back
		f.must(tx.DropCursor("a", "b"))
		f.must(tx.DropCursor("a", "never"))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		rows, err := tx.Cursors("a")
		f.must(err)
		got := keys(rows, func(c dhruva.Cursor) string { return string(c.Node) })
		if len(got) != len(awkward())-1+200 || !slices.IsSorted(got) || slices.Contains(got, "b") {
			f.Errorf("cursors: %q", got)
		}
		row, err := found(rows, err, func(c dhruva.Cursor) bool { return c.Node == "A" })
		same(f, row, err, cursor("A", 3))
		rows, err = tx.Cursors("b")
		empty(f, rows, err)
	})
}

func testNodes(f *fixture) {
	f.write(system, func(tx dhruva.Tx) {
		for _, id := range slices.Backward(awkward()) {
			f.must(tx.PutNode(dhruva.Node{ID: dhruva.NodeID(id), Name: id}))
		}
	})
	list := func(tx dhruva.Tx, p dhruva.Page) ([]string, error) {
		rows, err := tx.ListNodes(p)
		return keys(rows, func(n dhruva.Node) string { return string(n.ID) }), err
	}
	f.pages(system, awkward(), list)
	f.pages(tenant, nil, list)
	f.write(system, func(tx dhruva.Tx) {
		f.must(tx.DropNode("a"))
		f.must(tx.DropNode("a"))
		got, err := tx.Node("a")
		missing(f, got, err)
		got, err = tx.Node("A")
		same(f, got, err, dhruva.Node{ID: "A", Name: "A"})
	})
}

// testLeases: the installation's and a tenant's of one name are two.
func testLeases(f *fixture) {
	lease := func(t dhruva.TenantID, name, owner string) dhruva.Lease {
		return dhruva.Lease{Tenant: t, Name: name, Owner: dhruva.NodeID(owner), Until: at(1)}
	}
	scopes := map[dhruva.TenantID]dhruva.Scope{"": system, "t1": tenant, "t2": other}
	for t, scope := range scopes {
		f.write(scope, func(tx dhruva.Tx) {
			for _, name := range []string{"audit", "Audit", "audit "} {
				f.must(tx.PutLease(lease(t, name, string(t)+name)))
			}
		})
	}
	for mine, scope := range scopes {
		f.read(scope, func(tx dhruva.Tx) {
			for t := range scopes {
				got, err := tx.Lease(t, "audit")
				if t == mine {
					same(f, got, err, lease(t, "audit", string(t)+"audit"))
				} else {
					missing(f, got, err)
				}
			}
		})
	}
	f.must(f.Update(f.ctx, []dhruva.Scope{system, tenant}, func(tx dhruva.Tx) error { // both
		f.must(tx.PutLease(lease("", "audit", "x")))
		f.must(tx.PutLease(lease("t1", "audit", "y")))
		f.is(tx.PutLease(lease("t2", "audit", "z")), dhruva.ErrDenied)
		got, err := tx.Lease("", "audit")
		same(f, got.Owner, err, "x")
		got, err = tx.Lease("t1", "audit")
		same(f, got.Owner, err, "y")
		return nil
	}))
}
