package agents

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// maxRef bounds the name of a branch, in bytes: it is the name of a file too.
const maxRef = 200

// checkRef is the rule of git check-ref-format for a branch, and a little more:
// no name is taken for an option, and none holds a character that is not seen.
func checkRef(what, name string) error {
	switch reason := badRef(name); reason {
	case "":
		return nil
	default:
		return fmt.Errorf("%w: %s %q %s", dhruva.ErrInvalid, what, cut(name, 80), reason)
	}
}

func badRef(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxRef:
		return fmt.Sprintf("has %d bytes, the limit is %d", len(name), maxRef)
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.HasPrefix(name, "-"):
		return "begins with a dash"
	case name == "@" || strings.EqualFold(name, "HEAD"):
		return "means something else to git"
	case strings.Contains(name, "..") || strings.Contains(name, "@{"):
		return `holds ".." or "@{"`
	case strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.ContainsFunc(name, unseen):
		return "holds a character that git or people could not tell"
	case strings.HasSuffix(name, "."):
		return "ends in a dot"
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return `has an empty part, one that begins with a dot, or one that ends in ".lock"`
		}
	}
	return ""
}

func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// slug is a name as part of a branch and of a path: small letters and digits of
// ASCII, and dashes between them.
func slug(name, otherwise string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
		if b.Len() >= 40 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return otherwise
}
