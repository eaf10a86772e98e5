package memory

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/dhruva-memory/dhruva"
)

// The prompt of Send. One golden file (testdata/prompt.golden) fixes the words;
// state-plane: prompt layout.
const opening = "You are continuing a conversation."

// sectionEvidence names the section that recall made.
const sectionEvidence = "evidence"

// artifactRunes bounds one artifact in a prompt.
const artifactRunes = 2000

// prompt collects the sections of a prompt in order.
type prompt struct {
	sections []Section
}

func (p *prompt) add(name, title, body string) {
	if body == "" {
		return
	}
	text := body
	if title != "" {
		text = title + "\n" + body
	}
	p.sections = append(p.sections, Section{Name: name, Text: text, Tokens: dhruva.Estimate(text)})
}

// String is the prompt as the model gets it.
func (p *prompt) String() string {
	texts := make([]string, len(p.sections))
	for i, s := range p.sections {
		texts[i] = s.Text
	}
	return strings.Join(texts, "\n\n")
}

func (p *prompt) tokens() (n int) {
	for _, s := range p.sections {
		n += s.Tokens
	}
	return n
}

// checkpoint adds the sections of the n-th checkpoint shown, oldest first.
func (p *prompt) checkpoint(n int, c *dhruva.Checkpoint) {
	title := func(of string) string { return fmt.Sprintf("Checkpoint %d %s:", n, of) }
	name := "checkpoint " + c.Hash.Short()
	p.add(name, title("Summary"), contained(c.Text(dhruva.KindSummary)))
	p.add(name, title("Key Decisions"), bullets(c.Of(dhruva.KindDecision)))
	p.add(name, title("Key Assumptions"), bullets(c.Of(dhruva.KindAssumption)))
	p.add(name, title("Open Tasks"), bullets(openTasks(c)))
	p.add(name, title("Attached Artifacts"), artifacts(c.Of(dhruva.KindArtifact)))
}

func bullets(items []dhruva.Item) string {
	var lines []string
	for _, i := range items {
		if i.Redacted || i.Text == "" {
			continue
		}
		lines = append(lines, "- "+continued(i.Text))
	}
	return strings.Join(lines, "\n")
}

func artifacts(items []dhruva.Item) string {
	var out []string
	for _, i := range items {
		if i.Redacted || i.Text == "" {
			continue
		}
		label := i.Attr(dhruva.AttrLabel)
		if label == "" {
			label = i.Attr(dhruva.AttrType)
		}
		out = append(out, "["+continued(label)+"]:\n"+contained(cut(i.Text, artifactRunes)))
	}
	return strings.Join(out, "\n")
}

// withinBudget leaves out of checkpoints, which stand oldest first, the artifacts
// that a budget of tokens has no room for: the newest checkpoint's come first, and
// whole ones only. It tells how many there were.
func withinBudget(shown []dhruva.Checkpoint, tokens int) (left int) {
	for n := len(shown) - 1; n >= 0; n-- {
		var kept []dhruva.Item
		for _, i := range shown[n].Items {
			if i.Kind == dhruva.KindArtifact && !i.Redacted {
				cost := dhruva.Estimate(cut(i.Text, artifactRunes)) + dhruva.MessageOverhead
				if cost > tokens {
					left++
					continue
				}
				tokens -= cost
			}
			kept = append(kept, i)
		}
		shown[n].Items = kept
	}
	return left
}

func (p *prompt) evidence(ev []dhruva.Evidence) {
	var lines []string
	for i, e := range ev {
		lines = append(lines, evidenceLine(i+1, e))
	}
	p.add(sectionEvidence, "Recalled Evidence:", strings.Join(lines, "\n"))
}

func (p *prompt) history(turns []dhruva.Turn, cut int) {
	var lines []string
	if cut > 0 {
		lines = append(lines, fmt.Sprintf("[%d earlier turns are left out.]", cut))
	}
	for _, t := range turns {
		who := "User: "
		if t.Role == dhruva.RoleAssistant {
			who = "Assistant: "
		}
		lines = append(lines, who+continued(t.Content))
	}
	p.add("turns", "Recent Conversation:", strings.Join(lines, "\n"))
}

// headings are the lines that structure a prompt; content must not fake one.
var headings = regexp.MustCompile(`(?i)^\s*(you are continuing a conversation|checkpoint \[?\d+\]? |recalled evidence:|recent conversation:|user query:|user:|assistant:)`)

// contained breaks lines of a text that look like headings.
func contained(text string) string { return broken(text, headings) }

// broken breaks lines of a text that look like parts of a frame.
func broken(text string, frame *regexp.Regexp) string {
	lines := strings.Split(strings.TrimSpace(plainLines(text)), "\n")
	for i, l := range lines {
		if frame.MatchString(seen(l)) {
			lines[i] = "  > " + l
		}
	}
	return strings.Join(lines, "\n")
}

// seen is a line as its reader sees it: white space of all kinds is one space, wide
// letters are letters, and what shows nothing is not there.
func seen(line string) string {
	line = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, line)
	return strings.Join(strings.Fields(norm.NFKC.String(line)), " ")
}

// continued is a text after a label: its later lines are indented.
func continued(text string) string { return indented(text, headings) }

func indented(text string, frame *regexp.Regexp) string {
	first, rest, more := strings.Cut(strings.TrimSpace(plainLines(text)), "\n")
	if !more {
		return first
	}
	return first + "\n  " + strings.ReplaceAll(broken(rest, frame), "\n", "\n  ")
}

// cut bounds a text in runes and says so.
func cut(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i] + "\n[cut here]"
		}
		n++
	}
	return text
}
