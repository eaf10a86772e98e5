package llm

import (
	"encoding/json"
	"strings"
)

// JSON is the JSON value in a model's answer: the whole answer, else what stands
// in its Markdown fence, else the longest object among its prose. Nothing is
// repaired: an object with a trailing comma is none, and neither is one that the
// answer was cut in, nor a part of such a one.
func JSON(answer string) (json.RawMessage, bool) {
	answer = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(answer), "\ufeff"))
	for _, whole := range []string{answer, unfence(answer)} {
		if json.Valid([]byte(whole)) {
			return json.RawMessage(whole), true
		}
	}
	best := ""
	for rest := answer; ; {
		at := opening(rest)
		if at < 0 {
			break
		}
		size := balanced(rest[at:])
		if size < 0 {
			break
		}
		if object := rest[at : at+size]; len(object) > len(best) && json.Valid([]byte(object)) {
			best = object
		}
		rest = rest[at+size:]
	}
	return json.RawMessage(best), best != ""
}

// unfence takes the Markdown fence off an answer that is nothing else.
func unfence(s string) string {
	body, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s
	}
	body, ok = strings.CutSuffix(body, "```")
	_, body, nl := strings.Cut(body, "\n")
	if !ok || !nl {
		return s
	}
	return strings.TrimSpace(body)
}

// opening is where an object may begin: a brace before a quote or a closing
// brace. Other braces are prose. -1 when there is none.
func opening(s string) int {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '{')
		if i < 0 {
			return -1
		}
		at += i + 1
		inside := strings.TrimLeft(s[at:min(len(s), at+maxSpace)], " \t\r\n")
		if strings.HasPrefix(inside, `"`) || strings.HasPrefix(inside, "}") {
			return at - 1
		}
	}
}

// maxSpace bounds how much white space may follow an opening brace, so that the
// search stays linear.
const maxSpace = 256

// balanced is the length of the text that begins with a brace up to the brace
// that closes it, or -1. Braces within strings do not count.
func balanced(s string) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// NotJSON is the failure of an answer that should have been JSON. Nothing of the
// answer is repeated in it.
func NotJSON(provider string, finish Finish) *Error {
	switch finish {
	case FinishFilter:
		return NewError(provider, 200, "refused", "the model refused to answer", nil)
	case FinishLength:
		return NewError(provider, 200, CodeNotJSON, "the JSON answer was cut at the token limit", nil)
	}
	return NewError(provider, 200, CodeNotJSON, "the answer is not the JSON that was asked for", nil)
}

// CodeNotJSON is the Code of an Error whose answer came and cannot be read.
const CodeNotJSON = "not_json"
