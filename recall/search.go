package recall

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Query asks an index for turns.
type Query struct {
	Text    string
	K       int                   // how many hits at most; 10 when not positive
	Allow   func(ref string) bool // which turns may be hits; nil for all
	Visible func(ref string) bool // which turns exist at all for this query; nil for all
	Now     time.Time             // what yesterday is relative to; zero reads only absolute dates
	Profile Profile               // Auto unless the caller knows better
}

// Hit is one turn found. Its own words, words beside it in a leg that its
// profile weighs (between people only), or a word that looks like one of the
// query's (most of its 4-grams, for slips and inflections) are shared with the
// query; a participant's name or the session alone does not make a hit.
type Hit struct {
	Ref   string
	Score float64
	Legs  Features
}

// Result is a search with its labels.
type Result struct {
	Profile     Profile
	Hits        []Hit
	Attribution Attribution
}

// Attribution says how far the best turn by the one participant that a query
// names stands above the best turn by anyone else. A negative margin means that
// the evidence is somebody else's statement.
type Attribution struct {
	Known  bool // the query names exactly one participant and both sides have a candidate
	Margin float64
}

const defaultK = 10

// Search gives the best turns, best first; equals go by time. It returns nothing when no
// turn shares anything with the query.
func (x *Index) Search(q Query) []Hit { return x.Evaluate(q).Hits }

// Evaluate searches and gives the labels along with the hits.
func (x *Index) Evaluate(q Query) Result {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := &x.all
	if q.Visible != nil {
		s = x.restrict(q.Visible)
	}
	p, _ := x.pool.Get().(*pass)
	if p == nil {
		p = &pass{}
	}
	profile := s.profile(q.Profile)
	p.begin(x, s, profile)
	defer func() { p.end(); x.pool.Put(p) }()

	parsed := parseQuery(q.Text, q.Now, x.speakersOf(s))
	p.trim(&parsed)
	p.gather(parsed)
	all := p.score(parsed, q.Allow)
	return Result{Profile: profile, Hits: p.hitsOf(p.top(all, q.K)), Attribution: p.attribute(parsed, all)}
}

// speakersOf lists the participants of a scope in a fixed order.
func (x *Index) speakersOf(s *scope) []string {
	seen := map[string]bool{}
	if s.in == nil {
		for name := range x.speakers {
			seen[name] = true
		}
	}
	for n, in := range s.in {
		if name := x.turns[n].speaker; in && name != "" {
			seen[name] = true
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// gather runs all legs.
func (p *pass) gather(q parsedQuery) {
	at := map[string]int{}
	for k, t := range q.terms {
		at[t.stem] = k
		p.term(k, t)
	}
	if p.weights.Bigram != 0 {
		for _, pr := range q.pairs {
			a, okA := p.stemID(pr[0])
			b, okB := p.stemID(pr[1])
			if okA && okB && holdsBoth(at, pr) {
				p.pair(at[pr[0]], at[pr[1]], a, b)
			}
		}
	}
	p.letters.begin(p.x)
	for _, w := range q.raws {
		p.lookUp(w)
	}
}

// holdsBoth says whether both stems of a pair were left by trim.
func holdsBoth(at map[string]int, pr [2]string) bool {
	_, a := at[pr[0]]
	_, b := at[pr[1]]
	return a && b
}

// maxTerms bounds the distinct stems and words of a query that are searched
// for, and so the time that a pasted text can take.
const maxTerms = 64

// trim keeps the rarest terms of a long query, in their order.
func (p *pass) trim(q *parsedQuery) {
	if len(q.terms) > maxTerms {
		keep := p.rarest(q.terms)
		q.terms = slices.DeleteFunc(q.terms, func(t queryTerm) bool { return !keep[t.stem] })
		q.raws = slices.DeleteFunc(q.raws, func(t queryWord) bool { return !keep[t.stem] })
	}
	q.raws = q.raws[:min(len(q.raws), maxTerms)]
}

func (p *pass) rarest(terms []queryTerm) map[string]bool {
	type counted struct {
		stem string
		n    int
	}
	w := weigher{x: p.x, scope: p.scope}
	var held []counted
	for _, t := range terms {
		if n := w.count(t.stem); n > 0 {
			held = append(held, counted{t.stem, n})
		}
	}
	slices.SortStableFunc(held, func(a, b counted) int { return cmp.Compare(a.n, b.n) })
	keep := map[string]bool{}
	for _, c := range held[:min(len(held), maxTerms)] {
		keep[c.stem] = true
	}
	return keep
}

func (p *pass) stemID(s string) (uint32, bool) {
	id, ok := p.x.dict.stems.ids[p.x.dict.key(s)]
	return id, ok
}

// scored is a candidate with its features.
type scored struct {
	turn     int32
	score    float64
	features *Features
}

// score scores the candidates that may be hits, in no order.
func (p *pass) score(q parsedQuery, allow func(string) bool) []scored {
	pool := p.candidates(allow)
	p.scoreLetters(pool)
	best := p.maxima()
	out := make([]scored, 0, len(pool))
	p.features = slices.Grow(p.features[:0], len(pool)) // never moved below: the candidates point into it
	for _, n := range pool {
		if !p.evident(n) || allow != nil && !allow(p.x.turns[n].ref) {
			continue
		}
		p.features = append(p.features, p.describe(n, &q, &best))
		f := &p.features[len(p.features)-1]
		out = append(out, scored{turn: n, score: f.dot(p.weights), features: f})
	}
	return out
}

// top orders the k best of the candidates.
func (p *pass) top(all []scored, k int) []scored {
	if k <= 0 {
		k = defaultK
	}
	if len(all) > k {
		scores := make([]float64, 0, len(all))
		for _, c := range all {
			scores = append(scores, c.score)
		}
		slices.Sort(scores)
		least := scores[len(scores)-k]
		all = slices.DeleteFunc(slices.Clone(all), func(c scored) bool { return c.score < least })
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), p.compare(a.turn, b.turn))
	})
	return all[:min(k, len(all))]
}

func (p *pass) compare(a, b int32) int {
	switch {
	case a == b:
		return 0
	case p.x.before(a, b):
		return -1
	}
	return 1
}

// evident says whether a turn shares enough with the query to be a hit.
func (p *pass) evident(n int32) bool {
	c := &p.cells[n]
	return c.own || c.alike > 0 || c.near && p.profile == Peer
}

// maxima are the best raw score of each leg, 1 where nothing scored.
func (p *pass) maxima() Features {
	var m Features
	for _, n := range p.touched {
		c := &p.cells[n]
		m.Psg = max(m.Psg, c.psg)
		m.Win2 = max(m.Win2, c.win2)
		m.WinP2 = max(m.WinP2, c.winP2)
		m.DeclQ = max(m.DeclQ, c.declQ)
		m.Bigram = max(m.Bigram, c.bigram)
		m.Char4 = max(m.Char4, c.char4)
	}
	for _, s := range p.sess {
		m.Sess = max(m.Sess, s)
	}
	for _, v := range [...]*float64{&m.Psg, &m.Win2, &m.WinP2, &m.DeclQ, &m.Bigram, &m.Char4, &m.Sess} {
		if *v <= 0 {
			*v = 1
		}
	}
	return m
}

// describe gives all features of turn n.
func (p *pass) describe(n int32, q *parsedQuery, best *Features) Features {
	t, c := &p.x.turns[n], &p.cells[n]
	a := p.around(n)
	f := Features{
		Psg: c.psg / best.Psg, Win2: c.win2 / best.Win2, WinP2: c.winP2 / best.WinP2,
		DeclQ: c.declQ / best.DeclQ, Bigram: c.bigram / best.Bigram, Char4: c.char4 / best.Char4,
		Sess: p.sess[t.group] / best.Sess, Next1: p.psg(a.n1) / best.Psg, Prev2: p.psg(a.p2) / best.Psg,
		Len: math.Log(1+float64(t.body)) / 5,
	}
	if a.p1 >= 0 && p.x.turns[a.p1].flags&hasQuestion != 0 {
		f.PrevQ = p.psg(a.p1) / best.Psg
	}
	f.Speaker = feature(q.named[t.speaker])
	f.Date = matchDates(q.dates, t)
	f.AtWhen = feature(q.asks.when && t.flags&hasTime != 0)
	f.AtNum = feature(q.asks.number && t.flags&hasNumber != 0)
	f.AtWhere = feature(q.asks.where && t.flags&hasPlace != 0)
	f.First = feature(t.flags&firstPerson != 0)
	f.IsQ = feature(t.flags&isQuestion != 0)
	return f
}

func feature(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

func (p *pass) psg(n int32) float64 {
	if n < 0 {
		return 0
	}
	return p.cells[n].psg
}

// matchDates is the share of the query's dates that a turn speaks of or was said on.
func matchDates(query dateSet, t *turn) float64 {
	if len(query) == 0 {
		return 0
	}
	own := ownDates(t.when)
	var got, all float64
	for _, d := range query {
		c := dateCost(d)
		all += c
		switch {
		case t.dates.has(d):
			got += c
		case own.has(d):
			got += c * ownDateWeight
		}
	}
	return got / all
}

func (p *pass) hitsOf(ranked []scored) []Hit {
	hits := make([]Hit, 0, len(ranked))
	for _, r := range ranked {
		hits = append(hits, Hit{Ref: p.x.turns[r.turn].ref, Score: r.score, Legs: *r.features})
	}
	return hits
}

// attribute compares the named participant's best turn with everybody else's,
// leaving out the reward for being named.
func (p *pass) attribute(q parsedQuery, all []scored) Attribution {
	if len(q.named) != 1 {
		return Attribution{}
	}
	theirs, others := math.Inf(-1), math.Inf(-1)
	for _, r := range all {
		plain := r.score - p.weights.Speaker*r.features.Speaker
		if q.named[p.x.turns[r.turn].speaker] {
			theirs = max(theirs, plain)
		} else {
			others = max(others, plain)
		}
	}
	if math.IsInf(theirs, -1) || math.IsInf(others, -1) {
		return Attribution{}
	}
	return Attribution{Known: true, Margin: theirs - others}
}
