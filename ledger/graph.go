package ledger

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// The graph of a lineage: checkpoints and all of their parents. It is walked
// without recursion, in stretches of first parents, and without texts.

// graphStretch is how many first parents are read at once, at most. A walk begins
// with a few: what was merged is soon where it came from.
const graphStretch = 1024

// graph are the checkpoints that are reached from one of them over all parents,
// itself included. Hidden ones are not in it, and nothing is reached through
// them.
type graph map[dhruva.Hash]dhruva.Outline

// reachedFrom walks a graph within a space. The zero hash reaches nothing.
func reachedFrom(tx dhruva.Tx, space dhruva.SpaceID, from dhruva.Hash) (graph, error) {
	type step struct {
		at   dhruva.Hash
		many int
	}
	g := graph{}
	for todo := []step{{from, 8}}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, seen := g[s.at]; seen || s.at.IsZero() {
			continue
		}
		rows, err := tx.Ancestry(s.at, s.many)
		if err != nil {
			return nil, err
		}
		for n, row := range rows {
			if _, seen := g[row.Hash]; seen || row.Space != space || !row.HiddenAt.IsZero() {
				break
			}
			g[row.Hash] = row
			for _, p := range row.Parents[min(1, len(row.Parents)):] {
				todo = append(todo, step{p, 8})
			}
			if n == len(rows)-1 {
				todo = append(todo, step{row.Parent(), min(4*s.many, graphStretch)})
			}
		}
	}
	return g, nil
}

// newestOutline orders by descending (CreatedAt, Hash).
func newestOutline(a, b dhruva.Outline) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), bytes.Compare(b.Hash[:], a.Hash[:]))
}

// sorted are the checkpoints of a graph, newest first.
func (g graph) sorted() []dhruva.Outline {
	out := make([]dhruva.Outline, 0, len(g))
	for _, row := range g {
		out = append(out, row)
	}
	slices.SortFunc(out, newestOutline)
	return out
}

// common is the lowest common ancestor of two graphs: of those that both hold,
// one that is the parent of no other; of several the newest. False: they are
// unrelated.
func (g graph) common(o graph) (dhruva.Outline, bool) {
	above := map[dhruva.Hash]bool{}
	for h, row := range g {
		if _, both := o[h]; both {
			for _, p := range row.Parents {
				above[p] = true
			}
		}
	}
	var lowest []dhruva.Outline
	for h, row := range g {
		if _, both := o[h]; both && !above[h] {
			lowest = append(lowest, row)
		}
	}
	if len(lowest) == 0 {
		return dhruva.Outline{}, false
	}
	return slices.MinFunc(lowest, newestOutline), true
}

// eachOutline walks all checkpoints of a space, hidden ones too, newest first.
func eachOutline(tx dhruva.Tx, q dhruva.OutlineQuery, fn func(dhruva.Outline) error) error {
	for q.Limit = 1000; ; {
		rows, err := tx.ListOutlines(q)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := fn(row); err != nil {
				return err
			}
		}
		if len(rows) < q.Limit {
			return nil
		}
		q.After = rows[len(rows)-1].Hash.String()
	}
}
