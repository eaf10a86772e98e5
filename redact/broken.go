package redact

import "strings"

// broken tokens: a line break or a placeholder stands in a key whose maker's
// mark and length are known.

// whole is a maker's mark and how many characters follow it.
type wholeKey struct {
	lead string // in lower case
	text string // as it is written
	size int
}

var whole = []wholeKey{
	{"ghp_", "ghp_", 36},
	{"gho_", "gho_", 36},
	{"ghu_", "ghu_", 36},
	{"ghs_", "ghs_", 36},
	{"ghr_", "ghr_", 36},
	{"github_pat_", "github_pat_", 82},
	{"glpat-", "glpat-", 20},
	{"akia", "AKIA", 16},
	{"asia", "ASIA", 16},
	{"aiza", "AIza", 35},
	{"hf_", "hf_", 34},
	{"npm_", "npm_", 36},
	{"sk-ant-api03-", "sk-ant-api03-", 95},
	{"sk_live_", "sk_live_", 24},
	{"dhr_live_", "dhr_live_", 33},
	{"dhr_test_", "dhr_test_", 33},
	{"gsk_", "gsk_", 52},
	{"pypi-", "pypi-", 179},
}

// maxBreaks bounds how often a key is broken.
const maxBreaks = 6

// broken takes a key that goes on in the next line, if it has its length with
// what stands there, and no more.
func (s *scan) broken(from, to int) {
	var key wholeKey
	for _, k := range whole {
		if strings.EqualFold(k.lead, s.text[from:to]) && k.text == s.text[from:to] {
			key = k
		}
	}
	if key.lead == "" || !border(s.text, from) && s.text[from-1] != '_' {
		return
	}
	at, have, breaks, kept := to, 0, 0, strings.Builder{}
	for at < len(s.text) && have < key.size {
		c := s.text[at]
		if wordByte(c) || c == '-' {
			kept.WriteByte(c)
			at, have = at+1, have+1
			continue
		}
		next := s.lineBreak(at)
		if breaks++; next == at || breaks > maxBreaks || have < 2 {
			break
		}
		at = next
	}
	if !s.pay(at-from) || have != key.size || breaks == 0 || at < len(s.text) && (wordByte(s.text[at]) || s.text[at] == '-' && at+1 < len(s.text) && wordByte(s.text[at+1])) || !made(kept.String()) {
		return
	}
	s.add(span{from, at, kindToken, marked})
}

// lineBreak is behind a line break and what indents or quotes the next line; the
// place itself when none stands there.
func (s *scan) lineBreak(at int) int {
	start := at
	for at < len(s.text) && at-start < 4 && strings.IndexByte(" \t\\-+\"'", s.text[at]) >= 0 {
		at++
	}
	if at >= len(s.text) || s.text[at] != '\n' && s.text[at] != '\r' {
		return start
	}
	for n := 0; at < len(s.text) && n < 16 && strings.IndexByte(" \t\r\n>|\"'+#*", s.text[at]) >= 0; n++ {
		at++
	}
	return at
}

// joined takes what sticks to a placeholder and looks like the rest of what was
// replaced: nothing of a word stands there when a placeholder was put here.
func (s *scan) joined() {
	for _, m := range s.masks {
		to := m.to
		for to < len(s.text) && to-m.to < maxToken && tokenByte(s.text[to]) {
			to++
		}
		from := m.from
		for from > 0 && m.from-from < maxName && (wordByte(s.text[from-1]) || s.text[from-1] == '-') {
			from--
		}
		s.pay(to - from)
		behind, before := s.text[m.to:to], s.text[from:m.from]
		if !rest(behind) {
			to = m.to
		}
		if !made(before) && !started(before) {
			from = m.from
		}
		if from < m.from || to > m.to {
			s.add(span{from, to, s.text[m.from+len(openMark) : m.to-len(closeMark)], named})
		}
	}
}

// rest: what may be the end of a token.
func rest(s string) bool {
	if s == "" || !wordByte(s[0]) {
		return false
	}
	p := profileOf(s)
	return len(s) >= 4 && p.digits > 0 && p.letters > 0 && !kebab(s) || made(s)
}

// started: a maker's mark and the beginning of a key.
func started(s string) bool {
	for _, k := range whole {
		if strings.HasPrefix(s, k.text) && len(s) >= len(k.text)+4 {
			return true
		}
	}
	return strings.HasPrefix(s, "sk-") && len(s) > 10 && profileOf(s).digits > 0
}
