package redact

import (
	"slices"
	"strings"
)

// Bounds of a private key's block and of its lines.
const (
	maxPEM     = 64 << 10
	maxPEMLine = 8 << 10
)

// pem takes a private key as a whole, from BEGIN to END, also where END is
// missing, and what stands before an END without a BEGIN. The lines may be
// quoted, indented or written as "\n".
func (s *scan) pem(from, to int) {
	label, end := pemLabel(s.text, to)
	if end < 0 || !strings.Contains(label, "PRIVATE KEY") && !strings.Contains(label, "PRIVATE-KEY") {
		return
	}
	if lower(s.text[from:to]) == "-----end" {
		start := pemBack(s.text, from)
		if s.pay(from-start) && start < from {
			s.add(span{start, end, kindPrivateKey, marked})
		}
		return
	}
	stop := pemBody(s.text, end)
	s.pay(stop - from)
	if rest := s.text[stop:]; len(rest) > 8 && lower(rest[:8]) == "-----end" {
		if _, last := pemLabel(s.text, stop+8); last > 0 {
			stop = last
		}
	}
	s.add(span{from, stop, kindPrivateKey, marked})
}

// pemLabel reads " RSA PRIVATE KEY-----"; end is negative when it is none.
func pemLabel(text string, at int) (label string, end int) {
	rest := text[at:min(len(text), at+100)]
	i := strings.Index(rest, "-----")
	if i < 0 || strings.ContainsAny(rest[:i], "\n\r\\") {
		return "", -1
	}
	return strings.ToUpper(rest[:i]), at + i + len("-----")
}

// pemBody is where the lines of a block end that begins at a place: before its
// END, or before the first thing that is no line of it.
func pemBody(text string, at int) int {
	end := at
	for limit := min(len(text), at+maxPEM); at < limit; {
		next := nextBreak(text, at, limit)
		if i := strings.Index(lower(text[at:next]), "-----end"); i >= 0 {
			if line := bare(text[at : at+i]); line == "" || pemLine(line) {
				return at + i
			}
			return end
		}
		line := bare(text[at:next])
		if line != "" && !pemLine(line) {
			return end
		}
		if line != "" {
			end = at + strings.LastIndex(text[at:next], line) + len(line)
		}
		if next == limit {
			break
		}
		at = next + breakSize(text[next:])
	}
	return end
}

// pemBack is where the lines begin that stand before an END.
func pemBack(text string, at int) int {
	start := at
	for stop := max(0, at-maxPEM); at > stop; {
		begin, size := lastBreak(text, max(stop, at-maxPEMLine), at)
		line := bare(text[begin:at])
		if line != "" && (!pemLine(line) || len(line) < 16 && start != at) {
			return start
		}
		if line != "" {
			start = begin + strings.Index(text[begin:at], line)
		}
		if size == 0 {
			return start
		}
		at = begin - size
	}
	return start
}

// lastBreak is where the last line of a stretch begins, and the size of the
// break before it; 0 when there is none.
func lastBreak(text string, from, to int) (begin, size int) {
	begin = from
	if i := strings.LastIndexByte(text[from:to], '\n'); i >= 0 {
		begin, size = from+i+1, 1
	}
	if i := strings.LastIndex(text[begin:to], `\n`); i >= 0 {
		begin, size = begin+i+2, 2
	}
	return begin, size
}

// nextBreak is where a line ends: at a line feed, or at one that is written as
// a backslash and an n.
func nextBreak(text string, at, limit int) int {
	limit = min(limit, at+maxPEMLine)
	if n := strings.IndexByte(text[at:limit], '\n'); n >= 0 {
		limit = at + n
	}
	if n := strings.Index(text[at:limit], `\n`); n >= 0 {
		limit = at + n
	}
	return limit
}

func breakSize(text string) int {
	switch {
	case strings.HasPrefix(text, `\n`):
		return 2
	case strings.HasPrefix(text, "\n"):
		return 1
	}
	return 0 // a line that is too long
}

// bare is a line without what quotes and indents it.
func bare(line string) string { return strings.Trim(line, " \t\r\\\"'`>|+,;#*/") }

// pemLine: base64 that is no short word, or a header of a block. A last line may
// be short.
func pemLine(line string) bool {
	if name, _, ok := strings.Cut(line, ": "); ok {
		return name == "Proc-Type" || name == "DEK-Info" || name == "Comment" || name == "Version" || name == "Charset" || name == "Hash"
	}
	if parts := strings.Fields(line); len(parts) > 1 { // all of a block in one line
		return len(parts[0]) >= 40 && !slices.ContainsFunc(parts[1:], func(s string) bool { return !pemLine(s) })
	}
	plain := true
	for i := range len(line) {
		c := line[i]
		if !base64Byte(c) && c != '=' {
			return false
		}
		plain = plain && letterByte(c)
	}
	return !plain || len(line) >= 40
}
