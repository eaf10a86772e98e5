package storetest

import (
	"fmt"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// recordCases are about what is derived from sources.
var recordCases = []testCase{
	{"Records", testRecords},
	{"DropRecords", testDropRecords},
	{"Vectors", testVectors},
	{"DropVectors", testDropVectors},
}

func record(id, source, kind string) dhruva.Record {
	return dhruva.Record{Tenant: "t1", Space: "a", Generation: 2, ID: dhruva.RecordID(id), Source: dhruva.SourceID(source), Kind: kind}
}

func recordName(r dhruva.Record) string { return string(r.ID) }

func testRecords(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		for n, id := range awkward() {
			f.must(tx.PutRecord(record(id, []string{"s", "S"}[n%2], []string{"fact", "date", ""}[n%3])))
		}
		later := record("later", "s", "fact")
		later.Generation = 3
		f.must(tx.PutRecord(later))
	})
	pick := func(is func(n int) bool) (out []string) {
		for n, id := range awkward() {
			if is(n) {
				out = append(out, id)
			}
		}
		return out
	}
	lister := func(q dhruva.RecordQuery) lister {
		q.Space, q.Generation = "a", 2
		return func(tx dhruva.Tx, p dhruva.Page) ([]string, error) {
			q.Page = p
			rows, err := tx.ListRecords(q)
			return keys(rows, recordName), err
		}
	}
	f.pages(tenant, awkward(), lister(dhruva.RecordQuery{}))
	f.pages(spaceA, pick(func(n int) bool { return n%2 == 1 }), lister(dhruva.RecordQuery{Source: "S"}))
	f.pages(spaceA, pick(func(n int) bool { return n%3 == 0 }), lister(dhruva.RecordQuery{Kind: "fact"}))
	f.pages(spaceA, pick(func(n int) bool { return n%3 == 1 && n%2 == 0 }), lister(dhruva.RecordQuery{Kind: "date", Source: "s"}))
	f.pages(spaceA, nil, lister(dhruva.RecordQuery{Kind: "Fact"}))
	f.read(tenant, func(tx dhruva.Tx) {
		for _, q := range []dhruva.RecordQuery{{Space: "b", Generation: 2}, {Space: "a"}, {Generation: 2}} {
			rows, err := tx.ListRecords(q)
			empty(f, rows, err)
		}
	})
}

func testDropRecords(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.DropRecords("a", 2, "s")) // absent
		for _, r := range []dhruva.Record{record("1", "s", ""), record("2", "S", ""), record("3", "s", ""), record("4", "s ", "")} {
			f.must(tx.PutRecord(r))
		}
		moved := record("4", "s", "") // another source by now
		f.must(tx.PutRecord(moved))
		other := record("5", "s", "")
		other.Generation = 1
		f.must(tx.PutRecord(other))
	})
	f.write(tenant, func(tx dhruva.Tx) { f.must(tx.DropRecords("a", 2, "s")) })
	f.read(spaceA, func(tx dhruva.Tx) {
		rows, err := tx.ListRecords(dhruva.RecordQuery{Space: "a", Generation: 2})
		names(f, rows, err, recordName, "2")
		rows, err = tx.ListRecords(dhruva.RecordQuery{Space: "a", Generation: 1})
		names(f, rows, err, recordName, "5")
	})
}

func vector(source, model string, part int) dhruva.Vector {
	return dhruva.Vector{Tenant: "t1", Space: "a", Generation: 2, Source: dhruva.SourceID(source), Model: model, Part: part, Values: []float32{float32(part)}}
}

func vectorName(v dhruva.Vector) string { return fmt.Sprint(v.Source, "/", v.Model, "/", v.Part) }

// putVectors puts them from the last to the first.
func putVectors(f *fixture, rows ...dhruva.Vector) {
	f.write(spaceA, func(tx dhruva.Tx) {
		for _, v := range slices.Backward(rows) {
			f.must(tx.PutVector(v))
		}
	})
}

// testVectors: whole sources, in (Source, Model, Part) order.
func testVectors(f *fixture) {
	putVectors(f, vector("A", "m", 0), vector("A", "n", 0), vector("a", "m", -1), vector("a", "m", 0), vector("a", "m", 2), vector("a", "m", 10),
		vector("a", "n", 0), vector("b", "n", 7), vector("c", "m", 0))
	later := vector("A", "m", 0)
	later.Generation = 3
	putVectors(f, later)
	list := func(q dhruva.VectorQuery, want ...string) {
		f.Helper()
		q.Space, q.Generation = "a", 2
		f.read(tenant, func(tx dhruva.Tx) {
			rows, err := tx.ListVectors(q)
			names(f, rows, err, vectorName, want...)
		})
	}
	of := func(after string, limit int) dhruva.Page { return dhruva.Page{After: after, Limit: limit} }
	a := []string{"a/m/-1", "a/m/0", "a/m/2", "a/m/10"}
	list(dhruva.VectorQuery{Model: "m"}, slices.Concat([]string{"A/m/0"}, a, []string{"c/m/0"})...)
	list(dhruva.VectorQuery{Model: "m", Page: of("", 1)}, "A/m/0")
	list(dhruva.VectorQuery{Model: "m", Page: of("", 2)}, slices.Concat([]string{"A/m/0"}, a)...) // not torn
	list(dhruva.VectorQuery{Model: "m", Page: of("A", 3)}, a...)
	list(dhruva.VectorQuery{Model: "m", Page: of("A", 5)}, slices.Concat(a, []string{"c/m/0"})...)
	list(dhruva.VectorQuery{Model: "m", Page: of("a", 5)}, "c/m/0")
	list(dhruva.VectorQuery{Model: "m", Page: of("c", 5)})
	list(dhruva.VectorQuery{Model: "m", Page: of("\xff", 5)})
	list(dhruva.VectorQuery{Model: "m", Source: "a", Page: of("", 1)}, a...)
	list(dhruva.VectorQuery{Model: "m", Source: "a", Page: of("A", 1)}, a...)
	list(dhruva.VectorQuery{Model: "m", Source: "a", Page: of("a", 1)})
	list(dhruva.VectorQuery{Model: "m", Source: "b"})
	list(dhruva.VectorQuery{Model: "M"})
	list(dhruva.VectorQuery{Source: "a", Page: of("", 1)}, append(slices.Clone(a), "a/n/0")...)
	list(dhruva.VectorQuery{Page: of("", 3)}, slices.Concat([]string{"A/m/0", "A/n/0"}, a, []string{"a/n/0"})...)
	list(dhruva.VectorQuery{Page: of("", 1)}, "A/m/0", "A/n/0")
	list(dhruva.VectorQuery{}, slices.Concat([]string{"A/m/0", "A/n/0"}, a, []string{"a/n/0", "b/n/7", "c/m/0"})...)
	f.write(spaceA, func(tx dhruva.Tx) { // of awkward names, page by page
		for _, id := range awkward() {
			f.must(tx.PutVector(vector(id, "w", 0)))
		}
	})
	f.pages(spaceA, awkward(), func(tx dhruva.Tx, p dhruva.Page) ([]string, error) {
		rows, err := tx.ListVectors(dhruva.VectorQuery{Space: "a", Generation: 2, Model: "w", Page: p})
		return keys(rows, func(v dhruva.Vector) string { return string(v.Source) }), err
	})
}

func testDropVectors(f *fixture) {
	putVectors(f, vector("a", "m", 0), vector("a", "m", 1), vector("a", "n", 0), vector("A", "m", 0))
	other := vector("a", "m", 0)
	other.Generation = 1
	putVectors(f, other)
	f.write(tenant, func(tx dhruva.Tx) {
		f.must(tx.DropVectors("a", 2, "a"))
		f.must(tx.DropVectors("a", 2, "a"))
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		rows, err := tx.ListVectors(dhruva.VectorQuery{Space: "a", Generation: 2})
		names(f, rows, err, vectorName, "A/m/0")
		rows, err = tx.ListVectors(dhruva.VectorQuery{Space: "a", Generation: 1})
		names(f, rows, err, vectorName, "a/m/0")
	})
}
