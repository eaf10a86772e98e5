package ledger_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

func TestWorktreeRows(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		one := must[dhruva.Worktree](r)(r.l.OpenWorktree(r.ctx(), tree(sp.ID, "")))
		two := must[dhruva.Worktree](r)(r.l.OpenWorktree(r.ctx(), tree(sp.ID, "")))
		_, err := r.l.OpenWorktree(r.ctx(), tree(sp.ID, one.ID))
		r.is(err, dhruva.ErrConflict)
		closed := must[dhruva.Worktree](r)(r.l.CloseWorktree(r.ctx(), one.ID))
		if closed.Status != dhruva.WorktreeClosed || closed.ClosedAt.IsZero() || closed.Branch != one.Branch {
			r.Errorf("%+v", closed)
		}
		_, err = r.l.CloseWorktree(r.ctx(), one.ID)
		r.is(err, dhruva.ErrConflict)
		_, err = r.l.CloseWorktree(r.ctx(), ledger.NewWorktreeID())
		r.is(err, dhruva.ErrNotFound)
		list := func(all bool) (out []dhruva.WorktreeID) {
			rows, _, err := r.l.Worktrees(r.ctx(), sp.ID, all, dhruva.Page{})
			r.must(err)
			for _, w := range rows {
				out = append(out, w.ID)
			}
			return out
		}
		if diff := cmp.Diff([][]dhruva.WorktreeID{{two.ID}, {two.ID, one.ID}}, [][]dhruva.WorktreeID{list(false), list(true)}); diff != "" {
			r.Error(diff)
		}
		for name, change := range map[string]func(*ledger.WorktreeInput){
			"agent": func(in *ledger.WorktreeInput) { in.Agent = "" }, "branch": func(in *ledger.WorktreeInput) { in.Branch = "" },
			"base": func(in *ledger.WorktreeInput) { in.Base = "" }, "root": func(in *ledger.WorktreeInput) { in.Root = "" },
			"path": func(in *ledger.WorktreeInput) { in.Path = "" }, "id": func(in *ledger.WorktreeInput) { in.ID = "not a uuid" },
			"text": func(in *ledger.WorktreeInput) { in.Path = "/a\xff" },
		} {
			in := tree(sp.ID, "")
			change(&in)
			if _, err := r.l.OpenWorktree(r.ctx(), in); err == nil {
				r.Errorf("%s passed", name)
			}
		}
	})
}

func TestAWorktreeIsFoundByTheBeginningOfItsID(t *testing.T) {
	each(t, func(r *rig) {
		sp, other := r.space("work"), r.space("other")
		ids := []dhruva.WorktreeID{"abcd0000-0000-4000-8000-000000000001", "abcd1111-0000-4000-8000-000000000002", "ef010000-0000-4000-8000-000000000003"}
		for n, id := range ids {
			must[dhruva.Worktree](r)(r.l.OpenWorktree(r.ctx(), tree([]dhruva.SpaceID{sp.ID, other.ID, other.ID}[n], id)))
		}
		find := func(p dhruva.Principal, ref string) (dhruva.WorktreeID, error) {
			w, err := r.l.Worktree(r.as(p), ref)
			return w.ID, err
		}
		for ref, want := range map[string]dhruva.WorktreeID{"abcd0": ids[0], "ABCD1": ids[1], " ef01 ": ids[2], string(ids[0]): ids[0], strings.ToUpper(string(ids[2])): ids[2]} {
			if got, err := find(r.owner, ref); err != nil || got != want {
				r.Errorf("%s: %s %v", ref, got, err)
			}
		}
		for ref, want := range map[string]error{"": dhruva.ErrInvalid, "abc": dhruva.ErrInvalid, "abcd": dhruva.ErrConflict, "0123": dhruva.ErrNotFound, "%%%%": dhruva.ErrNotFound, "zzzz": dhruva.ErrNotFound} {
			_, err := find(r.owner, ref)
			r.is(err, want)
		}
		limited := r.owner // what is not seen is not told apart from either
		limited.Spaces = []dhruva.SpaceID{sp.ID}
		if got, err := find(limited, "abcd"); err != nil || got != ids[0] {
			r.Errorf("%s %v", got, err)
		}
		for _, ref := range []string{"ef01", string(ids[2])} {
			_, err := find(limited, ref)
			r.is(err, dhruva.ErrNotFound)
		}
		_, err := r.l.Worktree(r.with(dhruva.MemoryRead), "abcd")
		r.is(err, dhruva.ErrDenied)
	})
}

func TestIDsOfWorktreesDifferFromTheStart(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		seen[string(ledger.NewWorktreeID()[:8])] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d of 100", len(seen))
	}
}

func TestDocuments(t *testing.T) {
	each(t, func(r *rig) {
		sp, other := r.space("work"), r.space("other")
		s := r.session(sp.ID)
		put := func(in ledger.DocumentInput) dhruva.Document {
			return must[dhruva.Document](r)(r.l.PutDocument(r.ctx(), in))
		}
		one := put(ledger.DocumentInput{Space: sp.ID, Kind: "transcript", Session: s.ID, Title: "pasted", Text: "what was said"})
		two := put(ledger.DocumentInput{Space: sp.ID, Kind: "pack", Text: "a pack"})
		changed := put(ledger.DocumentInput{ID: two.ID, Space: sp.ID, Kind: "pack", Text: "another"})
		if changed.ID != two.ID || !changed.CreatedAt.Equal(two.CreatedAt) || !changed.UpdatedAt.After(two.UpdatedAt) {
			r.Errorf("%+v after %+v", changed, two)
		}
		if got := must[dhruva.Document](r)(r.l.Document(r.ctx(), two.ID)); got.Text != "another" {
			r.Errorf("%+v", got)
		}
		list := func(q dhruva.DocumentQuery) (out []dhruva.DocumentID) {
			q.Space = sp.ID
			rows, _, err := r.l.ListDocuments(r.ctx(), q)
			r.must(err)
			for _, d := range rows {
				out = append(out, d.ID)
			}
			return out
		}
		if diff := cmp.Diff([][]dhruva.DocumentID{{two.ID, one.ID}, {one.ID}, {one.ID}}, [][]dhruva.DocumentID{
			list(dhruva.DocumentQuery{}), list(dhruva.DocumentQuery{Kind: "transcript"}), list(dhruva.DocumentQuery{Session: s.ID}),
		}); diff != "" {
			r.Error(diff)
		}
		for name, bad := range map[string]struct {
			in   ledger.DocumentInput
			want error
		}{
			"another space":   {ledger.DocumentInput{ID: two.ID, Space: other.ID, Kind: "pack"}, dhruva.ErrNotFound},
			"another kind":    {ledger.DocumentInput{ID: two.ID, Space: sp.ID, Kind: "draft"}, dhruva.ErrConflict},
			"no such":         {ledger.DocumentInput{ID: "none", Space: sp.ID, Kind: "draft"}, dhruva.ErrNotFound},
			"foreign session": {ledger.DocumentInput{Space: other.ID, Kind: "draft", Session: s.ID}, dhruva.ErrNotFound},
			"no kind":         {ledger.DocumentInput{Space: sp.ID}, dhruva.ErrInvalid},
			"a strange kind":  {ledger.DocumentInput{Space: sp.ID, Kind: "A b"}, dhruva.ErrInvalid},
			"too much":        {ledger.DocumentInput{Space: sp.ID, Kind: "draft", Text: strings.Repeat("x", ledger.MaxDocument+1)}, dhruva.ErrTooLarge},
			"not text":        {ledger.DocumentInput{Space: sp.ID, Kind: "draft", Text: "\xff"}, dhruva.ErrInvalid},
		} {
			if _, err := r.l.PutDocument(r.ctx(), bad.in); err == nil || !strings.Contains(err.Error(), bad.want.Error()) {
				r.Errorf("%s: %v", name, err)
			}
		}
		r.must(r.l.DeleteSession(r.ctx(), s.ID)) // and what was drawn from it
		_, err := r.l.Document(r.ctx(), one.ID)
		r.is(err, dhruva.ErrNotFound)
		if got := list(dhruva.DocumentQuery{}); len(got) != 1 {
			r.Errorf("%v", got)
		}
		r.is(r.l.DropDocument(r.with(dhruva.StateRead), two.ID), dhruva.ErrDenied)
		limited := r.owner
		limited.Spaces = []dhruva.SpaceID{other.ID}
		r.is(r.l.DropDocument(r.as(limited), two.ID), dhruva.ErrNotFound)
		_, err = r.l.Document(r.as(limited), two.ID)
		r.is(err, dhruva.ErrNotFound)
		r.must(r.l.DropDocument(r.ctx(), two.ID))
		r.is(r.l.DropDocument(r.ctx(), two.ID), dhruva.ErrNotFound)
		if n := count(r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID})); n != 0 {
			r.Errorf("%d sources", n)
		}
	})
}
