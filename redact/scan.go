package redact

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// scan is one pass over a text.
type scan struct {
	set   *set
	text  string
	spans []span
	// done is, for each rule, up to where it has looked.
	done []int
	// left is how many bytes may still be read, besides looking for words.
	left int
	// masks are the placeholders that stand in the text already.
	masks []span
}

// run looks for every secret. left is negative afterwards when it had to give up.
func (s *scan) run() []span {
	s.pay(len(s.text))
	s.mask()
	s.joined()
	s.set.words.each(s.text, func(word, from, to int) {
		if s.left < 0 {
			return
		}
		for _, u := range s.set.uses[word] {
			if u.find != nil {
				u.find(s, from, to)
				continue
			}
			if s.done == nil {
				s.done = make([]int, len(s.set.rules))
			}
			u.rule.at(s, from, to)
		}
	})
	if strings.IndexFunc(s.text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		s.set.far.each(s.text, func(_, from, to int) { s.foreign(from, to) })
	}
	return merge(s.spans)
}

// pay takes the cost of reading n bytes; false when there is nothing left.
func (s *scan) pay(n int) bool {
	s.left -= n
	return s.left >= 0
}

// mask finds the placeholders of known kinds. Others are text like any.
func (s *scan) mask() {
	for at := 0; ; {
		i := strings.Index(s.text[at:], openMark)
		if i < 0 {
			return
		}
		from := at + i
		at = from + len(openMark)
		n := strings.Index(s.text[at:min(len(s.text), at+maxKind)], closeMark)
		if n > 0 && s.set.kinds[s.text[at:at+n]] {
			at += n + len(closeMark)
			s.masks = append(s.masks, span{from: from, to: at})
		}
	}
}

// maxKind bounds the name of a kind.
const maxKind = 64

// add notes a secret, unless it is part of a placeholder. One that reaches into
// a placeholder takes all of it.
func (s *scan) add(found span) {
	i := s.maskBehind(found.from)
	for ; i < len(s.masks) && s.masks[i].from < found.to; i++ {
		m := s.masks[i]
		if found.from >= m.from && found.to <= m.to {
			return
		}
		found.from, found.to = min(found.from, m.from), max(found.to, m.to)
	}
	if found.from < found.to {
		s.spans = append(s.spans, found)
	}
}

// maskBehind is the first placeholder that ends behind a place.
func (s *scan) maskBehind(at int) int {
	i, _ := slices.BinarySearchFunc(s.masks, at, func(m span, at int) int { return cmp.Compare(m.to, at+1) })
	return i
}

// masked reports whether a placeholder begins at a place.
func (s *scan) masked(at int) bool {
	i := s.maskBehind(at)
	return i < len(s.masks) && s.masks[i].from == at
}
