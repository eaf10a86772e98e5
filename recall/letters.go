package recall

import (
	"math"
	"slices"
)

// letters is the 4-gram leg of one search. Postings are not walked: the query's
// 4-grams lead to the forms that hold them, and only the candidates' bodies are
// looked through for those forms.
type letters struct {
	grams   []uint32 // the query's distinct 4-grams that the index knows
	idf     []float64
	tf      []int32 // by position in grams, of the turn at hand
	seen    []bool  // by 4-gram: already in grams
	head    []int32 // by form: 1 + its first entry
	marked  []uint32
	entries []gramEntry
	shared  []uint8 // by form: 4-grams shared with the word at hand
	sharing []uint32
}

// gramEntry says that a form holds a 4-gram of the query (once).
type gramEntry struct {
	gram int32
	next int32
}

func (l *letters) begin(x *Index) {
	l.seen = grow(l.seen, len(x.dict.grams.rows))
	l.head = grow(l.head, len(x.dict.forms))
	l.shared = grow(l.shared, len(x.dict.forms))
}

func (l *letters) end() {
	for _, g := range l.grams {
		l.seen[g] = false
	}
	for _, f := range l.marked {
		l.head[f] = 0
	}
	l.grams, l.idf, l.tf = l.grams[:0], l.idf[:0], l.tf[:0]
	l.marked, l.entries = l.marked[:0], l.entries[:0]
}

// lookUp finds the forms that share 4-grams with a word of the query.
func (p *pass) lookUp(w queryWord) {
	d, l := &p.x.dict, &p.letters
	var ids []uint32
	total, first := 0, uint32(math.MaxUint32)
	grams(w.raw, func(g string) {
		id, ok := d.grams.ids[d.key(g)]
		if ok && total == 0 {
			first = id
		}
		total++
		if ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	})
	for _, g := range ids {
		if !l.seen[g] {
			l.take(d, g, p.gramIDF(g))
		}
		p.countShared(g)
	}
	p.markAlike(w, total, first)
}

// take enters a 4-gram and the forms that hold it.
func (l *letters) take(d *dictionary, g uint32, idf float64) {
	l.seen[g] = true
	n := int32(len(l.grams))
	l.grams, l.idf, l.tf = append(l.grams, g), append(l.idf, idf), append(l.tf, 0)
	for _, f := range d.grams.rows[g].forms {
		if l.head[f] == 0 {
			l.marked = append(l.marked, f)
		}
		l.entries = append(l.entries, gramEntry{gram: n, next: l.head[f]})
		l.head[f] = int32(len(l.entries))
	}
}

func (p *pass) countShared(g uint32) {
	l, last := &p.letters, uint32(math.MaxUint32)
	for _, f := range p.x.dict.grams.rows[g].forms {
		if f == last { // a word that holds the 4-gram twice
			continue
		}
		last = f
		if l.shared[f] == 0 {
			l.sharing = append(l.sharing, f)
		}
		bump(&l.shared[f])
	}
}

// gramIDF weighs a 4-gram by the turns of the scope that hold it.
func (p *pass) gramIDF(g uint32) float64 {
	row := &p.x.dict.grams.rows[g]
	df := int(row.df)
	if p.scope.in != nil {
		df = p.countHolders(row.forms)
	}
	return idf(p.scope.sum.docs, df)
}

// countHolders counts the turns of a restricted scope whose body holds one of the forms.
func (p *pass) countHolders(forms []uint32) int {
	for _, f := range forms {
		p.markHolders(f)
	}
	df := len(p.pairHit)
	p.clearPair()
	return df
}

// markAlike marks the turns that hold a look-alike of the word: another stem
// with the same beginning and most of its 4-grams. Short words and names have none.
func (p *pass) markAlike(w queryWord, total int, first uint32) {
	d, l := &p.x.dict, &p.letters
	enough := uint8(math.Ceil(wordShare * float64(min(total, 255))))
	own, known := d.stems.ids[d.key(w.stem)]
	for _, f := range l.sharing {
		alike := !w.name && total >= 4 && l.shared[f] >= enough && slices.Contains(d.forms[f].grams, first)
		if alike && !(known && d.forms[f].stem == own) {
			p.markHolders(f)
		}
		l.shared[f] = 0
	}
	l.sharing = l.sharing[:0]
	for _, n := range p.pairHit {
		if c := p.cell(n); c.alike < math.MaxInt8 {
			c.alike++
		}
	}
	p.clearPair()
}

func (p *pass) markHolders(f uint32) {
	for _, post := range p.x.dict.forms[f].posts {
		if p.scope.holds(post.turn) && post.said|post.asked != 0 && p.pairTF[post.turn] == 0 {
			p.pairTF[post.turn] = 1
			p.pairHit = append(p.pairHit, post.turn)
		}
	}
}

// scoreLetters scores the candidates' bodies.
func (p *pass) scoreLetters(pool []int32) {
	l, s := &p.letters, &p.scope.sum
	avg := average(s.chars, s.docs)
	for _, n := range pool {
		t := &p.x.turns[n]
		l.tally(t.seq[:t.body])
		sum := 0.0
		for i, tf := range l.tf {
			if tf > 0 {
				sum += l.idf[i] * legBM25.tf(tf, t.chars, avg)
				l.tf[i] = 0
			}
		}
		if sum > 0 {
			p.cell(n).char4 = sum
		}
	}
}

func (l *letters) tally(body []uint32) {
	for _, f := range body {
		for e := l.head[f]; e != 0; e = l.entries[e-1].next {
			l.tf[l.entries[e-1].gram]++
		}
	}
}
