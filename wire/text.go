package wire

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeLiteral returns the text of a string literal, quotes included. The
// scanner has validated it; a lone surrogate reads as U+FFFD.
func decodeLiteral(b []byte, lit span) string {
	if lit.end-lit.start < 2 {
		return ""
	}
	inner := b[lit.start+1 : lit.end-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return string(decode(make([]byte, 0, len(inner)), inner))
}

// decode appends the text of a literal's inside to dst.
func decode(dst, inner []byte) []byte {
	for {
		i := bytes.IndexByte(inner, '\\')
		if i < 0 {
			return append(dst, inner...)
		}
		dst = append(dst, inner[:i]...)
		inner = inner[i:]
		n, _ := escapeLen(inner)
		if n == 0 { // not reached for scanned literals
			return append(dst, inner...)
		}
		dst = appendEscape(dst, inner[:n])
		inner = inner[n:]
	}
}

func appendEscape(dst, esc []byte) []byte {
	switch esc[1] {
	case 'b':
		return append(dst, '\b')
	case 'f':
		return append(dst, '\f')
	case 'n':
		return append(dst, '\n')
	case 'r':
		return append(dst, '\r')
	case 't':
		return append(dst, '\t')
	case 'u':
		r, _ := hex4(esc, 2)
		if len(esc) == 12 {
			low, _ := hex4(esc, 8)
			r = utf16.DecodeRune(r, low)
		}
		return utf8.AppendRune(dst, r)
	default:
		return append(dst, esc[1])
	}
}

// appendEscaped appends text to dst as the inside of a string literal. Only
// what JSON requires is escaped.
func appendEscaped(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	from := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, text[from:]...)
}
