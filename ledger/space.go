package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// SpaceInput describes a new space.
type SpaceInput struct {
	Name        string
	Description string
	ProjectRoot string
	// Unique: the name must be free among the spaces of the tenant. The native
	// API asks for it; in the compatible API spaces may share a name.
	Unique bool
}

// SpacePatch changes the fields that are not nil.
type SpacePatch struct {
	Name, Description, ProjectRoot *string
}

// readSpace are the rights any of which lets a principal see that a space
// exists: every plane addresses its data by space.
var readSpace = []dhruva.KeyScope{dhruva.StateRead, dhruva.StateWrite, dhruva.MemoryRead, dhruva.MemoryWrite, dhruva.MemoryDelete, dhruva.ProxyUse, dhruva.ReceiptRead}

// CreateSpace makes a space owned by the principal. Needs state:write.
func (l *Ledger) CreateSpace(ctx context.Context, in SpaceInput) (dhruva.Space, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Space{}, wrap("create space", err)
	}
	s, err := l.newSpace(p, in)
	if err != nil {
		return dhruva.Space{}, wrap("create space", err)
	}
	err = l.Store.Update(ctx, []dhruva.Scope{p.Scope()}, func(tx dhruva.Tx) error {
		if in.Unique {
			if err := nameFree(tx, s.Name, ""); err != nil {
				return err
			}
		}
		return tx.PutSpace(s)
	})
	if err != nil {
		return dhruva.Space{}, wrap("create space", err)
	}
	return s, nil
}

func (l *Ledger) newSpace(p dhruva.Principal, in SpaceInput) (dhruva.Space, error) {
	if len(p.Spaces) > 0 { // it could never reach the new space
		return dhruva.Space{}, fmt.Errorf("%w: this key is limited to named spaces", dhruva.ErrDenied)
	}
	s := dhruva.Space{Tenant: p.Tenant, ID: dhruva.SpaceID(dhruva.NewID()), Owner: p.ID, CreatedAt: l.now()}
	s.UpdatedAt = s.CreatedAt
	patch, err := l.hidden(SpacePatch{&in.Name, &in.Description, &in.ProjectRoot})
	if err != nil {
		return s, err
	}
	return s, describe(&s, patch)
}

// hidden is a patch without secrets. A space is addressed by its name: one that
// looks like a secret is refused, since a placeholder would be the name of many.
func (l *Ledger) hidden(patch SpacePatch) (SpacePatch, error) {
	if patch.Name != nil {
		if err := l.notSecret("name of the space", *patch.Name); err != nil {
			return patch, err
		}
	}
	for _, text := range []**string{&patch.Description, &patch.ProjectRoot} {
		if *text != nil {
			out := l.hide(**text)
			*text = &out
		}
	}
	return patch, nil
}

// describe applies a patch after checking it.
func describe(s *dhruva.Space, patch SpacePatch) (err error) {
	for _, f := range []struct {
		what     string
		in       *string
		out      *string
		max      int
		optional bool
	}{
		{"name", patch.Name, &s.Name, maxName, false},
		{"description", patch.Description, &s.Description, maxDetail, true},
		{"project root", patch.ProjectRoot, &s.ProjectRoot, maxDetail, true},
	} {
		if f.in == nil {
			continue
		}
		if *f.out, err = label(f.what, *f.in, f.max, f.optional); err != nil {
			return err
		}
	}
	_, err = oneLine("name", s.Name, false)
	return err
}

// nameFree looks at all spaces of the tenant: a name is also taken by a space
// that the principal does not reach, because a name must mean one space to all.
// So a key limited to some spaces can learn by a renaming that a name is taken;
// the answer is the same as for a space it reaches, and says nothing more.
func nameFree(tx dhruva.Tx, name string, except dhruva.SpaceID) error {
	taken, err := tx.SpacesNamed(name)
	if err != nil {
		return err
	}
	for _, s := range taken {
		if s.ID != except {
			return fmt.Errorf("%w: a space named %q exists", dhruva.ErrConflict, name)
		}
	}
	return nil
}

// Space finds a space by id, else by its exact name. A name that several
// visible spaces share is ErrConflict and names their ids. Homes are not found.
func (l *Ledger) Space(ctx context.Context, nameOrID string) (dhruva.Space, error) {
	p, err := principal(ctx, readSpace...)
	if err != nil {
		return dhruva.Space{}, wrap("space", err)
	}
	var out dhruva.Space
	if plain := l.hide(nameOrID); plain != nameOrID { // no space has such a name, and no error repeats it
		return out, wrap("space", missing("space", plain))
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out, err = findSpace(tx, p, nameOrID)
		return err
	})
	return out, wrap("space", err)
}

func findSpace(tx dhruva.Tx, p dhruva.Principal, nameOrID string) (dhruva.Space, error) {
	s, err := liveSpace(tx, p, dhruva.SpaceID(nameOrID))
	switch {
	case err == nil && !s.Home:
		return s, nil
	case err != nil && !errors.Is(err, dhruva.ErrNotFound):
		return dhruva.Space{}, err
	}
	named, err := tx.SpacesNamed(strings.TrimSpace(nameOrID))
	if err != nil {
		return dhruva.Space{}, err
	}
	var seen []dhruva.Space
	var ids []string
	for _, s := range named {
		if p.Reaches(s.ID) {
			seen, ids = append(seen, s), append(ids, string(s.ID))
		}
	}
	switch len(seen) {
	case 0:
		return dhruva.Space{}, missing("space", nameOrID)
	case 1:
		return seen[0], nil
	}
	return dhruva.Space{}, fmt.Errorf("%w: %d spaces are named %q, use an id: %s", dhruva.ErrConflict, len(seen), clip(nameOrID, 80), strings.Join(ids, ", "))
}

// EnsureSpace finds a space by id or name, and makes one of that name when
// there is none. Two callers at once get the same one. Making it needs
// state:write, memory:write or proxy, because a proxied call may be the first
// thing that ever happens.
func (l *Ledger) EnsureSpace(ctx context.Context, name string) (dhruva.Space, error) {
	if err := l.notSecret("name of the space", name); err != nil {
		return dhruva.Space{}, wrap("ensure space", err)
	}
	out, err := l.Space(ctx, name)
	if !errors.Is(err, dhruva.ErrNotFound) {
		return out, err
	}
	p, err := principal(ctx, dhruva.StateWrite, dhruva.MemoryWrite, dhruva.ProxyUse)
	if err != nil {
		return out, wrap("ensure space", err)
	}
	fresh, err := l.newSpace(p, SpaceInput{Name: name})
	if err != nil {
		return out, wrap("ensure space", err)
	}
	err = l.Store.Update(ctx, []dhruva.Scope{p.Scope()}, func(tx dhruva.Tx) error {
		more(tx)
		if out, err = findSpace(tx, p, name); !errors.Is(err, dhruva.ErrNotFound) {
			return err
		}
		out = fresh
		return tx.PutSpace(fresh)
	})
	if err != nil {
		return dhruva.Space{}, wrap("ensure space", err)
	}
	return out, nil
}

// ListSpaces lists the spaces the principal reaches, by id; homes are left out.
func (l *Ledger) ListSpaces(ctx context.Context, page dhruva.Page) (out []dhruva.Space, next string, err error) {
	p, err := principal(ctx, readSpace...)
	if err != nil {
		return nil, "", wrap("list spaces", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out, next, err = filled(page, tx.ListSpaces,
			func(s dhruva.Space) string { return string(s.ID) },
			func(s dhruva.Space) (bool, error) { return p.Reaches(s.ID), nil })
		return err
	})
	return out, next, wrap("list spaces", err)
}

// UpdateSpace changes a space's name, description or project root. A name that
// another space has, within reach or not, is ErrConflict. Needs state:write.
func (l *Ledger) UpdateSpace(ctx context.Context, id dhruva.SpaceID, patch SpacePatch) (dhruva.Space, error) {
	patch, err := l.hidden(patch)
	if err != nil {
		return dhruva.Space{}, wrap("update space", err)
	}
	out, err := l.editSpace(ctx, id, func(tx dhruva.Tx, s *dhruva.Space, now time.Time) error {
		before := s.Name
		if err := describe(s, patch); err != nil {
			return err
		}
		s.UpdatedAt = now
		if s.Name == before {
			return nil
		}
		return nameFree(tx, s.Name, s.ID)
	})
	return out, wrap("update space", err)
}

// DeleteSpace hides a space and all that is in it; a second time it is not
// found. Nothing is erased: that is a purge. It leaves a receipt. Needs
// state:write.
func (l *Ledger) DeleteSpace(ctx context.Context, id dhruva.SpaceID) error {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return wrap("delete space", err)
	}
	r := l.act(ctx, p, dhruva.ActSpaceDelete, id, "")
	_, err = l.editSpace(ctx, id, func(tx dhruva.Tx, s *dhruva.Space, now time.Time) error {
		s.UpdatedAt, s.DeletedAt = now, now
		return dhruva.Attest(tx, r)
	})
	return wrap("delete space", err)
}

// editSpace takes the tenant's lock for the name and the space's lock, so that
// no write of the space overlaps with its hiding.
func (l *Ledger) editSpace(ctx context.Context, id dhruva.SpaceID, edit func(dhruva.Tx, *dhruva.Space, time.Time) error) (dhruva.Space, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Space{}, err
	}
	if id == "" {
		return dhruva.Space{}, missing("space", "")
	}
	var out dhruva.Space
	now := l.now()
	err = l.Store.Update(ctx, []dhruva.Scope{p.Scope(), p.In(id)}, func(tx dhruva.Tx) error {
		s, err := liveSpace(tx, p, id)
		if err != nil {
			return err
		}
		if s.Home {
			return missing("space", string(id))
		}
		if err := edit(tx, &s, now); err != nil {
			return err
		}
		out = s
		return tx.PutSpace(s)
	})
	if err != nil {
		return dhruva.Space{}, err
	}
	return out, nil
}

// home is the hidden space of the principal's FRESH sessions, made on first use.
func (l *Ledger) home(ctx context.Context, p dhruva.Principal) (out dhruva.Space, err error) {
	if len(p.Spaces) > 0 {
		return out, fmt.Errorf("%w: this key is limited to named spaces and a FRESH session is in none; name a space", dhruva.ErrDenied)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out, err = tx.HomeSpace(p.ID)
		return err
	})
	if !errors.Is(err, dhruva.ErrNotFound) {
		return out, err
	}
	fresh := dhruva.Space{Tenant: p.Tenant, ID: dhruva.SpaceID(dhruva.NewID()), Owner: p.ID, Home: true, CreatedAt: l.now()}
	fresh.UpdatedAt = fresh.CreatedAt
	err = l.Store.Update(ctx, []dhruva.Scope{p.Scope()}, func(tx dhruva.Tx) error {
		more(tx)
		if out, err = tx.HomeSpace(p.ID); !errors.Is(err, dhruva.ErrNotFound) {
			return err
		}
		out = fresh
		return tx.PutSpace(fresh)
	})
	return out, err
}

// Generation is the current generation of a space: an edge takes it when a
// request begins, and the write of that request is refused once it has ended.
func (l *Ledger) Generation(ctx context.Context, id dhruva.SpaceID) (generation int64, err error) {
	p, err := principal(ctx, readSpace...)
	if err != nil {
		return 0, wrap("generation", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if _, err := liveSpace(tx, p, id); err != nil {
			return err
		}
		e, err := tx.Epoch(id)
		generation = e.Generation
		return err
	})
	return generation, wrap("generation", err)
}

// current answers ErrFenced when the generation a request began in has ended.
func current(tx dhruva.Tx, id dhruva.SpaceID, began int64) error {
	e, err := tx.Epoch(id)
	if err != nil {
		return err
	}
	if e.Generation != began {
		return fmt.Errorf("%w: the space was cleared since this request began (generation %d, now %d)", dhruva.ErrFenced, began, e.Generation)
	}
	return nil
}
