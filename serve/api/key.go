package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
)

func (a *api) keyRoutes() {
	tags := []string{"keys"}
	changes(a, huma.Operation{OperationID: "create-key", Method: http.MethodPost, Path: "/keys", Summary: "Make a key; it is shown once",
		Description: "Repeated with its Idempotency-Key, the call is a 409 that names the key it made: a key cannot be shown again.", Tags: tags, DefaultStatus: http.StatusCreated}, dhruva.Admin, (*api).createKey, shownKey)
	route(a, huma.Operation{OperationID: "list-keys", Method: http.MethodGet, Path: "/keys", Summary: "List keys", Tags: tags}, a.listKeys)
	acts(a, huma.Operation{OperationID: "revoke-key", Method: http.MethodDelete, Path: "/keys/{id}", Summary: "Revoke a key", Tags: tags}, "", (*api).revokeKey)
}

func (a *api) createKey(ctx context.Context, in *struct{ Body client.KeyInput }) (client.NewKey, error) {
	b := in.Body
	k := auth.KeyInput{Name: b.Name, Scopes: b.Scopes, Provider: b.Provider, Test: b.Test}
	if b.ExpiresAt != nil {
		k.ExpiresAt = dhruva.Micros(*b.ExpiresAt)
	}
	err := a.keys.Check(ctx, k) // before a space is made for a key that cannot be
	if err == nil {
		k.Space, k.Spaces, err = a.keySpaces(ctx, b)
	}
	if err != nil {
		return client.NewKey{}, err
	}
	row, secret, err := a.keys.Create(ctx, k)
	if err != nil {
		return client.NewKey{}, err
	}
	return client.NewKey{Secret: secret.Reveal(), Key: keyView(row)}, nil
}

// keySpaces turns the names of a new key's spaces into ids; its own space is
// among those it may touch.
func (a *api) keySpaces(ctx context.Context, in client.KeyInput) (own dhruva.SpaceID, all []dhruva.SpaceID, err error) {
	if in.Space != "" {
		s, err := a.ensured(ctx, in.Space)
		if err != nil {
			return "", nil, err
		}
		own, all = s.ID, []dhruva.SpaceID{s.ID}
	}
	for _, name := range in.Spaces {
		s, err := a.space(ctx, name)
		if err != nil {
			return "", nil, err
		}
		if s.ID != own {
			all = append(all, s.ID)
		}
	}
	return own, all, nil
}

// ensured finds a space, or makes the one that is named: a key for a new
// project is often the first thing that names it.
func (a *api) ensured(ctx context.Context, name string) (dhruva.Space, error) {
	s, err := a.space(ctx, name)
	if errors.Is(err, dhruva.ErrNotFound) && uuid.Validate(name) != nil {
		return a.ledger.EnsureSpace(ctx, name)
	}
	return s, err
}

func (a *api) listKeys(ctx context.Context, in *Paging) (client.List[client.Key], error) {
	p, err := in.byID()
	if err != nil {
		return client.List[client.Key]{}, err
	}
	rows, err := a.keys.List(ctx, p)
	if err != nil {
		return client.List[client.Key]{}, err
	}
	next := ""
	if len(rows) == p.Size() {
		next = string(rows[len(rows)-1].ID)
	}
	return list(rows, next, keyView), nil
}

func (a *api) revokeKey(ctx context.Context, in *struct {
	ID dhruva.KeyID `path:"id"`
}) error {
	return a.keys.Revoke(ctx, in.ID)
}

func keyView(k dhruva.Key) client.Key {
	return client.Key{
		ID: k.ID, Name: k.Name, Label: k.Label, Test: k.Test, Scopes: k.Scopes, Space: k.Space, Spaces: k.Spaces,
		Provider: k.Provider, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
	}
}
