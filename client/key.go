package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// KeyInput makes a key.
type KeyInput struct {
	Name      string            `json:"name,omitempty"`
	Space     string            `json:"space,omitempty" doc:"Id or name of the key's own space; it then reaches no other."`
	Spaces    []string          `json:"spaces,omitempty" doc:"Further spaces the key may touch. With neither, all of the tenant."`
	Scopes    []dhruva.KeyScope `json:"scopes" minItems:"1" doc:"memory:read, memory:write, memory:delete, memory:attest, state:read, state:write, proxy, receipt:read, admin."`
	Provider  string            `json:"provider,omitempty" doc:"Bind proxied calls to one provider."`
	Test      bool              `json:"test,omitempty" doc:"A test key reaches only the echo provider."`
	ExpiresAt *time.Time        `json:"expires_at,omitempty" doc:"Default: never."`
}

// Key is a stored key; the key itself is shown once, when it is made.
type Key struct {
	ID        dhruva.KeyID      `json:"id"`
	Name      string            `json:"name"`
	Label     string            `json:"label" doc:"Prefix and last four characters."`
	Test      bool              `json:"test"`
	Scopes    []dhruva.KeyScope `json:"scopes"`
	Space     dhruva.SpaceID    `json:"space_id,omitempty"`
	Spaces    []dhruva.SpaceID  `json:"space_ids,omitempty"`
	Provider  string            `json:"provider,omitempty"`
	CreatedAt time.Time         `json:"created_at"`
	ExpiresAt time.Time         `json:"expires_at,omitzero"`
	RevokedAt time.Time         `json:"revoked_at,omitzero"`
}

// NewKey is a key at the one moment it can be read.
type NewKey struct {
	Secret string `json:"key" doc:"Shown once."`
	Key
}

// CreateKey makes a key. It never exceeds the rights of the key that makes it.
func (c *Client) CreateKey(ctx context.Context, in KeyInput) (NewKey, error) {
	return call[NewKey](ctx, c, http.MethodPost, "/keys", in)
}

// Keys lists keys.
func (c *Client) Keys(ctx context.Context, p dhruva.Page) (List[Key], error) {
	return call[List[Key]](ctx, c, http.MethodGet, "/keys"+pageQuery(p, nil), nil)
}

// RevokeKey ends a key at once.
func (c *Client) RevokeKey(ctx context.Context, id dhruva.KeyID) error {
	return c.none(ctx, http.MethodDelete, "/keys/"+url.PathEscape(string(id)))
}
