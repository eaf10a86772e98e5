package recall

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// support decides whether a text says something about a query (G7), and which
// part of a long text to show.
type support struct {
	stems map[string]bool
}

func newSupport(query string) support {
	return support{stems: stemSet(words(query))}
}

func stemSet(ws []word) map[string]bool {
	set := map[string]bool{}
	for _, t := range appendTerms(nil, ws, false) {
		set[stem(t.raw)] = true
	}
	return set
}

// plain is a text's letters and digits, lower case.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, fold(text))
}

// supports is G7 for a hit of the index, which gives none that shares nothing
// with the query: itself, or between people through the turn beside it (a bare
// answer to a question).
func (s support) supports(c checked) bool {
	return !s.echo(c.text) && !(c.source.Role == dhruva.RoleAssistant && deniesMemory(c.text))
}

// echo reports a text that only asks the query again: a question at least half
// of whose words are the query's. A statement is never an echo: who asks with
// a statement's own words gets it back.
func (s support) echo(text string) bool {
	if !asksOnly(text) {
		return false
	}
	stems, shared := stemSet(words(text)), 0
	for st := range stems {
		if s.stems[st] {
			shared++
		}
	}
	return 2*shared >= len(stems)
}

// asksOnly reports a text that states nothing: every sentence of it asks.
func asksOnly(text string) bool {
	said := false
	for _, s := range sentences(text) {
		if len(stemSet(s.words)) == 0 {
			continue // "Hello!" states nothing either
		}
		if !s.question && !opensQuestion(s.words) {
			return false
		}
		said = true
	}
	return said
}

// opensQuestion reports a question that is written without its mark.
func opensQuestion(ws []word) bool {
	switch ws[0].text {
	case "what", "who", "whom", "whose", "where", "when", "why", "which", "how":
		return true
	case "remind", "tell", "can", "could", "do", "would":
		return len(ws) > 1 && (ws[1].text == "me" || ws[1].text == "you")
	}
	return false
}

// denials open an assistant's line that it remembers nothing; such a line is
// about the assistant, not about the question.
var denials = []string{
	"i don't have any memory", "i do not have any memory", "i don't have memory", "i have no memory",
	"i don't have any record", "i do not have any record", "i have no record", "i don't have access to previous",
	"i don't have access to our previous", "i don't recall", "i do not recall", "i don't remember", "i do not remember",
	"no memory found", "no memories found", "i couldn't find anything in memory", "i don't have any information about",
	"i do not have any information about", "i don't have information about", "there is no information",
}

func deniesMemory(text string) bool {
	head := strings.ToLower(strings.ReplaceAll(dhruva.Normalize(text), "’", "'"))
	if len(head) > 200 {
		head = head[:200]
	}
	return slices.ContainsFunc(denials, func(d string) bool { return strings.Contains(head, d) })
}

// span picks what to show of a text: all of it when short, else the run of
// sentences within limit bytes that shares most words with the query.
func (s support) span(text string, limit int) (start, end int) {
	if len(text) <= limit {
		return 0, len(text)
	}
	cuts := sentenceCuts(text, limit)
	gains := make([]int, len(cuts)-1)
	for i := range gains {
		for st := range stemSet(words(text[cuts[i]:cuts[i+1]])) {
			if s.stems[st] {
				gains[i]++
			}
		}
	}
	best, from, to := -1, 0, 1
	for i := range gains {
		sum, j := 0, i
		for j < len(gains) && cuts[j+1]-cuts[i] <= limit {
			sum += gains[j]
			j++
		}
		if j > i && sum > best {
			best, from, to = sum, i, j
		}
	}
	return trimSpan(text, cuts[from], cuts[to])
}

// sentenceCuts gives ascending byte offsets from 0 to len(text) at ends of
// sentences and lines, none further apart than limit.
func sentenceCuts(text string, limit int) []int {
	cuts := []int{0}
	last, prev := 0, rune(0)
	for i, r := range text {
		if i-last >= limit-utf8.UTFMax || i > last && (prev == '\n' || unicode.IsSpace(r) && strings.ContainsRune(".!?", prev) || strings.ContainsRune("。！？", prev)) {
			cuts = append(cuts, i)
			last = i
		}
		prev = r
	}
	return append(cuts, len(text))
}

func trimSpan(text string, start, end int) (int, int) {
	part := text[start:end]
	left := len(part) - len(strings.TrimLeftFunc(part, unicode.IsSpace))
	right := len(strings.TrimRightFunc(part, unicode.IsSpace))
	if left >= right {
		return start, end
	}
	return start + left, start + right
}
