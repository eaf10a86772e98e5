package ledger_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// effect is all that a tenant has, a line for each row, without what differs
// between two runs of the same acts: ids, times and hashes. Two stores of one
// effect hold the same.
func (r *rig) effect() []string {
	r.Helper()
	e := &effect{rig: r, named: map[string]string{}}
	spaces := e.spaces()
	r.view(func(tx dhruva.Tx) error {
		for _, s := range spaces {
			e.space(tx, s)
		}
		e.tenant(tx)
		return nil
	})
	for _, s := range spaces {
		e.feed(s)
	}
	longer := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) } // a short hash begins a long one
	var pairs []string
	for _, id := range slices.SortedFunc(maps.Keys(e.named), longer) {
		pairs = append(pairs, id, e.named[id])
	}
	named := strings.NewReplacer(pairs...)
	for n, line := range e.lines {
		line = named.Replace(line)
		e.lines[n] = unknownID.ReplaceAllString(titledByTime.ReplaceAllString(line, `"Session <time>"`), "<of one that is gone>")
	}
	slices.Sort(e.lines)
	return e.lines
}

var (
	// titledByTime is the title of a session that was given none.
	titledByTime = regexp.MustCompile(`"Session \w+ \d+ \w+ \d+:\d+"`)
	unknownID    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

type effect struct {
	*rig
	lines []string
	// named are ids that may stand in texts, and what to put there.
	named map[string]string
}

func (e *effect) line(format string, args ...any) {
	e.lines = append(e.lines, fmt.Sprintf(format, args...))
}

// spaces are those that are listed, and the owner's home.
func (e *effect) spaces() (out []dhruva.Space) {
	e.view(func(tx dhruva.Tx) error {
		rows, err := tx.ListSpaces(dhruva.Page{Limit: 1000})
		out = rows
		if home, err := tx.HomeSpace(e.owner.ID); err == nil {
			home.Name = "home"
			out = append(out, home)
		}
		return err
	})
	for _, s := range out {
		e.named[string(s.ID)] = "<" + s.Name + ">"
	}
	return out
}

func (e *effect) space(tx dhruva.Tx, s dhruva.Space) {
	epoch, err := tx.Epoch(s.ID)
	e.must(err)
	e.line("space %s: %q %q owner %s, generation %d, fence %d, changes %d to %d", s.Name, s.Description, s.ProjectRoot, s.Owner,
		epoch.Generation, epoch.Fence, epoch.Tail, epoch.Head)
	checkpoints, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: s.ID, Page: dhruva.Page{Limit: 1000}})
	e.must(err)
	for _, c := range checkpoints {
		title := "?"
		for _, i := range c.Items {
			if i.Kind == dhruva.KindTitle {
				title = i.Text
			}
		}
		e.named[c.Hash.String()], e.named[c.Hash.Short()] = "<"+title+">", "<"+title+">"
		e.line("checkpoint %s of %s: branch %s, %d parents, %d items, window %d to %d", title, s.Name, c.Branch, len(c.Parents), len(c.Items),
			c.Window.Base, c.Window.Through)
	}
	e.sessions(tx, s)
	e.sources(tx, s, epoch.Generation)
	branches, err := tx.ListBranches(s.ID)
	e.must(err)
	for _, b := range branches {
		e.line("branch %s of %s: %s at %s", b.Name, s.Name, b.Disposition, b.Head)
	}
	cursors, err := tx.Cursors(s.ID)
	e.must(err)
	for _, c := range cursors {
		e.line("cursor of %s in %s: %d", c.Node, s.Name, c.Seq)
	}
}

func (e *effect) sessions(tx dhruva.Tx, s dhruva.Space) {
	rows, err := tx.ListSessions(dhruva.SessionQuery{Space: s.ID, Page: dhruva.Page{Limit: 1000}})
	e.must(err)
	for _, row := range rows {
		mount := "-"
		if row.Mount != nil {
			mount = fmt.Sprintf("%s depth %d base %d", row.Mount.Checkpoint, row.Mount.Depth, row.Mount.Base)
		}
		what := fmt.Sprintf("%s session %q of %s", row.Kind, row.Title, s.Name)
		e.line("%s: fresh %v, branch %s, forked from %s at turn %d, mount %s, last %d, tip %d", what, row.Fresh, row.Branch, row.ForkedFrom,
			row.ForkedSeq, mount, row.LastSeq, row.Tip)
		turns, err := tx.ListTurns(dhruva.TurnQuery{Session: row.ID})
		e.must(err)
		for _, t := range turns {
			e.line("%s: %d after %d, parent %d: %s %q backfill %v, redacted %v", what, t.Seq, t.BeganAfter, t.Parent, t.Role, t.Content, t.Backfill, t.Redacted)
		}
	}
}

func (e *effect) sources(tx dhruva.Tx, s dhruva.Space, generation int64) {
	rows, err := tx.ListSources(dhruva.SourceQuery{Space: s.ID, Generation: generation, Page: dhruva.Page{Limit: 1000}})
	e.must(err)
	for _, row := range rows {
		text, _, err := dhruva.SourceText(tx, row)
		refs, err2 := tx.References(s.ID, generation, row.ID)
		e.must(err2)
		e.line("source of %s: %s %s %s %q (%v), %d references", s.Name, row.Class, row.State, row.Role, text, err, len(refs))
		e.named[string(row.ID)] = fmt.Sprintf("<%q of %s>", text, row.Role)
	}
	stones, err := tx.ListTombstones(s.ID, generation, dhruva.Page{Limit: 1000})
	e.must(err)
	for _, t := range stones {
		e.line("tombstone of %s: %s, %s", s.Name, t.Source, t.State)
	}
}

// tenant is what has no space, or is listed over all of them.
func (e *effect) tenant(tx dhruva.Tx) {
	receipts, err := tx.ListReceipts(dhruva.ReceiptQuery{Page: dhruva.Page{Limit: 1000}})
	e.must(err)
	for _, c := range receipts {
		e.line("receipt: %s %s %s in %s, %d turns", c.Kind, c.State, c.Ingest, c.Space, len(c.TurnIDs))
	}
	jobs, err := tx.ListJobs(dhruva.JobQuery{Page: dhruva.Page{Limit: 1000}})
	e.must(err)
	for _, j := range jobs {
		e.line("job %s in %s: %s, error %q", j.Kind, j.Space, j.State, j.Error) // how often it was tried may differ
	}
	pending, err := tx.PendingLeaves(1000)
	e.must(err)
	placed, err := tx.ListLeaves(0, 1000)
	e.must(err)
	for _, leaf := range append(pending, placed...) {
		e.line("leaf: %s at %d", leaf.Kind, leaf.Seq)
	}
}

// feed is compared in order: a change that is told twice shows.
func (e *effect) feed(s dhruva.Space) {
	scope := dhruva.SpaceScope(e.owner.Tenant, s.ID)
	var tail int64
	e.must(e.store.View(context.Background(), scope, func(tx dhruva.Tx) error {
		epoch, err := tx.Epoch(s.ID)
		tail = epoch.Tail
		return err
	}))
	for c, err := range e.store.Changes(context.Background(), scope, tail) {
		e.must(err)
		if e.named[c.Ref] == "" { // gone; sources are told apart, not named
			e.named[c.Ref] = fmt.Sprintf("<no. %d that is gone>", len(e.named))
		}
		e.line("change %d of %s: %s %s", c.Seq, s.Name, c.Kind, c.Ref)
	}
}
