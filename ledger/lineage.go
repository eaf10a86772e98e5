package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// LineageQuery asks for the graph of a space.
type LineageQuery struct {
	// Branch, when set, selects the checkpoints that were saved on it.
	Branch string
	dhruva.Page
}

// Lineage is the graph of a space, or a page of it.
type Lineage struct {
	// Nodes stand newest first. Next is the page after them, "" at the end.
	Nodes []LineageNode
	Next  string
	// Branches are all of the space's, by name, with where they stand.
	Branches []BranchLine
}

// LineageNode is a checkpoint of a graph.
type LineageNode struct {
	dhruva.Outline
	// Gone are those of its parents that were deleted.
	Gone []dhruva.Hash
	// Heads are the branches that are at it.
	Heads []string
	// Remarks counts what was said about it, by kind; Remarked is when that was
	// done last.
	Remarks  RemarkCount
	Remarked time.Time
	// Forks are the live sessions that were forked from it, last used first.
	Forks []dhruva.Session
}

// BranchLine is a branch with the sessions that work on it.
type BranchLine struct {
	dhruva.Branch // its Disposition is never ""
	Sessions      int
}

// Lineage shows the graph of a space: checkpoints without their texts, what was
// remarked about them, branches and forks. Needs state:read.
func (l *Ledger) Lineage(ctx context.Context, space dhruva.SpaceID, q LineageQuery) (out Lineage, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return out, wrap("lineage", err)
	}
	if _, err := dhruva.ParseHash(q.After); err != nil {
		return out, wrap("lineage", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out = Lineage{}
		if _, err := liveSpace(tx, p, space); err != nil {
			return err
		}
		return out.read(tx, space, q)
	})
	if err != nil {
		return Lineage{}, wrap("lineage", err)
	}
	return out, nil
}

func (l *Lineage) read(tx dhruva.Tx, space dhruva.SpaceID, q LineageQuery) error {
	fetch := func(page dhruva.Page) ([]dhruva.Outline, error) {
		return tx.ListOutlines(dhruva.OutlineQuery{Space: space, Branch: q.Branch, Page: page})
	}
	rows, next, err := filled(q.Page, fetch, func(o dhruva.Outline) string { return o.Hash.String() },
		func(o dhruva.Outline) (bool, error) { return o.HiddenAt.IsZero(), nil })
	if err != nil {
		return err
	}
	l.Next = next
	forks, working, err := sessionsByPlace(tx, space)
	if err != nil {
		return err
	}
	heads, err := l.readBranches(tx, space, working)
	if err != nil {
		return err
	}
	shown := map[dhruva.Hash]bool{}
	for _, o := range rows {
		shown[o.Hash] = true
	}
	for _, o := range rows {
		n := LineageNode{Outline: o, Heads: heads[o.Hash], Forks: forks[o.Hash]}
		if n.Gone, err = goneParents(tx, o, shown); err != nil {
			return err
		}
		if n.Remarks, n.Remarked, err = remarksOf(tx, o); err != nil {
			return err
		}
		l.Nodes = append(l.Nodes, n)
	}
	return nil
}

// sessionsByPlace are the live sessions of a space by what they were forked from,
// and how many work on each branch.
func sessionsByPlace(tx dhruva.Tx, space dhruva.SpaceID) (forks map[dhruva.Hash][]dhruva.Session, working map[string]int, err error) {
	forks, working = map[dhruva.Hash][]dhruva.Session{}, map[string]int{}
	err = eachSession(tx, space, func(s dhruva.Session) error {
		if s.Kind == dhruva.SessionNotes {
			return nil
		}
		if working[s.Branch]++; !s.ForkedFrom.IsZero() {
			forks[s.ForkedFrom] = append(forks[s.ForkedFrom], s)
		}
		return nil
	})
	return forks, working, err
}

func (l *Lineage) readBranches(tx dhruva.Tx, space dhruva.SpaceID, working map[string]int) (map[dhruva.Hash][]string, error) {
	rows, err := tx.ListBranches(space)
	heads := map[dhruva.Hash][]string{}
	for _, b := range rows {
		b.Disposition = disposed(b)
		l.Branches = append(l.Branches, BranchLine{b, working[b.Name]})
		heads[b.Head] = append(heads[b.Head], b.Name)
	}
	return heads, err
}

// goneParents are the parents of a checkpoint that are not shown any more.
func goneParents(tx dhruva.Tx, o dhruva.Outline, shown map[dhruva.Hash]bool) (out []dhruva.Hash, err error) {
	for _, p := range o.Parents {
		if shown[p] {
			continue
		}
		at, err := shownOutline(tx, o.Space, p)
		if err != nil {
			return nil, err
		}
		if shown[p] = at != nil; at == nil {
			out = append(out, p)
		}
	}
	return out, nil
}

// Reachable lists the checkpoints that a session can go back to, newest first: the
// head of its branch, which on a fork begins as its source, and all of their
// ancestors. What others saved on other branches, or later on the one that a fork
// left, is not among them, unless it was merged. A FRESH session has none. Needs
// state:read.
func (l *Ledger) Reachable(ctx context.Context, session dhruva.SessionID, page dhruva.Page) (out []dhruva.Outline, next string, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, "", wrap("reachable", err)
	}
	after, err := dhruva.ParseHash(page.After)
	if err != nil {
		return nil, "", wrap("reachable", err)
	}
	var all []dhruva.Outline
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		all, err = reachable(tx, p, session)
		return err
	})
	if err != nil {
		return nil, "", wrap("reachable", err)
	}
	if !after.IsZero() {
		n := slices.IndexFunc(all, func(o dhruva.Outline) bool { return o.Hash == after })
		if n < 0 {
			return nil, "", nil // as with every list, nothing comes after what is not there
		}
		all = all[n+1:]
	}
	if size := page.Size(); len(all) > size {
		return all[:size], all[size-1].Hash.String(), nil
	}
	return all, "", nil
}

func reachable(tx dhruva.Tx, p dhruva.Principal, id dhruva.SessionID) ([]dhruva.Outline, error) {
	s, err := liveSession(tx, p, id)
	if err != nil || s.Fresh {
		return nil, err
	}
	head, err := headOf(tx, s)
	if err != nil {
		return nil, err
	}
	g, err := reachedFrom(tx, s.Space, head)
	if err != nil {
		return nil, err
	}
	return g.sorted(), nil
}
