package memory

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// ParseMarkdown reads a document of the form that Draft.Markdown writes, and of
// such as people write it: it asks no model. false means that no section was
// recognised. What of a recognised document has no place in a draft is named in
// LeftOut.
func ParseMarkdown(text string) (Draft, bool) {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	text = strings.TrimPrefix(text, "\ufeff")
	if first, _, _ := strings.Cut(text, "\n"); strings.HasSuffix(first, "\r") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	p := &parser{slots: map[dhruva.ItemKind][]string{}}
	lines := strings.Split(text, "\n")
	p.scan(lines)
	for _, l := range lines {
		p.line(l)
	}
	p.endItem()
	return p.draft(), p.found
}

// parser is a document being read, line by line.
type parser struct {
	out   Draft
	found bool // a section was recognised
	// titles: level-1 headings are titles even when they are named like sections.
	titles bool
	slots  map[dhruva.ItemKind][]string
	// preamble is what stands before the first section.
	preamble []string
	kind     dhruva.ItemKind // of the section; "" before the first, and in an unknown one
	level    int             // of the section's heading
	unknown  bool
	fence    string // that is open; "" when none is
	item     *DraftItem
	text     []string // of the item
	fenced   bool     // an artifact's block was seen
	blank    bool     // the line before was blank
	skipped  []string
}

var (
	headingLine = regexp.MustCompile(`^(#{1,6})[ \t]+(.*)$`)
	fenceLine   = regexp.MustCompile("^(```+|~~~+)[ \\t]*([^`]*)$")
	bulletLine  = regexp.MustCompile(`^ ?(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)$`)
	checkbox    = regexp.MustCompile(`^\[([ xX])\][ \t]+(.*)$`)
	attrLine    = regexp.MustCompile(`^ {0,2}- ("(?:[^"\\]|\\.)*"|[a-z_ ]+):[ \t]*(.*)$`)
	innerEscape = regexp.MustCompile(`^( {0,2})\\([!-/:-@\[-\x60{-~])`)
	escaped     = regexp.MustCompile(`^\\[!-/:-@\[-\x60{-~]`)
)

// scan looks whether the document has one heading of level 1, which then is its
// title.
func (p *parser) scan(lines []string) {
	n, fence := 0, ""
	for _, l := range lines {
		if fence = fenced(fence, l); fence == "" && strings.HasPrefix(l, "# ") {
			n++
		}
	}
	p.titles = n == 1
}

// fenced is the fence that is open after a line.
func fenced(open, line string) string {
	m := fenceLine.FindStringSubmatch(line)
	switch {
	case m == nil:
		return open
	case open == "":
		return m[1]
	case m[2] == "" && strings.HasPrefix(m[1], open):
		return ""
	}
	return open
}

func (p *parser) line(l string) {
	before := p.fence
	p.fence = fenced(p.fence, l)
	if h := headingLine.FindStringSubmatch(l); h != nil && before == "" && p.heading(len(h[1]), strings.TrimSpace(h[2])) {
		return
	}
	switch {
	case p.unknown:
	case p.kind == "":
		p.preamble = append(p.preamble, l)
	case p.out.list(p.kind) == nil:
		if before == "" && p.fence == "" && escaped.MatchString(l) {
			l = l[1:]
		}
		p.slots[p.kind] = append(p.slots[p.kind], l)
	case p.kind == dhruva.KindArtifact:
		p.artifact(l, before)
	default:
		p.listed(l, before != "" || p.fence != "")
	}
	p.blank = strings.TrimSpace(l) == ""
}

// heading opens a section. false: the line is text of the section it stands in.
func (p *parser) heading(level int, name string) bool {
	within := p.kind != "" && level > p.level
	kind := sectionNamed(name)
	switch {
	case level == 1 && p.out.Title == "" && name != "" && (p.titles || kind == "") && p.kind == "":
		p.endItem()
		p.out.Title = strings.Join(strings.Fields(name), " ")
		p.unknown = false
		return true
	case within && p.kind == dhruva.KindArtifact:
		p.beginArtifact(name)
		return true
	case kind != "":
		p.endItem()
		p.kind, p.level, p.unknown, p.found = kind, level, false, true
		return true
	case within && p.out.list(p.kind) == nil:
		return false
	case within && !p.unknown:
		p.endItem()
		p.skip(name)
		return true
	}
	if !p.unknown || level <= p.level {
		p.endItem()
		p.kind, p.level, p.unknown = "", level, true
		p.skip(name)
	}
	return true
}

func (p *parser) skip(name string) { p.skipped = append(p.skipped, firstRunes(name, 80)) }

// sectionNamed is the kind that a heading names, "" for none.
func sectionNamed(name string) dhruva.ItemKind {
	name = strings.TrimSpace(strings.TrimSuffix(strings.Trim(name, "*_ "), ":"))
	for _, s := range sections() {
		for _, n := range s.names {
			if strings.EqualFold(n, name) {
				return s.kind
			}
		}
	}
	return ""
}

// listed takes a line of a list.
func (p *parser) listed(l string, within bool) {
	b := bulletLine.FindStringSubmatch(l)
	inner, deeper := outdent(l)
	switch {
	case within && p.item != nil:
		p.text = append(p.text, l)
	case deeper && p.item != nil:
		p.inner(inner)
	case strings.TrimSpace(l) == "":
		if p.item != nil {
			p.text = append(p.text, "")
		}
	case b != nil:
		p.beginItem(b[1])
	case p.item != nil && !p.blank:
		p.text = append(p.text, strings.TrimLeft(l, " \t"))
	default:
		p.beginItem(strings.TrimSpace(l))
	}
}

// outdent takes the indentation of an item's later lines off.
func outdent(l string) (string, bool) {
	if rest, ok := strings.CutPrefix(l, "\t"); ok {
		return rest, true
	}
	return strings.CutPrefix(l, "  ")
}

// inner takes a later line of an item: an attribute, or text.
func (p *parser) inner(l string) {
	if !p.attr(l) {
		p.text = append(p.text, innerEscape.ReplaceAllString(l, "$1$2"))
	}
}

func (p *parser) beginItem(text string) {
	p.endItem()
	p.item = &DraftItem{Uncited: true}
	if m := checkbox.FindStringSubmatch(text); m != nil && p.kind == dhruva.KindTask {
		text = m[2]
		if m[1] != " " {
			p.set(dhruva.AttrStatus, taskDone)
		}
	}
	p.text = []string{text}
}

// attr takes a bullet that is an attribute of the item.
func (p *parser) attr(l string) bool {
	m := attrLine.FindStringSubmatch(l)
	if m == nil {
		return false
	}
	name, value, own := "", strings.TrimSpace(m[2]), false
	if json.Unmarshal([]byte(m[1]), &name) == nil {
		own = name != ""
	}
	for stored, written := range attrNames() {
		if m[1] == written || m[1] == stored {
			name, own = stored, true
		}
	}
	if strings.HasPrefix(value, `"`) {
		if json.Unmarshal([]byte(value), &value) != nil {
			return false
		}
		value = strings.ReplaceAll(value, "\x00", "")
	}
	if own = own && !strings.Contains(name, "\x00"); own {
		p.set(name, value)
	}
	return own
}

func (p *parser) set(name, value string) {
	p.item.Attrs = slices.DeleteFunc(p.item.Attrs, func(a dhruva.Attr) bool { return a.Name == name })
	if value != "" {
		p.item.Attrs = append(p.item.Attrs, dhruva.Attr{Name: name, Value: value})
	}
}

func (p *parser) beginArtifact(label string) {
	p.endItem()
	p.item, p.fenced = &DraftItem{Uncited: true}, false
	p.set(dhruva.AttrLabel, label)
}

// artifact takes a line of an artifact; before is the fence that was open.
func (p *parser) artifact(l, before string) {
	switch {
	case before == "" && p.fence != "": // a block begins
		p.block(l)
	case before != "" && p.fence == "": // a block ends
		p.fenced = true
	case before != "":
		if p.fenced {
			return // of another block of the same artifact, which was named
		}
		p.text = append(p.text, l)
	case p.item != nil && !p.fenced && p.attr(l), strings.TrimSpace(l) == "" && (p.item == nil || p.fenced || len(p.text) == 0):
	case p.item != nil && !p.fenced:
		p.text = append(p.text, l)
	default:
		p.skip("text beside an artifact")
	}
}

// block begins the text of an artifact. One without a heading is an artifact of
// its own; of several blocks below one heading the first counts.
func (p *parser) block(l string) {
	if p.item == nil {
		p.beginArtifact("")
	}
	if p.fenced {
		p.skip("a further block of an artifact")
		return
	}
	if len(p.text) > 0 {
		p.text = nil
		p.skip("text beside an artifact")
	}
	m := fenceLine.FindStringSubmatch(l)
	if typ := strings.TrimSpace(m[2]); typ != "" {
		p.set(dhruva.AttrType, typ)
	}
}

// endItem keeps the item that was being read, if it says anything.
func (p *parser) endItem() {
	if p.item == nil {
		return
	}
	i := *p.item
	i.Text = strings.Join(p.text, "\n")
	if p.kind != dhruva.KindArtifact || !p.fenced && p.fence == "" {
		i.Text = strings.TrimSpace(i.Text)
	}
	slices.SortFunc(i.Attrs, func(a, b dhruva.Attr) int { return cmp.Compare(a.Name, b.Name) })
	if list := p.out.list(p.kind); i.Text != "" || p.kind == dhruva.KindArtifact && len(i.Attrs) > 0 {
		*list = append(*list, i)
	}
	p.item, p.text, p.fenced = nil, nil, false
}

func (p *parser) draft() Draft {
	d := p.out
	d.Objective = strings.TrimSpace(strings.Join(p.slots[dhruva.KindObjective], "\n"))
	d.Summary = strings.TrimSpace(strings.Join(p.slots[dhruva.KindSummary], "\n"))
	if before := strings.TrimSpace(strings.Join(p.preamble, "\n")); before != "" {
		if d.Summary == "" && p.found {
			d.Summary = before
		} else {
			p.skip("the text before the first section")
		}
	}
	if len(p.skipped) > 0 {
		d.note("not recognised: %s", strings.Join(slices.Compact(p.skipped), ", "))
	}
	d.bound()
	return d
}
