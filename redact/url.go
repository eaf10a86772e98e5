package redact

import "strings"

// maxURL bounds the part of an address that names who asks.
const maxURL = 512

// url takes the password of an address, "scheme://user:password@host". Passwords
// are often written as they are, with characters that an address does not allow.
func (s *scan) url(from, to int) {
	if from == 0 || !letterByte(s.text[from-1]) && !digitByte(s.text[from-1]) {
		return
	}
	rest := s.text[to:min(len(s.text), to+maxURL)]
	if i := strings.IndexAny(rest, " \t\r\n\"'`<>"); i >= 0 {
		rest = rest[:i]
	}
	if !s.pay(len(rest)) {
		return
	}
	at := authority(rest)
	if at < 0 {
		return
	}
	user, password, ok := strings.Cut(rest[:at], ":")
	if !ok { // a token stands for the user
		if len(user) >= 16 && random(user) {
			s.add(span{to, to + len(user), kindURL, shaped})
		}
		return
	}
	start := to + len(user) + 1
	if password == "" || stands(password) || s.masked(start) {
		return
	}
	s.add(span{start, start + len(password), kindURL, shaped})
}

// authority is where the "@" stands before the host, -1 when there is none. A
// slash ends it, unless it stands in a password that goes on to an "@" and a
// host.
func authority(rest string) int {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	user, behind, ok := strings.Cut(rest[:end], ":")
	if !ok || user == "" || at < 0 && digits(behind) { // nothing that asks for a password, or a host and its port
		return at
	}
	last := strings.LastIndexByte(rest, '@')
	if last <= end || strings.ContainsAny(rest[end:last], ",;()[]{}&=") || !host(rest[last+1:]) {
		return at
	}
	return last
}

// host reports whether a text begins with a host that is told by its dots or its
// port.
func host(text string) bool {
	if i := strings.IndexAny(text, "/?#"); i >= 0 {
		text = text[:i]
	}
	return strings.ContainsAny(text, ".:") && nameLike(strings.ReplaceAll(text, ":", ""))
}

func digits(s string) bool {
	for i := range len(s) {
		if !digitByte(s[i]) {
			return false
		}
	}
	return true
}
