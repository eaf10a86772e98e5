package smriti

import (
	"regexp"
	"strings"
	"unicode"
)

// The roles of a transcript's messages.
const (
	roleHuman     = "human"
	roleAssistant = "assistant"
	roleUnknown   = "unknown"
)

// Message is one message of a transcript that was pasted.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// format recognises one way to write a conversation down: where a line begins a
// message it gives its role and what of the message stands on that line.
type format struct {
	name  string
	start func(line string) (role, rest string, ok bool)
}

// formats stand in the order in which they are tried.
func formats() []format {
	return []format{
		{"role", startsRole}, {"said", startsSaid}, {"bold", startsBold}, {"tag", startsTag}, {"bare", startsBare},
	}
}

// roleOf is the role of a speaker's name; false when it names none.
func roleOf(name string) (string, bool) {
	switch strings.ToLower(strings.Join(strings.Fields(name), " ")) {
	case "user", "human", "you", "me", "question", "q", "prompt":
		return roleHuman, true
	case "assistant", "ai", "bot", "model", "answer", "a", "chatgpt", "gpt", "gpt-3.5", "gpt-4", "gpt-4o", "gpt-5", "o1", "o3",
		"claude", "gemini", "copilot", "github copilot", "cursor", "llama", "mistral", "deepseek", "grok", "perplexity":
		return roleAssistant, true
	}
	return "", false
}

var (
	roleLine = regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9 .\-]{0,23}):(?:\s+(.*))?$`)
	saidLine = regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9 .\-]{0,23}) said:\s*(.*)$`)
	boldLine = regexp.MustCompile(`^\s*(?:\*\*|__)([A-Za-z][A-Za-z0-9 .\-]{0,23})(?::(?:\*\*|__)|(?:\*\*|__)\s*:)\s*(.*)$`)
	tagLine  = regexp.MustCompile(`^\s*<([A-Za-z][A-Za-z0-9.\-]{0,23})>\s*(.*)$`)
	tagEnd   = regexp.MustCompile(`(?i)\s*</([A-Za-z][A-Za-z0-9.\-]{0,23})>\s*$`)
)

func startsRole(line string) (string, string, bool) { return starts(roleLine, line) }

// startsSaid: a speaker's name may be any, as long as it says something.
func startsSaid(line string) (string, string, bool) { return starts(saidLine, line) }

func startsBold(line string) (string, string, bool) { return starts(boldLine, line) }

func startsTag(line string) (string, string, bool) { return starts(tagLine, line) }

func starts(re *regexp.Regexp, line string) (role, rest string, ok bool) {
	m := re.FindStringSubmatch(line)
	if m == nil {
		return "", "", false
	}
	role, ok = roleOf(m[1])
	return role, m[2], ok
}

// startsBare: a line that is a name and nothing else.
func startsBare(line string) (string, string, bool) {
	name := strings.TrimSpace(line)
	if len(name) < 2 || len(name) > 24 {
		return "", "", false
	}
	role, ok := roleOf(name)
	return role, "", ok
}

// ParseTranscript splits a pasted conversation into its messages, by the first
// of five formats that one of its lines has: "Role:", "You said:", "**Role**:",
// "<role>", and a role alone on a line. What none fits is one message of an
// unknown role, as is what stands before the first line that fits. It never
// fails; blank text has no messages.
func ParseTranscript(text string) []Message {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	for _, f := range formats() {
		if found, ok := f.split(lines); ok {
			return found
		}
	}
	return appendMessage(nil, roleUnknown, lines)
}

// split is the conversation in one format; false when no line begins a message.
func (f format) split(lines []string) (out []Message, ok bool) {
	role, said := roleUnknown, []string(nil)
	for _, line := range lines {
		next, rest, starts := f.start(line)
		if !starts {
			said = append(said, line)
			continue
		}
		out = f.message(out, role, said)
		role, said, ok = next, []string{rest}, true
	}
	return f.message(out, role, said), ok
}

func (f format) message(out []Message, role string, said []string) []Message {
	if f.name == "tag" && role != roleUnknown {
		said = untagged(said)
	}
	return appendMessage(out, role, said)
}

// untagged is a message without the tag that ends it.
func untagged(said []string) []string {
	text := strings.TrimRightFunc(strings.Join(said, "\n"), unicode.IsSpace)
	if m := tagEnd.FindStringSubmatchIndex(text); m != nil {
		if _, known := roleOf(text[m[2]:m[3]]); known {
			text = text[:m[0]]
		}
	}
	return strings.Split(text, "\n")
}

// appendMessage adds a message that says something.
func appendMessage(out []Message, role string, said []string) []Message {
	text := strings.TrimSpace(strings.Join(said, "\n"))
	if text == "" {
		return out
	}
	return append(out, Message{role, text})
}

// letter: of a name as it stands in an address.
func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
