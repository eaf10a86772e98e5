package storetest

import (
	"time"

	"github.com/dhruva-memory/dhruva"
)

// claimCases are about claims.
var claimCases = []testCase{
	{"PutClaim", testPutClaim},
	{"ListClaims", testListClaims},
}

func claim(s dhruva.Scope, id string, status dhruva.ClaimStatus, claimed, expires int) dhruva.Claim {
	return dhruva.Claim{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.ClaimID(id), Status: status, ClaimedAt: at(claimed), ExpiresAt: at(expires)}
}

func claimName(c dhruva.Claim) string { return string(c.ID) }

// testPutClaim: a claim stays in its space.
func testPutClaim(f *fixture) {
	row := claim(spaceA, "c", dhruva.ClaimActive, 1, 9)
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.PutClaim(row)) })
	for _, scopes := range [][]dhruva.Scope{{spaceB}, {tenant}, {spaceA, spaceB}} {
		f.must(f.Update(f.ctx, scopes, func(tx dhruva.Tx) error {
			f.is(tx.PutClaim(claim(spaceB, "c", dhruva.ClaimDone, 2, 9)), dhruva.ErrConflict)
			f.must(tx.PutClaim(claim(spaceB, "other", dhruva.ClaimDone, 2, 9))) // which spoils nothing
			return nil
		}))
	}
	f.read(spaceB, func(tx dhruva.Tx) {
		got, err := tx.Claim("c")
		missing(f, got, err)
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Claim("c")
		same(f, got, err, row)
	})
}

func testListClaims(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for _, c := range []dhruva.Claim{
			claim(spaceA, "a", dhruva.ClaimActive, 1, 10), claim(spaceA, "b", dhruva.ClaimDone, 2, 20), claim(spaceA, "A", dhruva.ClaimActive, 1, 30),
			claim(spaceA, "c", dhruva.ClaimActive, 3, 5), claim(spaceA, "d", dhruva.ClaimAbandoned, 1, 40), claim(spaceB, "e", dhruva.ClaimActive, 2, 99),
		} {
			f.must(tx.PutClaim(c))
		}
	})
	list := func(scope dhruva.Scope, q dhruva.ClaimQuery, want ...string) {
		f.Helper()
		f.read(scope, func(tx dhruva.Tx) {
			rows, err := tx.ListClaims(q)
			names(f, rows, err, claimName, want...)
		})
	}
	active, page := dhruva.ClaimActive, func(after string, limit int) dhruva.Page { return dhruva.Page{After: after, Limit: limit} }
	list(spaceA, dhruva.ClaimQuery{Space: "a"}, "c", "b", "d", "a", "A")
	list(tenant, dhruva.ClaimQuery{})
	list(spaceA, dhruva.ClaimQuery{Space: "b"})
	list(tenant, dhruva.ClaimQuery{Space: "b"}, "e")
	list(spaceA, dhruva.ClaimQuery{Space: "a", Status: active}, "c", "a", "A")
	list(spaceA, dhruva.ClaimQuery{Space: "a", Status: "Active"})
	list(spaceA, dhruva.ClaimQuery{Space: "a", Live: at(10)}, "b", "d", "A") // one that expires now does not live on
	list(spaceA, dhruva.ClaimQuery{Space: "a", Live: at(10).Add(-time.Microsecond)}, "b", "d", "a", "A")
	list(spaceA, dhruva.ClaimQuery{Space: "a", Live: at(10).Add(-1)}, "b", "d", "a", "A")
	list(spaceA, dhruva.ClaimQuery{Space: "a", Live: at(10).Add(1)}, "b", "d", "A")
	list(spaceA, dhruva.ClaimQuery{Space: "a", Live: at(7), Status: active}, "a", "A")
	list(spaceA, dhruva.ClaimQuery{Space: "a", Page: page("b", 2)}, "d", "a")
	list(spaceA, dhruva.ClaimQuery{Space: "a", Status: active, Page: page("b", 0)}, "a", "A")
	list(spaceA, dhruva.ClaimQuery{Space: "a", Live: at(7), Page: page("d", 1)}, "a")
	list(spaceA, dhruva.ClaimQuery{Space: "a", Page: page("e", 0)}) // one that is not covered
	list(tenant, dhruva.ClaimQuery{Space: "a", Page: page("e", 0)}, "b", "d", "a", "A")
	list(spaceA, dhruva.ClaimQuery{Space: "a", Page: page("never", 0)})
}
