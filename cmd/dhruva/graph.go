package main

import (
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// graph draws a lineage, newest first, a lane for each line of checkpoints:
//
//	●    merge of the fork
//	├─╮
//	│ ●  saved on the fork
//	● │  saved on main
//	├─╯
//	●    where they part
//
// A lane waits for the checkpoint whose child it has drawn; a zero hash is a lane
// that is free.
type graph struct{ lanes []dhruva.Hash }

// rows are the lines that draw a checkpoint: those before it, its own, and those
// after it.
func (g *graph) rows(n client.LineageNode) (before []string, own string, after []string) {
	at := g.lane(n.Hash)
	if extra := g.others(n.Hash, at); len(extra) > 0 {
		before = append(before, g.join(at, extra))
		for _, j := range extra {
			g.lanes[j] = dhruva.Hash{}
		}
		g.trim()
	}
	own = g.draw(func(cells []rune) { cells[2*at] = '●' })
	g.lanes[at] = dhruva.Hash{}
	if len(n.Parents) > 0 {
		g.lanes[at] = n.Parents[0]
		for _, p := range n.Parents[1:] {
			after = append(after, g.part(at, p))
		}
	}
	g.trim()
	return before, own, after
}

// lane is the first lane that waits for a checkpoint, else a free one.
func (g *graph) lane(h dhruva.Hash) int {
	if i := slices.Index(g.lanes, h); i >= 0 {
		return i
	}
	return g.take(0, h)
}

// take gives a checkpoint the first free lane from one on.
func (g *graph) take(from int, h dhruva.Hash) int {
	for i := from; i < len(g.lanes); i++ {
		if g.lanes[i].IsZero() {
			g.lanes[i] = h
			return i
		}
	}
	g.lanes = append(g.lanes, h)
	return len(g.lanes) - 1
}

// others are the lanes besides one that wait for a checkpoint.
func (g *graph) others(h dhruva.Hash, at int) (out []int) {
	for i, l := range g.lanes {
		if i != at && l == h {
			out = append(out, i)
		}
	}
	return out
}

// join draws lanes that come together in one; that is the leftmost of them.
func (g *graph) join(at int, from []int) string {
	return g.draw(func(cells []rune) {
		last := from[len(from)-1]
		across(cells, at, last)
		for _, j := range from {
			cells[2*j] = '┴'
		}
		cells[2*at], cells[2*last] = '├', '╯'
	})
}

// part draws the way from a merge to a further parent: to the lane that waits for
// it already, or to a new one.
func (g *graph) part(at int, to dhruva.Hash) string {
	j, end := slices.Index(g.lanes, to), '╮'
	switch {
	case j == at: // both parents are one checkpoint
		return g.draw(func([]rune) {})
	case j < 0:
		j = g.take(at+1, to)
	default:
		end = '┤'
	}
	return g.draw(func(cells []rune) {
		left, right := min(at, j), max(at, j)
		across(cells, left, right)
		cells[2*left], cells[2*right] = '├', end
		if j < at {
			cells[2*right] = '┤'
		}
	})
}

// draw is a row of the lanes, changed by f.
func (g *graph) draw(f func(cells []rune)) string {
	cells := []rune(strings.Repeat(" ", 2*len(g.lanes)))
	for i, l := range g.lanes {
		if !l.IsZero() {
			cells[2*i] = '│'
		}
	}
	f(cells)
	return strings.TrimRight(string(cells), " ")
}

// across draws a way between two lanes over those between.
func across(cells []rune, left, right int) {
	for x := 2*left + 1; x < 2*right; x++ {
		if cells[x] == '│' {
			cells[x] = '┼'
		} else {
			cells[x] = '─'
		}
	}
}

// trim drops free lanes on the right.
func (g *graph) trim() {
	for len(g.lanes) > 0 && g.lanes[len(g.lanes)-1].IsZero() {
		g.lanes = g.lanes[:len(g.lanes)-1]
	}
}
