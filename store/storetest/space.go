package storetest

import (
	"time"

	"github.com/dhruva-memory/dhruva"
)

// spaceCases are about spaces and their epochs.
var spaceCases = []testCase{
	{"Space", testSpace},
	{"Epoch", testEpoch},
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
