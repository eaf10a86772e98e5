package smriti

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/dhruva-memory/dhruva/agents"
)

// material is what a context pack is made of: the state of a checkpoint, or what
// was drawn from a transcript. Tasks that are done are not in it.
type material struct {
	title, objective, summary                          string
	decisions, assumptions, tasks, questions, entities []string
	pieces                                             []piece
}

// piece is a text that is kept word for word.
type piece struct{ label, language, text string }

// materialOf is the state of a commit.
func materialOf(c agents.Commit) material {
	m := material{
		title: c.Message, objective: c.Objective, summary: c.Summary,
		decisions: c.Decisions, assumptions: c.Assumptions, questions: c.OpenQuestions, entities: c.Entities,
	}
	for _, t := range c.Tasks {
		if !t.Done() {
			m.tasks = append(m.tasks, taskLine(t))
		}
	}
	for _, a := range c.Artifacts {
		m.pieces = append(m.pieces, piece{or(a.Label, "Artifact"), a.Type, a.Content})
	}
	return m
}

// taskLine is a task in words.
func taskLine(t agents.Task) string {
	var more []string
	if t.ID != "" {
		more = append(more, t.ID)
	}
	if t.Intent != "" {
		more = append(more, t.Intent)
	}
	if t.BlockedBy != "" {
		more = append(more, "blocked by "+t.BlockedBy)
	}
	if len(more) == 0 {
		return t.Text
	}
	return t.Text + " (" + strings.Join(more, ", ") + ")"
}

// The targets of context packs.
const (
	targetGeneric = "generic"
	targetChatGPT = "chatgpt"
	targetClaude  = "claude"
	targetCursor  = "cursor"
)

// pack renders material for a tool.
func pack(target string, m material) string {
	switch target {
	case targetChatGPT:
		return prosePack(m)
	case targetClaude:
		return xmlPack(m)
	case targetCursor:
		return checklistPack(m)
	}
	return markdownPack(m)
}

// list is a part of a pack.
type list struct {
	tag, item, heading, sentence string
	items                        []string
}

func (m material) lists() []list {
	return []list{
		{"decisions", "decision", "Decisions", "These decisions were made and hold", m.decisions},
		{"assumptions", "assumption", "Assumptions", "We rely on these assumptions", m.assumptions},
		{"tasks", "task", "Open tasks", "This is still to be done", m.tasks},
		{"open_questions", "question", "Open questions", "These questions are open", m.questions},
		{"entities", "entity", "Key entities", "", m.entities},
	}
}

// prosePack is for ChatGPT: sentences that a person would paste.
func prosePack(m material) string {
	var out []string
	opening := "I am continuing earlier work, and this is where it stands."
	if m.title != "" {
		opening = fmt.Sprintf("I am continuing earlier work, %q, and this is where it stands.", oneLine(m.title))
	}
	out = append(out, opening)
	if m.objective != "" {
		out = append(out, "The objective: "+plain(m.objective))
	}
	if m.summary != "" {
		out = append(out, plain(m.summary))
	}
	for _, l := range m.lists() {
		switch {
		case len(l.items) == 0:
		case l.sentence == "":
			out = append(out, "It is about "+strings.Join(each(l.items, oneLine), ", ")+".")
		default:
			out = append(out, l.sentence+":\n"+bullets("- ", l.items))
		}
	}
	for _, p := range m.pieces {
		out = append(out, oneLine(p.label)+":\n\n"+fenced(p))
	}
	return strings.Join(append(out, "Please go on from here."), "\n\n") + "\n"
}

// xmlPack is for Claude: a tag for each part. Nothing in the texts is a tag.
func xmlPack(m material) string {
	var b strings.Builder
	b.WriteString("<context>\n")
	for _, f := range []struct{ tag, text string }{{"title", m.title}, {"objective", m.objective}, {"summary", m.summary}} {
		if f.text != "" {
			fmt.Fprintf(&b, "<%s>%s</%s>\n", f.tag, escaped(f.text), f.tag)
		}
	}
	for _, l := range m.lists() {
		if len(l.items) == 0 {
			continue
		}
		fmt.Fprintf(&b, "<%s>\n", l.tag)
		for _, i := range l.items {
			fmt.Fprintf(&b, "  <%s>%s</%s>\n", l.item, escaped(i), l.item)
		}
		fmt.Fprintf(&b, "</%s>\n", l.tag)
	}
	if len(m.pieces) > 0 {
		b.WriteString("<artifacts>\n")
		for _, p := range m.pieces {
			fmt.Fprintf(&b, "  <artifact label=\"%s\" type=\"%s\">\n%s\n  </artifact>\n", quotedAttr(p.label), quotedAttr(p.language), escaped(p.text))
		}
		b.WriteString("</artifacts>\n")
	}
	b.WriteString("</context>\n")
	return b.String()
}

// checklistPack is for Cursor: what is to be done, to be ticked off.
func checklistPack(m material) string {
	var out []string
	out = append(out, "# "+or(oneLine(m.title), "Context"))
	if m.objective != "" {
		out = append(out, "Goal: "+plain(m.objective))
	}
	for _, l := range []struct {
		heading, bullet string
		items           []string
	}{
		{"To do", "- [ ] ", m.tasks}, {"Decided", "- [x] ", m.decisions}, {"Taken for granted", "- ", m.assumptions},
		{"To be answered", "- [ ] ", m.questions}, {"Names", "- ", m.entities},
	} {
		if len(l.items) > 0 {
			out = append(out, "## "+l.heading+"\n\n"+bullets(l.bullet, l.items))
		}
	}
	if m.summary != "" {
		out = append(out, "## Background\n\n"+plain(m.summary))
	}
	return strings.Join(append(out, pieces(m.pieces)...), "\n\n") + "\n"
}

// markdownPack is for whatever else.
func markdownPack(m material) string {
	var out []string
	out = append(out, "# "+or(oneLine(m.title), "Context"))
	for _, f := range []struct{ heading, text string }{{"Objective", m.objective}, {"Summary", m.summary}} {
		if f.text != "" {
			out = append(out, "## "+f.heading+"\n\n"+plain(f.text))
		}
	}
	for _, l := range m.lists() {
		if len(l.items) > 0 {
			out = append(out, "## "+l.heading+"\n\n"+bullets("- ", l.items))
		}
	}
	return strings.Join(append(out, pieces(m.pieces)...), "\n\n") + "\n"
}

func pieces(all []piece) (out []string) {
	if len(all) > 0 {
		out = append(out, "## Artifacts")
	}
	for _, p := range all {
		out = append(out, "### "+or(oneLine(p.label), "Artifact")+"\n\n"+fenced(p))
	}
	return out
}

// bullets are items, each of whose further lines is indented.
func bullets(mark string, items []string) string {
	var out []string
	for _, i := range items {
		out = append(out, mark+strings.ReplaceAll(strings.TrimSpace(i), "\n", "\n  "))
	}
	return strings.Join(out, "\n")
}

// marked begins a line that would be a heading, a fence or a rule.
var marked = regexp.MustCompile("(?m)^(\\s{0,3})(#|```|~~~|---|===)")

// plain is a text whose lines are no headings.
func plain(text string) string { return marked.ReplaceAllString(strings.TrimSpace(text), `$1\$2`) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

var ticks = regexp.MustCompile("`{3,}")

// fenced is a text between fences that it does not hold.
func fenced(p piece) string {
	fence := "```"
	for _, run := range ticks.FindAllString(p.text, -1) {
		if len(run) >= len(fence) {
			fence = strings.Repeat("`", len(run)+1)
		}
	}
	return fence + strings.Trim(oneLine(p.language), "`") + "\n" + strings.TrimRight(p.text, "\n") + "\n" + fence
}

func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(strings.TrimSpace(text))
}

func quotedAttr(text string) string { return strings.ReplaceAll(escaped(oneLine(text)), `"`, "&quot;") }

func each[A, B any](in []A, f func(A) B) []B {
	out := make([]B, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}
