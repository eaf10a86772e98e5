package echo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	prefix = "Echo: "
	// created is the time in every answer: a clock would make answers differ.
	created = 1767225600 // 2026-01-01T00:00:00Z
	// pieceRunes is the length of a streamed piece at most, unless the text is
	// so long that there would be more than maxPieces.
	pieceRunes = 16
	maxPieces  = 512
	// maxSchema bounds a schema: providers refuse large ones too.
	maxSchema = 256 << 10
)

// format is how an answer has to be shaped, from any dialect's field for it.
type format struct {
	json   bool
	schema json.RawMessage
}

// newFormat reads a format's type and schema.
func newFormat(typ string, schema json.RawMessage) (format, error) {
	switch typ {
	case "", "text":
		return format{}, nil
	case "json_object":
		return format{json: true}, nil
	case "json_schema":
		var object map[string]json.RawMessage
		if len(schema) > maxSchema {
			return format{}, refusal(http.StatusBadRequest, "schema", "the schema is too large.")
		}
		if json.Unmarshal(schema, &object) != nil || object == nil {
			return format{}, refusal(http.StatusBadRequest, "schema", "the schema must be a JSON object.")
		}
		return format{json: true, schema: schema}, nil
	}
	return format{}, refusal(http.StatusBadRequest, "type", "this response format does not exist.")
}

// reply is the answer to a text.
func reply(user string, f format) string {
	switch {
	case len(f.schema) > 0:
		return string(fromSchema(f.schema, user))
	case f.json:
		return string(obj("echo", user))
	}
	return prefix + user
}

// id is a deterministic id: a hash of the route and the body.
func (c call) id(prefix string) string {
	h := sha256.New()
	h.Write([]byte(c.req.URL.Path + "\x00"))
	h.Write(c.body)
	return prefix + hex.EncodeToString(h.Sum(nil)[:12])
}

// tokens estimates a text's tokens: a quarter of its runes, rounded up.
func tokens(s string) int { return (utf8.RuneCountInString(s) + 3) / 4 }

// pieces cuts an answer into what a stream delivers one by one: words with the
// space behind them, long words cut on rune borders.
func pieces(s string) []string {
	limit := max(pieceRunes, (utf8.RuneCountInString(s)+maxPieces-1)/maxPieces)
	var out []string
	for s != "" {
		n := pieceEnd(s, limit)
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// pieceEnd is the end of the first piece of s: after the last space within
// limit runes, or after limit runes.
func pieceEnd(s string, limit int) int {
	runes, space := 0, 0
	for i, r := range s {
		if runes == limit {
			if space > 0 {
				return space
			}
			return i
		}
		runes++
		if r == ' ' || r == '\n' {
			space = i + 1
		}
	}
	// A short answer still comes in more than one piece.
	if strings.HasPrefix(s, prefix) && len(s) > len(prefix) {
		return len(prefix)
	}
	return len(s)
}
