package recall

import (
	"cmp"
	"slices"
)

// scope is the part of an index that a query sees: which turns are beside each
// other, and the sums behind the average lengths.
type scope struct {
	in       []bool // by turn; nil for all
	links    []links
	groupLen []int32 // by group, in stems with the metadata
	groups   int     // groups that hold a turn
	sum      sums
	by       [2]spanSums // Peer, Assistant
	around   [2][]around // Peer, Assistant; by turn
}

// around is what surrounds a turn in its group (its session under Peer, its
// exchange under Assistant), and how long it is together with it.
type around struct {
	p2, p1, n1, n2     int32 // -1 for none
	win2, winP2, declQ int32
}

// sums are totals that are the same under both profiles.
type sums struct {
	docs, chat     int // chat: said by a user or a responder
	body, meta     int
	pairs, chars   int
	passages       int
	passageOverlap int // stems counted twice because passages overlap
}

// spanSums are totals of texts made of neighbouring turns.
type spanSums struct{ win2, winP2, declQ int }

func (s *scope) holds(n int32) bool { return s.in == nil || s.in[n] }

// profile resolves Auto.
func (s *scope) profile(p Profile) Profile {
	switch {
	case p != Auto:
		return p
	case s.sum.docs > 0 && 2*s.sum.chat >= s.sum.docs:
		return Assistant
	}
	return Peer
}

func (p Profile) column() int {
	if p == Assistant {
		return 1
	}
	return 0
}

// near follows the links of turn n as far as its group goes.
func (x *Index) near(s *scope, p Profile, n int32) (p2, p1, n1, n2 int32) {
	p1, n1 = s.links[n].prev, s.links[n].next
	p2, n2 = -1, -1
	if p == Assistant {
		if x.turns[n].role == User {
			p1 = -1
		}
		if n1 >= 0 && x.turns[n1].role == User {
			n1 = -1
		}
	}
	if p1 >= 0 && !(p == Assistant && x.turns[p1].role == User) {
		p2 = s.links[p1].prev
	}
	if n1 >= 0 {
		n2 = s.links[n1].next
		if n2 >= 0 && p == Assistant && x.turns[n2].role == User {
			n2 = -1
		}
	}
	return p2, p1, n1, n2
}

// length is how many stems a turn has: people's turns carry their speaker and date.
func (x *Index) length(p Profile, n int32) int32 {
	if n < 0 {
		return 0
	}
	t := &x.turns[n]
	if p == Assistant {
		return t.body
	}
	return int32(len(t.seq))
}

// survey looks around turn n.
func (x *Index) survey(s *scope, p Profile, n int32) around {
	p2, p1, n1, n2 := x.near(s, p, n)
	winP2 := x.length(p, p2) + x.length(p, p1) + x.length(p, n)
	declQ := x.turns[n].body - x.turns[n].asked
	if p1 >= 0 {
		declQ += x.turns[p1].asked
	}
	return around{
		p2: p2, p1: p1, n1: n1, n2: n2,
		win2: winP2 + x.length(p, n1) + x.length(p, n2), winP2: winP2, declQ: declQ,
	}
}

func (a *spanSums) add(b *around, sign int) {
	a.win2 += sign * int(b.win2)
	a.winP2 += sign * int(b.winP2)
	a.declQ += sign * int(b.declQ)
}

// countSpans takes what surrounds turn n out of the sums (sign -1), or looks
// around it again and adds that (sign 1).
func (x *Index) countSpans(s *scope, n int32, sign int) {
	for i, p := range [...]Profile{Peer, Assistant} {
		if sign > 0 {
			s.around[i][n] = x.survey(s, p, n)
		}
		s.by[i].add(&s.around[i][n], sign)
	}
}

// countAround does so for the two turns before and after the gap between a and b.
func (x *Index) countAround(s *scope, a, b int32, sign int) {
	for range 2 {
		if a >= 0 {
			x.countSpans(s, a, sign)
			a = s.links[a].prev
		}
		if b >= 0 {
			x.countSpans(s, b, sign)
			b = s.links[b].next
		}
	}
}

// countTurn adds (or takes away) what turn n brings by itself.
func (x *Index) countTurn(s *scope, n int32, sign int) {
	t := &x.turns[n]
	s.sum.docs += sign
	if t.role == User || t.role == Responder {
		s.sum.chat += sign
	}
	passages := int(t.passages)
	s.sum.body += sign * int(t.body)
	s.sum.meta += sign * (len(t.seq) - int(t.body))
	s.sum.pairs += sign * int(max(t.body-1, 0))
	s.sum.chars += sign * int(t.chars)
	s.sum.passages += sign * passages
	s.sum.passageOverlap += sign * (passages - 1) * passageStride
	s.groupLen[t.group] += int32(sign) * int32(len(t.seq))
}

// position finds where turn n stands, or would stand, in its group.
func (x *Index) position(n int32) int {
	t := &x.turns[n]
	i, _ := slices.BinarySearchFunc(x.groups[t.group].turns, n, func(m, _ int32) int {
		o := &x.turns[m]
		return cmp.Or(cmp.Compare(o.pos, t.pos), cmp.Compare(o.ref, t.ref))
	})
	return i
}

// link puts turn n into its group and the sums.
func (x *Index) link(n int32) {
	s, g := &x.all, &x.groups[x.turns[n].group]
	i := x.position(n)
	l := links{-1, -1}
	if i > 0 {
		l.prev = g.turns[i-1]
	}
	if i < len(g.turns) {
		l.next = g.turns[i]
	}
	x.countAround(s, l.prev, l.next, -1)
	g.turns = slices.Insert(g.turns, i, n)
	s.links[n] = l
	s.join(l.prev, n, l.next)
	x.countAround(s, l.prev, l.next, 1)
	x.countSpans(s, n, 1)
	x.countTurn(s, n, 1)
	if len(g.turns) == 1 {
		s.groups++
	}
}

func (s *scope) join(prev, n, next int32) {
	if prev >= 0 {
		s.links[prev].next = n
	}
	if next >= 0 {
		s.links[next].prev = n
	}
}

// unlink takes turn n out of its group and the sums; an empty group is forgotten.
func (x *Index) unlink(n int32) {
	s := &x.all
	id := x.turns[n].group
	g := &x.groups[id]
	l := s.links[n]
	x.countTurn(s, n, -1)
	x.countSpans(s, n, -1)
	x.countAround(s, l.prev, l.next, -1)
	i := x.position(n)
	g.turns = slices.Delete(g.turns, i, i+1)
	if l.prev >= 0 {
		s.links[l.prev].next = l.next
	}
	if l.next >= 0 {
		s.links[l.next].prev = l.prev
	}
	s.links[n] = links{-1, -1}
	x.countAround(s, l.prev, l.next, 1)
	if len(g.turns) == 0 {
		s.groups--
		delete(x.groupIDs, g.name)
		x.groups[id] = group{}
		x.spare = append(x.spare, id)
	}
}

// restrict builds the scope of the turns that visible admits, as if the index
// held no others.
func (x *Index) restrict(visible func(ref string) bool) *scope {
	s := &scope{
		in:       make([]bool, len(x.turns)),
		links:    make([]links, len(x.turns)),
		groupLen: make([]int32, len(x.groups)),
		around:   [2][]around{make([]around, len(x.turns)), make([]around, len(x.turns))},
	}
	for i := range x.groups {
		prev := int32(-1)
		for _, n := range x.groups[i].turns {
			if !visible(x.turns[n].ref) {
				continue
			}
			s.in[n] = true
			s.links[n] = links{prev, -1}
			if prev >= 0 {
				s.links[prev].next = n
			} else {
				s.groups++
			}
			x.countTurn(s, n, 1)
			prev = n
		}
	}
	for n, in := range s.in {
		if in {
			x.countSpans(s, int32(n), 1)
		}
	}
	return s
}
