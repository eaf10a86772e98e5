package smriti

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

func repoRoutes() []route {
	return []route{
		{pattern: "POST /api/v2/repos", status: http.StatusCreated, do: (*api).createRepo, again: (*api).madeRepo},
		{pattern: "GET /api/v2/repos", do: (*api).listRepos},
		{pattern: "GET /api/v2/repos/{id}", do: (*api).showRepo},
		{pattern: "PATCH /api/v2/repos/{id}/project-root", do: (*api).setProjectRoot},
		{pattern: "DELETE /api/v2/repos/{id}", status: http.StatusNoContent, do: (*api).deleteRepo},
	}
}

// Repo is a space.
type Repo struct {
	ID          dhruva.SpaceID     `json:"id"`
	Slug        string             `json:"repo_slug"`
	Name        string             `json:"name"`
	Description *string            `json:"description"`
	ProjectRoot *string            `json:"project_root"`
	UserID      dhruva.PrincipalID `json:"user_id"`
	Metadata    map[string]any     `json:"metadata"`
	CreatedAt   time.Time          `json:"created_at"`
	UpdatedAt   time.Time          `json:"updated_at"`
}

type repoInput struct {
	Name        string          `json:"name" need:"" blank:"no"`
	Description string          `json:"description"`
	ProjectRoot string          `json:"project_root"`
	UserID      json.RawMessage `json:"user_id"` // who asks is told by the credential
	Metadata    map[string]any  `json:"metadata"`
}

func repoOf(s dhruva.Space, metadata map[string]any) Repo {
	if metadata == nil {
		metadata = map[string]any{}
	}
	return Repo{
		ID: s.ID, Slug: slug(s.Name), Name: s.Name, Description: orNull(s.Description), ProjectRoot: orNull(s.ProjectRoot),
		UserID: s.Owner, Metadata: metadata, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
}

// slug is a name as it stands in an address: letters and digits of any script.
func slug(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !letter(r) }), "-")
}

func (a *api) createRepo(c *call) (any, error) {
	in, err := body[repoInput](c)
	if err != nil {
		return nil, err
	}
	s, err := a.ledger.CreateSpace(c.ctx(), ledger.SpaceInput{Name: in.Name, Description: in.Description, ProjectRoot: in.ProjectRoot})
	if err != nil {
		return nil, err
	}
	return repoOf(s, in.Metadata), c.plain.keepMetadata(c.ctx(), s.ID, in.Metadata)
}

// madeRepo: a first call that ended before its metadata was kept is mended.
func (a *api) madeRepo(c *call, done ledger.Outcome) (any, error) {
	s, err := a.ledger.Space(c.ctx(), done.Last(ledger.MadeSpace))
	if err != nil {
		return nil, err
	}
	in, err := body[repoInput](c)
	if err != nil {
		return nil, err
	}
	kept, err := a.metadata(c.ctx(), s.ID)
	if err == nil && kept == nil {
		kept, err = in.Metadata, a.keepMetadata(c.ctx(), s.ID, in.Metadata)
	}
	return repoOf(s, kept), err
}

// kindRepo is the document that holds the metadata of a space.
const kindRepo = "smriti_repo"

func (a *api) keepMetadata(ctx context.Context, space dhruva.SpaceID, m map[string]any) error {
	if len(m) == 0 {
		return nil
	}
	_, err := a.putDocument(ctx, dhruva.Document{Space: space, Kind: kindRepo}, m)
	return err
}

// metadata is that of a space, nil when it has none.
func (a *api) metadata(ctx context.Context, space dhruva.SpaceID) (m map[string]any, err error) {
	rows, _, err := a.ledger.ListDocuments(ctx, dhruva.DocumentQuery{Space: space, Kind: kindRepo, Page: dhruva.Page{Limit: 1}})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return m, readDocument(rows[0], &m)
}

// repo is a space with its metadata.
func (a *api) repo(ctx context.Context, s dhruva.Space) (Repo, error) {
	m, err := a.metadata(ctx, s.ID)
	return repoOf(s, m), err
}

func (a *api) listRepos(c *call) (any, error) {
	rows, err := every(func(p dhruva.Page) ([]dhruva.Space, string, error) { return a.ledger.ListSpaces(c.ctx(), p) })
	slices.SortStableFunc(rows, func(x, y dhruva.Space) int {
		return cmp.Or(y.UpdatedAt.Compare(x.UpdatedAt), cmp.Compare(y.ID, x.ID))
	})
	out := []Repo{}
	for _, s := range rows {
		r, err := a.repo(c.ctx(), s)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, err
}

// every reads all pages of a list.
func every[T any](list func(dhruva.Page) ([]T, string, error)) (all []T, err error) {
	for page := (dhruva.Page{Limit: 1000}); ; {
		rows, next, err := list(page)
		if err != nil {
			return nil, err
		}
		if all = append(all, rows...); next == "" {
			return all, nil
		}
		page.After = next
	}
}

// space finds a space by its id alone: a name that looks like one is none.
func (a *api) space(ctx context.Context, id string) (dhruva.Space, error) {
	s, err := a.ledger.Space(ctx, id)
	if err == nil && string(s.ID) != id {
		err = notFound("space not found")
	}
	return s, err
}

// spaceOfPath is the space that the path names.
func (a *api) spaceOfPath(c *call) (dhruva.Space, error) {
	id, err := c.pathID("id")
	if err != nil {
		return dhruva.Space{}, err
	}
	return a.space(c.ctx(), id)
}

func (a *api) showRepo(c *call) (any, error) {
	s, err := a.spaceOfPath(c)
	if err != nil {
		return nil, err
	}
	return a.repo(c.ctx(), s)
}

func (a *api) setProjectRoot(c *call) (any, error) {
	s, err := a.spaceOfPath(c)
	if err != nil {
		return nil, err
	}
	in, err := body[struct {
		ProjectRoot string `json:"project_root" need:""`
	}](c)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.ProjectRoot) == "" {
		return nil, bad("project_root must not be blank")
	}
	if s, err = a.ledger.UpdateSpace(c.ctx(), s.ID, ledger.SpacePatch{ProjectRoot: &in.ProjectRoot}); err != nil {
		return nil, err
	}
	return a.repo(c.ctx(), s)
}

func (a *api) deleteRepo(c *call) (any, error) {
	s, err := a.spaceOfPath(c)
	if err != nil {
		return nil, err
	}
	return nil, a.ledger.DeleteSpace(c.ctx(), s.ID)
}
