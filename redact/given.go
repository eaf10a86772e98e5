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
	// listed: set("password", "…"), setPassword("…").
	listed
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
	s.judge(lo, at, what, how, kind)
}

// judge takes the value at a place if it is a secret, given how it is named.
func (s *scan) judge(lo, at int, what class, how tie, kind string) {
	v, ok := valueAt(s.text, at)
	if !s.pay(v.to-lo) || !ok {
		return
	}
	v.alone = v.to >= lineEnd(s.text, v.to) && strings.Trim(s.text[lineStart(s.text, lo):lo], " \t-*>\"'`_") == ""
	from := v.from
	if v = s.behindMasks(v); v.text == "" || !v.secret(what, how) {
		return
	}
	s.add(span{from, v.to, kind, named})
}

// behindMasks is what a value has behind the placeholders that it begins with: a
// placeholder shields nothing but itself. The host behind a password of an
// address is none of it.
func (s *scan) behindMasks(v value) value {
	for v.from < v.to {
		i := s.maskBehind(v.from)
		if i >= len(s.masks) || s.masks[i].from != v.from {
			break
		}
		v.from = min(s.masks[i].to, v.to)
		v.text = s.text[v.from:v.to]
		if strings.HasPrefix(v.text, "@") || strings.HasPrefix(v.text, ":") {
			return value{}
		}
	}
	return v
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
	if next := described(text, closed); next > 0 {
		return next, written
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
	case c == ',' && closed > hi, c == '(' && at == hi:
		return pair(text, at)
	case c == '\'' && at > hi && closed == hi && lower(text[lo:hi]) == "password": // SQL
		return at, listed
	case netrc(text, lo) && at > hi && closed == hi:
		return at, option
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

// pair is the second of two arguments, the first of which is a name, or the
// argument of a call that is named so: text in quotation marks.
func pair(text string, at int) (int, tie) {
	if at = skipSpaces(text, at+1); at < len(text) && strings.IndexByte("\"'`", text[at]) >= 0 {
		return at, listed
	}
	return at, untied
}

// netrc reports whether a name stands in a line of a .netrc, or in the line
// behind one.
func netrc(text string, lo int) bool {
	start := lineStart(text, lo)
	line := text[max(lineStart(text, max(0, start-1)), lo-200):lo]
	return strings.Contains(line, "login ") || strings.HasPrefix(strings.TrimSpace(line), "machine ")
}

// maxBetween bounds what stands between a name that is given as a value and the
// value that it names.
const maxBetween = 240

// described is where a value begins that stands beside its name, as in
// {"name": "API_KEY", "value": "…"}, in the environment of a container, or in a
// block of Terraform; 0 when there is none.
func described(text string, at int) int {
	rest := text[at:min(len(text), at+maxBetween)]
	words := []string{"value"}
	switch trimmed := strings.TrimLeft(rest, " \t"); {
	case strings.HasPrefix(trimmed, "{"):
		words = []string{"default", "value"}
		if i := strings.IndexByte(rest, '}'); i > 0 {
			rest = rest[:i]
		}
		i := strings.Index(rest, "default")
		if i < 0 {
			return 0
		}
		rest = rest[i:]
	case strings.HasPrefix(trimmed, ","), strings.HasPrefix(trimmed, "\n"), strings.HasPrefix(trimmed, "\r"):
		rest = strings.TrimLeft(trimmed, ", \t\r\n\"'")
	default:
		return 0
	}
	start := at + strings.Index(text[at:min(len(text), at+maxBetween)], rest)
	for _, word := range words {
		if len(rest) < len(word) || !strings.EqualFold(rest[:len(word)], word) {
			continue
		}
		end := start + len(word)
		if end < len(text) && (text[end] == '"' || text[end] == '\'') {
			end++
		}
		if end = skipSpaces(text, end); end < len(text) && (text[end] == ':' || text[end] == '=') {
			return behind(text, end+1)
		}
	}
	return 0
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
		at = fenced(text, skipSpaces(text, at))
	}
	return at
}

// fenced skips the beginning of a block of code.
func fenced(text string, at int) int {
	for n := 0; n < 2 && at < len(text) && text[at] == '\n'; n++ {
		at++
	}
	if !strings.HasPrefix(text[at:], "```") {
		return at
	}
	if end := lineEnd(text, at); end < len(text) && end-at < 24 {
		return skipSpaces(text, end+1)
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
