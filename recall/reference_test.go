package recall

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// This file is the recipe written down naively: every leg is BM25 over texts
// that are really put together. The index must give the same features.

type bag []string

// naiveBM25 scores every text of a collection.
func naiveBM25(m bm25, texts []bag, terms []string) []float64 {
	total := 0
	for _, t := range texts {
		total += len(t)
	}
	avg := 1.0
	if total > 0 {
		avg = float64(total) / float64(len(texts))
	}
	out := make([]float64, len(texts))
	for _, term := range terms {
		df := 0
		for _, t := range texts {
			if slices.Contains(t, term) {
				df++
			}
		}
		idf := math.Log(1 + (float64(len(texts)-df)+.5)/(float64(df)+.5))
		for i, t := range texts {
			tf := 0.0
			for _, w := range t {
				if w == term {
					tf++
				}
			}
			if tf > 0 {
				out[i] += idf * tf * (m.k1 + 1) / (tf + m.k1*(1-m.b+m.b*float64(len(t))/avg))
			}
		}
	}
	return out
}

func scaled(v []float64) []float64 {
	top := slices.Max(append([]float64{0}, v...))
	if top <= 0 {
		return v
	}
	out := make([]float64, len(v))
	for i := range v {
		out[i] = v[i] / top
	}
	return out
}

// naive is a space as the recipe sees it: turns in order, their stems, their groups.
type naive struct {
	profile               Profile
	docs                  []Doc
	body, meta            []bag
	said, asked, raw, seq []bag
}

func newNaive(docs []Doc, p Profile) *naive {
	n := &naive{profile: p, docs: slices.Clone(docs)}
	sort.Slice(n.docs, func(i, j int) bool {
		a, b := n.docs[i], n.docs[j]
		if a.Group != b.Group {
			return a.Group < b.Group
		}
		if a.Pos != b.Pos {
			return a.Pos < b.Pos
		}
		return a.Ref < b.Ref
	})
	for _, d := range n.docs {
		a := analyzeDoc(d)
		var body, meta, said, asked, raw bag
		for _, t := range a.body {
			body, raw = append(body, stem(t.raw)), append(raw, t.raw)
			if t.question {
				asked = append(asked, stem(t.raw))
			} else {
				said = append(said, stem(t.raw))
			}
		}
		for _, t := range a.meta {
			meta = append(meta, stem(t.raw))
		}
		n.body, n.meta, n.said, n.asked, n.raw = append(n.body, body), append(n.meta, meta), append(n.said, said), append(n.asked, asked), append(n.raw, raw)
		if p == Assistant {
			meta = nil
		}
		n.seq = append(n.seq, append(slices.Clone(body), meta...))
	}
	return n
}

// beside says whether turns i and j, in order, are in one group.
func (n *naive) beside(i, j int) bool {
	if i < 0 || j >= len(n.docs) || n.docs[i].Group != n.docs[j].Group {
		return false
	}
	for k := i + 1; k <= j; k++ {
		if n.profile == Assistant && n.docs[k].Role == User {
			return false
		}
	}
	return true
}

func (n *naive) window(i, before, after int) bag {
	var out bag
	for j := i - before; j <= i+after; j++ {
		if j >= 0 && j < len(n.docs) && n.beside(min(i, j), max(i, j)) {
			out = append(out, n.seq[j]...)
		}
	}
	return out
}

func (n *naive) passages(i int) []bag {
	body := n.body[i]
	if len(body) <= 75 {
		return []bag{n.seq[i]}
	}
	var out []bag
	for at := 0; at+25 < len(body); at += 25 {
		out = append(out, body[at:min(at+50, len(body))])
	}
	last := len(out) - 1
	out[last] = append(slices.Clone(out[last]), n.seq[i][len(body):]...)
	return out
}

func (n *naive) psg(terms []string) []float64 {
	var all []bag
	var owner []int
	for i := range n.docs {
		for _, p := range n.passages(i) {
			all, owner = append(all, p), append(owner, i)
		}
	}
	out := make([]float64, len(n.docs))
	for k, s := range naiveBM25(passageBM25, all, terms) {
		out[owner[k]] = max(out[owner[k]], s)
	}
	return scaled(out)
}

func (n *naive) each(f func(i int) bag) []bag {
	var out []bag
	for i := range n.docs {
		out = append(out, f(i))
	}
	return out
}

func (n *naive) sess(terms []string) []float64 {
	at := map[string]int{}
	var texts []bag
	for i, d := range n.docs {
		if _, ok := at[d.Group]; !ok {
			at[d.Group] = len(texts)
			texts = append(texts, nil)
		}
		texts[at[d.Group]] = append(texts[at[d.Group]], n.body[i]...)
		texts[at[d.Group]] = append(texts[at[d.Group]], n.meta[i]...)
	}
	scores := scaled(naiveBM25(sessionBM25, texts, terms))
	out := make([]float64, len(n.docs))
	for i, d := range n.docs {
		out[i] = scores[at[d.Group]]
	}
	return out
}

func pairsOf(stems bag) bag {
	var out bag
	for i := 0; i+1 < len(stems); i++ {
		out = append(out, stems[i]+" "+stems[i+1])
	}
	return out
}

func gramsOf(raws bag) bag {
	var out bag
	for _, r := range raws {
		grams(r, func(g string) { out = append(out, g) })
	}
	return out
}

// legs are the features that are sums over texts, by reference.
func (n *naive) legs(q parsedQuery) (map[string]Features, map[string]float64) {
	var qs, qn, pairs, letters []string
	for _, t := range q.terms {
		qs = append(qs, t.stem)
		if !t.name {
			qn = append(qn, t.stem)
		}
	}
	for _, p := range q.pairs {
		pairs = append(pairs, p[0]+" "+p[1])
	}
	for _, r := range q.raws {
		for _, g := range gramsOf(bag{r.raw}) {
			if !slices.Contains(letters, g) {
				letters = append(letters, g)
			}
		}
	}
	psg, sess := n.psg(qs), n.sess(qs)
	win2 := scaled(naiveBM25(legBM25, n.each(func(i int) bag { return n.window(i, 2, 2) }), qs))
	winP2 := scaled(naiveBM25(legBM25, n.each(func(i int) bag { return n.window(i, 2, 0) }), qs))
	declQ := scaled(naiveBM25(legBM25, n.each(func(i int) bag {
		out := slices.Clone(n.said[i])
		if n.beside(i-1, i) {
			out = append(out, n.asked[i-1]...)
		}
		return out
	}), qn))
	bigram := scaled(naiveBM25(legBM25, n.each(func(i int) bag { return pairsOf(n.body[i]) }), pairs))
	char4 := naiveBM25(legBM25, n.each(func(i int) bag { return gramsOf(n.raw[i]) }), letters)
	w := n.profile.weights()
	features, raw4 := map[string]Features{}, map[string]float64{}
	for i, d := range n.docs {
		f := Features{Psg: psg[i], WinP2: winP2[i], Bigram: bigram[i]}
		if w.Win2 != 0 { // a leg that no weight reads is not computed
			f.Win2, f.Sess, f.DeclQ = win2[i], sess[i], declQ[i]
		}
		if n.beside(i, i+1) {
			f.Next1 = psg[i+1]
		}
		if n.beside(i-2, i) {
			f.Prev2 = psg[i-2]
		}
		if n.beside(i-1, i) && analyzeDoc(n.docs[i-1]).flags&hasQuestion != 0 {
			f.PrevQ = psg[i-1]
		}
		features[d.Ref], raw4[d.Ref] = f, char4[i]
	}
	return features, raw4
}

func legsOnly(f Features) Features {
	return Features{
		Psg: f.Psg, Next1: f.Next1, Prev2: f.Prev2, PrevQ: f.PrevQ, Win2: f.Win2, WinP2: f.WinP2,
		Sess: f.Sess, DeclQ: f.DeclQ, Bigram: f.Bigram,
	}
}

func TestLegsAreThoseOfTheRecipe(t *testing.T) {
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	rapid.Check(t, func(t *rapid.T) {
		chat := rapid.Bool().Draw(t, "chat")
		var docs []Doc
		for i := range rapid.IntRange(1, 25).Draw(t, "turns") {
			d := drawDoc(t, chat)
			d.Ref = fmt.Sprintf("r%02d", i)
			docs = append(docs, d)
		}
		x, profile := fill(docs...), Peer
		if chat {
			profile = Assistant
		}
		text := drawText(t, 6)
		q := Query{Text: text, K: 100, Profile: profile}
		n := newNaive(docs, profile)
		want, raw4 := n.legs(parseQuery(text, q.Now, x.speakersOf(&x.all)))
		hits := x.Search(q)
		for _, h := range hits {
			if diff := cmp.Diff(want[h.Ref], legsOnly(h.Legs), near); diff != "" {
				t.Fatalf("%q, %s (-recipe +index):\n%s", text, h.Ref, diff)
			}
			first := hits[0] // 4-grams are scaled over the candidates: compare shares
			if a, b := h.Legs.Char4*raw4[first.Ref], first.Legs.Char4*raw4[h.Ref]; math.Abs(a-b) > 1e-9 {
				t.Fatalf("%q, %s: char4 %v against %v", text, h.Ref, a, b)
			}
			if got := h.Legs.dot(profile.weights()); math.Abs(got-h.Score) > 1e-9 {
				t.Fatalf("%s: score %v is not the weighted sum %v", h.Ref, h.Score, got)
			}
		}
	})
}

// The published table, row by row: PEER S19, ASSISTANT S19.
func TestWeightsAreThoseOfTheRecipe(t *testing.T) {
	p, a := peerS19, assistantS19
	for name, row := range map[string][4]float64{
		"psg": {p.Psg, 0, a.Psg, 2.25}, "next1": {p.Next1, .5, a.Next1, 1.75}, "prev2": {p.Prev2, .5, a.Prev2, 0},
		"prevq": {p.PrevQ, 1.5, a.PrevQ, .5}, "win2": {p.Win2, 1.75, a.Win2, 0}, "winp2": {p.WinP2, 1.5, a.WinP2, 1},
		"sess": {p.Sess, 1.5, a.Sess, 0}, "declq": {p.DeclQ, 1.5, a.DeclQ, 0}, "bigram": {p.Bigram, .75, a.Bigram, .75},
		"char4": {p.Char4, 1, a.Char4, 1.75}, "spk": {p.Speaker, 1, a.Speaker, 0}, "date": {p.Date, 5.25, a.Date, 0},
		"at_when": {p.AtWhen, 1.25, a.AtWhen, 0}, "at_num": {p.AtNum, 1.25, a.AtNum, .75},
		"at_where": {p.AtWhere, 2.75, a.AtWhere, 1.75}, "fp": {p.First, .75, a.First, 0},
		"isq": {p.IsQ, -.25, a.IsQ, 0}, "len": {p.Len, 0, a.Len, -4.5},
	} {
		if row[0] != row[1] || row[2] != row[3] {
			t.Errorf("%s: peer %v, want %v; assistant %v, want %v", name, row[0], row[1], row[2], row[3])
		}
	}
}
