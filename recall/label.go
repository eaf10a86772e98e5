package recall

import (
	"cmp"
	"slices"
)

// Constants of the restatement label (recall.md 5.2). The part that needs word
// vectors is left out.
const (
	restateResidue   = 3.0
	restateSupport   = .34
	restateUnknown   = 2.8
	restateBias      = -3.46
	unknownWeight    = 3.0 // idf of a word that the scope does not hold
	restateTexts     = 5
	restateSentences = 60
	restateNext      = 5
)

// claim is one sentence of the evidence, weighed against a query.
type claim struct {
	share  float64 // part of the query's weight that it repeats
	shared float64 // weight of the words it has in common with the query
	rest   float64 // weight of its other words
}

// Restatement says how much the evidence adds to what the query itself says.
// texts are the best hits' texts, best first, of which five are read. The value
// ranks evidence: low means that the closest sentence merely repeats the query,
// or that the query speaks of things never mentioned. It is a reason to say
// "weak evidence", not one to refuse. An index never sees these texts otherwise
// and keeps nothing of them.
func (x *Index) Restatement(q Query, texts []string) float64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := &x.all
	if q.Visible != nil {
		s = x.restrict(q.Visible)
	}
	w := weigher{x: x, scope: s, known: map[string]float64{}}
	terms, total, unknown := w.query(parseQuery(q.Text, q.Now, x.speakersOf(s)))
	if total == 0 {
		return restateBias
	}
	claims := w.claims(terms, total, texts)
	score := restateBias - restateUnknown*unknownWeight*unknown/total
	if len(claims) == 0 {
		return score
	}
	best := claims[0]
	score += restateResidue * best.rest / (best.rest + best.shared + .1)
	for _, c := range claims[1:min(len(claims), restateNext+1)] {
		if c.share > best.share/2 {
			score += restateSupport
		}
	}
	return score
}

// weigher knows the idf of stems in a scope.
type weigher struct {
	x     *Index
	scope *scope
	known map[string]float64
}

// weight is the idf of a stem; unknownWeight when the scope does not hold it.
func (w *weigher) weight(stem string) float64 {
	v, ok := w.known[stem]
	if !ok {
		v = unknownWeight
		if n := w.count(stem); n > 0 {
			v = idf(max(w.scope.sum.docs, n), n)
		}
		w.known[stem] = v
	}
	return v
}

// count is how many postings of the scope a stem has.
func (w *weigher) count(stem string) int {
	d := &w.x.dict
	n := 0
	forms, _ := d.stems.find(d.key(stem))
	for _, f := range forms {
		n += w.holders(d.forms[f].posts)
	}
	return n
}

// holders counts postings rather than turns: a long turn may count twice, which
// does not matter to a weight.
func (w *weigher) holders(posts []posting) int {
	if w.scope.in == nil {
		return len(posts)
	}
	n := 0
	for i := range posts {
		if w.scope.holds(posts[i].turn) {
			n++
		}
	}
	return n
}

func (w *weigher) query(q parsedQuery) (terms map[string]bool, total, unknown float64) {
	terms = map[string]bool{}
	for _, t := range q.terms {
		if t.name {
			continue
		}
		terms[t.stem] = true
		total += w.weight(t.stem)
		if _, ok := w.x.dict.stems.find(w.x.dict.key(t.stem)); !ok {
			unknown++
		}
	}
	return terms, total, unknown
}

// claims weighs the sentences of the texts, those nearest to the query first.
func (w *weigher) claims(terms map[string]bool, total float64, texts []string) []claim {
	var out []claim
	for _, text := range texts[:min(len(texts), restateTexts)] {
		all := sentences(text)
		for _, s := range all[:min(len(all), restateSentences)] {
			if c := w.claim(terms, s); c.shared > 0 {
				c.share = c.shared / total
				out = append(out, c)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b claim) int { return cmp.Compare(b.share, a.share) })
	return out
}

func (w *weigher) claim(terms map[string]bool, s sentence) claim {
	var c claim
	seen := map[string]bool{}
	for _, t := range appendTerms(nil, s.words, false) {
		st := stem(t.raw)
		switch {
		case seen[st]:
		case terms[st]:
			c.shared += w.weight(st)
		default:
			c.rest += w.weight(st)
		}
		seen[st] = true
	}
	return c
}
