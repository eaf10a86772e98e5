package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

// ownSpace stands in a path for the key's own space.
const ownSpace = "-"

// InSpace is the path of a space. Like the other parts of inputs it is exported
// because huma sees only those.
type InSpace struct {
	Space string `path:"space" doc:"Id or name of the space; - is the key's own, else the one named default."`
}

// space finds the space a path names.
func (a *api) space(ctx context.Context, name string) (dhruva.Space, error) {
	if name == ownSpace {
		return a.memory.SpaceOf(ctx, "")
	}
	return a.called(ctx, name)
}

// called finds a space by id or name. A name that several share is told with
// what to do: they were made before names were kept apart, or by an API that
// lets them be shared.
func (a *api) called(ctx context.Context, name string) (dhruva.Space, error) {
	s, err := a.ledger.Space(ctx, name)
	if errors.Is(err, dhruva.ErrConflict) {
		err = &edge.Refusal{Status: http.StatusConflict, Code: "ambiguous_name", Title: "Several spaces of one name", Detail: Words(err),
			Hint: "use an id; GET " + client.Prefix + "/spaces lists them, DELETE " + client.Prefix + "/spaces/{id} hides one"}
	}
	return s, err
}

// taken says which space has the name that was asked for.
func (a *api) taken(ctx context.Context, name string, err error) error {
	if !errors.Is(err, dhruva.ErrConflict) {
		return err
	}
	said := fmt.Sprintf("a space named %q exists", name)
	switch s, found := a.ledger.Space(ctx, name); {
	case found == nil:
		said += ": " + string(s.ID)
	case errors.Is(found, dhruva.ErrConflict):
		said = Words(found)
	}
	return &edge.Refusal{Status: http.StatusConflict, Code: "name_taken", Title: "The name is taken", Detail: said,
		Hint: "use that space, choose another name, or hide it with DELETE " + client.Prefix + "/spaces/{id}"}
}

func (a *api) spaces() {
	route(a, huma.Operation{OperationID: "list-spaces", Method: http.MethodGet, Path: "/spaces", Summary: "List spaces", Tags: []string{"spaces"}}, a.listSpaces)
	changes(a, huma.Operation{OperationID: "create-space", Method: http.MethodPost, Path: "/spaces", Summary: "Make a space", Tags: []string{"spaces"}, DefaultStatus: http.StatusCreated}, dhruva.StateWrite, (*api).createSpace, madeSpace)
	route(a, huma.Operation{OperationID: "show-space", Method: http.MethodGet, Path: "/spaces/{space}", Summary: "Show a space", Tags: []string{"spaces"}}, a.showSpace)
	changes(a, huma.Operation{OperationID: "update-space", Method: http.MethodPatch, Path: "/spaces/{space}", Summary: "Change a space", Tags: []string{"spaces"}}, dhruva.StateWrite, (*api).updateSpace, madeSpace)
	acts(a, huma.Operation{OperationID: "delete-space", Method: http.MethodDelete, Path: "/spaces/{space}", Summary: "Hide a space; nothing is erased", Tags: []string{"spaces"}}, dhruva.StateWrite, (*api).deleteSpace)
	route(a, huma.Operation{OperationID: "list-branches", Method: http.MethodGet, Path: "/spaces/{space}/branches", Summary: "List the named heads of a space", Tags: []string{"spaces"}}, a.listBranches)
	route(a, huma.Operation{OperationID: "verify-space", Method: http.MethodGet, Path: "/spaces/{space}/verify", Summary: "Recompute every checkpoint of a space", Tags: []string{"spaces"}}, a.verifySpace)
}

func (a *api) listSpaces(ctx context.Context, in *Paging) (client.List[client.Space], error) {
	page, err := in.byID()
	if err != nil {
		return client.List[client.Space]{}, err
	}
	items, next, err := a.ledger.ListSpaces(ctx, page)
	return list(items, next, spaceView), err
}

func (a *api) createSpace(ctx context.Context, in *struct{ Body client.SpaceInput }) (client.Space, error) {
	s, err := a.ledger.CreateSpace(ctx, ledger.SpaceInput{
		Name: in.Body.Name, Description: in.Body.Description, ProjectRoot: in.Body.ProjectRoot, Unique: true,
	})
	return spaceView(s), a.taken(ctx, in.Body.Name, err)
}

func (a *api) showSpace(ctx context.Context, in *InSpace) (client.Space, error) {
	s, err := a.space(ctx, in.Space)
	return spaceView(s), err
}

func (a *api) updateSpace(ctx context.Context, in *struct {
	InSpace
	Body client.SpacePatch
}) (client.Space, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Space{}, err
	}
	s, err = a.ledger.UpdateSpace(ctx, s.ID, ledger.SpacePatch(in.Body))
	if in.Body.Name != nil {
		err = a.taken(ctx, *in.Body.Name, err)
	}
	return spaceView(s), err
}

func (a *api) deleteSpace(ctx context.Context, in *InSpace) error {
	s, err := a.called(ctx, in.Space) // - is no name here: what is hidden is named
	if err != nil {
		return err
	}
	return a.ledger.DeleteSpace(ctx, s.ID)
}

func (a *api) listBranches(ctx context.Context, in *InSpace) (client.List[client.Branch], error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.List[client.Branch]{}, err
	}
	rows, err := a.ledger.Branches(ctx, s.ID)
	return list(rows, "", branchView), err
}

func (a *api) verifySpace(ctx context.Context, in *InSpace) (client.Verification, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Verification{}, err
	}
	r, err := a.ledger.Verify(ctx, s.ID)
	return client.Verification{OK: len(r.Failures) == 0, Checked: r.Checked, Problems: append([]string{}, r.Failures...)}, err
}

func spaceView(s dhruva.Space) client.Space {
	return client.Space{
		ID: s.ID, Name: s.Name, Description: s.Description, ProjectRoot: s.ProjectRoot,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
}

func branchView(b dhruva.Branch) client.Branch {
	return client.Branch{Name: b.Name, Head: b.Head, Disposition: b.Disposition, UpdatedAt: b.UpdatedAt}
}
