package recall

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// term is one indexed word. Its stem is made when it is first interned: most
// words of a turn are already known.
type term struct {
	raw      string
	question bool // it stands in a question sentence
}

// analysis is what the index keeps of a turn, before it is interned.
type analysis struct {
	body  []term // text and caption
	meta  []term // speaker's name and the words of the date
	flags flags
	dates dateSet
}

// stem is Porter2 for ASCII words and the word itself for others.
func stem(w string) string {
	if !isASCII(w) || len(w) > 32 {
		return w
	}
	return english.Stem(w, true)
}

func analyzeDoc(d Doc) analysis {
	var a analysis
	var all []word
	for _, s := range sentences(d.Text) {
		a.body = appendTerms(a.body, s.words, s.question)
		if s.question {
			a.flags |= hasQuestion
		}
		all = append(all, s.words...)
	}
	caption := words(d.Caption)
	a.body = appendTerms(a.body, caption, false)
	a.flags |= turnFlags(append(all, caption...))
	if endsInQuestion(fold(d.Text)) {
		a.flags |= isQuestion
	}
	a.meta = appendTerms(nil, words(d.Speaker), false)
	a.meta = appendTerms(a.meta, words(timeText(d)), false)
	a.dates = turnDates(all, d.Time)
	return a
}

func timeText(d Doc) string {
	if d.TimeText != "" || d.Time.IsZero() {
		return d.TimeText
	}
	return d.Time.Format("2 January 2006")
}

func appendTerms(out []term, ws []word, question bool) []term {
	for _, w := range ws {
		if !stopWords[w.text] {
			out = append(out, term{raw: w.text, question: question})
		}
	}
	return out
}

// grams calls yield with every 4-gram of "<raw>", or with the whole when it is shorter.
func grams(raw string, yield func(string)) {
	padded := "<" + raw + ">"
	if isASCII(padded) {
		asciiGrams(padded, yield)
		return
	}
	var at []int
	for i := range padded {
		at = append(at, i)
	}
	at = append(at, len(padded))
	if len(at) <= 5 {
		yield(padded)
		return
	}
	for i := 0; i+4 < len(at); i++ {
		yield(padded[at[i]:at[i+4]])
	}
}

func asciiGrams(padded string, yield func(string)) {
	if len(padded) <= 4 {
		yield(padded)
		return
	}
	for i := 0; i+4 <= len(padded); i++ {
		yield(padded[i : i+4])
	}
}

// queryTerm is one distinct stem of a query.
type queryTerm struct {
	stem string
	name bool // it only names a participant
}

// queryWord is one distinct raw word of a query.
type queryWord struct {
	raw, stem string
	name      bool
}

// parsedQuery is a query after analysis, before it meets an index.
type parsedQuery struct {
	terms []queryTerm // qs of the recipe; those without name are qn
	pairs [][2]string // adjacent stems of qn
	raws  []queryWord // distinct non-stop raw words, for 4-grams
	asks  asks
	dates dateSet
	named map[string]bool // lower-case speakers that the query names
}

// parseQuery analyses a query against the speakers of the scope.
func parseQuery(text string, now time.Time, speakers []string) parsedQuery {
	ws := ends(words(text))
	q := parsedQuery{asks: queryAsks(ws), dates: queryDates(ws, now), named: map[string]bool{}}
	nameWords := q.markSpeakers(ws, speakers)
	seen, rawSeen := map[string]bool{}, map[string]bool{}
	var qn []string
	for _, t := range appendTerms(nil, ws, false) {
		name, st := nameWords[t.raw], stem(t.raw)
		if !seen[st] {
			seen[st] = true
			q.terms = append(q.terms, queryTerm{stem: st, name: name})
		}
		if !rawSeen[t.raw] {
			rawSeen[t.raw] = true
			q.raws = append(q.raws, queryWord{raw: t.raw, stem: st, name: name})
		}
		if !name {
			qn = append(qn, st)
		}
	}
	if len(qn) == 0 {
		for i := range q.terms {
			q.terms[i].name = false
			qn = append(qn, q.terms[i].stem)
		}
	}
	q.pairs = adjacent(qn)
	return q
}

// maxQueryWords bounds how much of a query is read: a pasted document is asked
// about in its first or last words.
const maxQueryWords = 4096

func ends(ws []word) []word {
	if len(ws) <= maxQueryWords {
		return ws
	}
	return append(ws[:maxQueryWords/2:maxQueryWords/2], ws[len(ws)-maxQueryWords/2:]...)
}

func adjacent(stems []string) [][2]string {
	var out [][2]string
	seen := map[[2]string]bool{}
	for i := 0; i+1 < len(stems); i++ {
		p := [2]string{stems[i], stems[i+1]}
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// markSpeakers finds the speakers that the query names, and the query's words that name them.
func (q *parsedQuery) markSpeakers(ws []word, speakers []string) map[string]bool {
	nameWords := map[string]bool{}
	for _, s := range speakers {
		parts := words(s)
		if len(parts) == 0 {
			continue
		}
		for _, p := range parts {
			nameWords[p.text] = true
		}
		for _, w := range ws {
			if namesSpeaker(w, parts[0].text) {
				q.named[s] = true
				nameWords[w.text] = true
			}
		}
	}
	return nameWords
}

// namesSpeaker holds for the first name, and for a capitalised short form of a
// longer one: Mel is Melanie, but the car is not Caroline's.
func namesSpeaker(w word, first string) bool {
	if w.text == first {
		return true
	}
	return w.capital && utf8.RuneCountInString(w.text) >= 3 &&
		utf8.RuneCountInString(first) > 4 && strings.HasPrefix(first, w.text)
}
