package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// S59: a merge is a checkpoint with two parents that says what both sides say.
func TestS59_Merge(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		dry := r.merge(ledger.MergeInput{Space: f.space, From: "aside", DryRun: true})
		m := r.merge(ledger.MergeInput{Space: f.space, From: "aside"})
		c := m.Checkpoint
		if m.Status != ledger.MergeDone || c == nil || m.Base.Hash != f.root.Hash || m.Title != "Merge aside into main" || c.Text(dhruva.KindTitle) != m.Title {
			r.Fatalf("%+v", m)
		}
		if diff := cmp.Diff(texts(dry.Items), texts(m.Items)); diff != "" {
			r.Errorf("a dry run shows something else: %s", diff)
		}
		if diff := cmp.Diff([]string{"we write it in Go", "one binary is shipped", "clients are generated"}, texts(c.Of(dhruva.KindDecision))); diff != "" {
			r.Error(diff)
		}
		for _, i := range c.Items {
			if len(i.Cites) > 0 {
				r.Errorf("%s has cites", i.ID)
			}
		}
		if r.head(f.space, "main") != c.Hash || r.head(f.space, "aside") != f.side.Hash {
			r.Error("heads")
		}
		if again := r.merge(ledger.MergeInput{Space: f.space, From: "aside"}); again.Status != ledger.MergeUpToDate || again.Checkpoint != nil {
			r.Errorf("%+v", again)
		}
		if self := r.merge(ledger.MergeInput{Space: f.space, From: "main"}); self.Status != ledger.MergeUpToDate {
			r.Errorf("%+v", self)
		}
		if old := r.merge(ledger.MergeInput{Space: f.space, From: f.root.Hash.Short()}); old.Status != ledger.MergeUpToDate {
			r.Errorf("%+v", old)
		}
		// No fast-forward: what is ahead is merged by a checkpoint too.
		ahead := r.merge(ledger.MergeInput{Space: f.space, From: "main", Into: "aside"})
		if ahead.Status != ledger.MergeDone || len(ahead.Checkpoint.Parents) != 2 || ahead.Checkpoint.Branch != "aside" {
			r.Errorf("%+v", ahead)
		}
		o := must[[]ledger.Origin](r)(r.l.Blame(r.ctx(), c.Hash.String(), c.Of(dhruva.KindDecision)[2].ID))
		if o[0].First.Hash != f.side.Hash { // over the second parent
			r.Errorf("%+v", o)
		}
		for _, in := range []ledger.MergeInput{{Space: f.space, From: "nowhere"}, {Space: f.space, From: "aside", Into: "nowhere"}, {Space: "none", From: "aside"}} {
			_, err := r.l.Merge(r.ctx(), in)
			r.is(err, dhruva.ErrNotFound)
		}
		_, err := r.l.Merge(r.with(dhruva.StateRead), ledger.MergeInput{Space: f.space, From: "aside"})
		r.is(err, dhruva.ErrDenied)
		r.must(second(r.l.Merge(r.with(dhruva.StateRead), ledger.MergeInput{Space: f.space, From: "aside", DryRun: true})))
	})
}

// Conflicts write nothing until a person has decided; an edit is what a person says.
func TestS59_MergeConflicts(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		d := f.root.Of(dhruva.KindDecision)[0]
		edit := func(s dhruva.SessionID, title, text, summary string) {
			r.commit(ledger.CommitInput{Session: s, Title: title, Summary: summary, Decisions: []ledger.ItemInput{{ID: d.ID, Text: text}}})
		}
		edit(f.main.ID, "ours", "we write it in Zig", "ours in a few words")
		edit(f.fork.ID, "theirs", "we write it in Rust", "theirs in a few words")
		before := lineageRows(r)
		m := r.merge(ledger.MergeInput{Space: f.space, From: "aside"})
		if m.Status != ledger.MergeConflicts || m.Checkpoint != nil || len(m.Open) != 2 || before != lineageRows(r) {
			r.Fatalf("%+v", m)
		}
		slot := m.Conflicts[0]
		if slot.Kind != dhruva.KindSummary || m.Conflicts[1].ID != d.ID || m.Conflicts[1].Type != ledger.ConflictBothEdited || m.Conflicts[1].Base.Text != d.Text {
			r.Errorf("%+v", m.Conflicts)
		}
		some := r.merge(ledger.MergeInput{Space: f.space, From: "aside", Picks: map[dhruva.ItemID]string{d.ID: ledger.PickTheirs}})
		if some.Status != ledger.MergeConflicts || len(some.Open) != 1 {
			r.Errorf("%+v", some)
		}
		for _, picks := range []map[dhruva.ItemID]string{{"made-up": ledger.PickOurs}, {d.ID: "mine"}} {
			_, err := r.l.Merge(r.ctx(), ledger.MergeInput{Space: f.space, From: "aside", Picks: picks})
			r.is(err, dhruva.ErrInvalid)
		}
		done := r.merge(ledger.MergeInput{
			Space: f.space, From: "aside", Picks: map[dhruva.ItemID]string{ledger.PickAll: ledger.PickBoth},
			Edits: map[dhruva.ItemID]string{d.ID: "we write it in Go after all, by " + patLike},
		})
		c := done.Checkpoint
		if done.Status != ledger.MergeDone || c.Text(dhruva.KindSummary) != "ours in a few words\n\ntheirs in a few words" || strings.Contains(fmt.Sprint(c.Items), patLike) {
			r.Fatalf("%+v", done)
		}
		edited := c.Of(dhruva.KindDecision)[0]
		if edited.ID != d.ID || !strings.HasPrefix(edited.Text, "we write it in Go after all") {
			r.Errorf("%+v", edited)
		}
		src := must[ledger.SourceView](r)(r.l.Source(r.ctx(), f.space, r.sourceOf(f.space, edited.Text)))
		if src.Class != dhruva.ClassUserCommitted {
			r.Errorf("%s", src.Class)
		}
	})
}

// A merge gives what it carries one more place, and no more trust: deleting where it
// came from does not take it away, and what a model said stays that.
func TestS59_MergeKeepsSources(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		r.talk(f.fork.ID, "more", 1)
		byModel := r.commit(ledger.CommitInput{Session: f.fork.ID, Title: "by a model", Decisions: items("queues are drained at night"), ByModel: true})
		r.merge(ledger.MergeInput{Space: f.space, From: "aside"})
		r.delete(byModel, false)
		id := dhruva.ContentID(r.keys, r.owner.Tenant, f.space, dhruva.RoleAssistant, "queues are drained at night")
		src := must[ledger.SourceView](r)(r.l.Source(r.ctx(), f.space, id))
		if src.State != dhruva.SourceReady || src.Class != dhruva.ClassAssistantVisible || len(src.References) != 2 {
			r.Errorf("%+v", src)
		}
	})
}

// Criss-cross: of several lowest common ancestors the newest is the base.
func TestS59_CrissCross(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		ab := r.merge(ledger.MergeInput{Space: f.space, From: f.side.Hash.String()})
		ba := r.merge(ledger.MergeInput{Space: f.space, From: f.tip.Hash.String(), Into: "aside"})
		if ab.Status != ledger.MergeDone || ba.Status != ledger.MergeDone {
			r.Fatalf("%s %s", ab.Status, ba.Status)
		}
		m := r.merge(ledger.MergeInput{Space: f.space, From: "aside"})
		if m.Status != ledger.MergeDone || m.Base.Hash != f.side.Hash { // saved after tip
			r.Errorf("%s, base %q", m.Status, m.Base.Title)
		}
		if got := m.Checkpoint.Of(dhruva.KindDecision); len(got) != 3 {
			r.Errorf("%v", texts(got))
		}
	})
}

// A revert says what an earlier one said, with the same ids, and takes nothing away.
func TestRevert(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		c := must[dhruva.Checkpoint](r)(r.l.Revert(r.ctx(), ledger.RevertInput{Space: f.space, To: f.root.Hash.Short()}))
		if c.Text(dhruva.KindTitle) != "Revert to "+f.root.Hash.Short()+": root" || c.Branch != "main" || c.Parent() != f.tip.Hash {
			r.Errorf("%+v", c)
		}
		cmpr := must[ledger.Comparison](r)(r.l.Compare(r.ctx(), f.root.Hash.String(), c.Hash.String()))
		if !cmpr.Same() {
			r.Errorf("%+v", cmpr.Kinds)
		}
		if c.Of(dhruva.KindDecision)[0].ID != f.root.Of(dhruva.KindDecision)[0].ID || c.Of(dhruva.KindDecision)[0].Salt == f.root.Of(dhruva.KindDecision)[0].Salt {
			r.Error("ids or salts")
		}
		_, err := r.l.Revert(r.ctx(), ledger.RevertInput{Space: f.space, To: c.Hash.String()})
		r.is(err, dhruva.ErrConflict)
		_, err = r.l.Revert(r.ctx(), ledger.RevertInput{Space: f.space, Branch: "nowhere", To: f.root.Hash.String()})
		r.is(err, dhruva.ErrNotFound)
		// What was taken out in between comes back as what it was.
		back := must[dhruva.Checkpoint](r)(r.l.Revert(r.ctx(), ledger.RevertInput{Space: f.space, To: f.tip.Hash.String()}))
		o := must[[]ledger.Origin](r)(r.l.Blame(r.ctx(), back.Hash.String(), f.tip.Of(dhruva.KindDecision)[1].ID))
		if o[0].First.Hash != f.tip.Hash || o[0].Since.Hash != back.Hash {
			r.Errorf("%+v", o)
		}
	})
}

// Undo and redo move heads along the reflog, and only from where a move left them.
func TestUndoRedo(t *testing.T) {
	each(t, func(r *rig) {
		f := r.forked()
		heads := func(main, aside dhruva.Hash) {
			r.Helper()
			if a, b := r.head(f.space, "main"), r.head(f.space, "aside"); a != main || b != aside {
				r.Fatalf("main %s, aside %s; want %s, %s", a.Short(), b.Short(), main.Short(), aside.Short())
			}
		}
		none, root, tip, side := dhruva.Hash{}, f.root.Hash, f.tip.Hash, f.side.Hash
		undo := func(branch string) { r.Helper(); r.must(second(r.l.Undo(r.ctx(), f.space, branch))) }
		redo := func(branch string) { r.Helper(); r.must(second(r.l.Redo(r.ctx(), f.space, branch))) }
		undo("main")
		heads(root, side)
		undo("") // the newest of the space is the one of aside
		heads(root, root)
		undo("") // the fork
		heads(root, none)
		undo("")
		heads(none, none)
		_, err := r.l.Undo(r.ctx(), f.space, "")
		r.is(err, dhruva.ErrConflict)
		for range 4 {
			redo("")
		}
		heads(tip, side)
		_, err = r.l.Redo(r.ctx(), f.space, "")
		r.is(err, dhruva.ErrConflict)
		undo("main")
		redo("main")
		undo("main")
		heads(root, side)
		other := r.commit(ledger.CommitInput{Session: f.main.ID, Title: "another way"})
		_, err = r.l.Redo(r.ctx(), f.space, "main") // the head is elsewhere by now
		if r.is(err, dhruva.ErrConflict); !strings.Contains(err.Error(), root.Short()) {
			r.Error(err)
		}
		undo("main")
		heads(root, side)
		if other.Parent() != root {
			r.Error("parent")
		}
		for _, c := range []dhruva.Checkpoint{f.tip, other} { // nothing is unsaved
			r.must(second(r.l.Checkpoint(r.ctx(), c.Hash.String())))
		}
		r.delete(f.tip, false)
		r.delete(other, false)
		redoErr := second(r.l.Redo(r.ctx(), f.space, "main"))
		if r.is(redoErr, dhruva.ErrConflict); !strings.Contains(redoErr.Error(), "deleted") {
			r.Error(redoErr)
		}
		log := must[[]dhruva.HeadMove](r)(r.l.Reflog(r.ctx(), f.space, "", 0, 0))
		for n, m := range log {
			if m.Seq != int64(len(log)-n) || m.By != r.owner.ID {
				r.Errorf("%+v", m)
			}
		}
		page := must[[]dhruva.HeadMove](r)(r.l.Reflog(r.ctx(), f.space, "aside", 5, 2))
		for _, m := range page {
			if m.Branch != "aside" || m.Seq >= 5 {
				r.Errorf("%+v", m)
			}
		}
		_, err = r.l.Undo(r.with(dhruva.StateRead), f.space, "")
		r.is(err, dhruva.ErrDenied)
		if err := second(r.l.Reflog(r.ctx(), "none", "", 0, 0)); !errors.Is(err, dhruva.ErrNotFound) {
			r.Error(err)
		}
	})
}
