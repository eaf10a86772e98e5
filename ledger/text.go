package ledger

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/redact"
)

// acknowledgements are answers that carry no fact although they are long
// enough to.
var acknowledgements = map[string]bool{
	"yes please": true, "yes do it": true, "do it please": true, "please do": true, "please do it": true, "no thanks": true,
	"no thank you": true, "thank you": true, "thank you so much": true, "thanks a lot": true, "thanks so much": true,
	"ok thanks": true, "okay thanks": true, "ok thank you": true, "sounds good": true, "looks good": true,
	"looks good to me": true, "go ahead": true, "go on": true, "please continue": true, "please go on": true,
	"continue": true, "continue please": true, "that works": true, "got it": true, "got it thanks": true,
	"try again": true, "please try again": true, "perfect thanks": true, "perfect thank you": true,
	"great thanks": true, "of course": true, "absolutely": true, "understood": true, "you're welcome": true,
	"i see": true, "i agree": true, "makes sense": true, "that makes sense": true, "hello there": true, "good morning": true,
}

// Trivial reports whether a text is too short to carry a fact, like "yes" or
// "ok": fewer than two words and fewer than eight characters, or a plain
// acknowledgement. Such texts stay turns but make no source.
func Trivial(text string) bool {
	n := dhruva.Normalize(redact.New().Strip(text)) // a placeholder says nothing
	if words(n) < 2 && utf8.RuneCountInString(n) < 8 {
		return true
	}
	plain := strings.TrimFunc(strings.ToLower(n), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return plain == "" || acknowledgements[strings.ReplaceAll(plain, ",", "")]
}

// words counts words that hold a letter. Scripts written without spaces count
// two letters as a word, so that a short Chinese sentence is not taken for "ok".
func words(text string) int {
	n := 0
	for _, field := range strings.Fields(text) {
		letters, dense := 0, 0
		for _, r := range field {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) {
				dense++
			} else if unicode.IsLetter(r) {
				letters++
			}
		}
		n += (dense + 1) / 2
		if letters > 0 {
			n++
		}
	}
	return n
}
