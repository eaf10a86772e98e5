package redact

import (
	"slices"
	"strings"
)

// secret judges a value by what its name announces, by how it was given and by
// how it looks.
func (v value) secret(what class, how tie) bool {
	if stands(v.text) || len(v.text) > maxToken {
		return false
	}
	if strings.ContainsAny(v.text, " \t") {
		return what == phrases && v.quoted && strings.Count(v.text, " ") >= 2
	}
	if !v.quoted && expression(v.text) || pathLike(v.text) {
		return false
	}
	if what == tokens {
		return v.token(how)
	}
	return v.password(how)
}

// token: made at random, and long enough to tell.
func (v value) token(how tie) bool {
	least := 8
	if how == spoken || v.below {
		least = 16
	}
	if how == listed {
		least = 12
	}
	return len(v.text) >= least && (random(v.text) || len(v.text) >= 16 && soup(v.text))
}

// password: chosen by a person. A word alone is taken for one only where it
// stands as a value does.
func (v value) password(how tie) bool {
	p := profileOf(v.text)
	mixed := p.letters > 0 && (p.digits > 0 || p.signs > 0)
	switch {
	case soup(v.text) && (p.upper > 0 || v.quoted || v.alone || how == option):
		return true
	case how == listed:
		return len(v.text) >= 6 && mixed && p.digits > 0 && !kebab(v.text) && !typeLike(v.text)
	case how == spoken || v.below:
		return len(v.text) >= 6 && (mixed && !kebab(v.text) || p.letters == 0 && p.digits >= 6 && p.signs == 0) ||
			v.quoted && len(v.text) >= 4 && !slices.Contains(values, lower(v.text))
	case p.letters == 0:
		return p.digits >= 4 && !dateLike(v.text)
	case mixed && !kebab(v.text):
		return len(v.text) >= 4 && (v.quoted || !typeLike(v.text))
	case len(v.text) < 5 || slices.Contains(values, lower(v.text)) || strings.Contains(lower(v.text), "pass"):
		return false
	case v.quoted:
		return !capitalised(v.text) && !camel(v.text)
	}
	return v.alone && len(v.text) >= 6 && lower(v.text) == v.text
}

// profile counts the characters of a text. signs are what is neither letter nor
// digit nor joins words.
type profile struct {
	letters, upper, digits, signs, joints int
	// turns counts where letters and digits, or cases, change.
	turns int
}

func profileOf(s string) (p profile) {
	last := byte(0)
	for i := range len(s) {
		c, sort := s[i], byte('s')
		switch {
		case letterByte(c):
			p.letters++
			if sort = 'l'; upper(c) {
				p.upper++
				sort = 'u'
			}
		case digitByte(c):
			p.digits++
			sort = 'd'
		case c == '-' || c == '_' || c == '.':
			p.joints++
			sort = 'j'
		default:
			p.signs++
		}
		if last != 0 && sort != last && sort != 'j' && last != 'j' {
			p.turns++
		}
		last = sort
	}
	return p
}

// random reports whether a text looks made by a machine: letters and digits
// mixed, no words put together, no version, date or file.
func random(s string) bool {
	if len(s) < 8 || strings.HasPrefix(s, "0x") && len(s) <= 18 || pathLike(s) || dateLike(s) || kebab(s) || wordy(s) {
		return false
	}
	p := profileOf(s)
	if p.letters+p.digits < len(s)*2/3 || strings.ContainsFunc(s, func(r rune) bool { return r > '~' || r < '!' }) {
		return false
	}
	e := entropy(s)
	switch {
	case p.letters == 0:
		return len(s) >= 24 && e > 2.5 && p.joints == 0
	case p.digits < 2 && p.turns*2 >= len(s): // cases change as they do by chance
		return (p.digits == 1 || len(s) >= 16) && p.upper > 1 && p.upper < p.letters-1 && e > 2.5
	case p.digits == 0:
		return len(s) >= 20 && p.upper > 2 && p.upper < p.letters-2 && p.turns > len(s)/4 && e > 3.5
	case p.digits == 1 && len(s) >= 16:
		return p.turns*5 >= len(s)*2 && e > 2.8
	case len(s) < 16:
		return p.digits >= 2 && p.turns >= 3 && e > 2.5
	case len(s) < 24:
		return p.digits >= 2 && p.turns >= 3 && e > 2.8
	}
	return p.turns >= 4 && e > 3
}

// kebab: words, numbers and marks put together, as in "my-service-v2" or
// "release_2024": every part is letters in one case or capitalised, or digits.
func kebab(s string) bool {
	words, parts := 0, 0
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '-' || r == '_' || r == '.' || r == '/' || r == ':' }) {
		parts++
		switch {
		case digits(part) && len(part) < 9:
		case onlyLetters(part) && (lower(part) == part || strings.ToUpper(part) == part || capitalised(part)):
			if len(part) > 1 {
				words++
			}
		case versionPart(part):
		default:
			return false
		}
	}
	return parts > 1 && words > 0
}

// wordy: an identifier of words, as in "getUserById2" or "base64Encoded": most
// of it is what could be said, and its words are not as short as chance makes them.
func wordy(s string) bool {
	said, letters, words := 0, 0, 0
	for _, w := range nameWords(s) {
		if w = strings.Trim(w, "0123456789"); !onlyLetters(w) {
			continue
		}
		words, letters = words+1, letters+len(w)
		if sayable(w) {
			said += len(w)
		}
	}
	return letters >= 4*words && said*20 >= len(s)*13
}

// sayable: vowels among the consonants, as in a word.
func sayable(w string) bool {
	vowels, run, longest := 0, 0, 0
	for i := range len(w) {
		if strings.IndexByte("aeiouy", w[i]) >= 0 {
			vowels, run = vowels+1, 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return len(w) > 2 && longest <= 4 && vowels*6 >= len(w)
}

func onlyLetters(s string) bool {
	for i := range len(s) {
		if !letterByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func capitalised(s string) bool {
	return onlyLetters(s) && upper(s[0]) && lower(s[1:]) == s[1:]
}

// camel: "newPassword", an identifier and no value.
func camel(s string) bool {
	return onlyLetters(s) && lower(s) != s && strings.ToUpper(s) != s && len(nameWords(s)) > 1
}

// typeLike: the name of a type that has a number in it, as in "Uint8Array".
func typeLike(s string) bool {
	return nameLike(s) && letterByte(s[len(s)-1]) && len(nameWords(s)) > 1 && wordy(s)
}

// versionPart: "v2", "3rd", "x86", "aws4".
func versionPart(s string) bool {
	trimmed := strings.Trim(s, "0123456789")
	return len(s) <= 7 && len(s)-len(trimmed) <= 4 && onlyLetters(trimmed) && (lower(s) == s || strings.ToUpper(s) == s)
}

// dateLike: digits and what stands between them in dates, times, versions,
// telephone numbers and sums.
func dateLike(s string) bool {
	marks, others := 0, 0
	for i := range len(s) {
		switch {
		case digitByte(s[i]):
		case strings.IndexByte("-/.:,+TZv ", s[i]) >= 0:
			marks++
		default:
			others++
		}
	}
	return marks > 0 && others == 0
}

// pathLike: a path, an address or the name of a file.
func pathLike(s string) bool {
	switch {
	case strings.Contains(s, "://"), strings.HasPrefix(s, "./"), strings.HasPrefix(s, "../"), strings.HasPrefix(s, "~/"):
		return true
	case len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/'):
		return true
	case strings.HasPrefix(s, "/"):
		return onlyLetters(s[1:]) || kebab(s) || strings.Count(s, "/") > 1 && strings.Count(s, "/")*16 >= len(s) && !strings.ContainsAny(s, "+=")
	}
	dot := strings.LastIndexByte(s, '.')
	return dot > 0 && len(s)-dot <= 5 && onlyLetters(s[dot+1:]) && lower(s[dot:]) == s[dot:] && !strings.ContainsAny(s, "!@#$%^&*=+")
}

// expression: code that stands where a value might: a call, an element, a field.
func expression(s string) bool {
	if empty, ok := strings.CutSuffix(s, "="); ok && onlyLetters(empty) { // the next setting: this one has no value
		return true
	}
	if bare := strings.TrimLeft(s, "!&*"); bare != s {
		if s = bare; onlyLetters(s) {
			return true
		}
	}
	if i := strings.IndexAny(s, "([{"); i > 0 && nameLike(s[:i]) {
		return true
	}
	if strings.HasPrefix(s, openMark) { // of no known kind
		return false
	}
	if strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") || strings.HasPrefix(s, "(") {
		return true
	}
	dot := strings.LastIndexByte(s, '.')
	if dot < 0 || !nameLike(s) {
		return false
	}
	return profileOf(s).digits == 0 || kebab(s) || wordy(s) || camel(s[dot+1:]) || wordy(s[dot+1:])
}

func nameLike(s string) bool {
	for i := range len(s) {
		if !wordByte(s[i]) && s[i] != '.' && s[i] != '$' && s[i] != '-' {
			return false
		}
	}
	return s != "" && !digitByte(s[0])
}

// stands reports what stands for a value and is none: a variable, a mask, a
// word in angle brackets, three dots.
func stands(s string) bool {
	if s == "" {
		return true
	}
	switch {
	case s[0] == '$' && (len(s) == 1 || s[1] == '{' || s[1] == '(' || nameLike(s[1:]) || digits(s[1:])):
		return true
	case s[0] == '<' || s[0] == '%' && len(s) > 2 && s[len(s)-1] == '%':
		return true
	case strings.HasPrefix(s, "{{") || strings.HasPrefix(s, "${") || strings.HasPrefix(s, "#{"):
		return true
	}
	l := lower(s[:min(len(s), 64)])
	if slices.Contains(values, l) || slices.Contains(values, strings.Trim(l, "[]<>(){}*_-")) || strings.Count(l, l[:1]) == len(l) {
		return true
	}
	for _, word := range []string{"…", "...", "***", "•••", "placeholder", "changeme", "change-me", "change_me", "xxxx", "process.env", "os.environ", "getenv"} {
		if strings.Contains(l, word) {
			return true
		}
	}
	if strings.HasSuffix(s, "EXAMPLE") || strings.HasSuffix(s, "EXAMPLEKEY") { // as the makers' documents have them
		return true
	}
	for _, word := range []string{"example", "your", "replace", "dummy", "todo", "insert", "sample"} {
		if i := strings.Index(l, word); i >= 0 && !made(l[:i]+l[i+len(word):]) && !made(s[:i]) && !made(s[i+len(word):]) && !chosen(s[:i]+s[i+len(word):]) {
			return true
		}
	}
	return false
}

// chosen: letters of both cases, digits and signs, none of which joins words: a
// password as rules for passwords ask for.
func chosen(s string) bool {
	p := profileOf(s)
	return len(s) >= 8 && p.upper > 0 && p.upper < p.letters && p.digits > 1 && p.signs > 0 && p.joints == 0 && !strings.ContainsAny(s, "<>{}[]$")
}

// values are words that are said of secrets, or stand where one would.
var values = []string{
	"none", "null", "nil", "true", "false", "undefined", "empty", "required", "optional", "string", "str", "text", "int", "integer", "number", "bool", "boolean",
	"object", "array", "any", "void", "unknown", "invalid", "incorrect", "wrong", "expired", "missing", "valid", "correct", "password", "passwd", "passwort", "pass",
	"pwd", "secret", "token", "key", "apikey", "api_key", "test", "testing", "fake", "hidden", "masked", "yes", "no", "on", "off", "default", "value", "input",
	"output", "user", "username", "email", "name", "here", "there", "mine", "enabled", "disabled", "set", "unset", "same", "the", "this", "that", "not", "protected",
	"encrypted", "hashed", "plaintext", "plain", "reset", "forgot", "forgotten", "strong", "weak", "secure", "insecure", "safe", "unique", "private", "public",
	"bearer", "basic", "oauth", "oauth2", "jwt", "field", "form", "prompt", "hash", "salt", "bcrypt", "argon2", "sha256", "base64", "generated", "random", "too",
	"also", "and", "or", "but", "with", "without", "from", "stored", "sent", "used", "needed", "access", "data", "request", "response", "config", "settings", "env",
	"environment", "vault", "manager", "rotation", "policy", "length", "minimum", "characters", "please", "check", "change", "changed", "update", "updated", "new",
	"old", "current", "confirm", "confirmation", "enter", "login", "account", "service", "server", "client", "redacted", "removed", "my-secret", "mysecret", "mypassword",
}
