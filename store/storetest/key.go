package storetest

import (
	"errors"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// keyCases are about keys.
var keyCases = []testCase{
	{"Key", testKey},
	{"UniqueAcrossTenants", testUnique},
}

func testKey(f *fixture) {
	row := fullKey()
	f.write(tenant, func(tx dhruva.Tx) {
		got, err := tx.Key("key")
		missing(f, got, err)
		f.must(tx.PutKey(row))
		twin := row
		twin.ID = "twin"
		f.is(tx.PutKey(twin), dhruva.ErrConflict)
		row.Hash, row.RevokedAt = []byte{9}, time.Time{}
		f.must(tx.PutKey(row))
		twin.Hash = []byte{0, 1, 2} // free again
		f.must(tx.PutKey(twin))
		got, err = tx.KeyByHash([]byte{9}) // System only
		missing(f, got, err)
	})
	f.read(tenant, func(tx dhruva.Tx) {
		got, err := tx.Key("key")
		same(f, got, err, row)
	})
	f.read(system, func(tx dhruva.Tx) {
		got, err := tx.KeyByHash([]byte{9})
		same(f, got, err, row)
		got, err = tx.KeyByHash(nil)
		missing(f, got, err)
		got, err = tx.KeyByHash([]byte{0, 1})
		missing(f, got, err)
		got, err = tx.Key("key")
		missing(f, got, err)
	})
	f.is(f.Update(f.ctx, []dhruva.Scope{other}, func(tx dhruva.Tx) error { // a hash is the installation's
		return tx.PutKey(dhruva.Key{Tenant: "t2", ID: "key", Hash: []byte{9}})
	}), dhruva.ErrConflict)
}

// testUnique: of two tenants that take the same hash, or the same subject, at
// once, one gets it; the other is told so.
func testUnique(f *fixture) {
	for n := range 8 {
		errs := make([]error, 8)
		together(len(errs), func(w int) {
			t := dhruva.TenantID([]string{"t1", "t2", "t3", "t4"}[w%4])
			errs[w] = f.Update(f.ctx, []dhruva.Scope{dhruva.TenantScope(t)}, func(tx dhruva.Tx) error {
				if w < 4 {
					return tx.PutKey(dhruva.Key{Tenant: t, ID: "k", Hash: []byte{byte(n)}})
				}
				return tx.PutUser(dhruva.User{Tenant: t, ID: "u", Issuer: "i", Subject: string(rune('a' + n))})
			})
		})
		for _, group := range [][]error{errs[:4], errs[4:]} {
			won := 0
			for _, err := range group {
				if err == nil {
					won++
				} else if !errors.Is(err, dhruva.ErrConflict) {
					f.Error(err)
				}
			}
			same(f, won, nil, 1)
		}
	}
}
