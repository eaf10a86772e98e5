package ledger

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// A worktree's row says that a working copy was made for an agent. The working
// copy itself is made and taken away by whoever writes the row.

// minWorktreeRef is how many characters of an id name a worktree at least.
const minWorktreeRef = 4

// MadeWorktree is the kind under which an Outcome names a worktree.
const MadeWorktree = "worktree"

// WorktreeInput describes a working copy that was made.
type WorktreeInput struct {
	// ID is a NewWorktreeID; "" makes one.
	ID     dhruva.WorktreeID
	Space  dhruva.SpaceID
	Agent  string
	Branch string // of the project's repository
	Base   string // the commit it was made from
	Root   string // the repository
	Path   string
}

// NewWorktreeID mints an id that its first characters tell from others made at
// about the same time: people name worktrees by them. It is a UUID version 4.
func NewWorktreeID() dhruva.WorktreeID {
	var b [16]byte
	rand.Read(b[:]) // never fails; it ends the program instead
	b[6], b[8] = b[6]&0x0F|0x40, b[8]&0x3F|0x80
	return dhruva.WorktreeID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// OpenWorktree stores the row of a working copy. An id that is taken is
// ErrConflict. Needs state:write.
func (l *Ledger) OpenWorktree(ctx context.Context, in WorktreeInput) (dhruva.Worktree, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Worktree{}, wrap("open worktree", err)
	}
	w, err := l.draftWorktree(p, in)
	if err != nil {
		return dhruva.Worktree{}, wrap("open worktree", err)
	}
	err = l.update(ctx, p, w.Space, func(tx dhruva.Tx) error {
		if err := notHome(tx, p, w.Space); err != nil {
			return err
		}
		if _, err := tx.Worktree(w.ID); err == nil {
			return fmt.Errorf("%w: worktree %s exists", dhruva.ErrConflict, w.ID)
		} else if err := ignoreMissing(err); err != nil {
			return err
		}
		return tx.PutWorktree(w)
	})
	if err != nil {
		return dhruva.Worktree{}, wrap("open worktree", err)
	}
	return w, nil
}

// draftWorktree checks a row. Names and paths are identifiers: one that looks
// like a secret is refused, because a placeholder would name nothing.
func (l *Ledger) draftWorktree(p dhruva.Principal, in WorktreeInput) (w dhruva.Worktree, err error) {
	w = dhruva.Worktree{
		Tenant: p.Tenant, Space: in.Space, ID: in.ID, Base: in.Base, Root: in.Root, Path: in.Path, Status: dhruva.WorktreeOpen, CreatedAt: l.now(),
	}
	if w.ID == "" {
		w.ID = NewWorktreeID()
	}
	if !uuid(string(w.ID)) {
		return w, fmt.Errorf("%w: %q is not the id of a worktree", dhruva.ErrInvalid, clip(string(w.ID), 80))
	}
	if w.Agent, err = oneLine("agent", in.Agent, false); err != nil {
		return w, err
	}
	if w.Branch, err = oneLine("branch", in.Branch, false); err != nil {
		return w, err
	}
	for _, f := range []struct{ what, text string }{
		{"agent", w.Agent}, {"branch", w.Branch}, {"base commit", w.Base}, {"project root", w.Root}, {"path", w.Path},
	} {
		if f.text == "" {
			return w, fmt.Errorf("%w: a worktree without %s", dhruva.ErrInvalid, f.what)
		}
		if err := firstOf(body(f.what, f.text, maxDetail), l.notSecret(f.what, f.text)); err != nil {
			return w, err
		}
	}
	return w.Canonical(), nil
}

// CloseWorktree notes that a working copy is gone. One that is closed is
// ErrConflict. Needs state:write.
func (l *Ledger) CloseWorktree(ctx context.Context, id dhruva.WorktreeID) (out dhruva.Worktree, err error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return out, wrap("close worktree", err)
	}
	out, err = l.closeWorktree(ctx, p, id)
	return out, wrap("close worktree", err)
}

func (l *Ledger) closeWorktree(ctx context.Context, p dhruva.Principal, id dhruva.WorktreeID) (out dhruva.Worktree, err error) {
	var at dhruva.Worktree
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		at, err = liveWorktree(tx, p, id)
		return err
	})
	if err != nil {
		return out, err
	}
	now := l.now()
	err = l.update(ctx, p, at.Space, func(tx dhruva.Tx) error {
		w, err := liveWorktree(tx, p, id)
		if err != nil {
			return err
		}
		if w.Status != dhruva.WorktreeOpen {
			return fmt.Errorf("%w: the worktree is closed already", dhruva.ErrConflict)
		}
		w.Status, w.ClosedAt = dhruva.WorktreeClosed, now
		out = w
		return tx.PutWorktree(w)
	})
	return out, err
}

// liveWorktree is a worktree's row that is there for the principal.
func liveWorktree(tx dhruva.Tx, p dhruva.Principal, id dhruva.WorktreeID) (dhruva.Worktree, error) {
	w, err := tx.Worktree(id)
	if err != nil {
		return w, notFound(err, "worktree", string(id))
	}
	if _, err := liveSpace(tx, p, w.Space); err != nil {
		return dhruva.Worktree{}, notOf(err, "worktree", string(id))
	}
	return w, nil
}

// Worktrees lists the open worktrees of a space, newest first, or all of them.
// Needs state:read.
func (l *Ledger) Worktrees(ctx context.Context, space dhruva.SpaceID, all bool, page dhruva.Page) (out []dhruva.Worktree, next string, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, "", wrap("worktrees", err)
	}
	q := dhruva.WorktreeQuery{Space: space, Status: dhruva.WorktreeOpen}
	if all {
		q.Status = ""
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if _, err := liveSpace(tx, p, space); err != nil {
			return err
		}
		fetch := func(page dhruva.Page) ([]dhruva.Worktree, error) {
			q := q
			q.Page = page
			return tx.ListWorktrees(q)
		}
		out, next, err = filled(page, fetch, func(w dhruva.Worktree) string { return string(w.ID) }, always[dhruva.Worktree])
		return err
	})
	return out, next, wrap("worktrees", err)
}

// Worktree finds a worktree, open or closed, by its id or the beginning of it,
// of at least four characters (ErrInvalid), in the spaces that the principal
// sees. Several are ErrConflict. Needs state:read.
func (l *Ledger) Worktree(ctx context.Context, ref string) (out dhruva.Worktree, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return out, wrap("worktree", err)
	}
	ref = strings.ToLower(strings.TrimSpace(ref))
	if len(ref) < minWorktreeRef {
		return out, wrap("worktree", fmt.Errorf("%w: %q is too short: want at least %d characters of a worktree's id", dhruva.ErrInvalid, ref, minWorktreeRef))
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if uuid(ref) {
			out, err = liveWorktree(tx, p, dhruva.WorktreeID(ref))
			return err
		}
		found, err := worktreesBeginning(tx, p, ref)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return missing("worktree", ref)
		case len(found) > 1:
			return fmt.Errorf("%w: %q is the beginning of %d worktrees' ids", dhruva.ErrConflict, clip(ref, 80), len(found))
		}
		out = found[0]
		return nil
	})
	return out, wrap("worktree", err)
}

// worktreesBeginning looks through the worktrees of all spaces that the
// principal sees: there are few of them.
func worktreesBeginning(tx dhruva.Tx, p dhruva.Principal, prefix string) (found []dhruva.Worktree, err error) {
	err = eachSpace(tx, func(s dhruva.Space) error {
		if !reaches(p, s) {
			return nil
		}
		return eachWorktree(tx, s.ID, func(w dhruva.Worktree) {
			if strings.HasPrefix(string(w.ID), prefix) {
				found = append(found, w)
			}
		})
	})
	return found, err
}

func eachWorktree(tx dhruva.Tx, space dhruva.SpaceID, fn func(dhruva.Worktree)) error {
	return eachPage(1000, func(page dhruva.Page) ([]dhruva.Worktree, error) {
		return tx.ListWorktrees(dhruva.WorktreeQuery{Space: space, Page: page})
	}, func(w dhruva.Worktree) string {
		fn(w)
		return string(w.ID)
	})
}

// PutWorktree notes the worktree.
func (r *recorder) PutWorktree(w dhruva.Worktree) error {
	names(r, MadeWorktree, string(w.ID))
	return r.Tx.PutWorktree(w)
}
