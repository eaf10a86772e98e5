package storetest

import (
	"maps"
	"reflect"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// mention is a checkpoint that something else of a space names.
type mention struct {
	what string
	of   dhruva.Hash
}

// seams checks those that a store lists against the turns.
func (c *checker) seams(s dhruva.Session, turns []dhruva.Turn) {
	var want []dhruva.Seam
	for _, t := range turns {
		if seam, ok := t.Seam(); ok {
			want = append(want, seam)
		}
	}
	if got, err := c.tx.Seams(s.ID, 0, 0); err != nil || !slices.Equal(got, want) {
		c.broke("session %s: seams %+v, its turns have %+v, %v", s.ID, got, want, err)
	}
}

// outlines checks every checkpoint, the hidden ones too, against those that are
// shown.
func (c *checker) outlines(shown map[dhruva.Hash]bool) {
	count := 0
	for _, o := range pages(c, "outlines", outlineName, func(p dhruva.Page) ([]dhruva.Outline, error) {
		return c.tx.ListOutlines(dhruva.OutlineQuery{Space: c.scope.Space(), Page: p})
	}) {
		row, err := c.tx.Checkpoint(o.Hash)
		if err != nil || !reflect.DeepEqual(row.Outline(), o) {
			c.broke("checkpoint %s: its outline is %+v: %v", o.Hash.Short(), o, err)
			continue
		}
		if shown[o.Hash] != o.HiddenAt.IsZero() {
			c.broke("checkpoint %s: hidden at %v, listed %v", o.Hash.Short(), o.HiddenAt, shown[o.Hash])
		}
		if shown[o.Hash] {
			count++
		} else {
			c.checkpoint(row)
		}
		c.ancestry(o)
	}
	if count != len(shown) {
		c.broke("%d checkpoints are listed, %d of them have outlines", len(shown), count)
	}
}

func outlineName(o dhruva.Outline) string { return o.Hash.String() }

// ancestry: one step of a walk leads to the parent.
func (c *checker) ancestry(o dhruva.Outline) {
	want := []dhruva.Outline{o}
	if parent, err := c.tx.Checkpoint(o.Parent()); err == nil && parent.Space == o.Space {
		want = append(want, parent.Outline())
	}
	if got, err := c.tx.Ancestry(o.Hash, 2); err != nil || !reflect.DeepEqual(got, want) {
		c.broke("checkpoint %s: the walk from it is %+v, want %+v, %v", o.Hash.Short(), got, want, err)
	}
}

// moves checks the reflog, the newest move first.
func (c *checker) moves() {
	branches := map[string][]dhruva.HeadMove{}
	last := int64(0)
	for before := int64(0); ; before = last {
		rows, err := c.tx.HeadMoves(dhruva.HeadMoveQuery{Space: c.scope.Space(), Before: before, Limit: 1000})
		if !c.ok(err, "head moves") || len(rows) == 0 {
			break
		}
		for _, m := range rows {
			if last > 0 && m.Seq != last-1 {
				c.found("head move %d is followed by %d", m.Seq, last)
			}
			if m.Undoes < 0 || m.Undoes >= m.Seq {
				c.found("head move %d takes back %d", m.Seq, m.Undoes)
			}
			if branches[m.Branch] = append(branches[m.Branch], m); m.Seq >= last && last > 0 {
				c.broke("head moves: %d is listed behind %d", m.Seq, last)
				return
			}
			last = m.Seq
		}
	}
	if last > 1 {
		c.found("the first head move is %d", last)
	}
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		want := branches[name][:min(1000, len(branches[name]))]
		if got, err := c.tx.HeadMoves(dhruva.HeadMoveQuery{Space: c.scope.Space(), Branch: name, Limit: 1000}); err != nil || !slices.Equal(got, want) {
			c.broke("branch %q: %d head moves, %d by its name, %v", name, len(want), len(got), err)
		}
	}
}

func (c *checker) notes() {
	for _, n := range pages(c, "notes", func(n dhruva.Note) string { return string(n.ID) }, func(p dhruva.Page) ([]dhruva.Note, error) {
		return c.tx.ListNotes(dhruva.NoteQuery{Space: c.scope.Space(), Page: p})
	}) {
		if n.Redacted && n.Text != "" {
			c.found("note %s: its text was taken away, and is there", n.ID)
		}
		rows, err := c.tx.ListNotes(dhruva.NoteQuery{Space: c.scope.Space(), Checkpoint: n.Checkpoint, Page: dhruva.Page{Limit: 1000}})
		if same, err := found(rows, err, func(o dhruva.Note) bool { return o.ID == n.ID }); same != n && len(rows) < 1000 {
			c.broke("note %s: by its checkpoint %s: %v", n.ID, n.Checkpoint.Short(), err)
		}
		c.mentions = append(c.mentions, mention{"note " + string(n.ID), n.Checkpoint})
	}
}

func (c *checker) claims() {
	for _, l := range pages(c, "claims", func(l dhruva.Claim) string { return string(l.ID) }, func(p dhruva.Page) ([]dhruva.Claim, error) {
		return c.tx.ListClaims(dhruva.ClaimQuery{Space: c.scope.Space(), Page: p})
	}) {
		if same, err := c.tx.Claim(l.ID); err != nil || same != l {
			c.broke("claim %s: listed as %+v, read as %+v, %v", l.ID, l, same, err)
		}
		if !slices.Contains([]dhruva.ClaimStatus{dhruva.ClaimActive, dhruva.ClaimDone, dhruva.ClaimAbandoned}, l.Status) {
			c.found("claim %s: status %q", l.ID, l.Status)
		}
		c.mentions = append(c.mentions, mention{"claim " + string(l.ID), l.Base})
	}
}

func (c *checker) worktrees() {
	for _, w := range pages(c, "worktrees", func(w dhruva.Worktree) string { return string(w.ID) }, func(p dhruva.Page) ([]dhruva.Worktree, error) {
		return c.tx.ListWorktrees(dhruva.WorktreeQuery{Space: c.scope.Space(), Page: p})
	}) {
		if same, err := c.tx.Worktree(w.ID); err != nil || same != w {
			c.broke("worktree %s: listed as %+v, read as %+v, %v", w.ID, w, same, err)
		}
		switch {
		case w.Status != dhruva.WorktreeOpen && w.Status != dhruva.WorktreeClosed:
			c.found("worktree %s: status %q", w.ID, w.Status)
		case w.Status == dhruva.WorktreeOpen && !w.ClosedAt.IsZero():
			c.found("worktree %s: open, and closed at %v", w.ID, w.ClosedAt)
		}
	}
}

func (c *checker) documents() {
	for _, d := range pages(c, "documents", func(d dhruva.Document) string { return string(d.ID) }, func(p dhruva.Page) ([]dhruva.Document, error) {
		return c.tx.ListDocuments(dhruva.DocumentQuery{Space: c.scope.Space(), Page: p})
	}) {
		if same, err := c.tx.Document(d.ID); err != nil || same != d {
			c.broke("document %s: listed as %+v, read as %+v, %v", d.ID, d, same, err)
		}
	}
}

// strangers looks for checkpoints of other spaces among those that were named.
func (c *checker) strangers(space dhruva.Scope) {
	if len(c.mentions) == 0 {
		return
	}
	c.view(dhruva.TenantScope(space.Tenant()), func() {
		for _, m := range c.mentions {
			if row, err := c.tx.Checkpoint(m.of); err == nil && row.Space != space.Space() {
				c.found("%s of space %s names checkpoint %s of space %s", m.what, space.Space(), m.of.Short(), row.Space)
			}
		}
	})
}
