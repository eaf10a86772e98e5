package redact

import (
	"encoding/base64"
	"strings"
)

// maxToken bounds a token of a header, or of what is given a name.
const maxToken = 8192

// bearer takes the token after the word "Bearer".
func (s *scan) bearer(from, to int) {
	if !border(s.text, from) {
		return
	}
	at := s.afterScheme(to)
	if at < 0 {
		return
	}
	end := headerToken(s.text, at)
	s.pay(end - at)
	if token := s.text[at:end]; len(token) >= 12 && random(token) || s.authorizes(from) && opaque(token) {
		s.add(span{at, end, kindBearer, shaped})
	}
}

// authorizes reports whether the header's name stands before a scheme.
func (s *scan) authorizes(at int) bool {
	return strings.Contains(lower(s.text[max(0, at-24):at]), "authorization")
}

// opaque is what is taken for a token where one must stand.
func opaque(s string) bool {
	return len(s) >= 8 && !stands(s) && !kebab(s) && !wordy(s) && !pathLike(s) && (profileOf(s).digits > 0 || len(s) >= 24)
}

// authorization takes what follows the header's name, or the name of another
// scheme ("Authorization: token …").
func (s *scan) authorization(from, to int) {
	at := skipSpaces(s.text, to)
	for n := 0; n < 3 && at < len(s.text) && strings.IndexByte("\"':=", s.text[at]) >= 0; n++ {
		at = skipSpaces(s.text, at+1)
	}
	if at == to || at >= len(s.text) {
		return
	}
	if s.text[at] == '"' || s.text[at] == '\'' {
		at++
	}
	end := headerToken(s.text, at)
	for _, scheme := range []string{"token", "apikey", "api-key", "key", "digest"} {
		if lower(s.text[at:end]) == scheme {
			if at = s.afterScheme(end); at < 0 {
				return
			}
			end = headerToken(s.text, at)
			break
		}
	}
	s.pay(end - at)
	if token := s.text[at:end]; opaque(token) && !s.masked(at) {
		s.add(span{at, end, kindToken, shaped})
	}
}

// basic takes a user and password in base64 after the word "Basic".
func (s *scan) basic(from, to int) {
	if !border(s.text, from) {
		return
	}
	at := s.afterScheme(to)
	if at < 0 {
		return
	}
	end := headerToken(s.text, at)
	if s.pay(end-at) && isBasic(s.text[at:end]) {
		s.add(span{at, end, kindBasic, shaped})
	}
}

// afterScheme is where the token begins after a scheme's name; negative when no
// space follows the name.
func (s *scan) afterScheme(at int) int {
	start := at
	for at < len(s.text) && at-start < 4 && (spaceByte(s.text[at]) || s.text[at] == '+') {
		at++
	}
	if at == start || at >= len(s.text) {
		return -1
	}
	return at
}

// headerToken is where a token of a header ends.
func headerToken(text string, at int) int {
	end := at
	for end < len(text) && end-at < maxToken && (tokenByte(text[end]) || strings.IndexByte(".~=%|:", text[end]) >= 0) {
		end++
	}
	return at + len(strings.TrimRight(text[at:end], ".:-|~%"))
}

// isBasic reports whether a text is "user:password" in base64.
func isBasic(token string) bool {
	if len(token) < 8 || len(token) > 1024 {
		return false
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(token, "="))
	if err != nil {
		return false
	}
	colon := false
	for _, c := range plain {
		if c < ' ' || c > '~' {
			return false
		}
		colon = colon || c == ':'
	}
	return colon
}

// jwt takes a signed or encrypted token: parts of base64 between full stops, the
// first of which is a JSON object.
func (s *scan) jwt(from, _ int) {
	if !strings.HasPrefix(s.text[from:], "eyJ") {
		return
	}
	alone := border(s.text, from) && (from == 0 || s.text[from-1] != '.')
	end, parts := from, 0
	for parts < 5 {
		n := part(s.text[end:])
		if n < 8 && parts < 2 {
			break
		}
		end, parts = end+n, parts+1
		if end >= len(s.text) || s.text[end] != '.' {
			break
		}
		if part(s.text[end+1:]) == 0 { // the full stop ends a sentence, or the token is not signed
			if parts == 2 && end+1 < len(s.text) && !spaceByte(s.text[end+1]) {
				end++
			}
			break
		}
		end++
	}
	if !s.pay(end-from) || parts < 2 || !alone && parts < 3 || !jsonHead(s.text[from:end]) {
		return
	}
	s.add(span{from, end, kindJWT, marked})
}

func part(text string) int {
	n := 0
	for n < len(text) && n < 4*maxToken && (wordByte(text[n]) || text[n] == '-') {
		n++
	}
	return n
}

// jsonHead reports whether the first part of a token begins like an object.
func jsonHead(token string) bool {
	plain, err := base64.RawURLEncoding.DecodeString(token[:8])
	return err == nil && plain[0] == '{' && plain[1] == '"'
}

// cookie takes the values of a cookie's header that look made at random.
func (s *scan) cookie(from, to int) {
	if to >= len(s.text) || s.text[to] != ':' || !border(s.text, from) {
		return
	}
	end := lineEnd(s.text, to)
	s.pay(end - to)
	for at := to + 1; at < end; {
		stop := at + strings.IndexByte(s.text[at:end], ';')
		if stop < at {
			stop = end
		}
		_, value, ok := strings.Cut(s.text[at:stop], "=")
		value = strings.Trim(value, " \t\r\"'")
		if ok && len(value) >= 12 && random(value) && !s.masked(stop-len(value)) {
			start := at + strings.Index(s.text[at:stop], value)
			s.add(span{start, start + len(value), kindCookie, shaped})
		}
		at = stop + 1
	}
}
