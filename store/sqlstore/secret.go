package sqlstore

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// secrets are texts of a URL that no error may show, in every form in which they
// may stand there.
type secrets struct {
	texts []string
	// shown are names that are no secret where they stand as a word, even when a
	// password is the same.
	shown []string
}

// mask stands for a secret, shortest is how long one is that is masked where it
// stands as a word; a shorter one only where a URL has its secrets.
const (
	mask     = "xxxxx"
	shortest = 4
)

// secretsOf are those of a URL.
func secretsOf(u *url.URL) (s secrets) {
	if p, ok := u.User.Password(); ok {
		s.add(p)
		if _, raw, ok := strings.Cut(u.User.String(), ":"); ok {
			s.add(raw)
		}
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if secretName(name) {
				s.add(v)
			}
		}
	}
	s.shown = []string{u.User.Username(), u.Hostname(), strings.TrimPrefix(u.Path, "/")}
	return s
}

func secretName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "password") || strings.Contains(name, "secret") || strings.Contains(name, "token")
}

// add puts in a text as it is meant, and as URLs write it.
func (s *secrets) add(text string) {
	for _, form := range []string{text, url.QueryEscape(text), url.PathEscape(text), url.UserPassword("", text).String()[1:]} {
		if form != "" && !slices.Contains(s.texts, form) {
			s.texts = append(s.texts, form)
		}
	}
}

// redact masks the secrets of a text in one pass, so that what it has written is
// never looked at. A secret that is a part of a longer word is none.
func (s secrets) redact(text string) string {
	var out strings.Builder
	for at := 0; at < len(text); {
		longest := 0
		for _, secret := range s.texts {
			if len(secret) > longest && strings.HasPrefix(text[at:], secret) && s.stands(text, at, secret) {
				longest = len(secret)
			}
		}
		if longest > 0 {
			out.WriteString(mask)
			at += longest
			continue
		}
		out.WriteByte(text[at])
		at++
	}
	return out.String()
}

// stands: the text at this place is the secret, and not something that looks so.
func (s secrets) stands(text string, at int, secret string) bool {
	before, after := text[:at], text[at+len(secret):]
	if strings.HasSuffix(before, ":") && strings.HasPrefix(after, "@") || strings.HasSuffix(before, "=") && secretName(lastWord(before[:at-1])) {
		return true
	}
	first, _ := utf8.DecodeRuneInString(secret)
	last, _ := utf8.DecodeLastRuneInString(secret)
	left, _ := utf8.DecodeLastRuneInString(before)
	right, _ := utf8.DecodeRuneInString(after)
	inWord := inWord(first) && inWord(left) || inWord(last) && inWord(right)
	return utf8.RuneCountInString(secret) >= shortest && !inWord && !slices.Contains(s.shown, secret)
}

// inWord: the character is one of a word's; what is none at all is not.
func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

func lastWord(text string) string {
	return text[strings.LastIndexFunc(text, func(r rune) bool { return !inWord(r) })+1:]
}
