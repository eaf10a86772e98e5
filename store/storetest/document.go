package storetest

import (
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// documentCases are about documents.
var documentCases = []testCase{
	{"PutDocument", testPutDocument},
	{"ListDocuments", testListDocuments},
	{"DropDocument", testDropDocument},
}

func doc(s dhruva.Scope, id, kind, session string, created int) dhruva.Document {
	return dhruva.Document{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.DocumentID(id), Kind: kind, Session: dhruva.SessionID(session), Text: "text",
		CreatedAt: at(created)}
}

// testPutDocument: a document stays in its space.
func testPutDocument(f *fixture) {
	row := doc(spaceA, "d", "draft", "s", 1)
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.PutDocument(row)) })
	f.write(tenant, func(tx dhruva.Tx) {
		f.is(tx.PutDocument(doc(spaceB, "d", "draft", "", 1)), dhruva.ErrConflict)
		got, err := tx.Document("d")
		same(f, got, err, row)
	})
	row.Kind, row.Session, row.Text, row.CreatedAt = "pack", "", "another", at(7)
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.PutDocument(row)) })
	list := func(q dhruva.DocumentQuery, want ...dhruva.Document) {
		f.Helper()
		f.read(spaceA, func(tx dhruva.Tx) {
			rows, err := tx.ListDocuments(q)
			same(f, rows, err, want)
		})
	}
	list(dhruva.DocumentQuery{Space: "a", Kind: "pack"}, row)
	list(dhruva.DocumentQuery{Space: "a", Kind: "draft"})
	list(dhruva.DocumentQuery{Space: "a", Session: "s"})
}

func testListDocuments(f *fixture) {
	kinds, sessions := []string{"draft", "pack"}, []string{"s", "S", ""}
	want := func(ok func(n int) bool) (out []string) {
		for n, id := range slices.Backward(awkward()) {
			if ok(n) {
				out = append(out, id)
			}
		}
		return out
	}
	f.write(tenant, func(tx dhruva.Tx) {
		for n, id := range awkward() {
			f.must(tx.PutDocument(doc(spaceA, id, kinds[n%2], sessions[n%3], n/9)))
		}
		f.must(tx.PutDocument(doc(spaceB, "theirs", "draft", "s", 0)))
	})
	lister := func(kind, session string) lister {
		return func(tx dhruva.Tx, p dhruva.Page) ([]string, error) {
			rows, err := tx.ListDocuments(dhruva.DocumentQuery{Space: "a", Kind: kind, Session: dhruva.SessionID(session), Page: p})
			return keys(rows, func(d dhruva.Document) string { return string(d.ID) }), err
		}
	}
	f.pages(spaceA, want(func(int) bool { return true }), lister("", ""))
	f.pages(spaceA, want(func(n int) bool { return n%2 == 0 }), lister("draft", ""))
	f.pages(tenant, want(func(n int) bool { return n%3 == 0 }), lister("", "s"))
	f.pages(spaceA, want(func(n int) bool { return n%6 == 1 }), lister("pack", "S"))
	f.pages(spaceA, nil, lister("Draft", ""))
	f.pages(spaceA, nil, lister("", "r"))
	f.pages(spaceB, nil, lister("", ""))
}

// testDropDocument: also through the scope of its space alone, and no other.
func testDropDocument(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for _, id := range []string{"a", "A", "b", "c"} {
			f.must(tx.PutDocument(doc(spaceA, id, "k", "", 1)))
		}
		f.must(tx.DropDocument("b"))
		f.must(tx.DropDocument("b"))
		f.must(tx.DropDocument("never"))
		got, err := tx.Document("b")
		missing(f, got, err)
	})
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.DropDocument("a")) })
	f.write(spaceB, func(tx dhruva.Tx) {
		f.must(tx.DropDocument("a"))
		f.is(tx.DropDocument("c"), dhruva.ErrDenied)
	})
	f.must(f.Update(f.ctx, []dhruva.Scope{spaceB, spaceA}, func(tx dhruva.Tx) error { return tx.DropDocument("c") }))
	f.read(tenant, func(tx dhruva.Tx) {
		rows, err := tx.ListDocuments(dhruva.DocumentQuery{Space: "a"})
		names(f, rows, err, func(d dhruva.Document) string { return string(d.ID) }, "A")
	})
}
