package ledger_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// lineageOps are the rows of the fault table of what is done to a lineage.
var lineageOps = []writeOp{
	{name: "DeleteCheckpoint", repeated: dhruva.ErrNotFound, also: lineageRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		l := r.forked()
		return act(func(w *ledger.Ledger) (ledger.Dependents, error) {
			return w.DeleteCheckpoint(r.ctx(), l.tip.Hash.String(), false)
		})
	}},
	{name: "DeleteCheckpoint with all that follows", repeated: dhruva.ErrNotFound, also: lineageRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		l := r.forked()
		return act(func(w *ledger.Ledger) (ledger.Dependents, error) {
			return w.DeleteCheckpoint(r.ctx(), l.root.Hash.String(), true)
		})
	}},
	{name: "Undo", keyed: true, also: lineageRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.forked().space
		return act(func(w *ledger.Ledger) (dhruva.HeadMove, error) { return w.Undo(r.ctx(), id, "main") })
	}},
	{name: "Redo", keyed: true, also: lineageRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.forked().space
		for range 2 {
			r.must(second(r.l.Undo(r.ctx(), id, "main")))
		}
		return act(func(w *ledger.Ledger) (dhruva.HeadMove, error) { return w.Redo(r.ctx(), id, "main") })
	}},
	{name: "Revert", keyed: true, also: lineageRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		l := r.forked()
		return act(func(w *ledger.Ledger) (dhruva.Checkpoint, error) {
			return w.Revert(r.ctx(), ledger.RevertInput{Space: l.space, To: l.root.Hash.String(), Title: "as it was"})
		})
	}},
	{name: "Merge", also: lineageRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		l := r.forked()
		return act(func(w *ledger.Ledger) (ledger.Merged, error) {
			return w.Merge(r.ctx(), ledger.MergeInput{Space: l.space, From: "aside", Title: "both"})
		})
	}},
	{name: "SetDisposition", also: lineageRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.forked().space
		return act(func(w *ledger.Ledger) (dhruva.Branch, error) {
			return w.SetDisposition(r.ctx(), id, "aside", ledger.BranchIntegrated)
		})
	}},
	{name: "AddRemark", keyed: true, also: lineageRows, prepare: func(r *rig) func(*ledger.Ledger) error {
		l := r.forked()
		return act(func(w *ledger.Ledger) (dhruva.Note, error) {
			return w.AddRemark(r.ctx(), ledger.RemarkInput{Checkpoint: l.root.Hash.String(), Text: "the first one", Kind: dhruva.NoteMilestone})
		})
	}},
}

// family is a small lineage: root on main, tip after it, and side on the branch
// aside, which a session forked from the root.
type family struct {
	space           dhruva.SpaceID
	root, tip, side dhruva.Checkpoint
	main, fork      dhruva.Session
}

func (r *rig) forked() (f family) {
	r.Helper()
	f.space = r.space("work").ID
	f.main = r.session(f.space)
	r.talk(f.main.ID, "main", 1)
	f.root = r.commit(ledger.CommitInput{Session: f.main.ID, Title: "root", Summary: "the root in a few words", Decisions: items("we write it in Go")})
	f.fork = must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: f.root.Hash.String(), Branch: "aside"}))
	r.talk(f.fork.ID, "aside", 1)
	f.tip = r.commit(ledger.CommitInput{Session: f.main.ID, Title: "tip", Summary: "the root in a few words", Decisions: items("we write it in Go", "one binary is shipped")})
	f.side = r.commit(ledger.CommitInput{Session: f.fork.ID, Title: "side", Summary: "the root in a few words", Decisions: items("we write it in Go", "clients are generated")})
	return f
}

// lineageRows are what lists of the tenant's rows do not show: what was hidden, the
// reflogs and the remarks.
func lineageRows(r *rig) string {
	var out []string
	titles := map[dhruva.Hash]string{}
	name := func(h dhruva.Hash) string {
		if h.IsZero() {
			return "none"
		}
		return titles[h]
	}
	r.view(func(tx dhruva.Tx) error {
		spaces, err := tx.ListSpaces(dhruva.Page{Limit: 1000})
		r.must(err)
		for _, s := range spaces {
			rows, err := tx.ListOutlines(dhruva.OutlineQuery{Space: s.ID, Page: dhruva.Page{Limit: 1000}})
			r.must(err)
			for _, o := range rows {
				titles[o.Hash] = o.Title
				out = append(out, fmt.Sprintf("%s hidden %v", o.Title, !o.HiddenAt.IsZero()))
			}
			moves, err := tx.HeadMoves(dhruva.HeadMoveQuery{Space: s.ID, Limit: 1000})
			r.must(err)
			for _, m := range moves {
				out = append(out, fmt.Sprintf("move %d of %s: %s to %s by %s, undoes %d", m.Seq, m.Branch, name(m.From), name(m.To), m.Act, m.Undoes))
			}
			notes, err := tx.ListNotes(dhruva.NoteQuery{Space: s.ID, Page: dhruva.Page{Limit: 1000}})
			r.must(err)
			for _, n := range notes {
				out = append(out, fmt.Sprintf("remark on %s: %s %q by %s", name(n.Checkpoint), n.Kind, n.Text, n.Author))
			}
		}
		return nil
	})
	slices.Sort(out)
	return strings.Join(out, "\n")
}
