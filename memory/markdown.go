package memory

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// A checkpoint as a Markdown document, and back (parse.go). The form is made to
// be written by hand as well:
//
//	# Title
//
//	## Objective, ## Summary: text
//
//	## Decisions, ## Assumptions, ## Open questions, ## Entities: a bullet each
//
//	## Tasks: - [ ] or - [x], with id, intent and blocked by as bullets within
//
//	## Artifacts: ### label, then a fenced block, with its type as the language
//
// Ids of items, cites and the lineage are not part of it.

// sections are the headings, by kind, in order; the first name is the one written.
func sections() []section {
	return []section{
		{dhruva.KindObjective, []string{"Objective", "Current objective", "Goal"}},
		{dhruva.KindSummary, []string{"Summary", "Where we are", "Overview"}},
		{dhruva.KindDecision, []string{"Decisions", "Key decisions"}},
		{dhruva.KindAssumption, []string{"Assumptions", "Key assumptions", "Assumptions we are relying on"}},
		{dhruva.KindTask, []string{"Tasks", "Open tasks", "In progress", "In progress (tasks)", "Next steps", "Action items", "To do", "Todo"}},
		{dhruva.KindQuestion, []string{"Open questions", "Questions"}},
		{dhruva.KindEntity, []string{"Entities", "Key entities"}},
		{dhruva.KindArtifact, []string{"Artifacts", "Attached artifacts"}},
	}
}

type section struct {
	kind  dhruva.ItemKind
	names []string
}

// attrNames are the attributes as they are written below an item, by the name they
// are stored under.
func attrNames() map[string]string {
	return map[string]string{
		dhruva.AttrSlug: "id", dhruva.AttrIntent: "intent", dhruva.AttrBlockedBy: "blocked by", dhruva.AttrStatus: "status",
		dhruva.AttrType: "type", dhruva.AttrLabel: "label",
	}
}

// Markdown is a checkpoint as a document, without what was purged of it.
func Markdown(c *dhruva.Checkpoint) string { return DraftOf(c).Markdown() }

// DraftOf is a checkpoint as a draft of another one, without what was purged of it.
func DraftOf(c *dhruva.Checkpoint) Draft {
	d := Draft{Title: c.Text(dhruva.KindTitle), Objective: c.Text(dhruva.KindObjective), Summary: c.Text(dhruva.KindSummary)}
	for _, i := range c.Items {
		if list := d.list(i.Kind); list != nil && !i.Redacted {
			*list = append(*list, DraftItem{Text: i.Text, Attrs: slices.Clone(i.Attrs), Cites: slices.Clone(i.Cites), Uncited: len(i.Cites) == 0})
		}
	}
	return d
}

// list is the list of a kind, nil for those that are one text.
func (d *Draft) list(kind dhruva.ItemKind) *[]DraftItem {
	for n, k := range []dhruva.ItemKind{dhruva.KindDecision, dhruva.KindAssumption, dhruva.KindTask, dhruva.KindQuestion, dhruva.KindEntity, dhruva.KindArtifact} {
		if k == kind {
			return d.lists()[n]
		}
	}
	return nil
}

// Markdown is a draft as a document.
func (d Draft) Markdown() string {
	var blocks []string
	if title := strings.Join(strings.Fields(d.Title), " "); title != "" {
		blocks = append(blocks, "# "+title)
	}
	for _, s := range sections() {
		body := ""
		switch s.kind {
		case dhruva.KindObjective:
			body = paragraphs(d.Objective)
		case dhruva.KindSummary:
			body = paragraphs(d.Summary)
		case dhruva.KindArtifact:
			body = fences(d.Artifacts)
		default:
			body = list(s.kind, *d.list(s.kind))
		}
		if body != "" {
			blocks = append(blocks, "## "+s.names[0]+"\n\n"+body)
		}
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

// structural begins a line that means something in the form, or an escape.
var structural = regexp.MustCompile("(?m)^(#|\\\\|```|~~~)")

// paragraphs are a text whose lines mean nothing in the form.
func paragraphs(text string) string {
	return structural.ReplaceAllString(strings.TrimSpace(text), `\$1`)
}

// nested begins a later line of an item that would be taken for an attribute.
var nested = regexp.MustCompile(`^( {0,2})([-\\])`)

func list(kind dhruva.ItemKind, items []DraftItem) string {
	var lines []string
	for _, i := range items {
		bullet := "- "
		if kind == dhruva.KindTask {
			bullet += map[bool]string{false: "[ ] ", true: "[x] "}[i.Attr(dhruva.AttrStatus) == taskDone]
		}
		text := strings.Split(strings.TrimSpace(i.Text), "\n")
		lines = append(lines, bullet+text[0])
		for _, l := range text[1:] {
			if l != "" {
				l = "  " + nested.ReplaceAllString(l, `$1\$2`)
			}
			lines = append(lines, l)
		}
		lines = append(lines, attributes(i.Attrs, "  ", func(a dhruva.Attr) bool {
			return kind == dhruva.KindTask && a == dhruva.Attr{Name: dhruva.AttrStatus, Value: taskDone}
		})...)
	}
	return strings.Join(lines, "\n")
}

const taskDone = "done"

// attributes are the bullets of attributes, but of those that are shown already.
func attributes(attrs []dhruva.Attr, indent string, shown func(dhruva.Attr) bool) (lines []string) {
	for _, a := range attrs {
		switch name, known := attrNames()[a.Name]; {
		case shown(a):
		case known && plainValue(a.Value):
			lines = append(lines, indent+"- "+name+": "+a.Value)
		case known:
			lines = append(lines, indent+"- "+name+": "+quoted(a.Value))
		default:
			lines = append(lines, indent+"- "+quoted(a.Name)+": "+quoted(a.Value))
		}
	}
	return lines
}

// plainValue can stand on a line as it is.
func plainValue(s string) bool {
	return s != "" && s == strings.TrimSpace(s) && !strings.HasPrefix(s, `"`) && !strings.ContainsAny(s, "\r\n")
}

func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil { // a string always can be
		return `""`
	}
	return string(raw)
}

// language is an artifact's type that can stand behind a fence.
var language = regexp.MustCompile(`^[A-Za-z0-9_+.#/-]+$`)

func fences(items []DraftItem) string {
	var blocks []string
	for _, i := range items {
		label, typ := i.Attr(dhruva.AttrLabel), i.Attr(dhruva.AttrType)
		head, plain := "### Artifact", plainValue(label)
		if plain {
			head = "### " + label
		}
		lines := append([]string{head, ""}, attributes(i.Attrs, "", func(a dhruva.Attr) bool {
			return a.Name == dhruva.AttrLabel && plain || a.Name == dhruva.AttrType && language.MatchString(typ)
		})...)
		if label == "" {
			lines = append(lines, `- label: ""`)
		}
		if lines[len(lines)-1] != "" {
			lines = append(lines, "")
		}
		fence := fenceAround(i.Text)
		if language.MatchString(typ) {
			lines = append(lines, fence+typ)
		} else {
			lines = append(lines, fence)
		}
		if i.Text != "" {
			lines = append(lines, i.Text)
		}
		blocks = append(blocks, strings.Join(append(lines, fence), "\n"))
	}
	return strings.Join(blocks, "\n\n")
}

var ticks = regexp.MustCompile("`+")

// fenceAround is a fence that a text does not hold.
func fenceAround(text string) string {
	n := 3
	for _, run := range ticks.FindAllString(text, -1) {
		n = max(n, len(run)+1)
	}
	return strings.Repeat("`", n)
}
