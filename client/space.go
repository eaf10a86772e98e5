package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Space is a memory namespace.
type Space struct {
	ID          dhruva.SpaceID `json:"id" doc:"Id of the space."`
	Name        string         `json:"name" doc:"Name; paths take it in place of the id."`
	Description string         `json:"description" doc:"What the space is for."`
	ProjectRoot string         `json:"project_root" doc:"Directory of the project, if any."`
	CreatedAt   time.Time      `json:"created_at"`
	UpdatedAt   time.Time      `json:"updated_at"`
}

// SpaceInput makes a space.
type SpaceInput struct {
	Name        string `json:"name" minLength:"1" doc:"Name of the space; one that another space has is refused (409)."`
	Description string `json:"description,omitempty"`
	ProjectRoot string `json:"project_root,omitempty"`
}

// SpacePatch changes what is given and leaves the rest.
type SpacePatch struct {
	Name        *string `json:"name,omitempty" minLength:"1"`
	Description *string `json:"description,omitempty"`
	ProjectRoot *string `json:"project_root,omitempty"`
}

// Branch is a named head of a space.
type Branch struct {
	Name        string      `json:"name"`
	Head        dhruva.Hash `json:"head" doc:"Hash of the newest checkpoint of the branch."`
	Disposition string      `json:"disposition" doc:"active, integrated or abandoned."`
	UpdatedAt   time.Time   `json:"updated_at"`
}

// Verification is the outcome of recomputing a space's checkpoints.
type Verification struct {
	OK       bool     `json:"ok" doc:"Every hash and digest matches."`
	Checked  int      `json:"checked" doc:"Number of checkpoints recomputed."`
	Problems []string `json:"problems" doc:"What does not match, one line each."`
}

// Spaces lists the spaces the key reaches.
func (c *Client) Spaces(ctx context.Context, p dhruva.Page) (List[Space], error) {
	return call[List[Space]](ctx, c, http.MethodGet, "/spaces"+pageQuery(p, nil), nil)
}

// CreateSpace makes a space; a taken name is dhruva.ErrConflict.
func (c *Client) CreateSpace(ctx context.Context, in SpaceInput) (Space, error) {
	return call[Space](ctx, c, http.MethodPost, "/spaces", in)
}

// Space finds a space by id or name.
func (c *Client) Space(ctx context.Context, space string) (Space, error) {
	return call[Space](ctx, c, http.MethodGet, spacePath(space), nil)
}

// UpdateSpace changes a space.
func (c *Client) UpdateSpace(ctx context.Context, space string, in SpacePatch) (Space, error) {
	return call[Space](ctx, c, http.MethodPatch, spacePath(space), in)
}

// DeleteSpace hides a space; nothing in it is erased.
func (c *Client) DeleteSpace(ctx context.Context, space string) error {
	return c.none(ctx, http.MethodDelete, spacePath(space))
}

// Branches lists the named heads of a space.
func (c *Client) Branches(ctx context.Context, space string) (List[Branch], error) {
	return call[List[Branch]](ctx, c, http.MethodGet, spacePath(space)+"/branches", nil)
}

// Verify recomputes every checkpoint of a space.
func (c *Client) Verify(ctx context.Context, space string) (Verification, error) {
	return call[Verification](ctx, c, http.MethodGet, spacePath(space)+"/verify", nil)
}

// spacePath names a space; without a name it is the key's own.
func spacePath(space string) string {
	if space == "" {
		space = "-"
	}
	return "/spaces/" + url.PathEscape(space)
}
