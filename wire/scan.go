package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// span is a half-open range of offsets in a body. The zero span means absent.
type span struct{ start, end int }

func (s span) ok() bool { return s.end > s.start }

func (s span) of(b []byte) []byte { return b[s.start:s.end] }

// tally counts text for estimates: ASCII bytes, other scalars, images.
type tally struct{ ascii, other, images int }

func (t *tally) add(o tally) {
	t.ascii += o.ascii
	t.other += o.other
	t.images += o.images
}

func (t tally) minus(o tally) tally {
	return tally{t.ascii - o.ascii, t.other - o.other, t.images - o.images}
}

// imageTokens is the flat estimate of one image.
const imageTokens = 1000

func (t tally) tokens() int {
	return (t.ascii+3)/4 + t.other + imageTokens*t.images
}

// scanner reads one JSON text strictly, in one pass, and only looks.
type scanner struct {
	b        []byte
	pos      int
	depth    int
	maxDepth int
	// tally grows with every string value that skip and text pass over.
	tally tally
	// breakpoints counts prompt-cache breakpoints seen so far.
	breakpoints int
}

func (s *scanner) fail(what string) error {
	return fmt.Errorf("wire: the body is not valid JSON at byte %d: %s: %w", s.pos, what, dhruva.ErrInvalid)
}

func (s *scanner) space() {
	for s.pos < len(s.b) {
		switch s.b[s.pos] {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos < len(s.b) {
		return s.b[s.pos]
	}
	return 0
}

// end checks that nothing but white space is left.
func (s *scanner) end() error {
	if s.space(); s.pos < len(s.b) {
		return s.fail("data after the value")
	}
	return nil
}

func (s *scanner) enter() error {
	if s.depth++; s.depth > s.maxDepth {
		return fmt.Errorf("wire: the body nests deeper than %d levels: %w", s.maxDepth, dhruva.ErrInvalid)
	}
	s.pos++
	return nil
}

// object reads an object and calls member with each decoded name, positioned
// at the value, which member must consume. name is valid during the call only.
func (s *scanner) object(member func(name []byte) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.pos++
		s.depth--
		return nil
	}
	for {
		name, err := s.name()
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			s.depth--
			return nil
		default:
			return s.fail("expected ',' or '}'")
		}
	}
}

// name reads a member's name and the colon behind it.
func (s *scanner) name() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.fail("expected a name")
	}
	lit, _, escaped, err := s.literal()
	if err != nil {
		return nil, err
	}
	name := s.b[lit.start+1 : lit.end-1]
	if escaped {
		name = decode(nil, name)
	}
	if s.peek() != ':' {
		return nil, s.fail("expected ':'")
	}
	s.pos++
	s.space()
	return name, nil
}

// array reads an array and calls element at each element, which it must consume.
func (s *scanner) array(element func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.peek() == ']' {
		s.pos++
		s.depth--
		return nil
	}
	for {
		s.space()
		if err := element(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			s.depth--
			return nil
		default:
			return s.fail("expected ',' or ']'")
		}
	}
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// literal reads a string literal, quotes included, and counts its text. It
// goes eight bytes at a time: stop marks the bytes that end a run of text.
func (s *scanner) literal() (lit span, t tally, escaped bool, err error) {
	lit.start = s.pos
	b, p := s.b, s.pos+1
	spent := 0          // bytes that are not one ASCII character each
	leads, high := 0, 0 // first bytes of other scalars, all bytes above ASCII
	for {
		for len(b)-p >= 8 {
			x := binary.LittleEndian.Uint64(b[p:])
			q := x ^ '"'*lowBits
			e := x ^ '\\'*lowBits
			stop := ((x-' '*lowBits)&^x | (q-lowBits)&^q | (e-lowBits)&^e) & highBits
			h := x & highBits
			if stop != 0 {
				n := bits.TrailingZeros64(stop) >> 3
				p += n
				if h &= 1<<(8*uint(n)) - 1; h != 0 {
					high += bits.OnesCount64(h)
					leads += bits.OnesCount64(h & (x << 1))
				}
				break
			}
			if p += 8; h != 0 {
				high += bits.OnesCount64(h)
				leads += bits.OnesCount64(h & (x << 1))
				continue
			}
			for len(b)-p >= 16 && plain(binary.LittleEndian.Uint64(b[p:]), binary.LittleEndian.Uint64(b[p+8:])) {
				p += 16
			}
		}
		if p >= len(b) {
			s.pos = p
			return lit, t, escaped, s.fail("a string does not end")
		}
		c := b[p]
		if c == '\\' {
			escaped = true
			if p+1 < len(b) && isShortEscape(b[p+1]) {
				spent++
				p += 2
				continue
			}
			n, wide := escapeLen(b[p:])
			if n == 0 {
				s.pos = p
				return lit, t, escaped, s.fail("a bad escape")
			}
			spent += n - 1
			if wide {
				spent++
				leads++
			}
			p += n
			continue
		}
		if c == '"' {
			break
		}
		if c < ' ' {
			s.pos = p
			return lit, t, escaped, s.fail("a control character in a string")
		}
		if c >= utf8.RuneSelf {
			high++
			if c >= 0xC0 {
				leads++
			}
		}
		p++
	}
	lit.end = p + 1
	if high > 0 && !utf8.Valid(b[lit.start:p]) {
		s.pos = lit.start
		return lit, t, escaped, s.fail("a string is not UTF-8")
	}
	s.pos = lit.end
	return lit, tally{ascii: p - lit.start - 1 - high - spent, other: leads}, escaped, nil
}

// plain reports that 16 bytes are ASCII text which ends nothing. Above the
// first byte that says otherwise the bits are not exact, and do not matter.
func plain(x, y uint64) bool {
	const quotes, slashes, spaces = '"' * lowBits, '\\' * lowBits, ' ' * lowBits
	x |= (x - spaces) | (x ^ quotes - lowBits) | (x ^ slashes - lowBits)
	y |= (y - spaces) | (y ^ quotes - lowBits) | (y ^ slashes - lowBits)
	return (x|y)&highBits == 0
}

// escapeLen measures the escape at the start of b, a surrogate pair as one;
// 0 means it is malformed. wide says that it stands for a non-ASCII scalar.
func escapeLen(b []byte) (n int, wide bool) {
	if len(b) < 2 {
		return 0, false
	}
	if isShortEscape(b[1]) {
		return 2, false
	}
	if b[1] != 'u' {
		return 0, false
	}
	r, ok := hex4(b, 2)
	if !ok {
		return 0, false
	}
	if r >= 0xD800 && r < 0xDC00 && len(b) >= 8 && b[6] == '\\' && b[7] == 'u' {
		if low, ok := hex4(b, 8); ok && low >= 0xDC00 && low < 0xE000 {
			return 12, true
		}
	}
	return 6, r >= utf8.RuneSelf
}

// shortEscapes has a bit for each byte that may follow a backslash, but 'u'.
var shortEscapes = [4]uint64{
	0: 1<<'"' | 1<<'/',
	1: 1<<('\\'-64) | 1<<('b'-64) | 1<<('f'-64) | 1<<('n'-64) | 1<<('r'-64) | 1<<('t'-64),
}

func isShortEscape(c byte) bool { return shortEscapes[c>>6]>>(c&63)&1 != 0 }

func hex4(b []byte, at int) (rune, bool) {
	if len(b) < at+4 {
		return 0, false
	}
	var r rune
	for _, c := range b[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// skip passes over any value, counting the text a model would read in it.
func (s *scanner) skip() error { return s.value(false) }

// value passes over any value. Identifiers, base64 and other text that is not
// read as language are left out of the tally unless all is set.
func (s *scanner) value(all bool) error {
	switch c := s.peek(); {
	case c == '"':
		_, err := s.text()
		return err
	case c == '{':
		return s.skipObject(all)
	case c == '[':
		return s.array(func() error { return s.value(all) })
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	default:
		return s.word()
	}
}

// skipObject passes over an object. The data of a source is base64 unless its
// type says text.
func (s *scanner) skipObject(all bool) error {
	var data tally
	isText := false
	err := s.object(func(name []byte) error {
		before := s.tally
		start := s.pos
		if err := s.value(all || string(name) == "input" || string(name) == "arguments"); err != nil {
			return err
		}
		v := span{start, s.pos}
		if isBreakpoint(name) && !isEmpty(s.b, v) {
			s.breakpoints++
		}
		if all {
			return nil
		}
		switch string(name) {
		case "type":
			isText = string(v.of(s.b)) == `"text"`
			s.tally = before
			if isImage(v.of(s.b)) {
				s.tally.images++
			}
		case "data":
			data.add(s.tally.minus(before))
			s.tally = before
		default:
			if isOpaque(name) {
				s.tally = before
			}
		}
		return nil
	})
	if isText {
		s.tally.add(data)
	}
	return err
}

func isBreakpoint(name []byte) bool {
	return string(name) == "cache_control" || string(name) == "prompt_cache_breakpoint"
}

func isImage(literal []byte) bool {
	switch string(literal) {
	case `"image"`, `"image_url"`, `"input_image"`, `"computer_screenshot"`:
		return true
	}
	return false
}

// isOpaque names members whose strings are not language: ids, labels, base64.
func isOpaque(name []byte) bool {
	switch string(name) {
	case "id", "call_id", "tool_call_id", "tool_use_id", "item_id", "file_id",
		"type", "role", "status", "phase", "media_type", "detail", "format",
		"data", "file_data", "image_url", "url", "signature", "encrypted_content",
		"cache_control", "prompt_cache_breakpoint":
		return true
	}
	return false
}

// text reads a string value, adding it to the tally.
func (s *scanner) text() (span, error) {
	lit, t, _, err := s.literal()
	s.tally.add(t)
	return lit, err
}

// maybeText reads a string value and returns its literal, or passes over any
// other value and returns the zero span.
func (s *scanner) maybeText() (span, error) {
	if s.peek() == '"' {
		return s.text()
	}
	return span{}, s.skip()
}

// raw passes over a value and returns where it stands.
func (s *scanner) raw() (span, error) {
	s.space()
	start := s.pos
	err := s.skip()
	return span{start, s.pos}, err
}

func (s *scanner) word() error {
	for _, w := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(s.b[s.pos:], []byte(w)) {
			s.pos += len(w)
			return nil
		}
	}
	return s.fail("expected a value")
}

func (s *scanner) number() error {
	if s.b[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.b) && s.b[s.pos] == '0' {
		s.pos++
	} else if s.digits() == 0 {
		return s.fail("a bad number")
	}
	if s.pos < len(s.b) && s.b[s.pos] == '.' {
		s.pos++
		if s.digits() == 0 {
			return s.fail("a bad number")
		}
	}
	if s.pos < len(s.b) && s.b[s.pos]|0x20 == 'e' {
		s.pos++
		if s.pos < len(s.b) && (s.b[s.pos] == '+' || s.b[s.pos] == '-') {
			s.pos++
		}
		if s.digits() == 0 {
			return s.fail("a bad number")
		}
	}
	return nil
}

func (s *scanner) digits() (n int) {
	for s.pos < len(s.b) && s.b[s.pos] >= '0' && s.b[s.pos] <= '9' {
		s.pos++
		n++
	}
	return n
}

// isEmpty reports whether a value says nothing: absent, null, or an empty
// string, array or object.
func isEmpty(b []byte, v span) bool {
	if !v.ok() {
		return true
	}
	raw := v.of(b)
	switch raw[0] {
	case 'n':
		return true
	case '"':
		return len(raw) == 2
	case '[', '{':
		return len(bytes.TrimLeft(raw[1:len(raw)-1], " \t\r\n")) == 0
	}
	return false
}
