package ledger_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// agentOps are the rows of the fault table of what agents tell each other.
var agentOps = []writeOp{
	{name: "Claim", keyed: true, also: claimRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		base := r.save(s.ID, "one")
		return act(func(l *ledger.Ledger) (ledger.ClaimView, error) {
			return l.Claim(r.ctx(), ledger.ClaimInput{Space: s.Space, Agent: "ana", Scope: "the parser", Base: base.Hash.String(), Session: s.ID, Task: "parse"})
		})
	}},
	{name: "EndClaim", repeated: dhruva.ErrConflict, also: claimRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.claimWork(r.space("work").ID, "the parser").ID
		return act(func(l *ledger.Ledger) (ledger.ClaimView, error) { return l.EndClaim(r.ctx(), id, dhruva.ClaimDone) })
	}},
	{name: "OpenWorktree", keyed: true, also: worktreeRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		in := tree(r.space("work").ID, "")
		return act(func(l *ledger.Ledger) (dhruva.Worktree, error) { return l.OpenWorktree(r.ctx(), in) })
	}},
	{name: "OpenWorktree of a known id", repeated: dhruva.ErrConflict, also: worktreeRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		in := tree(r.space("work").ID, ledger.NewWorktreeID())
		return act(func(l *ledger.Ledger) (dhruva.Worktree, error) { return l.OpenWorktree(r.ctx(), in) })
	}},
	{name: "CloseWorktree", repeated: dhruva.ErrConflict, also: worktreeRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		w := must[dhruva.Worktree](r)(r.l.OpenWorktree(r.ctx(), tree(r.space("work").ID, "")))
		return act(func(l *ledger.Ledger) (dhruva.Worktree, error) { return l.CloseWorktree(r.ctx(), w.ID) })
	}},
	{name: "PutDocument", keyed: true, also: documentRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		in := ledger.DocumentInput{Space: r.space("work").ID, Kind: "transcript", Title: "pasted", Text: "what was said"}
		return act(func(l *ledger.Ledger) (dhruva.Document, error) { return l.PutDocument(r.ctx(), in) })
	}},
	{name: "PutDocument in place of one", also: documentRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		in := ledger.DocumentInput{Space: r.space("work").ID, Kind: "transcript", Text: "what was said"}
		in.ID = must[dhruva.Document](r)(r.l.PutDocument(r.ctx(), in)).ID
		in.Text = "what was said instead"
		return act(func(l *ledger.Ledger) (dhruva.Document, error) { return l.PutDocument(r.ctx(), in) })
	}},
	{name: "DropDocument", repeated: dhruva.ErrNotFound, also: documentRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		d := must[dhruva.Document](r)(r.l.PutDocument(r.ctx(), ledger.DocumentInput{Space: r.space("work").ID, Kind: "draft", Text: "to go"}))
		return func(l *ledger.Ledger) error { return l.DropDocument(r.ctx(), d.ID) }
	}},
}

func tree(space dhruva.SpaceID, id dhruva.WorktreeID) ledger.WorktreeInput {
	return ledger.WorktreeInput{ID: id, Space: space, Agent: "ana", Branch: "dhruva/ana/1", Base: "abc", Root: "/project", Path: "/trees/1"}
}

func (r *rig) claimWork(space dhruva.SpaceID, scope string) ledger.ClaimView {
	r.Helper()
	return must[ledger.ClaimView](r)(r.l.Claim(r.ctx(), ledger.ClaimInput{Space: space, Agent: "ana", Scope: scope}))
}

// rowsOf are lines of what the spaces hold, without ids and times.
func rowsOf(r *rig, lines func(dhruva.Tx, dhruva.SpaceID) ([]string, error)) string {
	var all []string
	r.view(func(tx dhruva.Tx) error {
		all = nil
		spaces, err := tx.ListSpaces(dhruva.Page{Limit: 1000})
		for _, s := range spaces {
			some, err := lines(tx, s.ID)
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		return err
	})
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func claimRows(r *rig) string {
	return rowsOf(r, func(tx dhruva.Tx, s dhruva.SpaceID) (out []string, err error) {
		rows, err := tx.ListClaims(dhruva.ClaimQuery{Space: s})
		for _, c := range rows {
			out = append(out, fmt.Sprintf("claim of %s by %s on %s: %s, base %v, session %v, task %q", c.Scope, c.Agent, c.Branch, c.Status, !c.Base.IsZero(), c.Session != "", c.Task))
		}
		return out, err
	})
}

func worktreeRows(r *rig) string {
	return rowsOf(r, func(tx dhruva.Tx, s dhruva.SpaceID) (out []string, err error) {
		rows, err := tx.ListWorktrees(dhruva.WorktreeQuery{Space: s})
		for _, w := range rows {
			out = append(out, fmt.Sprintf("worktree of %s on %s at %s: %s", w.Agent, w.Branch, w.Path, w.Status))
		}
		return out, err
	})
}

func documentRows(r *rig) string {
	return rowsOf(r, func(tx dhruva.Tx, s dhruva.SpaceID) (out []string, err error) {
		rows, err := tx.ListDocuments(dhruva.DocumentQuery{Space: s})
		for _, d := range rows {
			out = append(out, fmt.Sprintf("document %s %q: %q", d.Kind, d.Title, d.Text))
		}
		return out, err
	})
}
