package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWords bounds how much of one text is analysed: a pasted log must not
// dominate the index. Words past the bound are not searchable.
const maxWords = 100_000

// maxWordRunes bounds one word; the rest of a longer run (a base64 blob) is cut.
const maxWordRunes = 64

// word is one lexical unit of a text, before stop words are dropped.
type word struct {
	text    string // lower case, folded, contraction and ordinal endings removed
	capital bool   // its first letter was upper case in the text
	ordinal bool   // it was written 1st, 2nd, 23rd
	dash    bool   // a '-' or '/' and nothing else stands between it and the word before
}

// sentence is one sentence of a text.
type sentence struct {
	words    []word
	question bool
}

// sentences splits a text at white space after a full stop, a mark, or a line
// end (quotes and brackets may close in between), and after the marks of scripts
// written without spaces. A sentence that ends in a question mark is a question.
func sentences(text string) []sentence {
	text = fold(text)
	var out []sentence
	budget := maxWords
	for _, raw := range splitSentences(text) {
		ws := lex(raw, budget)
		if len(ws) == 0 {
			continue
		}
		budget -= len(ws)
		out = append(out, sentence{words: ws, question: endsInQuestion(raw)})
	}
	return out
}

func splitSentences(text string) []string {
	var out []string
	start, prev := 0, rune(0)
	for i, r := range text {
		if prev != 0 && (unicode.IsSpace(r) || isDense(r) || prev == '。') && strings.ContainsRune(".!?。\n", prev) {
			out = append(out, text[start:i])
			start = i
		}
		if !isCloser(r) {
			prev = r
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// isCloser marks what may stand between the end of a sentence and the space after it.
func isCloser(r rune) bool { return strings.ContainsRune(`"')]*_”’»`, r) }

// endsInQuestion reads folded text.
func endsInQuestion(text string) bool {
	text = strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || isCloser(r) })
	return strings.HasSuffix(text, "?")
}

// fold gives the text in one Unicode form: compatibility characters resolved,
// accents taken off Latin letters (so that cafe finds café), apostrophes plain.
// Marks of other scripts carry meaning and stay.
func fold(text string) string {
	if isASCII(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	latin := false
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(text, " ")) {
		switch {
		case unicode.Is(unicode.Mn, r) && latin:
			continue
		case r == '\u2019' || r == '\u02bc':
			r = '\''
		}
		latin = unicode.Is(unicode.Latin, r)
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// words analyses a text without regard to its sentences.
func words(text string) []word { return lex(fold(text), maxWords) }

// lex cuts folded text into words. A word is a run of letters, digits and
// their marks; scripts written without spaces are cut into character pairs.
func lex(text string, budget int) []word {
	var out []word
	end := 0 // end of the run before, to see what stands between
	for i := 0; i < len(text) && len(out) < budget; {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isWordStart(r) {
			i += size
			continue
		}
		stop := runEnd(text, i)
		gap := text[end:i]
		n := len(out)
		out = appendRun(out, text[i:stop])
		if n > 0 && len(out) > n && (gap == "-" || gap == "/") {
			out[n].dash = true
		}
		i, end = stop, stop
	}
	return out
}

func isWordStart(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// runEnd finds the end of the run of word characters at i; an apostrophe
// between letters, and a comma between digit groups, belong to the run.
func runEnd(text string, i int) int {
	dense := false
	for j, r := range text[i:] {
		if j == 0 {
			dense = isDense(r)
			continue
		}
		switch {
		case isWordStart(r):
			if isDense(r) != dense {
				return i + j
			}
		case unicode.Is(unicode.M, r):
		case r == '\'' && !dense && spacedLetter(text[i+j+1:]):
		case r == ',' && isThousands(text[i:i+j], text[i+j+1:]):
		default:
			return i + j
		}
	}
	return len(text)
}

func spacedLetter(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsLetter(r) && !isDense(r)
}

// isThousands says whether a comma stands inside a number such as 1,234.
func isThousands(before, after string) bool {
	if before == "" || !isDigit(before[len(before)-1]) || len(after) < 3 {
		return false
	}
	return allDigits(after[:3]) && (len(after) == 3 || !isDigit(after[3]))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// isDense marks the scripts that put no space between words.
func isDense(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func appendRun(out []word, run string) []word {
	first, _ := utf8.DecodeRuneInString(run)
	if isDense(first) {
		return appendPairs(out, run)
	}
	capital := unicode.IsUpper(first)
	for _, part := range expand(strings.ToLower(run)) {
		w := word{text: clip(part), capital: capital}
		if n, ok := ordinal(w.text); ok {
			w.text, w.ordinal = n, true
		} else if n, ok := numberWords[w.text]; ok {
			w.text = n
		}
		out = append(out, w)
	}
	return out
}

// appendPairs adds the pairs of characters of a run, a character being a letter
// with its marks.
func appendPairs(out []word, run string) []word {
	var at []int
	for i, r := range run {
		if !unicode.Is(unicode.M, r) {
			at = append(at, i)
		}
	}
	at = append(at, len(run))
	if len(at) <= 3 {
		return append(out, word{text: clip(run)})
	}
	for i := 0; i+2 < len(at); i++ {
		out = append(out, word{text: clip(run[at[i]:at[i+2]])})
	}
	return out
}

func clip(s string) string {
	n := 0
	for i := range s {
		if n == maxWordRunes {
			return s[:i]
		}
		n++
	}
	return s
}

// expand resolves contractions and possessives. What a contraction adds (will,
// not, are, have, would, am) is a stop word, so the ending is simply dropped.
func expand(run string) []string {
	run = strings.ReplaceAll(run, ",", "")
	for strings.Contains(run, "'") {
		base, ok := cutEnding(run)
		if !ok {
			return strings.FieldsFunc(run, func(r rune) bool { return r == '\'' })
		}
		run = base
	}
	if run == "" {
		return nil
	}
	return []string{run}
}

func cutEnding(run string) (string, bool) {
	switch run {
	case "won't", "can't", "shan't":
		return "", true
	}
	for _, ending := range [...]string{"n't", "'re", "'ve", "'ll", "'d", "'m", "'s"} {
		if base, ok := strings.CutSuffix(run, ending); ok {
			return base, true
		}
	}
	return run, false
}

func ordinal(w string) (string, bool) {
	if len(w) < 3 || !isDigit(w[0]) {
		return w, false
	}
	digits := w[:len(w)-2]
	switch w[len(w)-2:] {
	case "st", "nd", "rd", "th":
		return digits, allDigits(digits)
	}
	return w, false
}
