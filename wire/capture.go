package wire

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// cutMark stands where the middle of a long text was left out.
const cutMark = "\n…\n"

// capture keeps the head and the tail of a text within a limit. The result
// depends on the text alone, not on the pieces it came in.
type capture struct {
	limit      int
	head, tail []byte
	total      int
	pending    []byte // an escaped high surrogate whose other half is still to come
}

func (c *capture) add(s string) {
	c.total += len(s)
	if room := c.limit/2 - len(c.head); room > 0 {
		n := min(room, len(s))
		c.head = append(c.head, s[:n]...)
		s = s[n:]
	}
	keep := c.limit - c.limit/2
	if len(s) > keep {
		s = s[len(s)-keep:]
	}
	c.tail = append(c.tail, s...)
	if len(c.tail) > 2*keep {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-keep:]...)
	}
}

func (c *capture) reset() { *c = capture{limit: c.limit} }

// text returns what was kept, and whether something was left out.
func (c *capture) text() (string, bool) {
	if c.total <= c.limit {
		return string(c.head) + string(c.tail), false
	}
	head := c.head
	for len(head) > 0 && !wholeEnd(head) {
		head = head[:len(head)-1]
	}
	tail := c.tail[max(0, len(c.tail)-(c.limit-c.limit/2-len(cutMark))):]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return string(head) + cutMark + string(tail), true
}

// wholeEnd reports whether b ends with a whole rune.
func wholeEnd(b []byte) bool {
	r, size := utf8.DecodeLastRune(b)
	return r != utf8.RuneError || size != 1
}

// unescape decodes one literal of a text that comes in several. Half a
// surrogate pair at its end waits for the next one.
func (c *capture) unescape(literal []byte) string {
	inner := literal[1 : len(literal)-1]
	if len(c.pending) == 0 && bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	if len(c.pending) > 0 {
		inner = append(c.pending, inner...)
		c.pending = nil
	}
	if n := len(inner); endsInHighSurrogate(inner) {
		c.pending = append([]byte(nil), inner[n-6:]...)
		inner = inner[:n-6]
	}
	return string(decode(nil, inner))
}

// endsInHighSurrogate reports an escape of a high surrogate at the very end.
func endsInHighSurrogate(inner []byte) bool {
	n := len(inner)
	if n < 6 || inner[n-6] != '\\' || inner[n-5] != 'u' {
		return false
	}
	slashes := 0
	for i := n - 7; i >= 0 && inner[i] == '\\'; i-- {
		slashes++
	}
	r, ok := hex4(inner, n-4)
	return ok && slashes%2 == 0 && r >= 0xD800 && r < 0xDC00
}

// flush decodes a half that never found its other.
func (c *capture) flush() string {
	s := strings.Repeat("\uFFFD", len(c.pending)/6)
	c.pending = nil
	return s
}
