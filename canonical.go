package dhruva

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// CanonicalJSON is the RFC 8785 form of a value's JSON: members sorted by name,
// no white space, the shortest escapes. Numbers are integers of at most 2^53-1,
// which every reader of JSON holds exactly; another number is ErrInvalid.
func CanonicalJSON(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: canonical JSON: %w", ErrInvalid, err)
	}
	c := canonical{in: raw}
	out, err := c.value(make([]byte, 0, len(raw)))
	if err != nil {
		return nil, fmt.Errorf("%w: canonical JSON: %w", ErrInvalid, err)
	}
	return out, nil
}

// canonical rewrites JSON as encoding/json makes it: valid, and compact.
type canonical struct {
	in []byte
	at int
}

func (c *canonical) value(out []byte) ([]byte, error) {
	switch c.in[c.at] {
	case '{':
		return c.object(out)
	case '[':
		return c.array(out)
	case '"':
		s, err := c.str()
		return appendString(out, s), err
	case 't', 'n':
		return append(out, c.take(4)...), nil
	case 'f':
		return append(out, c.take(5)...), nil
	}
	return c.number(out)
}

func (c *canonical) take(n int) []byte {
	c.at += n
	return c.in[c.at-n : c.at]
}

// maxExact is the greatest integer that every reader of JSON holds exactly.
const maxExact = 1<<53 - 1

func (c *canonical) number(out []byte) ([]byte, error) {
	n := bytes.IndexAny(c.in[c.at:], ",]}")
	if n < 0 {
		n = len(c.in) - c.at
	}
	text := string(c.take(n))
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil || i > maxExact || i < -maxExact {
		return nil, fmt.Errorf("%s is not an integer that JSON holds exactly", text)
	}
	return strconv.AppendInt(out, i, 10), nil
}

// str reads a string.
func (c *canonical) str() (string, error) {
	end := c.at + 1
	for c.in[end] != '"' {
		if c.in[end] == '\\' {
			end++
		}
		end++
	}
	text := c.take(end + 1 - c.at)
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1]), nil
	}
	var s string
	err := json.Unmarshal(text, &s)
	return s, err
}

func (c *canonical) array(out []byte) (_ []byte, err error) {
	out = append(out, '[')
	for c.at++; c.in[c.at] != ']'; {
		if c.in[c.at] == ',' {
			out = append(out, c.take(1)...)
		}
		if out, err = c.value(out); err != nil {
			return nil, err
		}
	}
	return append(out, c.take(1)...), nil
}

// member is one of an object's: its name, and where its value stands.
type member struct {
	name       string
	start, end int
}

// object writes the members' values one after the other and then sorts them.
func (c *canonical) object(out []byte) (_ []byte, err error) {
	var members []member
	var values []byte
	for c.at++; c.in[c.at] != '}'; {
		if c.in[c.at] == ',' {
			c.at++
		}
		m := member{start: len(values)}
		if m.name, err = c.str(); err != nil {
			return nil, err
		}
		c.at++ // the colon
		if values, err = c.value(values); err != nil {
			return nil, err
		}
		m.end = len(values)
		members = append(members, m)
	}
	c.at++
	slices.SortFunc(members, func(a, b member) int { return compareUnits(a.name, b.name) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(appendString(out, m.name), ':'), values[m.start:m.end]...)
	}
	return append(out, '}'), nil
}

// compareUnits orders names by their UTF-16 code units, as RFC 8785 wants it.
func compareUnits(a, b string) int {
	if ascii(a) && ascii(b) {
		return strings.Compare(a, b)
	}
	return slices.CompareFunc(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)), cmp.Compare[uint16])
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

const hexDigits = "0123456789abcdef"

// shortEscapes are the control characters that have an escape of two characters.
var shortEscapes = map[byte]byte{'"': '"', '\\': '\\', '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			out = append(out, c)
			continue
		}
		if e, ok := shortEscapes[c]; ok {
			out = append(out, '\\', e)
			continue
		}
		out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	return append(out, '"')
}
