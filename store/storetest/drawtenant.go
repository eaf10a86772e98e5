package storetest

import (
	"github.com/dhruva-memory/dhruva"
)

func (d draw) keyOps() []func() op {
	return []func() op{
		func() op {
			return write("PutKey", dhruva.Tx.PutKey, dhruva.Key{Tenant: d.owner(), ID: dhruva.KeyID(d.id()), Hash: []byte(d.installed()), Name: d.text(),
				Test: d.flag(), Scopes: []dhruva.KeyScope{dhruva.MemoryRead}[:d.n()%2], CreatedAt: at(d.n())})
		},
		func() op { return ask("Key", dhruva.Tx.Key, dhruva.KeyID(d.id())) },
		func() op { return ask("KeyByHash", dhruva.Tx.KeyByHash, []byte(d.installed())) },
		func() op { return ask("ListKeys", dhruva.Tx.ListKeys, d.page()) },
	}
}

func (d draw) userOps() []func() op {
	subject := func() string { return pick(d, "subject", d.tag+"s", d.tag+"S", "", d.tag+"t") }
	issuer := func() string { return pick(d, "issuer", "i", "i", "", "I") }
	return []func() op{
		func() op {
			return write("PutUser", dhruva.Tx.PutUser, dhruva.User{Tenant: d.owner(), ID: dhruva.PrincipalID(d.id()), Name: d.text(), Email: d.installed(),
				Issuer: issuer(), Subject: subject(), CreatedAt: at(d.n())})
		},
		func() op { return ask("User", dhruva.Tx.User, dhruva.PrincipalID(d.id())) },
		func() op {
			return ask("UsersByEmail", dhruva.Tx.UsersByEmail, pick(d, "email", d.installed(), d.installed(), d.text()))
		},
		func() op {
			i, s := issuer(), subject()
			return call("UserBySubject", func(tx dhruva.Tx) (dhruva.User, error) { return tx.UserBySubject(i, s) }, i, s)
		},
		func() op { return ask("ListUsers", dhruva.Tx.ListUsers, d.page()) },
		func() op {
			id := dhruva.PrincipalID(pick(d, "user", d.id(), d.text()))
			return put("DropUser", func(tx dhruva.Tx) error { return tx.DropUser(id) }, id)
		},
	}
}

func (d draw) grantOps() []func() op {
	return []func() op{
		func() op {
			return write("PutGrant", dhruva.Tx.PutGrant, dhruva.Grant{Tenant: d.owner(), Space: d.space(), Principal: dhruva.PrincipalID(d.id()),
				Role: pick(d, "role", dhruva.MemberAdmin, dhruva.MemberViewer, ""), By: dhruva.PrincipalID(d.text()), CreatedAt: at(d.n())})
		},
		func() op {
			id, p := d.space(), dhruva.PrincipalID(d.id())
			return call("Grant", func(tx dhruva.Tx) (dhruva.Grant, error) { return tx.Grant(id, p) }, id, p)
		},
		func() op {
			id, p := d.space(), d.page()
			return call("ListGrants", func(tx dhruva.Tx) ([]dhruva.Grant, error) { return tx.ListGrants(id, p) }, id, p)
		},
		func() op { return ask("GrantsOf", dhruva.Tx.GrantsOf, dhruva.PrincipalID(d.id())) },
		func() op {
			id, p := d.space(), dhruva.PrincipalID(pick(d, "principal", d.id(), d.text()))
			return put("DropGrant", func(tx dhruva.Tx) error { return tx.DropGrant(id, p) }, id, p)
		},
		func() op {
			return write("PutProvider", dhruva.Tx.PutProvider, dhruva.ProviderConfig{Tenant: d.owner(), Name: d.id(), BaseURL: d.text(), Enabled: d.flag(),
				Sealed: []byte(d.text()), Version: d.small(), UpdatedAt: at(d.n())})
		},
		func() op { return ask("Provider", dhruva.Tx.Provider, d.id()) },
		func() op { return call("ListProviders", dhruva.Tx.ListProviders) },
		func() op {
			name := pick(d, "provider", d.id(), d.text())
			return put("DropProvider", func(tx dhruva.Tx) error { return tx.DropProvider(name) }, name)
		},
	}
}
