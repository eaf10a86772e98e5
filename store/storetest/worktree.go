package storetest

import (
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// worktreeCases are about worktrees.
var worktreeCases = []testCase{
	{"PutWorktree", testPutWorktree},
	{"ListWorktrees", testListWorktrees},
}

func worktree(s dhruva.Scope, id string, status dhruva.WorktreeStatus, created int) dhruva.Worktree {
	return dhruva.Worktree{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.WorktreeID(id), Status: status, CreatedAt: at(created)}
}

// testPutWorktree: a worktree stays in its space, and is closed by being put again.
func testPutWorktree(f *fixture) {
	row := worktree(spaceA, "w", dhruva.WorktreeOpen, 1)
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.PutWorktree(row)) })
	f.write(tenant, func(tx dhruva.Tx) {
		f.is(tx.PutWorktree(worktree(spaceB, "w", dhruva.WorktreeClosed, 2)), dhruva.ErrConflict)
		got, err := tx.Worktree("w")
		same(f, got, err, row)
		row.Status, row.ClosedAt = dhruva.WorktreeClosed, at(9)
		f.must(tx.PutWorktree(row))
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Worktree("w")
		same(f, got, err, row)
	})
	f.read(spaceB, func(tx dhruva.Tx) {
		got, err := tx.Worktree("w")
		missing(f, got, err)
	})
}

func testListWorktrees(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for n, id := range awkward() { // all of one moment, then later ones
			f.must(tx.PutWorktree(worktree(spaceA, id, []dhruva.WorktreeStatus{dhruva.WorktreeOpen, dhruva.WorktreeClosed}[n%2], 1)))
		}
		f.must(tx.PutWorktree(worktree(spaceA, "later", dhruva.WorktreeOpen, 2)))
		f.must(tx.PutWorktree(worktree(spaceB, "theirs", dhruva.WorktreeOpen, 2)))
	})
	lister := func(status dhruva.WorktreeStatus) lister {
		return func(tx dhruva.Tx, p dhruva.Page) ([]string, error) {
			rows, err := tx.ListWorktrees(dhruva.WorktreeQuery{Space: "a", Status: status, Page: p})
			return keys(rows, func(w dhruva.Worktree) string { return string(w.ID) }), err
		}
	}
	all, open, closed := []string{"later"}, []string{"later"}, []string(nil)
	for n, id := range slices.Backward(awkward()) {
		if all = append(all, id); n%2 == 0 {
			open = append(open, id)
		} else {
			closed = append(closed, id)
		}
	}
	f.pages(spaceA, all, lister(""))
	f.pages(tenant, open, lister(dhruva.WorktreeOpen))
	f.pages(spaceA, closed, lister(dhruva.WorktreeClosed))
	f.pages(spaceA, nil, lister("Open"))
	f.pages(spaceB, nil, lister(""))
}
