package redact

import (
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shape is what every match of an expression has in common, read off its tree.
// It lets most texts be passed over without running the expression.
type shape struct {
	tree *syntax.Regexp // what is left to run
	// word: a match begins at the border of a word. ends: no character of a token
	// may follow it. Both are checked by hand.
	word, ends bool
	// reach is the length of the longest match in bytes, at most maxReach.
	reach int
	// head are the bytes that can stand first, second and so on.
	head []bytes
	// run: a match holds size bytes of these in a row.
	run  bytes
	size int
	// must are texts, in lower case, that a match holds.
	must []string
	// strict: the secret holds what no word has: a fixed part or a digit.
	strict bool
}

// bytes is a set of bytes. Those above ASCII stand for each other: a set that
// holds one of their characters holds them all.
type bytes [256]bool

// maxHead is how many leading bytes are told.
const maxHead = 16

func shapeOf(tree *syntax.Regexp) shape {
	s := shape{tree: tree}
	if tree.Op == syntax.OpConcat {
		parts := tree.Sub
		parts = s.front(parts, tree.MaxCap() > 0)
		parts = s.back(parts)
		s.tree = &syntax.Regexp{Op: syntax.OpConcat, Flags: tree.Flags, Sub: parts}
	}
	s.reach = min(longest(s.tree), maxReach) + 8
	s.head, _ = heads(s.tree, nil)
	s.run, s.size = longestRun(s.tree)
	s.must = musts(s.tree, nil)
	s.strict = fixed(s.tree)
	return s
}

// front drops what may be missing at the start of a match (a name before a
// keyword) and does not belong to the secret, and the border of a word.
func (s *shape) front(parts []*syntax.Regexp, groups bool) []*syntax.Regexp {
	for len(parts) > 1 {
		p := parts[0]
		switch {
		case p.Op == syntax.OpEmptyMatch:
		case groups && p.Op == syntax.OpRepeat && p.Min == 0 && p.Flags&syntax.NonGreedy != 0 && p.Sub[0].Op == syntax.OpCharClass:
		case p.Op == syntax.OpWordBoundary && !s.word:
			s.word = true
		default:
			return parts
		}
		parts = parts[1:]
	}
	return parts
}

// back drops what must follow a secret in code: in a sentence it may be a comma.
func (s *shape) back(parts []*syntax.Regexp) []*syntax.Regexp {
	last := parts[len(parts)-1]
	if len(parts) > 1 && (last.Op == syntax.OpWordBoundary || terminator(last)) {
		s.ends = true
		return parts[:len(parts)-1]
	}
	return parts
}

func terminator(re *syntax.Regexp) bool {
	if re.Op != syntax.OpAlternate || re.MaxCap() > 0 {
		return false
	}
	for _, sub := range re.Sub {
		if sub.Op == syntax.OpEndText || sub.Op == syntax.OpEndLine {
			return true
		}
	}
	return false
}

// begins reports whether a text can begin a match.
func (s *shape) begins(text string) bool {
	if len(text) < len(s.head) {
		return false
	}
	for i := range s.head {
		if !s.head[i][text[i]] {
			return false
		}
	}
	return true
}

// runIn is where the first run begins that a match holds; negative when there
// is none.
func (s *shape) runIn(text string) int {
	if s.size == 0 {
		return 0
	}
	for at := 0; at+s.size <= len(text); {
		i := at + s.size - 1
		for i >= at && s.run[text[i]] {
			i--
		}
		if i < at {
			return at
		}
		at = i + 1
	}
	return -1
}

// holds reports whether the fixed texts of every match stand in a text.
func (s *shape) holds(text string) bool {
	if len(s.must) == 0 {
		return true
	}
	text = lower(text)
	for _, must := range s.must {
		if !strings.Contains(text, must) {
			return false
		}
	}
	return true
}

// musts appends the fixed texts of every match that are long enough to tell, in
// lower case.
func musts(re *syntax.Regexp, out []string) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if len(re.Rune) > 3 {
			out = append(out, lower(string(re.Rune)))
		}
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			out = musts(sub, out)
		}
	}
	return out
}

// infinite is the length of what has no longest match.
const infinite = 1 << 20

// longest is the length in bytes of the longest match.
func longest(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(string(re.Rune))
	case syntax.OpCharClass:
		if n = 1; foreign(classBytes(re)) {
			n = utf8.UTFMax
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = utf8.UTFMax
	case syntax.OpStar, syntax.OpPlus:
		n = infinite
	case syntax.OpQuest, syntax.OpCapture:
		n = longest(re.Sub[0])
	case syntax.OpRepeat:
		if n = infinite; re.Max >= 0 {
			n = re.Max * longest(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n += longest(sub)
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			n = max(n, longest(sub))
		}
	}
	return min(n, infinite)
}

// heads appends the sets of the bytes that a match begins with; more says
// whether what follows the expression goes on directly behind them.
func heads(re *syntax.Regexp, out []bytes) (_ []bytes, more bool) {
	if len(out) >= maxHead {
		return out, false
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r > unicode.MaxASCII {
				return out, false
			}
			out = append(out, runeBytes(r, re.Flags&syntax.FoldCase != 0))
			if foreign(out[len(out)-1]) { // may be longer than one byte
				return out, false
			}
		}
		return out, true
	case syntax.OpCharClass:
		b := classBytes(re)
		return append(out, b), !foreign(b)
	case syntax.OpCapture:
		return heads(re.Sub[0], out)
	case syntax.OpRepeat, syntax.OpPlus:
		return repeatHeads(re, out)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if out, more = heads(sub, out); !more {
				return out, false
			}
		}
		return out, true
	case syntax.OpAlternate:
		return choiceHeads(re, out)
	case syntax.OpEmptyMatch:
		return out, true
	}
	return out, false
}

func repeatHeads(re *syntax.Regexp, out []bytes) ([]bytes, bool) {
	min, exact := re.Min, re.Min == re.Max
	if re.Op == syntax.OpPlus {
		min, exact = 1, false
	}
	more := true
	for range min {
		if out, more = heads(re.Sub[0], out); !more || len(out) >= maxHead {
			return out, false
		}
	}
	return out, exact
}

// choiceHeads joins the heads of a choice, as far as all of them go.
func choiceHeads(re *syntax.Regexp, out []bytes) ([]bytes, bool) {
	var joined []bytes
	for i, sub := range re.Sub {
		one, _ := heads(sub, nil)
		if i == 0 {
			joined = one
			continue
		}
		joined = joined[:min(len(joined), len(one))]
		for j := range joined {
			joined[j] = joined[j].or(one[j])
		}
	}
	return append(out, joined...), false
}

func (b bytes) or(o bytes) bytes {
	for i := range b {
		b[i] = b[i] || o[i]
	}
	return b
}

func foreign(b bytes) bool { return b[255] }

func runeBytes(r rune, fold bool) (out bytes) {
	out.add(r)
	if fold {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			out.add(f)
		}
	}
	return out
}

// add leaves out the two characters above ASCII that are letters of it in
// another case: no secret has them.
func (b *bytes) add(r rune) {
	switch {
	case r <= unicode.MaxASCII:
		b[r] = true
		return
	case r == '\u017F' || r == '\u212A':
		return
	}
	for i := 128; i < 256; i++ {
		b[i] = true
	}
}

func classBytes(re *syntax.Regexp) (out bytes) {
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= min(re.Rune[i+1], unicode.MaxASCII); r++ {
			out.add(r)
		}
		if re.Rune[i+1] > unicode.MaxASCII {
			out.add(re.Rune[i+1])
		}
	}
	return out
}

// longestRun is a set of bytes without white space and how many of them every
// match holds in a row; 0 when nothing can be told.
func longestRun(re *syntax.Regexp) (set bytes, size int) {
	switch re.Op {
	case syntax.OpCapture:
		return longestRun(re.Sub[0])
	case syntax.OpAlternate:
		return choiceRun(re)
	case syntax.OpConcat:
		return concatRun(re)
	}
	set, size = plainRun(re)
	return set, size
}

// plainRun is longestRun of what is made of single characters alone; all of its
// matches are such a run.
func plainRun(re *syntax.Regexp) (set bytes, size int) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			set = set.or(runeBytes(r, re.Flags&syntax.FoldCase != 0))
		}
		size = len(re.Rune)
	case syntax.OpCharClass:
		set, size = classBytes(re), 1
	case syntax.OpRepeat, syntax.OpPlus:
		n := re.Min
		if re.Op == syntax.OpPlus {
			n = 1
		}
		set, size = plainRun(re.Sub[0])
		size *= n
	case syntax.OpCapture:
		return plainRun(re.Sub[0])
	}
	if set[' '] || set['\n'] || set['\t'] {
		return bytes{}, 0
	}
	return set, size
}

// concatRun joins neighbours into one run, and takes the longest.
func concatRun(re *syntax.Regexp) (best bytes, size int) {
	var set bytes
	n := 0
	for _, sub := range re.Sub {
		if s, k := plainRun(sub); k > 0 {
			set, n = set.or(s), n+k
		} else {
			set, n = bytes{}, 0
			s, k := longestRun(sub)
			if k > size {
				best, size = s, k
			}
		}
		if n > size {
			best, size = set, n
		}
	}
	return best, size
}

// choiceRun is what all ways of a choice hold.
func choiceRun(re *syntax.Regexp) (set bytes, size int) {
	for i, sub := range re.Sub {
		s, k := longestRun(sub)
		if i == 0 {
			size = k
		}
		set, size = set.or(s), min(size, k)
	}
	return set, size
}

// fixed reports whether a secret must hold what an ordinary word has not: a
// group with a fixed part, or no group at all.
func fixed(re *syntax.Regexp) bool {
	group, found := captured(re)
	if !found {
		return true
	}
	return hasLiteral(group)
}

func captured(re *syntax.Regexp) (*syntax.Regexp, bool) {
	if re.Op == syntax.OpCapture {
		return re.Sub[0], true
	}
	for _, sub := range re.Sub {
		if g, ok := captured(sub); ok {
			return g, true
		}
	}
	return nil, false
}

func hasLiteral(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral {
		return true
	}
	for _, sub := range re.Sub {
		if hasLiteral(sub) {
			return true
		}
	}
	return false
}

// startsWith reports whether every match begins with one of the words, whatever
// its case.
func startsWith(re *syntax.Regexp, words []string) bool {
	starts, _ := leads(re)
	for _, s := range starts {
		ok := false
		for _, w := range words {
			ok = ok || strings.HasPrefix(s, w)
		}
		if !ok {
			return false
		}
	}
	return len(starts) > 0
}

// maxLeads bounds how many ways to begin are told.
const maxLeads = 64

// leads are all the texts, in lower case, that a match can begin with, as far as
// they are fixed; whole says that they are the whole of it.
func leads(re *syntax.Regexp) (out []string, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}, true
	case syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpCapture:
		return leads(re.Sub[0])
	case syntax.OpQuest:
		out, whole = leads(re.Sub[0])
		return append(out, ""), whole
	case syntax.OpCharClass:
		return classLeads(re)
	case syntax.OpAlternate:
		whole = true
		for _, sub := range re.Sub {
			o, w := leads(sub)
			if o == nil {
				o = []string{""}
			}
			out, whole = append(out, o...), whole && w
		}
		return out, whole && len(out) <= maxLeads
	case syntax.OpConcat:
		return concatLeads(re)
	}
	return []string{""}, false
}

func classLeads(re *syntax.Regexp) (out []string, whole bool) {
	seen := map[string]bool{}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if len(seen) > 4 || r > unicode.MaxASCII {
				return []string{""}, false
			}
			seen[strings.ToLower(string(r))] = true
		}
	}
	for s := range seen {
		out = append(out, s)
	}
	return out, true
}

func concatLeads(re *syntax.Regexp) (out []string, whole bool) {
	out = []string{""}
	for _, sub := range re.Sub {
		next, w := leads(sub)
		if len(out)*len(next) > maxLeads {
			return out, false
		}
		var joined []string
		for _, a := range out {
			for _, b := range next {
				joined = append(joined, a+b)
			}
		}
		if out = joined; !w {
			return out, false
		}
	}
	return out, true
}
