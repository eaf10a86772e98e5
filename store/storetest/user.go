package storetest

import (
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// userCases are about people, what they may, and what a tenant has set up.
var userCases = []testCase{
	{"UsersByEmail", testUsersByEmail},
	{"UserBySubject", testUserBySubject},
	{"ListUsers", testListUsers},
	{"Grants", testGrants},
	{"ListGrants", testListGrants},
	{"Providers", testProviders},
	{"ListTenants", testListTenants},
}

func user(t dhruva.TenantID, id, email string) dhruva.User {
	return dhruva.User{Tenant: t, ID: dhruva.PrincipalID(id), Email: email}
}

func userName(u dhruva.User) string { return string(u.Tenant) + "/" + string(u.ID) }

// testUsersByEmail: exactly this address, in every tenant.
func testUsersByEmail(f *fixture) {
	for _, t := range []dhruva.Scope{other, tenant} {
		f.write(t, func(tx dhruva.Tx) {
			for id, email := range map[string]string{"y": "x@example", "x": "x@example", "X": "X@example", "n": "", "z": "x@example "} {
				f.must(tx.PutUser(user(t.Tenant(), id, email)))
			}
		})
	}
	find := func(scope dhruva.Scope, email string, want ...string) {
		f.Helper()
		f.read(scope, func(tx dhruva.Tx) {
			rows, err := tx.UsersByEmail(email)
			names(f, rows, err, userName, want...)
		})
	}
	find(system, "x@example", "t1/x", "t1/y", "t2/x", "t2/y")
	find(system, "X@example", "t1/X", "t2/X")
	find(system, "")
	find(system, "never")
	find(tenant, "x@example")
	f.write(tenant, func(tx dhruva.Tx) {
		f.must(tx.PutUser(user("t1", "x", "new@example")))
		f.must(tx.DropUser("y"))
		f.must(tx.DropUser("y"))
	})
	find(system, "x@example", "t2/x", "t2/y")
	find(system, "new@example", "t1/x")
}

// testUserBySubject: an issuer's subject is one user of the installation.
func testUserBySubject(f *fixture) {
	row := fullUser()
	theirs := func(id, issuer, subject string) dhruva.User {
		return dhruva.User{Tenant: "t2", ID: dhruva.PrincipalID(id), Issuer: issuer, Subject: subject}
	}
	f.write(tenant, func(tx dhruva.Tx) {
		f.must(tx.PutUser(row))
		f.must(tx.PutUser(row)) // itself
		twin := row
		twin.ID = "twin"
		f.is(tx.PutUser(twin), dhruva.ErrConflict)
		f.must(tx.PutUser(dhruva.User{Tenant: "t1", ID: "none"}))
		f.must(tx.PutUser(dhruva.User{Tenant: "t1", ID: "neither"})) // those without one do not meet
		got, err := tx.UserBySubject(row.Issuer, row.Subject)
		missing(f, got, err) // System only
	})
	f.write(other, func(tx dhruva.Tx) {
		f.is(tx.PutUser(theirs("u", row.Issuer, row.Subject)), dhruva.ErrConflict)
		f.must(tx.PutUser(theirs("u", "Issuer", row.Subject)))
		f.must(tx.PutUser(theirs("v", row.Issuer, "Subject")))
	})
	find := func(issuer, subject, want string) {
		f.Helper()
		f.read(system, func(tx dhruva.Tx) {
			got, err := tx.UserBySubject(issuer, subject)
			if want == "" {
				missing(f, got, err)
			} else {
				same(f, userName(got), err, want)
			}
		})
	}
	find("issuer", "subject", "t1/user")
	find("Issuer", "subject", "t2/u")
	find("issuer", "Subject", "t2/v")
	find("", "", "")
	find("issuer", "", "")
	f.write(tenant, func(tx dhruva.Tx) { f.must(tx.DropUser("user")) })
	find("issuer", "subject", "")
	f.write(other, func(tx dhruva.Tx) { f.must(tx.PutUser(theirs("w", "issuer", "subject"))) })
	find("issuer", "subject", "t2/w")
}

func testListUsers(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for _, id := range slices.Backward(awkward()) {
			f.must(tx.PutUser(user("t1", id, id)))
		}
	})
	f.write(other, func(tx dhruva.Tx) { f.must(tx.PutUser(user("t2", "theirs", ""))) })
	list := func(tx dhruva.Tx, p dhruva.Page) ([]string, error) {
		rows, err := tx.ListUsers(p)
		return keys(rows, func(u dhruva.User) string { return string(u.ID) }), err
	}
	f.pages(tenant, awkward(), list)
	for _, scope := range []dhruva.Scope{spaceA, system} {
		f.pages(scope, nil, list)
	}
}

// testGrants: those of the tenant and of its spaces, given by the tenant.
func testGrants(f *fixture) {
	grant := func(space, who string) dhruva.Grant {
		return dhruva.Grant{Tenant: "t1", Space: dhruva.SpaceID(space), Principal: dhruva.PrincipalID(who), Role: dhruva.MemberPlain, CreatedAt: at(1)}
	}
	f.write(tenant, func(tx dhruva.Tx) {
		for _, g := range []dhruva.Grant{grant("b", "x"), grant("", "x"), grant("B", "x"), grant("a", "x"), grant("a", "y")} {
			f.must(tx.PutGrant(g))
		}
	})
	of := func(scopes []dhruva.Scope, want ...string) {
		f.Helper()
		f.must(f.Update(f.ctx, scopes, func(tx dhruva.Tx) error {
			rows, err := tx.GrantsOf("x")
			names(f, rows, err, func(g dhruva.Grant) string { return string(g.Space) }, want...)
			return nil
		}))
	}
	of([]dhruva.Scope{tenant}, "", "B", "a", "b")
	of([]dhruva.Scope{spaceA}, "a")
	of([]dhruva.Scope{spaceB, spaceA}, "a", "b")
	of([]dhruva.Scope{system})
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Grant("a", "x")
		same(f, got, err, grant("a", "x"))
		got, err = tx.Grant("b", "x")
		missing(f, got, err)
		got, err = tx.Grant("", "x") // of the tenant: Tenant scope
		missing(f, got, err)
	})
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error { return tx.PutGrant(grant("a", "x")) }), dhruva.ErrDenied)
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error { return tx.DropGrant("a", "x") }), dhruva.ErrDenied)
	f.write(tenant, func(tx dhruva.Tx) {
		f.must(tx.DropGrant("", "x"))
		f.must(tx.DropGrant("", "x"))
		f.must(tx.DropGrant("a", "x"))
	})
	of([]dhruva.Scope{tenant}, "B", "b")
}

func testListGrants(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for _, id := range slices.Backward(awkward()) {
			for _, space := range []dhruva.SpaceID{"", "a"} {
				f.must(tx.PutGrant(dhruva.Grant{Tenant: "t1", Space: space, Principal: dhruva.PrincipalID(id), Role: dhruva.MemberPlain}))
			}
		}
	})
	of := func(space dhruva.SpaceID) lister {
		return func(tx dhruva.Tx, p dhruva.Page) ([]string, error) {
			rows, err := tx.ListGrants(space, p)
			return keys(rows, func(g dhruva.Grant) string { return string(g.Principal) }), err
		}
	}
	f.pages(tenant, awkward(), of("a"))
	f.pages(tenant, awkward(), of(""))
	f.pages(spaceA, awkward(), of("a"))
	f.pages(spaceA, nil, of(""))
	f.pages(tenant, nil, of("b"))
}

func testProviders(f *fixture) {
	f.write(tenant, func(tx dhruva.Tx) {
		for _, name := range slices.Backward(awkward()) {
			f.must(tx.PutProvider(dhruva.ProviderConfig{Tenant: "t1", Name: name}))
		}
		f.must(tx.DropProvider("b"))
		f.must(tx.DropProvider("b"))
	})
	f.write(other, func(tx dhruva.Tx) {
		f.must(tx.PutProvider(dhruva.ProviderConfig{Tenant: "t2", Name: "theirs"}))
		f.must(tx.DropProvider("A"))
	})
	want := slices.DeleteFunc(awkward(), func(s string) bool { return s == "b" })
	for scope, want := range map[dhruva.Scope][]string{tenant: want, other: {"theirs"}, spaceA: nil, system: nil} {
		f.read(scope, func(tx dhruva.Tx) {
			rows, err := tx.ListProviders()
			names(f, rows, err, func(p dhruva.ProviderConfig) string { return p.Name }, want...)
		})
	}
}

func testListTenants(f *fixture) {
	f.write(system, func(tx dhruva.Tx) {
		for _, id := range slices.Backward(awkward()) {
			f.must(tx.PutTenant(dhruva.Tenant{ID: dhruva.TenantID(id)}))
		}
	})
	list := func(tx dhruva.Tx, p dhruva.Page) ([]string, error) {
		rows, err := tx.ListTenants(p)
		return keys(rows, func(t dhruva.Tenant) string { return string(t.ID) }), err
	}
	f.pages(system, awkward(), list)
	f.pages(dhruva.TenantScope("A"), nil, list)
}
