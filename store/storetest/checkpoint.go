package storetest

import (
	"github.com/dhruva-memory/dhruva"
)

// checkpointCases are about checkpoints and branches.
var checkpointCases = []testCase{
	{"Checkpoint", testCheckpoint},
	{"RedactItem", testRedactItem},
	{"Branch", testBranch},
	{"DropBranch", testDropBranch},
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

// testDropBranch: only at the head that is expected; then it may be made anew.
func testDropBranch(f *fixture) {
	row := fullBranch()
	drop := func(tx dhruva.Tx) error { return tx.DropBranch("a", "branch", row.Head) }
	f.write(spaceA, func(tx dhruva.Tx) {
		f.is(drop(tx), dhruva.ErrConflict) // there is none
		f.is(tx.DropBranch("a", "branch", dhruva.Hash{}), dhruva.ErrConflict)
		f.must(tx.SwapBranch(row, dhruva.Hash{}))
		f.is(tx.DropBranch("a", "branch", digest("stale")), dhruva.ErrConflict)
		f.is(tx.DropBranch("a", "branch", dhruva.Hash{}), dhruva.ErrConflict)
		f.is(tx.DropBranch("a", "Branch", row.Head), dhruva.ErrConflict)
	})
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceB}, drop), dhruva.ErrDenied)
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
		f.must(drop(tx))
		rows, err := tx.ListBranches("a")
		empty(f, rows, err)
		return errRollback
	}), errRollback)
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Branch("a", "branch")
		same(f, got, err, row)
	})
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(drop(tx))
		f.is(drop(tx), dhruva.ErrConflict)
		f.is(tx.SwapBranch(row, row.Head), dhruva.ErrConflict)
		f.must(tx.SwapBranch(row, dhruva.Hash{}))
		f.must(drop(tx))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Branch("a", "branch")
		missing(f, got, err)
	})
}

// testRedactItem: what the item says goes for good, the checkpoint still
// verifies.
func testRedactItem(f *fixture) {
	row := fullCheckpoint()
	twins := dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: "twins", Items: []dhruva.Item{{ID: "i", Text: "x"}, {ID: "j", Text: "y"}, {ID: "i", Text: "z"}}}
	twins = sealed(twins)
	f.write(spaceA, func(tx dhruva.Tx) {
		f.is(tx.RedactItem(row.Hash, "i2"), dhruva.ErrNotFound)
		f.must(tx.PutCheckpoint(row))
		f.must(tx.PutCheckpoint(twins))
		f.is(tx.RedactItem(row.Hash, "i9"), dhruva.ErrNotFound)
		f.is(tx.RedactItem(digest("none"), "i2"), dhruva.ErrNotFound)
	})
	redact := func(tx dhruva.Tx) error { return tx.RedactItem(row.Hash, "i2") }
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
		f.must(redact(tx))
		return errRollback
	}), errRollback)
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceB}, redact), dhruva.ErrDenied)
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Checkpoint(row.Hash)
		same(f, got, err, row)
	})
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(redact(tx))
		f.must(redact(tx)) // again
		f.must(tx.RedactItem(twins.Hash, "i"))
	})
	row.Items[1] = dhruva.Item{ID: "i2", Kind: row.Items[1].Kind, Digest: row.Items[1].Digest, Redacted: true}
	for _, n := range []int{0, 2} { // every item of that id
		twins.Items[n] = dhruva.Item{ID: "i", Digest: twins.Items[n].Digest, Redacted: true}
	}
	f.read(spaceA, func(tx dhruva.Tx) {
		for _, want := range []dhruva.Checkpoint{row, twins} {
			got, err := tx.Checkpoint(want.Hash)
			same(f, got, err, want)
			f.must(dhruva.VerifyCheckpoint(&got))
			rows, err := tx.CheckpointsByPrefix(want.Hash.String(), 2)
			same(f, rows, err, []dhruva.Checkpoint{want})
		}
	})
}
