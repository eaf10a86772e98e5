package redact

import "strings"

// How a name is tied to a value.
type tie int

const (
	untied tie = iota
	// spoken: "my password is …".
	spoken
	// written: "password: …", "password=…".
	written
	// option: "--password …".
	option
)

// given takes a value that a name says is a secret: "password=…", "token: …",
// "the API key is …", "<secret>…</secret>", "--password …".
func (s *scan) given(from, to int) {
	lo, hi := nameAt(s.text, from, to)
	if hi-lo > maxName {
		return
	}
	at, how := tied(s.text, lo, hi)
	if how == untied {
		return
	}
	what, kind := classOf(s.text[lo:hi], s.text[max(0, lo-16):lo])
	if what == noClass {
		return
	}
	v, ok := valueAt(s.text, at)
	if !s.pay(v.to-lo) || !ok {
		return
	}
	v.alone = v.to >= lineEnd(s.text, v.to) && strings.Trim(s.text[lineStart(s.text, lo):lo], " \t-*>\"'`_") == ""
	if v.text == "" || s.masked(v.from) || !v.secret(what, how) {
		return
	}
	s.add(span{v.from, v.to, kind, named})
}

// maxGap bounds the spaces between a name, what ties it and the value.
const maxGap = 12

// tied finds what ties a name to a value: at is where the value begins, or its
// quotation mark.
func tied(text string, lo, hi int) (at int, how tie) {
	at = hi
	for n := 0; n < 4 && at < len(text) && strings.IndexByte("\"'`]*_)\\", text[at]) >= 0; n++ {
		at++
	}
	closed := at
	at = skipSpaces(text, at)
	if at >= len(text) {
		return at, untied
	}
	switch c := text[at]; {
	case c == ':' && text[lo:hi] == "PASS": // a test's
		return at, untied
	case c == ':' || c == '=':
		for n := 0; n < 3 && at < len(text) && strings.IndexByte(":=>", text[at]) >= 0; n++ {
			at++
		}
		return behind(text, at), written
	case c == '>' && at == hi && lo > 0 && text[lo-1] == '<', c == '|' && spaceByte(text[at-1]) && !strings.HasPrefix(text[at:], "||"): // a tag, a column
		return skipSpaces(text, at+1), written
	case at > hi && closed == hi && strings.HasPrefix(text[lo:], "--"):
		return at, option
	}
	for _, word := range []string{"is", "was", "to"} {
		rest := text[at:]
		if at > hi && !strings.EqualFold(text[lo:hi], "pass") && strings.HasPrefix(rest, word) && len(rest) > len(word) && (spaceByte(rest[len(word)]) || rest[len(word)] == ':') {
			at += len(word)
			if text[at] == ':' {
				at++
			}
			return behind(text, at), spoken
		}
	}
	return at, untied
}

// behind skips the spaces before a value, marks of emphasis, and one line end.
func behind(text string, at int) int {
	at = skipSpaces(text, at)
	for n := 0; n < 3 && at < len(text) && (text[at] == '*' || text[at] == '_'); n++ {
		at++
	}
	at = skipSpaces(text, at)
	if at < len(text) && (text[at] == '\n' || text[at] == '\r') {
		at++
		if at < len(text) && text[at] == '\n' {
			at++
		}
		at = skipSpaces(text, at)
	}
	return at
}

func skipSpaces(text string, at int) int {
	for n := 0; n < maxGap && at < len(text) && spaceByte(text[at]); n++ {
		at++
	}
	return at
}

// value is what a name was given.
type value struct {
	from, to int
	text     string
	quoted   bool
	// alone: name and value are all that stands in their line.
	alone bool
	// below: it stands in the line under its name.
	below bool
}

// valueAt reads a value: up to the closing quotation mark, else up to a space or
// what ends a value in code, in an address or in a sentence.
func valueAt(text string, at int) (value, bool) {
	v := value{from: at, to: at, below: at > 0 && strings.IndexByte(text[max(0, at-maxGap):at], '\n') >= 0}
	if at >= len(text) {
		return v, false
	}
	open := ""
	switch {
	case strings.HasPrefix(text[at:], `\"`):
		open = `\"`
	case strings.IndexByte("\"'`", text[at]) >= 0:
		open = text[at : at+1]
	}
	limit := min(len(text), at+maxToken)
	if open != "" {
		start := at + len(open)
		n := closing(text[start:limit], open)
		if n < 0 {
			v.to = limit // what was read
			return v, false
		}
		return value{from: start, to: start + n, text: text[start : start+n], quoted: true, below: v.below}, true
	}
	end := at
	for end < limit && !endsValue(text, end) {
		end++
	}
	v.to = at + len(strings.TrimSuffix(strings.TrimRight(text[at:end], ",.:)]}|"), "**"))
	if strings.Count(text[at:end], "(") > strings.Count(text[at:v.to], ")") && strings.HasPrefix(text[v.to:end], ")") { // a bracket of its own
		v.to++
	}
	v.text = text[at:v.to]
	return v, v.text != ""
}

// closing is where a quotation ends, in its line; a backslash takes the next
// character's meaning.
func closing(text, mark string) int {
	for i := 0; i < len(text) && text[i] != '\n'; i++ {
		if strings.HasPrefix(text[i:], mark) {
			return i
		}
		if text[i] == '\\' && mark != `\"` {
			i++
		}
	}
	return -1
}

func endsValue(text string, at int) bool {
	switch c := text[at]; c {
	case ' ', '\t', '\n', '\r', '"', '\'', '`', '<', '>', ';':
		return true
	case '&':
		return setting(text[at+1:])
	case ',': // in a list, or before the next setting
		return at+1 >= len(text) || strings.IndexByte(" \t\r\n\"'{[", text[at+1]) >= 0 || setting(text[at+1:])
	case '\\':
		return at+1 < len(text) && strings.IndexByte("nrt\"", text[at+1]) >= 0
	}
	return false
}

// setting reports whether a text begins with a name and an equals sign.
func setting(text string) bool {
	n := 0
	for n < len(text) && n < maxName && nameByte(text[n]) {
		n++
	}
	return n > 0 && n < len(text) && text[n] == '='
}
