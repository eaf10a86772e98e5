package auth_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// access is all that a tenant's rows say of who may do what.
type access struct {
	Keys      []dhruva.Key
	Users     []dhruva.User
	Grants    []dhruva.Grant
	Providers []dhruva.ProviderConfig
}

func put(t *testing.T, s dhruva.Store, a access) {
	t.Helper()
	err := s.Update(context.Background(), []dhruva.Scope{dhruva.TenantScope("t")}, func(tx dhruva.Tx) error {
		err := tx.PutSpace(dhruva.Space{Tenant: "t", ID: "s"})
		for _, row := range a.Keys {
			err = errors.Join(err, tx.PutKey(row))
		}
		for _, row := range a.Users {
			err = errors.Join(err, tx.PutUser(row))
		}
		for _, row := range a.Grants {
			err = errors.Join(err, tx.PutGrant(row))
		}
		for _, row := range a.Providers {
			err = errors.Join(err, tx.PutProvider(row))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func accessOf(t *testing.T, s dhruva.Store) (out access) {
	t.Helper()
	err := s.View(context.Background(), dhruva.TenantScope("t"), func(tx dhruva.Tx) (err error) {
		var errs [5]error
		var more []dhruva.Grant
		out.Keys, errs[0] = tx.ListKeys(dhruva.Page{Limit: 1000})
		out.Users, errs[1] = tx.ListUsers(dhruva.Page{Limit: 1000})
		out.Grants, errs[2] = tx.ListGrants("", dhruva.Page{Limit: 1000})
		more, errs[3] = tx.ListGrants("s", dhruva.Page{Limit: 1000})
		out.Providers, errs[4] = tx.ListProviders()
		out.Grants = append(out.Grants, more...)
		return errors.Join(errs[:]...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHeed: what was revoked or removed later stays so; what is only later does
// not come along; a second time there is nothing to do.
func TestHeed(t *testing.T) {
	at := time.UnixMicro(1_700_000_000_000_000).UTC()
	later := at.Add(time.Hour)
	key := func(id string, revoked time.Time) dhruva.Key {
		return dhruva.Key{Tenant: "t", ID: dhruva.KeyID(id), Hash: []byte(id), RevokedAt: revoked}
	}
	user := func(id, subject string, disabled time.Time) dhruva.User {
		return dhruva.User{Tenant: "t", ID: dhruva.PrincipalID(id), Issuer: "i", Subject: subject, DisabledAt: disabled}
	}
	grant := func(space, who string, role dhruva.MemberRole) dhruva.Grant {
		return dhruva.Grant{Tenant: "t", Space: dhruva.SpaceID(space), Principal: dhruva.PrincipalID(who), Role: role}
	}
	provider := func(name string, version int64) dhruva.ProviderConfig {
		return dhruva.ProviderConfig{Tenant: "t", Name: name, Version: version, UpdatedAt: at.Add(time.Duration(version) * time.Minute), Sealed: []byte{byte(version)}}
	}
	here, there := memstore.New(), memstore.New()
	put(t, here, access{
		Keys:      []dhruva.Key{key("a", time.Time{}), key("b", time.Time{}), key("c", at), key("d", time.Time{})},
		Users:     []dhruva.User{user("a", "one", time.Time{}), user("b", "two", time.Time{}), user("c", "three", time.Time{})},
		Grants:    []dhruva.Grant{grant("", "a", dhruva.MemberOwner), grant("", "b", dhruva.MemberOwner), grant("s", "a", dhruva.MemberPlain), grant("s", "b", dhruva.MemberPlain)},
		Providers: []dhruva.ProviderConfig{provider("gone", 1), provider("moved", 1), provider("same", 1)},
	})
	put(t, there, access{
		Keys:      []dhruva.Key{key("a", later), key("b", time.Time{}), key("c", later), key("only later", time.Time{})},
		Users:     []dhruva.User{user("a", "two", later), user("c", "three", time.Time{}), user("only later", "four", time.Time{})}, // a signs in as b did
		Grants:    []dhruva.Grant{grant("", "a", dhruva.MemberViewer), grant("s", "a", dhruva.MemberPlain), grant("s", "only later", dhruva.MemberOwner)},
		Providers: []dhruva.ProviderConfig{provider("moved", 2), provider("only later", 1), provider("same", 1)},
	})
	want := access{
		Keys:      []dhruva.Key{key("a", later), key("b", time.Time{}), key("c", at), key("d", time.Time{})},
		Users:     []dhruva.User{user("a", "two", later), user("c", "three", time.Time{})},
		Grants:    []dhruva.Grant{grant("", "a", dhruva.MemberViewer), grant("s", "a", dhruva.MemberPlain)},
		Providers: []dhruva.ProviderConfig{provider("moved", 2), provider("same", 1)},
	}
	revoked, err := auth.Heed(context.Background(), here, there, "t", false)
	if err != nil || revoked != (auth.Access{Keys: 1}) || len(accessOf(t, here).Users) != 3 {
		t.Errorf("revocations alone: %+v, %v", revoked, err)
	}
	for _, counts := range []auth.Access{{Users: 2, Grants: 3, Providers: 2}, {}} {
		got, err := auth.Heed(context.Background(), here, there, "t", true)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(counts, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want, accessOf(t, here)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestHeedManyRows: more than a page of them.
func TestHeedManyRows(t *testing.T) {
	here, there := memstore.New(), memstore.New()
	var a access
	for n := range 450 {
		id := string(rune('a'+n%26)) + time.UnixMicro(int64(n)).UTC().Format("150405.000000")
		a.Keys = append(a.Keys, dhruva.Key{Tenant: "t", ID: dhruva.KeyID(id), Hash: []byte(id)})
	}
	put(t, here, a)
	for i := range a.Keys {
		a.Keys[i].RevokedAt = time.UnixMicro(1).UTC()
	}
	put(t, there, a)
	got, err := auth.Heed(context.Background(), here, there, "t", true)
	if err != nil || got.Keys != 450 {
		t.Errorf("%+v, %v", got, err)
	}
}
