package storetest

import (
	"github.com/dhruva-memory/dhruva"
)

// receiptCases are about receipts.
var receiptCases = []testCase{
	{"Receipt", testReceipt},
	{"ListReceiptsByStateAndTime", testReceiptsByState},
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

// testReceiptsByState: what a sweep after a crash asks for, and what keeps to a
// time.
func testReceiptsByState(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for n, id := range []string{"1", "2", "3", "4", "5", "6"} {
			r := receipt([]dhruva.Scope{spaceA, spaceB, tenant}[n%3], id)
			r.State, r.Kind, r.CreatedAt = []string{"open", "final"}[n%2], "send", at(n)
			f.must(tx.PutReceipt(r))
		}
	})
	list := func(q dhruva.ReceiptQuery, want ...string) {
		f.Helper()
		f.read(tenant, func(tx dhruva.Tx) {
			rows, err := tx.ListReceipts(q)
			names(f, rows, err, receiptName, want...)
		})
	}
	list(dhruva.ReceiptQuery{State: "open"}, "5", "3", "1")
	list(dhruva.ReceiptQuery{State: "Open"})
	list(dhruva.ReceiptQuery{Before: at(2)}, "2", "1")
	list(dhruva.ReceiptQuery{Before: at(2).Add(999)}, "2", "1") // less than a microsecond after
	list(dhruva.ReceiptQuery{Before: at(2).Add(1000)}, "3", "2", "1")
	list(dhruva.ReceiptQuery{Before: at(3), State: "open", Space: "b"})
	list(dhruva.ReceiptQuery{Before: at(5), State: "open", Space: "b"}, "5")
	list(dhruva.ReceiptQuery{Before: at(9), State: "open", Kind: "send", Page: dhruva.Page{After: "5", Limit: 1}}, "3")
	f.write(tenant, func(tx dhruva.Tx) { // what is replaced is found by what it is now
		r := receipt(spaceA, "1")
		r.State, r.Kind, r.CreatedAt = "interrupted", "recall", at(50)
		f.must(tx.PutReceipt(r))
	})
	list(dhruva.ReceiptQuery{State: "open"}, "5", "3")
	list(dhruva.ReceiptQuery{State: "interrupted"}, "1")
	list(dhruva.ReceiptQuery{Before: at(2)}, "2")
}
