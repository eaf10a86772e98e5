package redact

import "strings"

// follows are, for each letter, those that often stand behind it: 19 of 20 pairs
// of letters in English words and in the names of code are among them, and 3 of
// 8 of those that chance makes. Measured over the words of a language's library
// and of conversations.
var follows = [26]string{
	"bcdfgiklmnprstuvwxyz", "aeilorsuy", "acehiklortuy", "adegeilorsuy", "abcdefgilmnpqrstvwxy", "aefilorstu", "aeghilnorsuy",
	"aeiortuy", "abcdefgklmnoprstvxz", "aeou", "aeilnsy", "abdeilmostuvy", "abeimopsuy", "acdefgiklnostuvy", "abcdfgiklmnoprstuvwx",
	"aehiloprstuy", "u", "abcdegiklmnorstuvy", "acehiklmopqstuwy", "acehilorstuwy", "abcdefgilmnprst", "aeio", "aehinors", "aceipt", "eilmnopst", "aeio",
}

// strange is the share of a text's pairs of letters that words seldom have.
func strange(s string) float64 {
	pairs, odd := 0, 0
	for i := 1; i < len(s); i++ {
		a, b := s[i-1]|0x20, s[i]|0x20
		if !letterByte(s[i-1]) || !letterByte(s[i]) {
			continue
		}
		pairs++
		if !contains(follows[a-'a'], b) {
			odd++
		}
	}
	return float64(odd) / float64(max(1, pairs))
}

func contains(set string, c byte) bool {
	for i := range len(set) {
		if set[i] == c {
			return true
		}
	}
	return false
}

// soup reports whether letters alone look drawn by chance: they are no word, and
// no name made of words. Long names of code have capitals too, but their words
// are longer, and their letters follow each other as in words.
func soup(s string) bool {
	if len(s) < 8 || !onlyLetters(s) || strings.Contains("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", lower(s)) {
		return false
	}
	odd, words := strange(s), len(nameWords(s))
	switch p := profileOf(s); {
	case p.upper == 0, p.upper == len(s):
		return len(s) >= 16 && odd > 0.32 || len(s) >= 12 && odd > 0.4
	case len(s) < 12:
		return odd > 0.5 && len(s) < 3*words
	case len(s) < 3*words:
		return odd > 0.22
	case len(s) < 4*words:
		return odd > 0.28
	default:
		return odd > 0.34
	}
}

// made is a text that chance made: of letters and digits, or of letters alone.
func made(s string) bool { return random(s) || soup(s) }
