package dhruva

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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
	in  []byte
	at  int
	tmp []byte
}

func (c *canonical) value(out []byte) ([]byte, error) {
	switch c.in[c.at] {
	case '{':
		return c.object(out)
	case '[':
		return c.array(out)
	case '"':
		return c.str(out)
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

// str rewrites a string; one without an escape is as it should be.
func (c *canonical) str(out []byte) ([]byte, error) {
	end, plain := c.at+1, true
	for c.in[end] != '"' {
		if c.in[end] == '\\' {
			plain = false
			end++
		}
		end++
	}
	text := c.take(end + 1 - c.at)
	if plain {
		return append(out, text...), nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return appendString(out, s), nil
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

// member is one of an object's: where its name and its value stand, from the
// beginning of the object.
type member struct{ start, colon, end int }

// object writes the members one after the other and then puts them in order.
func (c *canonical) object(out []byte) (_ []byte, err error) {
	var few [40]member
	members, start := few[:0], len(out)
	for c.at++; c.in[c.at] != '}'; {
		if c.in[c.at] == ',' {
			c.at++
		}
		m := member{start: len(out) - start}
		if out, err = c.str(out); err != nil {
			return nil, err
		}
		m.colon = len(out) - start
		out = append(out, c.take(1)...)
		if out, err = c.value(out); err != nil {
			return nil, err
		}
		m.end = len(out) - start
		members = append(members, m)
	}
	c.at++
	return c.sorted(out[:start], out[start:], members), nil
}

// sorted appends an object of these members to out, which may overlap with them.
func (c *canonical) sorted(out, body []byte, members []member) []byte {
	c.tmp = append(c.tmp[:0], body...)
	slices.SortFunc(members, func(a, b member) int { return compareUnits(c.tmp[a.start:a.colon], c.tmp[b.start:b.colon]) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, c.tmp[m.start:m.end]...)
	}
	return append(out, '}')
}

// compareUnits orders names, as they stand in JSON, by their UTF-16 code units,
// as RFC 8785 wants it.
func compareUnits(a, b []byte) int {
	if plain(a) && plain(b) {
		return bytes.Compare(a[:len(a)-1], b[:len(b)-1]) // without the last quote: a name comes before a longer one
	}
	return slices.Compare(units(a), units(b))
}

// plain: a name that is compared by its bytes.
func plain(s []byte) bool {
	return !bytes.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || r == '\\' })
}

func units(text []byte) []uint16 {
	var s string
	_ = json.Unmarshal(text, &s) // it was written here
	return utf16.Encode([]rune(s))
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
