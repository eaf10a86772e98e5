package redact

import "strings"

// Characters of tokens. All of them are ASCII: no secret is a word of another
// script.

func lowerLetter(r rune) bool { return r >= 'a' && r <= 'z' }

func letterByte(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func digitByte(c byte) bool { return c >= '0' && c <= '9' }

func wordByte(c byte) bool { return letterByte(c) || digitByte(c) || c == '_' }

func hexDigit(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F'
}

func base64Byte(c byte) bool { return letterByte(c) || digitByte(c) || c == '+' || c == '/' }

// tokenByte are the characters of tokens that can be told from what surrounds
// them: no full stop, which ends sentences.
func tokenByte(c byte) bool { return wordByte(c) || c == '-' || c == '+' || c == '/' }

func spaceByte(c byte) bool { return c == ' ' || c == '\t' }

// tokenEnd is how far a token goes on at the start of a text.
func tokenEnd(text string) int {
	n := 0
	for n < len(text) && (tokenByte(text[n]) || text[n] == '=') {
		n++
	}
	return n
}

// tokenEnds reports whether a match is over where it ends: nothing of a word
// follows, nor what goes on in base64. Where a name follows the secret in the
// match, nothing is asked.
func tokenEnds(text string, match, secret int) bool {
	if secret < match || match >= len(text) {
		return true
	}
	switch c := text[match]; {
	case letterByte(c) || digitByte(c):
		return false
	case c == '+' || c == '-' || c == '_': // a mark that ends
		return match+1 >= len(text) || !wordByte(text[match+1])
	}
	return true
}

func lineStart(text string, at int) int {
	lo := max(0, at-maxLine)
	return lo + strings.LastIndexByte(text[lo:at], '\n') + 1
}

func lineEnd(text string, at int) int {
	end := min(len(text), at+maxLine)
	if i := strings.IndexByte(text[at:end], '\n'); i >= 0 {
		return at + i
	}
	return end
}

// maxLine bounds how much of a line is looked at on either side of a finding.
const maxLine = 1024
