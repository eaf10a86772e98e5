package redact

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A text is read as it is and as it is meant: with the escapes of JSON, of
// addresses and of HTML resolved, without the backslashes of Markdown, characters
// that are not seen and colours of terminals, with plain letters for full-width
// ones. What is found so is replaced where it stands in the text itself.

// view is a text as another is meant.
type view struct {
	text  string
	edits []edit
}

// edit is a stretch of the original that stands for one byte, or for none.
type edit struct {
	at       int // in the view
	n        int // 0 or 1
	from, to int // in the original
}

// maxViews is how many layers of escapes are resolved.
const maxViews = 3

// seen is a text as it is meant; false when that is as it stands.
func seen(text string) (view, bool) {
	var v view
	var b strings.Builder
	kept := 0
	for at := 0; at < len(text); {
		if !escapes[text[at]] {
			at++
			continue
		}
		size, c, n := meant(text[at:])
		if n < 0 {
			at += size
			continue
		}
		b.WriteString(text[kept:at])
		v.edits = append(v.edits, edit{b.Len(), n, at, at + size})
		if n > 0 {
			b.WriteByte(c)
		}
		at += size
		kept = at
	}
	if v.edits == nil {
		return v, false
	}
	b.WriteString(text[kept:])
	v.text = b.String()
	return v, true
}

// escapes are the bytes that something else may begin with than they are.
var escapes = func() (out [256]bool) {
	for c := 0xC2; c < 0x100; c++ {
		out[c] = true
	}
	for _, c := range "\\%&\x1b" {
		out[c] = true
	}
	return out
}()

// origin is the stretch of the original that a stretch of the view stands for.
func (v view) origin(from, to int) (int, int) {
	return v.place(from, func(e edit) bool { return e.at+e.n <= from }), v.place(to, func(e edit) bool { return e.at < to })
}

func (v view) place(at int, before func(edit) bool) int {
	i, _ := slices.BinarySearchFunc(v.edits, true, func(e edit, _ bool) int {
		if before(e) {
			return -1
		}
		return cmp.Compare(1, 0)
	})
	if i == 0 {
		return at
	}
	last := v.edits[i-1]
	return last.to + at - last.at - last.n
}

// meant is what a text begins with: how long it is, and the byte that it stands
// for (n is 1) or that it stands for nothing (0). A negative n is a character
// like any.
func meant(text string) (size int, c byte, n int) {
	switch text[0] {
	case '\\':
		return backslash(text)
	case '%':
		if c, ok := hexByte(text, 1); ok && plainByte(c) {
			return 3, c, 1
		}
		return 1, 0, -1
	case '&':
		return entity(text)
	case 0x1b:
		if size := colourSize(text); size > 0 {
			return size, 0, 0
		}
		return 1, 0, -1
	}
	r, size := utf8.DecodeRuneInString(text)
	c, n = plain(r)
	return size, c, n
}

// plainByte: what tokens and what surrounds them are made of.
func plainByte(c byte) bool {
	return c >= ' ' && c <= '~' || c == '\n' || c == '\r' || c == '\t' || c == 0x1b
}

// plain is the ASCII that a character stands for.
func plain(r rune) (c byte, n int) {
	switch {
	case r < utf8.RuneSelf:
		if plainByte(byte(r)) {
			return byte(r), 1
		}
	case r >= 0xFF01 && r <= 0xFF5E: // full width
		return byte(r - 0xFEE0), 1
	case r == 0xAD, r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x2064, r == 0xFEFF, r == 0x180E, r == 0x034F, r >= 0xFE00 && r <= 0xFE0F:
		return 0, 0
	case r == 0xA0, r >= 0x2000 && r <= 0x200A, r == 0x202F, r == 0x205F, r == 0x3000:
		return ' ', 1
	case r == 0x2028, r == 0x2029, r == 0x85:
		return '\n', 1
	case r >= 0x2018 && r <= 0x201F, r == '«', r == '»', r == '‹', r == '›', r == '「', r == '」':
		return '"', 1
	}
	return 0, -1
}

func hexByte(text string, at int) (byte, bool) {
	if len(text) < at+2 {
		return 0, false
	}
	n, err := strconv.ParseUint(text[at:at+2], 16, 8)
	return byte(n), err == nil
}

// backslash reads an escape; text that was escaped again and again has many
// backslashes for one.
func backslash(text string) (size int, c byte, n int) {
	k := 0
	for k < len(text) && text[k] == '\\' {
		k++
	}
	if k == len(text) {
		return k, 0, -1
	}
	switch c := text[k]; c {
	case 'n', 'r':
		return k + 1, '\n', 1
	case 't', 'b', 'f', 'v', 'a':
		return k + 1, ' ', 1
	case '"', '\'', '/', '`':
		return k + 1, c, 1
	case 'u', 'x':
		return codePoint(text, k)
	case '0', 'e':
		if rest := strings.TrimPrefix(text[k:], "033"); rest != text[k:] {
			return k + 3, 0x1b, 1
		}
		return k + 1, ' ', 1
	}
	if k == 1 && strings.IndexByte("_-*.[]#()=:~|!&<>{}+@$", text[k]) >= 0 { // Markdown's, a shell's
		return 2, text[k], 1
	}
	return k, 0, -1
}

// codePoint reads "\u0022", "\x22" or "\u{22}", behind its backslashes.
func codePoint(text string, k int) (size int, c byte, n int) {
	digits := 4
	if text[k] == 'x' {
		digits = 2
	}
	end := k + 1 + digits
	if len(text) < end {
		return k, 0, -1
	}
	r, err := strconv.ParseUint(text[k+1:end], 16, 32)
	if err != nil {
		return k, 0, -1
	}
	if c, n = plain(rune(r)); n < 0 {
		return k, 0, -1
	}
	return end, c, n
}

// entities of HTML that stand in or beside a secret.
var entities = map[string]byte{
	"quot": '"', "apos": '\'', "amp": '&', "lt": '<', "gt": '>', "nbsp": ' ', "colon": ':', "equals": '=', "lowbar": '_', "UnderBar": '_', "sol": '/', "plus": '+', "period": '.',
	"num": '#', "percnt": '%', "excl": '!', "commat": '@', "dollar": '$', "ast": '*', "quest": '?', "Tab": '\t', "NewLine": '\n', "hyphen": '-', "dash": '-', "ldquo": '"', "rdquo": '"', "semi": ';', "comma": ',',
}

func entity(text string) (size int, c byte, n int) {
	end := strings.IndexByte(text[:min(len(text), 12)], ';')
	if end < 0 {
		return 1, 0, -1
	}
	name := text[1:end]
	if c, ok := entities[name]; ok {
		return end + 1, c, 1
	}
	if name == "shy" || name == "zwnj" || name == "zwj" {
		return end + 1, 0, 0
	}
	code, ok := strings.CutPrefix(name, "#")
	if !ok {
		return 1, 0, -1
	}
	base := 10
	if hex := strings.TrimLeft(code, "xX"); hex != code {
		code, base = hex, 16
	}
	r, err := strconv.ParseUint(code, base, 21)
	if err != nil {
		return 1, 0, -1
	}
	if c, n = plain(rune(r)); n < 0 {
		return 1, 0, -1
	}
	return end + 1, c, n
}

// colourSize is the length of a terminal's command at the start of a text, 0 when
// there is none.
func colourSize(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := 2; i < min(len(text), 24); i++ {
		switch c := text[i]; {
		case digitByte(c) || c == ';':
		case letterByte(c):
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// border reports whether a token may begin at a place: no character of a word
// stands before it, or a terminal's command does.
func border(text string, at int) bool {
	if at == 0 || !wordByte(text[at-1]) {
		return true
	}
	esc := strings.LastIndexByte(text[max(0, at-24):at], 0x1b)
	if esc < 0 {
		return false
	}
	esc += max(0, at-24)
	return colourSize(text[esc:]) == at-esc
}
