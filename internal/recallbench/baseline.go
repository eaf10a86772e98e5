package recallbench

import (
	"math"
	"sort"
	"strings"
	"unicode"

	"github.com/dhruva-memory/dhruva/recall"
	"github.com/kljensen/snowball/english"
)

const plainName = "BM25 (Porter2, stop words, k1 1.2, b 0.75)"

// plainBM25 is the textbook ranker, written apart from package recall so that
// the two cannot share a mistake.
type plainBM25 struct {
	refs    []string
	tf      []map[string]int
	length  []int
	df      map[string]int
	average float64
}

func newPlainBM25(docs []recall.Doc) *plainBM25 {
	p := &plainBM25{df: map[string]int{}}
	total := 0
	for _, d := range docs {
		tf, n := map[string]int{}, 0
		for _, t := range plainTerms(d.Speaker + " " + d.Text + " " + d.Caption) {
			tf[t]++
			n++
		}
		for t := range tf {
			p.df[t]++
		}
		p.refs, p.tf, p.length = append(p.refs, d.Ref), append(p.tf, tf), append(p.length, n)
		total += n
	}
	p.average = max(float64(total)/float64(max(len(docs), 1)), 1)
	return p
}

func plainTerms(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if !english.IsStopWord(w) {
			out = append(out, english.Stem(w, true))
		}
	}
	return out
}

func (p *plainBM25) search(query string, k int) []string {
	scores := make([]float64, len(p.refs))
	seen := map[string]bool{}
	for _, t := range plainTerms(query) {
		if seen[t] {
			continue
		}
		seen[t] = true
		idf := math.Log(1 + (float64(len(p.refs)-p.df[t])+.5)/(float64(p.df[t])+.5))
		for i, tf := range p.tf {
			if n := float64(tf[t]); n > 0 {
				scores[i] += idf * n * 2.2 / (n + 1.2*(.25+.75*float64(p.length[i])/p.average))
			}
		}
	}
	return p.top(scores, k)
}

func (p *plainBM25) top(scores []float64, k int) []string {
	var order []int
	for i, s := range scores {
		if s > 0 {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return scores[order[a]] > scores[order[b]] })
	var out []string
	for _, i := range order[:min(k, len(order))] {
		out = append(out, p.refs[i])
	}
	return out
}
