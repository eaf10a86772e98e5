package recall

import "math"

// cell is what a search gathers about one turn.
type cell struct {
	passages int32  // 1 + where its passage scores stand in the arena; 0 for none yet
	mask     uint64 // which of the query's terms its body holds
	touched  bool
	own      bool // it holds a query term that is not only a name
	near     bool // a turn beside it, in a leg that counts, holds one
	alike    int8 // how many words of the query it holds a look-alike of
	pooled   bool // it is among the candidates
	psg      float64
	win2     float64
	winP2    float64
	declQ    float64
	bigram   float64
	char4    float64
}

// count is what a search counts about one turn for one term, before the next.
type count struct{ doc, said, asked, win2, winP2, declQ int32 }

// pass is one search over one scope: the accumulators of all legs.
type pass struct {
	x       *Index
	scope   *scope
	profile Profile
	weights *Features

	cells    []cell
	touched  []int32
	arena    []float64 // passage scores
	arenaTF  []int32   // passage counts of the present term
	inside   []passage // passages that hold the present term
	sess     []float64 // by group
	counts   []count   // by turn, of the present term
	hits     []int32   // turns that hold the present term
	spread   []int32   // turns whose surroundings hold it
	groupTF  []int32
	inGroup  []int32
	pairTF   []int32 // by turn, of the present pair
	pairHit  []int32
	marks    []uint8 // by form, of the present pair
	letters  letters
	features []Features // of the candidates
}

// begin readies the accumulators; those of a pooled pass are already zero.
func (p *pass) begin(x *Index, s *scope, profile Profile) {
	p.x, p.scope, p.profile, p.weights = x, s, profile, profile.weights()
	p.cells = grow(p.cells, len(x.turns))
	p.counts = grow(p.counts, len(x.turns))
	p.pairTF = grow(p.pairTF, len(x.turns))
	p.marks = grow(p.marks, len(x.dict.forms))
	p.sess = grow(p.sess, len(x.groups))
	p.groupTF = grow(p.groupTF, len(x.groups))
}

func grow[T any](s []T, n int) []T {
	if len(s) < n {
		s = append(s, make([]T, n-len(s))...)
	}
	return s
}

// end zeroes what the search touched and lets go of the index.
func (p *pass) end() {
	for _, n := range p.touched {
		p.cells[n] = cell{}
	}
	clear(p.sess)
	clear(p.arena)
	clear(p.arenaTF)
	p.letters.end()
	p.touched, p.arena, p.arenaTF = p.touched[:0], p.arena[:0], p.arenaTF[:0]
	p.x, p.scope, p.weights = nil, nil, nil
}

func (p *pass) cell(n int32) *cell {
	c := &p.cells[n]
	if !c.touched {
		c.touched = true
		p.touched = append(p.touched, n)
	}
	return c
}

// idf is the weight of a term that df of n texts hold.
func idf(n, df int) float64 {
	return math.Log(1 + (float64(n-df)+.5)/(float64(df)+.5))
}

// tf is BM25's saturated count in a text of the given length.
func (m bm25) tf(tf, length int32, average float64) float64 {
	t := float64(tf)
	return t * (m.k1 + 1) / (t + m.k1*(1-m.b+m.b*float64(length)/average))
}

func average(total, n int) float64 {
	if total <= 0 || n <= 0 {
		return 1
	}
	return float64(total) / float64(n)
}

func (p *pass) around(n int32) *around { return &p.scope.around[p.profile.column()][n] }

// term runs every word leg for the k-th query term.
func (p *pass) term(k int, t queryTerm) {
	d := &p.x.dict
	forms, ok := d.stems.find(d.key(t.stem))
	if !ok {
		return
	}
	for _, f := range forms {
		for i := range d.forms[f].posts {
			p.tally(k, &d.forms[f].posts[i])
		}
	}
	p.scorePassages()
	p.scoreSessions()
	p.spreadOut(t)
	p.scoreSpans()
	for _, n := range p.hits {
		p.cells[n].own = p.cells[n].own || !t.name
	}
	p.clearTerm()
}

// tally counts one posting.
func (p *pass) tally(k int, post *posting) {
	n := post.turn
	if !p.scope.holds(n) {
		return
	}
	body := int32(post.said) + int32(post.asked)
	doc := body
	if p.profile != Assistant {
		doc += int32(post.meta)
	}
	if doc == 0 {
		return
	}
	c := &p.counts[n]
	if c.doc == 0 {
		p.hits = append(p.hits, n)
	}
	c.doc += doc
	c.said += int32(post.said)
	c.asked += int32(post.asked)
	cell := p.cell(n)
	if body > 0 {
		cell.mask |= 1 << k
	}
	p.tallyPassages(cell, n, int32(post.block), doc)
}

// passage is one passage that holds the present term.
type passage struct {
	turn  int32
	index int32 // within the turn
	at    int32 // within the arena
}

// tallyPassages counts a block in the one or two passages that cover it.
func (p *pass) tallyPassages(c *cell, n, block, tf int32) {
	count := p.x.turns[n].passages
	if c.passages == 0 {
		c.passages = int32(len(p.arena)) + 1
		for range count {
			p.arena = append(p.arena, 0)
			p.arenaTF = append(p.arenaTF, 0)
		}
	}
	for i := max(block-1, 0); i <= min(block, count-1); i++ {
		at := c.passages - 1 + i
		if p.arenaTF[at] == 0 {
			p.inside = append(p.inside, passage{turn: n, index: i, at: at})
		}
		p.arenaTF[at] += tf
	}
}

// passageLen is the length of passage i of turn n.
func (p *pass) passageLen(n, i int32) int32 {
	t := &p.x.turns[n]
	last := t.passages - 1
	length := t.body
	if last > 0 {
		length = min(2*passageStride, t.body-i*passageStride)
	}
	if i == last && p.profile != Assistant {
		length += int32(len(t.seq)) - t.body
	}
	return length
}

func (p *pass) scorePassages() {
	s := &p.scope.sum
	total := s.body + s.passageOverlap
	if p.profile != Assistant {
		total += s.meta
	}
	w, avg := idf(s.passages, len(p.inside)), average(total, s.passages)
	for _, in := range p.inside {
		score := &p.arena[in.at]
		*score += w * passageBM25.tf(p.arenaTF[in.at], p.passageLen(in.turn, in.index), avg)
		c := &p.cells[in.turn]
		c.psg = max(c.psg, *score)
		p.arenaTF[in.at] = 0
	}
	p.inside = p.inside[:0]
}

func (p *pass) scoreSessions() {
	if p.weights.Sess == 0 {
		return
	}
	for _, n := range p.hits {
		g := p.x.turns[n].group
		if p.groupTF[g] == 0 {
			p.inGroup = append(p.inGroup, g)
		}
		p.groupTF[g] += p.counts[n].doc
	}
	s := p.scope
	w := idf(s.groups, len(p.inGroup))
	avg := average(s.sum.body+s.sum.meta, s.groups)
	for _, g := range p.inGroup {
		p.sess[g] += w * sessionBM25.tf(p.groupTF[g], s.groupLen[g], avg)
		p.groupTF[g] = 0
	}
	p.inGroup = p.inGroup[:0]
}

// spreadOut hands the counts of each hit to the turns whose surroundings hold it.
func (p *pass) spreadOut(t queryTerm) {
	for _, n := range p.hits {
		c := p.counts[n]
		a := p.around(n)
		if p.weights.Win2 != 0 {
			p.spreadTo(a.p2, !t.name, count{win2: c.doc})
			p.spreadTo(a.p1, !t.name, count{win2: c.doc})
		}
		here, after := count{win2: c.doc, winP2: c.doc}, count{win2: c.doc, winP2: c.doc}
		if !t.name {
			here.declQ, after.declQ = c.said, c.asked
		}
		p.spreadTo(n, false, here)
		p.spreadTo(a.n1, !t.name, after)
		p.spreadTo(a.n2, !t.name, count{win2: c.doc, winP2: c.doc})
	}
}

func (p *pass) spreadTo(n int32, evidence bool, add count) {
	if n < 0 {
		return
	}
	c := &p.counts[n]
	if c.win2 == 0 {
		p.spread = append(p.spread, n)
	}
	c.win2 += add.win2
	c.winP2 += add.winP2
	c.declQ += add.declQ
	if evidence {
		p.cell(n).near = true
	}
}

func (p *pass) scoreSpans() {
	var df spanSums
	for _, n := range p.spread {
		c := &p.counts[n]
		df.win2 += one(c.win2)
		df.winP2 += one(c.winP2)
		df.declQ += one(c.declQ)
	}
	docs, sums := p.scope.sum.docs, &p.scope.by[p.profile.column()]
	avgWin2, avgWinP2, avgDeclQ := average(sums.win2, docs), average(sums.winP2, docs), average(sums.declQ, docs)
	win2, winP2, declQ := idf(docs, df.win2), idf(docs, df.winP2), idf(docs, df.declQ)
	for _, n := range p.spread {
		c, cell := &p.counts[n], p.cell(n)
		a := p.around(n)
		if p.weights.Win2 != 0 {
			cell.win2 += win2 * legBM25.tf(c.win2, a.win2, avgWin2)
		}
		if c.winP2 > 0 {
			cell.winP2 += winP2 * legBM25.tf(c.winP2, a.winP2, avgWinP2)
		}
		if c.declQ > 0 && p.weights.DeclQ != 0 {
			cell.declQ += declQ * legBM25.tf(c.declQ, a.declQ, avgDeclQ)
		}
	}
}

func one(n int32) int {
	if n > 0 {
		return 1
	}
	return 0
}

func (p *pass) clearTerm() {
	for _, n := range p.hits {
		p.counts[n] = count{}
	}
	for _, n := range p.spread {
		p.counts[n] = count{}
	}
	p.hits, p.spread = p.hits[:0], p.spread[:0]
}

// pair runs the bigram leg for terms a and b of the query: the blocks of the
// term with fewer postings are looked through for the other one beside it.
func (p *pass) pair(a, b int, stemA, stemB uint32) {
	d := &p.x.dict
	p.markForms(stemA, first, stemB, second)
	forms, beside, step := d.stems.rows[stemA].forms, second, 1
	if d.postings(d.stems.rows[stemB].forms) < d.postings(forms) {
		forms, beside, step = d.stems.rows[stemB].forms, first, -1
	}
	both := uint64(1)<<a | uint64(1)<<b
	for _, f := range forms {
		for i := range d.forms[f].posts {
			if post := &d.forms[f].posts[i]; p.cells[post.turn].mask&both == both {
				p.tallyPair(f, post, beside, step)
			}
		}
	}
	s := &p.scope.sum
	w, avg := idf(s.docs, len(p.pairHit)), average(s.pairs, s.docs)
	for _, n := range p.pairHit {
		p.cells[n].bigram += w * legBM25.tf(p.pairTF[n], p.x.turns[n].body-1, avg)
	}
	p.clearPair()
	p.markForms(stemA, 0, stemB, 0)
}

// marks of the forms of a pair's stems.
const (
	first  uint8 = 1
	second uint8 = 2
)

func (p *pass) markForms(stemA uint32, markA uint8, stemB uint32, markB uint8) {
	for _, f := range p.x.dict.stems.rows[stemA].forms {
		p.marks[f] = markA
	}
	for _, f := range p.x.dict.stems.rows[stemB].forms {
		p.marks[f] = markB
	}
}

// tallyPair counts where form f, in the block of a posting, has a form so marked
// one step away.
func (p *pass) tallyPair(f uint32, post *posting, beside uint8, step int) {
	t := &p.x.turns[post.turn]
	body := t.seq[:t.body]
	from, to := blockSpan(int(post.block), len(body))
	tf := int32(0)
	for i := from; i < to; i++ {
		if j := i + step; body[i] == f && 0 <= j && j < len(body) && p.marks[body[j]] == beside {
			tf++
		}
	}
	if tf == 0 {
		return
	}
	if p.pairTF[post.turn] == 0 {
		p.pairHit = append(p.pairHit, post.turn)
	}
	p.pairTF[post.turn] += tf
}

func (p *pass) clearPair() {
	for _, n := range p.pairHit {
		p.pairTF[n] = 0
	}
	p.pairHit = p.pairHit[:0]
}
