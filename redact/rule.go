package redact

import (
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// rule finds the secrets of one maker. Its expression is run only on a stretch
// of text around one of its words, and only when what every match must hold is
// there; both are read off the expression itself (shape.go).
type rule struct {
	kind    string
	number  int
	group   int // of the secret; 0: the first that matched, else the whole
	entropy float64
	allow   []allowed

	// starts: every match begins with one of the words.
	starts bool
	// loose: the word need not be near the match.
	loose bool
	shape

	once  sync.Once
	weigh sync.Once
	cost  int
	tree  *syntax.Regexp
	expr  *regexp.Regexp
}

// maxReach bounds the stretch of text for a rule whose matches have no longest.
const maxReach = 1024

func newRule(kind, source string, tree *syntax.Regexp, words []string) *rule {
	r := &rule{kind: kind}
	r.shape = shapeOf(tree)
	r.tree = r.shape.tree
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = strings.ToLower(w)
	}
	r.starts = startsWith(r.tree, lower)
	source = strings.ToLower(strings.ReplaceAll(source, `\`, ""))
	r.loose = !r.starts && !slices.ContainsFunc(lower, func(w string) bool { return strings.Contains(source, w) })
	return r
}

// compiled is the expression, made at the first need of it.
func (r *rule) compiled() *regexp.Regexp {
	r.once.Do(func() {
		expr := r.tree.String()
		if r.starts {
			expr = `\A(?:` + expr + `)`
		}
		r.expr = regexp.MustCompile(expr)
	})
	return r.expr
}

// weight is what a byte costs that the expression reads: the larger its program,
// the more ways it follows at once.
func (r *rule) weight() int {
	r.weigh.Do(func() {
		prog, err := syntax.Compile(r.tree.Simplify())
		if err != nil {
			panic("redact: rule " + r.kind + ": " + err.Error())
		}
		r.cost = 1 + len(prog.Inst)/64
	})
	return r.cost
}

// pays takes the cost of running the expression over n bytes.
func (r *rule) pays(s *scan, n int) bool { return s.pay(n * r.weight()) }

// at looks for a match around a word.
func (r *rule) at(s *scan, from, to int) {
	switch {
	case r.starts:
		r.here(s, from, to)
	case r.loose:
		r.anywhere(s)
	default:
		r.around(s, from, to)
	}
}

// here looks for a match that begins at a place. Right behind the characters of
// a word it must be told by more than its mark.
func (r *rule) here(s *scan, from, to int) {
	if from < s.done[r.number] || !r.begins(s.text[from:]) {
		return
	}
	stuck := r.word && !border(s.text, from)
	if stuck && !r.told(s.text[from:to]) && s.text[from-1] != '_' {
		return
	}
	end := min(len(s.text), from+r.reach)
	window := s.text[from:end]
	if r.runIn(window) < 0 || !r.pays(s, len(window)) {
		return
	}
	if m := r.compiled().FindStringSubmatchIndex(window); m != nil {
		if secretFrom, secretTo := r.secret(m); stuck && r.kind != kindAWS && !made(window[secretFrom:secretTo]) {
			return
		}
		s.done[r.number] = from + r.take(s, from, end, m)
	}
}

// around searches the text before and behind a word. What was searched is not
// searched again for the next one.
func (r *rule) around(s *scan, from, to int) {
	if from < s.done[r.number] {
		return
	}
	lo, hi := max(from-r.reach, s.done[r.number], 0), min(to+4*r.reach, len(s.text))
	r.search(s, lo, hi)
	if s.done[r.number] = hi - r.reach; hi == len(s.text) {
		s.done[r.number] = hi
	}
}

// anywhere searches the whole text, once.
func (r *rule) anywhere(s *scan) {
	if s.done[r.number] == 0 {
		s.done[r.number] = len(s.text)
		r.search(s, 0, len(s.text))
	}
}

// search looks for matches in a stretch of text, around the runs that every
// match holds.
func (r *rule) search(s *scan, lo, hi int) {
	if !r.holds(s.text[lo:hi]) {
		return
	}
	for lo < hi {
		run := r.runIn(s.text[lo:hi])
		if run < 0 {
			return
		}
		from, to := max(lo, lo+run-r.reach), min(hi, lo+run+2*r.reach)
		if !r.pays(s, to-from) {
			return
		}
		r.within(s, from, to)
		lo = max(lo+1, to-r.reach)
		if to == hi {
			return
		}
	}
}

func (r *rule) within(s *scan, lo, hi int) {
	for lo > 0 && !utf8.RuneStart(s.text[lo]) {
		lo--
	}
	for _, m := range r.compiled().FindAllStringSubmatchIndex(s.text[lo:hi], -1) {
		if r.word && !border(s.text, lo+m[0]) {
			continue
		}
		r.take(s, lo, hi, m)
	}
}

// take judges a match, and notes its secret. It returns the end of the match
// within the window.
func (r *rule) take(s *scan, at, end int, m []int) int {
	from, to := r.secret(m)
	secret := s.text[at+from : at+to]
	if at+to == end { // the window ended, not the token
		to += tokenEnd(s.text[end:])
	}
	if r.ends && !tokenEnds(s.text, at+m[1], at+to) || r.entropy > 0 && entropy(secret) <= r.entropy {
		return m[1]
	}
	match := s.text[at+m[0] : at+m[1]]
	if bareDigest(secret, match) || !r.told(secret) && inBlob(s.text, at+from, at+to) || !r.strict && plainWord(secret) || member(secret) || r.allowed(s, secret, match, at+from) {
		return m[1]
	}
	s.add(span{at + from, at + to, r.kind, marked})
	return m[1]
}

func (r *rule) secret(m []int) (from, to int) {
	if r.group > 0 && m[2*r.group] >= 0 {
		return m[2*r.group], m[2*r.group+1]
	}
	for i := 2; i < len(m); i += 2 {
		if m[i] >= 0 && m[i+1] > m[i] {
			return m[i], m[i+1]
		}
	}
	return m[0], m[1]
}

func (r *rule) allowed(s *scan, secret, match string, at int) bool {
	line := s.text[lineStart(s.text, at):lineEnd(s.text, at)]
	holds := func(a allowed) bool { return a.holds(secret, match, line) }
	return holds(s.set.allow) || slices.ContainsFunc(r.allow, holds)
}

// told reports whether what begins a secret is in no base64: it holds a mark
// besides letters and digits, or is that of keys that have only capitals.
func (r *rule) told(secret string) bool {
	return r.starts && (strings.ContainsAny(secret[:min(len(secret), 12)], "_-") || r.kind == kindAWS && profileOf(secret).upper == profileOf(secret).letters)
}

// bareDigest: a digest in hexadecimal that nothing names a secret, such as a
// commit's.
func bareDigest(secret, match string) bool {
	if len(secret) != 32 && len(secret) != 40 && len(secret) != 64 || strings.TrimSpace(match) != secret {
		return false
	}
	return !strings.ContainsFunc(secret, func(r rune) bool { return !hexDigit(r) })
}

// inBlob: the finding is a small part of a long run of base64, such as an image.
// A path has more slashes.
func inBlob(text string, from, to int) bool {
	const most = 512
	lo, hi := from, to
	for lo > 0 && from-lo < most && base64Byte(text[lo-1]) {
		lo--
	}
	for hi < len(text) && hi-to < most && base64Byte(text[hi]) {
		hi++
	}
	slashes := strings.Count(text[lo:from], "/") + strings.Count(text[to:hi], "/")
	return hi-lo-(to-from) > 120 && slashes*24 < hi-lo
}

// plainWord: letters alone in one case, as a word has them: what a service's
// name and a comma stand before in a sentence.
func plainWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !lowerLetter(r) && r != '-' && r != '_' && r != '.' }) ||
		!strings.ContainsFunc(s[1:], func(r rune) bool { return !lowerLetter(r) && r != '-' && r != '_' && r != '.' })
}

// member: "s.ReadUint16LengthPrefixed", words in both cases behind a full stop.
func member(s string) bool {
	p := profileOf(s)
	return strings.Contains(s, ".") && p.upper > 0 && p.upper < p.letters && p.signs == 0 && wordy(s)
}

// entropy is Shannon's, in bits a character.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
