package storetest

import (
	"github.com/dhruva-memory/dhruva"
)

// sessionCases are about the ways to a session.
var sessionCases = []testCase{
	{"Chain", testChain},
	{"Hint", testHint},
}

func testChain(f *fixture) {
	link := func(h, session string, seq int64) dhruva.Chain {
		return dhruva.Chain{Space: "a", Hash: digest(h), Session: dhruva.SessionID(session), Seq: seq}
	}
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Chain("a", digest("h"))
		missing(f, got, err)
		for _, l := range []dhruva.Chain{link("h", "s1", 3), link("h", "s2", 5), link("h", "s1", 4), link("h", "s2", 5), link("g", "s3", 9)} {
			f.must(tx.PutChain(l))
		}
		got, err = tx.Chain("a", digest("h"))
		same(f, got, err, link("h", "s2", 5))
		f.must(tx.PutChain(link("h", "s10", 5))) // the same number: the greater session id
		got, err = tx.Chain("a", digest("h"))
		same(f, got, err, link("h", "s2", 5))
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Chain("b", digest("h"))
		missing(f, got, err)
	})
}

func testHint(f *fixture) {
	f.write(spaceA, func(tx dhruva.Tx) {
		got, err := tx.SessionHint("a", digest("h"))
		missing(f, got, err)
		f.must(tx.BindHint("a", digest("h"), "s1"))
		f.must(tx.BindHint("a", digest("h"), "s2"))
		got, err = tx.SessionHint("a", digest("h"))
		same(f, got, err, "s2")
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.SessionHint("b", digest("h"))
		missing(f, got, err)
	})
}
