package recall

// candidates are the turns that get the full features: the best by passage
// score, and by number of look-alike words, with two neighbours on each side. With a
// filter the best are chosen among the turns it allows and those beside them.
func (p *pass) candidates(allow func(string) bool) []int32 {
	chosen := best(p, candidates, allow, func(c *cell) float64 { return c.psg })
	chosen = append(chosen, best(p, candidates/4, allow, func(c *cell) float64 { return float64(c.alike) })...)
	out := make([]int32, 0, 5*len(chosen))
	for _, n := range chosen {
		a := p.around(n)
		for _, m := range [...]int32{n, a.p2, a.p1, a.n1, a.n2} {
			if m < 0 {
				continue
			}
			if c := p.cell(m); !c.pooled {
				c.pooled = true
				out = append(out, m)
			}
		}
	}
	return out
}

// ranking is a bounded heap with its worst entry first.
type ranking struct {
	p     *pass
	key   func(*cell) float64
	turns []int32
}

func best(p *pass, limit int, allow func(string) bool, key func(*cell) float64) []int32 {
	r := ranking{p: p, key: key, turns: make([]int32, 0, limit)}
	for _, n := range p.touched {
		switch {
		case key(&p.cells[n]) <= 0:
		case len(r.turns) == limit && !r.worse(r.turns[0], n):
		case allow != nil && !p.allowsAround(n, allow):
		case len(r.turns) < limit:
			r.turns = append(r.turns, n)
			r.up(len(r.turns) - 1)
		default:
			r.turns[0] = n
			r.down(0)
		}
	}
	return r.turns
}

func (p *pass) allowsAround(n int32, allow func(string) bool) bool {
	a := p.around(n)
	for _, m := range [...]int32{n, a.p2, a.p1, a.n1, a.n2} {
		if m >= 0 && allow(p.x.turns[m].ref) {
			return true
		}
	}
	return false
}

// worse orders by the key, and equals by the order of turns, so that the choice
// does not depend on the order in which turns were added.
func (r *ranking) worse(a, b int32) bool {
	x, y := r.key(&r.p.cells[a]), r.key(&r.p.cells[b])
	if x != y {
		return x < y
	}
	return r.p.x.before(b, a)
}

func (r *ranking) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !r.worse(r.turns[i], r.turns[parent]) {
			return
		}
		r.turns[i], r.turns[parent] = r.turns[parent], r.turns[i]
		i = parent
	}
}

func (r *ranking) down(i int) {
	for {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(r.turns) && r.worse(r.turns[child], r.turns[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		r.turns[i], r.turns[least] = r.turns[least], r.turns[i]
		i = least
	}
}
