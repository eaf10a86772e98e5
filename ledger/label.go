package ledger

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// label checks a short text of people's: valid, not blank unless optional, and
// no longer than max characters. It comes back trimmed.
func label(what, s string, max int, optional bool) (string, error) {
	s = strings.TrimSpace(s)
	if err := dhruva.ValidText(what, s); err != nil {
		return "", err
	}
	if s == "" && !optional {
		return "", fmt.Errorf("%w: %s is blank", dhruva.ErrInvalid, what)
	}
	if n := utf8.RuneCountInString(s); n > max {
		return "", fmt.Errorf("%w: %s has %d characters, the limit is %d", dhruva.ErrTooLarge, what, n, max)
	}
	return s, nil
}

// oneLine is label for names: at most 200 characters, and no control character.
func oneLine(what, s string, optional bool) (string, error) {
	s, err := label(what, s, maxName, optional)
	if err == nil && strings.ContainsFunc(s, unicode.IsControl) {
		err = fmt.Errorf("%w: %s holds a control character", dhruva.ErrInvalid, what)
	}
	return s, err
}

// plainLabel is oneLine for what tells things apart: it holds no character that
// is not seen, so that no two of them look the same.
func plainLabel(what, s string) (string, error) {
	s, err := oneLine(what, s, true)
	if err == nil && strings.ContainsFunc(s, unseen) {
		err = fmt.Errorf("%w: %s holds a character that is not seen", dhruva.ErrInvalid, what)
	}
	return s, err
}

// unseen reports characters without a shape of their own: control and format
// characters (bidi marks and zero widths are among them), line and paragraph
// separators, fillers, variation selectors, and spaces other than the usual one.
func unseen(r rune) bool {
	return r != ' ' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// mendLabel makes a captured name a plain label: the call it belongs to has
// happened already.
func mendLabel(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case !unseen(r):
			return r
		case unicode.In(r, unicode.Cc, unicode.Z):
			return ' '
		}
		return -1
	}, strings.ToValidUTF8(s, "\uFFFD"))
	runes := []rune(strings.Join(strings.Fields(s), " "))
	return strings.TrimSpace(string(runes[:min(len(runes), maxName)]))
}

// body checks a long text of a client's: valid and within a limit of bytes.
func body(what, s string, max int) error {
	if len(s) > max {
		return fmt.Errorf("%w: %s has %d bytes, the limit is %d", dhruva.ErrTooLarge, what, len(s), max)
	}
	return dhruva.ValidText(what, s)
}

// clip cuts a text to at most n bytes, on a boundary between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// mend makes captured text storable: the model has answered already, so it is
// not refused.
func mend(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// clean is mend within a limit. It reports whether the text was cut.
func clean(s string, max int) (string, bool) {
	s = mend(s)
	cut := clip(s, max)
	return cut, len(cut) < len(s)
}

// cutMark stands where the middle of a long text was left out.
const cutMark = "\n…\n"

// cleanEnds is clean for what went through the proxy: head and tail are kept,
// because the end of a long message is where the question stands. Whoever
// observed the answer has cut it in the same way, so that the full text resent
// later is known to be the same.
func cleanEnds(s string, max int) (string, bool) {
	s = mend(s)
	tail := max - max/2 - len(cutMark)
	if len(s) <= max || tail <= 0 {
		return clean(s, max)
	}
	from := len(s) - tail
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return clip(s, max/2) + cutMark + s[from:], true
}

// maxTorn bounds what is left out at a cut.
const maxTorn = 4096

// wholeEnds leaves out what a cut in the middle has torn: the rest of a word
// before it, and the rest of a line behind it. A secret that was cut in two, or
// from the name that tells it, could not be told.
func wholeEnds(s string) string {
	at := middleCut(s)
	if at < 0 {
		return s
	}
	head, tail := s[:at], s[at+len(cutMark):]
	if i := strings.LastIndexFunc(head, unicode.IsSpace); i >= 0 && len(head)-i <= maxTorn {
		head = head[:i]
	}
	next := tail[:min(len(tail), maxTorn)]
	if i := strings.IndexByte(next, '\n'); i >= 0 {
		tail = tail[i+1:]
	} else if i := strings.IndexFunc(next, unicode.IsSpace); i >= 0 {
		tail = tail[i+1:]
	}
	return head + cutMark + tail
}

// middleCut is where the mark of a cut stands that is nearest to the middle;
// negative when there is none.
func middleCut(s string) int {
	half := len(s) / 2
	before, behind := strings.LastIndex(s[:min(len(s), half+len(cutMark))], cutMark), strings.Index(s[half:], cutMark)
	switch {
	case behind < 0:
		return before
	case before < 0 || behind < half-before:
		return half + behind
	}
	return before
}
