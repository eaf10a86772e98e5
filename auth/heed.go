package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// Access counts what a store takes over from another one about who may do what.
type Access struct {
	// Keys were revoked.
	Keys int `json:"keys"`
	// Users, Grants and Providers were changed or removed.
	Users     int `json:"users"`
	Grants    int `json:"grants"`
	Providers int `json:"providers"`
}

// Add adds another count.
func (a *Access) Add(o Access) {
	a.Keys += o.Keys
	a.Users += o.Users
	a.Grants += o.Grants
	a.Providers += o.Providers
}

// heedRows is how many rows one Update of Heed looks at.
const heedRows = 200

// Heed has a store that was restored from a backup heed what a later store of
// the same installation says of access in a tenant: keys that were revoked there
// are revoked here; users, grants and providers that are here are as they are
// there, and are removed when they are not there any more. What is only there
// stays there. A store that did not go on from what is here, so that what it has
// not may never have been there, is heeded in its revocations alone (all false).
// It may be done again.
func Heed(ctx context.Context, into, later dhruva.Store, t dhruva.TenantID, all bool) (out Access, err error) {
	h := heeding{into: into, later: later, scope: dhruva.TenantScope(t)}
	parts := []func(context.Context, *Access) error{h.keys, h.users, h.grants, h.providers}
	if !all {
		parts = parts[:1]
	}
	for _, part := range parts {
		if err := part(ctx, &out); err != nil {
			return out, fmt.Errorf("auth: heed: %w", err)
		}
	}
	return out, nil
}

type heeding struct {
	into, later dhruva.Store
	scope       dhruva.Scope
}

// paged reads the rows that are here page by page, and what is there of each;
// nil where it is not. put then writes what differs.
func paged[T any](ctx context.Context, h heeding, list func(dhruva.Tx, dhruva.Page) ([]T, error), id func(T) string,
	there func(dhruva.Tx, T) (T, error), put func(tx dhruva.Tx, here T, there *T) (bool, error)) (changed int, err error) {
	for page := (dhruva.Page{Limit: heedRows}); ; {
		var here []T
		err := h.into.View(ctx, h.scope, func(tx dhruva.Tx) (err error) {
			here, err = list(tx, page)
			return err
		})
		if err != nil || len(here) == 0 {
			return changed, err
		}
		found := make([]*T, len(here))
		err = h.later.View(ctx, h.scope, func(tx dhruva.Tx) error {
			for i, row := range here {
				v, err := there(tx, row)
				if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
					return err
				}
				if found[i] = nil; err == nil {
					found[i] = &v
				}
			}
			return nil
		})
		if err != nil {
			return changed, err
		}
		n := 0
		err = h.into.Update(ctx, []dhruva.Scope{h.scope}, func(tx dhruva.Tx) error {
			n = 0
			for i, row := range here {
				did, err := put(tx, row, found[i])
				if err != nil {
					return err
				}
				if did {
					n++
				}
			}
			return nil
		})
		if err != nil {
			return changed, err
		}
		changed += n
		page.After = id(here[len(here)-1])
	}
}

func (h heeding) keys(ctx context.Context, out *Access) (err error) {
	out.Keys, err = paged(ctx, h, func(tx dhruva.Tx, p dhruva.Page) ([]dhruva.Key, error) { return tx.ListKeys(p) },
		func(k dhruva.Key) string { return string(k.ID) },
		func(tx dhruva.Tx, k dhruva.Key) (dhruva.Key, error) { return tx.Key(k.ID) },
		func(tx dhruva.Tx, here dhruva.Key, there *dhruva.Key) (bool, error) {
			if there == nil || there.RevokedAt.IsZero() || !here.RevokedAt.IsZero() {
				return false, nil
			}
			here.RevokedAt = there.RevokedAt
			return true, tx.PutKey(here)
		})
	return err
}

// users: those that are gone make room first, since what a person signs in with
// is one user's at a time.
func (h heeding) users(ctx context.Context, out *Access) error {
	list := func(tx dhruva.Tx, p dhruva.Page) ([]dhruva.User, error) { return tx.ListUsers(p) }
	id := func(u dhruva.User) string { return string(u.ID) }
	there := func(tx dhruva.Tx, u dhruva.User) (dhruva.User, error) { return tx.User(u.ID) }
	for _, put := range []func(tx dhruva.Tx, here dhruva.User, there *dhruva.User) (bool, error){
		func(tx dhruva.Tx, here dhruva.User, there *dhruva.User) (bool, error) {
			if there != nil {
				return false, nil
			}
			return true, tx.DropUser(here.ID)
		},
		func(tx dhruva.Tx, here dhruva.User, there *dhruva.User) (bool, error) {
			if there == nil || *there == here {
				return false, nil
			}
			return true, tx.PutUser(*there)
		},
	} {
		n, err := paged(ctx, h, list, id, there, put)
		if out.Users += n; err != nil {
			return err
		}
	}
	return nil
}

// grants are those of the tenant and of each space, found by their principals.
func (h heeding) grants(ctx context.Context, out *Access) error {
	var spaces []dhruva.SpaceID
	err := h.into.View(ctx, h.scope, func(tx dhruva.Tx) error {
		spaces = []dhruva.SpaceID{""}
		for page := (dhruva.Page{Limit: 1000}); ; {
			rows, err := tx.ListSpaces(page)
			if err != nil || len(rows) == 0 {
				return err
			}
			for _, s := range rows {
				spaces = append(spaces, s.ID)
			}
			page.After = string(rows[len(rows)-1].ID)
		}
	})
	if err != nil {
		return err
	}
	for _, s := range spaces {
		n, err := h.grantsIn(ctx, s)
		if out.Grants += n; err != nil {
			return err
		}
	}
	return nil
}

func (h heeding) grantsIn(ctx context.Context, s dhruva.SpaceID) (int, error) {
	return paged(ctx, h, func(tx dhruva.Tx, p dhruva.Page) ([]dhruva.Grant, error) { return tx.ListGrants(s, p) },
		func(g dhruva.Grant) string { return string(g.Principal) },
		func(tx dhruva.Tx, g dhruva.Grant) (dhruva.Grant, error) { return tx.Grant(s, g.Principal) },
		func(tx dhruva.Tx, here dhruva.Grant, there *dhruva.Grant) (bool, error) {
			switch {
			case there == nil:
				return true, tx.DropGrant(s, here.Principal)
			case *there == here:
				return false, nil
			}
			return true, tx.PutGrant(*there)
		})
}

func (h heeding) providers(ctx context.Context, out *Access) error {
	there := map[string]dhruva.ProviderConfig{}
	err := h.later.View(ctx, h.scope, func(tx dhruva.Tx) error {
		clear(there)
		rows, err := tx.ListProviders()
		for _, p := range rows {
			there[p.Name] = p
		}
		return err
	})
	if err != nil {
		return err
	}
	n := 0
	err = h.into.Update(ctx, []dhruva.Scope{h.scope}, func(tx dhruva.Tx) error {
		n = 0
		here, err := tx.ListProviders()
		if err != nil {
			return err
		}
		for _, p := range here {
			did, err := heedProvider(tx, p, there)
			if err != nil {
				return err
			}
			if did {
				n++
			}
		}
		return nil
	})
	out.Providers += n
	return err
}

func heedProvider(tx dhruva.Tx, here dhruva.ProviderConfig, there map[string]dhruva.ProviderConfig) (bool, error) {
	now, ok := there[here.Name]
	switch {
	case !ok:
		return true, tx.DropProvider(here.Name)
	case now.Version == here.Version && now.UpdatedAt.Equal(here.UpdatedAt):
		return false, nil
	}
	return true, tx.PutProvider(now)
}
