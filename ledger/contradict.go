package ledger

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Two decisions contradict each other, as far as their words tell, when
//
//   - they say the same words and one of them negates them ("Use Redis", "Do not
//     use Redis"), or
//   - they have the same number of words, two or more, and differ in exactly one
//     of them ("Use Redis for the queue", "Use Kafka for the queue").
//
// Words are what white space separates, without marks around them, in one case
// and in one form of their letters (NFKC): "C" is neither "C++" nor "C#". In
// scripts that are written without spaces each character is a word. The rule
// knows no language but its words of negation. It says what a person should look
// at, and nothing more.

// Contradict reports whether two texts contradict each other by this rule.
func Contradict(a, b string) bool {
	x, y := wordsOf(a), wordsOf(b)
	if oneApart(x, y) {
		return true
	}
	plainX, negatedX := affirmed(x)
	plainY, negatedY := affirmed(y)
	return negatedX != negatedY && len(plainX) > 0 && slices.Equal(plainX, plainY)
}

func oneApart(x, y []string) bool {
	if len(x) != len(y) || len(x) < 2 {
		return false
	}
	apart := 0
	for n := range x {
		if x[n] != y[n] {
			apart++
		}
	}
	return apart == 1
}

// negations are the words that turn what is said into its opposite.
var negations = map[string]bool{
	"not": true, "no": true, "never": true, "without": true, "avoid": true, // English
	"nicht": true, "kein": true, "keine": true, "keinen": true, "keiner": true, "keinem": true, "nie": true, // German
	"ne": true, "pas": true, "jamais": true, // French
	"não": true, "nunca": true, "jamás": true, // Portuguese, Spanish
	"non": true, "mai": true, // Italian
	"не": true, "нет": true, "никогда": true, // Russian
	"नहीं": true, "न": true, "मत": true, "ना": true, // Hindi
	"不": true, "没": true, "沒": true, "别": true, "別": true, "勿": true, "非": true, "未": true, // Chinese
	"لا": true, "لم": true, "لن": true, "ليس": true, // Arabic
	"değil": true, // Turkish
}

// carriers are words that English puts beside a negation alone.
var carriers = map[string]bool{"do": true, "does": true, "did": true}

// affirmed are the words without their negations, and whether an odd number of
// them was there.
func affirmed(words []string) (out []string, negated bool) {
	for n, w := range words {
		switch {
		case negations[w]:
			negated = !negated
		case carriers[w] && n+1 < len(words) && negations[words[n+1]]:
		default:
			out = append(out, w)
		}
	}
	return out, negated
}

// around are marks that stand before and after words and are not a part of them.
const around = ".,;:!?…\"'`“”‘’«»()[]{}<>*_-–—。、！？：；，（）「」『』।॥؟،؛"

// wordsOf are the words of a text in the form in which they are compared.
func wordsOf(text string) (out []string) {
	text = strings.ReplaceAll(strings.ToLower(norm.NFKC.String(text)), "’", "'")
	for _, field := range strings.Fields(text) {
		w := strings.Trim(field, around)
		switch {
		case w == "":
		case w == "won't":
			out = append(out, "will", "not")
		case w == "can't" || w == "cannot":
			out = append(out, "can", "not")
		case strings.HasSuffix(w, "n't"):
			out = append(out, strings.TrimSuffix(w, "n't"), "not")
		default:
			out = append(out, splitDense(w)...)
		}
	}
	return out
}

// splitDense splits what is written without spaces into its characters.
func splitDense(w string) (out []string) {
	dense := func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	}
	if !strings.ContainsFunc(w, dense) {
		return []string{w}
	}
	var other strings.Builder
	flush := func() {
		if s := strings.Trim(other.String(), around); s != "" {
			out = append(out, s)
		}
		other.Reset()
	}
	for _, r := range w {
		if !dense(r) {
			other.WriteRune(r)
			continue
		}
		flush()
		out = append(out, string(r))
	}
	flush()
	return out
}
