package auth_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// acts are the kinds of the pending leaves of the local tenant, each with its
// receipt, to the byte.
func acts(t *testing.T, store dhruva.Store) (kinds []string, subjects []string) {
	t.Helper()
	err := store.View(context.Background(), dhruva.TenantScope(auth.LocalTenant), func(tx dhruva.Tx) error {
		leaves, err := tx.PendingLeaves(100)
		if err != nil {
			return err
		}
		receipts, err := tx.ListReceipts(dhruva.ReceiptQuery{})
		if err != nil || len(receipts) != len(leaves) {
			t.Errorf("%d receipts, %d leaves, %v", len(receipts), len(leaves), err)
		}
		for _, r := range receipts {
			leaf, err := tx.Leaf(dhruva.LeafID(r.ID))
			want, wantErr := dhruva.LeafOf(r)
			if err != nil || wantErr != nil || leaf != want {
				t.Errorf("%+v: %+v %v %v", r, leaf, err, wantErr)
			}
			kinds, subjects = append([]string{leaf.Kind}, kinds...), append([]string{r.Subject}, subjects...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return kinds, subjects
}

// Security 10: making and revoking keys is attested, once each.
func TestKeysAreAttested(t *testing.T) {
	store := memstore.New()
	keys := &auth.Keys{Store: storetest.Rerun{Store: store}, Keyring: auth.NewKeyring([]byte("0123456789abcdef0123456789abcdef"))}
	dir := t.TempDir()
	for range 2 {
		if err := keys.Bootstrap(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	ctx := dhruva.WithPrincipal(t.Context(), auth.LocalPrincipal())
	key, _, err := keys.Create(ctx, auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := keys.Revoke(ctx, key.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := keys.Revoke(ctx, "none"); !errors.Is(err, dhruva.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, _, err := keys.Create(ctx, auth.KeyInput{Space: "none", Scopes: []dhruva.KeyScope{dhruva.MemoryRead}}); !errors.Is(err, dhruva.ErrNotFound) {
		t.Errorf("%v", err)
	}
	kinds, subjects := acts(t, store)
	want := []string{dhruva.ActKeyCreate, dhruva.ActKeyCreate, dhruva.ActKeyRevoke}
	if fmt.Sprint(kinds) != fmt.Sprint(want) || subjects[1] != string(key.ID) || subjects[2] != string(key.ID) {
		t.Errorf("%v %v, want %v", kinds, subjects, want)
	}
}

// The key and its leaf are kept or lost together.
func TestAKeyAndItsLeafAreOneUpdate(t *testing.T) {
	for _, kind := range []storetest.Fault{storetest.Lost, storetest.Kept} {
		store := memstore.New()
		keys := &auth.Keys{Store: storetest.NewFaulty(store, kind, 1), Keyring: auth.NewKeyring([]byte("0123456789abcdef0123456789abcdef"))}
		ctx := dhruva.WithPrincipal(t.Context(), auth.LocalPrincipal())
		if _, _, err := keys.Create(ctx, auth.KeyInput{Scopes: []dhruva.KeyScope{dhruva.MemoryRead}}); !errors.Is(err, dhruva.ErrUnavailable) {
			t.Fatalf("%v", err)
		}
		rows, err := keys.List(ctx, dhruva.Page{})
		if err != nil {
			t.Fatal(err)
		}
		if kinds, _ := acts(t, store); len(kinds) != len(rows) || len(rows) > 0 != (kind == storetest.Kept) {
			t.Errorf("%d keys, %d leaves", len(rows), len(kinds))
		}
	}
}
