package agents

import (
	"fmt"
	"strings"
	"time"
)

// View says how much of a State its Markdown shows.
type View struct {
	// Compact leaves out assumptions, entities and what artifacts hold, cuts the
	// summary, and says of branches that diverge only that they do.
	Compact bool
	// Preview cuts what artifacts hold.
	Preview bool
	// MainOnly leaves out other branches, claims and divergence.
	MainOnly bool
}

// Bounds of what a View cuts, in characters.
const (
	previewMax = 800
	compactMax = 600
)

// Markdown is the state for reading, in sections of a fixed order. Those that
// would be empty are left out.
func (s State) Markdown(v View) string {
	parts := []string{s.fresh(), "# " + line(s.Space.Name)}
	if s.Space.Description != nil {
		parts = append(parts, prose(*s.Space.Description))
	}
	if s.Space.ProjectRoot != nil {
		parts = append(parts, "Project root: "+code(*s.Space.ProjectRoot))
	}
	parts = append(parts, s.latest())
	if s.Commit != nil {
		parts = append(parts, s.Commit.sections(v)...)
	}
	if !v.MainOnly {
		parts = append(parts, s.branches(), s.work(), s.divergence(v))
	}
	return joined(parts)
}

// joined are the parts that are not empty, a blank line between them.
func joined(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		if p == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(p)
	}
	return b.String() + "\n"
}

func (s State) fresh() string {
	f := s.Freshness
	if f == nil {
		return ""
	}
	out := "**" + line(f.Note) + "**"
	for _, c := range f.New {
		out += fmt.Sprintf("\n- %s · %s · %s — %s", code(c.Hash[:7]), code(c.Author), s.ago(c.CreatedAt), line(c.Message))
	}
	if more := f.NewCount - len(f.New); more > 0 {
		out += fmt.Sprintf("\n- and %d more", more)
	}
	return out
}

func (s State) ago(t time.Time) string { return age(s.At.Sub(t)) }

func (s State) latest() string {
	c := s.Commit
	if c == nil {
		return "No checkpoint yet."
	}
	out := fmt.Sprintf("Latest checkpoint: %s · by %s · %s", code(c.Hash[:7]), code(c.Author), s.ago(c.CreatedAt))
	if c.ProjectRoot != nil && (s.Space.ProjectRoot == nil || *c.ProjectRoot != *s.Space.ProjectRoot) {
		out += " · at " + code(*c.ProjectRoot)
	}
	return out
}

// sections are what a checkpoint says.
func (c Commit) sections(v View) []string {
	summary := c.Summary
	if v.Compact {
		summary = cut(summary, compactMax)
	}
	parts := []string{section("Current objective", prose(c.Objective)), section("Where we are", prose(summary)), section("Decisions", bullets(c.Decisions))}
	if !v.Compact {
		parts = append(parts, section("Assumptions we are relying on", bullets(c.Assumptions)))
	}
	parts = append(parts, section("Open questions", bullets(c.OpenQuestions)), section("In progress", bullets(c.open())), section("Attached artifacts", c.artifacts(v)))
	if !v.Compact {
		var names []string
		for _, e := range c.Entities {
			names = append(names, line(e))
		}
		parts = append(parts, section("Key entities", strings.Join(names, ", ")))
	}
	return parts
}

func section(heading, text string) string {
	if text == "" {
		return ""
	}
	return "## " + heading + "\n" + text
}

// open are the tasks that are not done.
func (c Commit) open() (out []string) {
	for _, t := range c.Tasks {
		if !t.Done() {
			out = append(out, t.line())
		}
	}
	return out
}

func (t Task) line() string {
	var notes []string
	if t.ID != "" {
		notes = append(notes, code(t.ID))
	}
	if t.Intent != "" {
		notes = append(notes, line(t.Intent))
	}
	if t.BlockedBy != "" {
		notes = append(notes, "blocked by "+line(t.BlockedBy))
	}
	if len(notes) == 0 {
		return t.Text
	}
	return line(t.Text) + " (" + strings.Join(notes, " · ") + ")"
}

func (c Commit) artifacts(v View) string {
	var out []string
	for _, a := range c.Artifacts {
		label := line(firstOf(a.Label, "Untitled"))
		switch {
		case v.Compact:
			out = append(out, "- "+label)
		case v.Preview:
			out = append(out, "### "+label+"\n"+fenced(cut(a.Content, previewMax)))
		default:
			out = append(out, "### "+label+"\n"+fenced(a.Content))
		}
	}
	if v.Compact {
		return strings.Join(out, "\n")
	}
	return strings.Join(out, "\n\n")
}

func (s State) branches() string {
	var out []string
	for _, b := range s.ActiveBranches {
		out = append(out, fmt.Sprintf("- %s · %s · %s · %s — %s", code(b.Name), code(b.Hash[:7]), code(b.Author), s.ago(b.CreatedAt), line(b.Message)))
	}
	return section("Active branches", strings.Join(out, "\n"))
}

func (s State) work() string {
	var out []string
	for _, c := range s.ActiveClaims {
		text := fmt.Sprintf("- %s [%s] on %s", code(c.Agent), line(c.Intent), code(c.Branch))
		if c.BaseHash != nil {
			text += " from " + code(*c.BaseHash)
		}
		text += " · " + s.ago(c.ClaimedAt) + " — " + line(c.Scope)
		if c.TaskID != nil {
			text += " (task " + code(*c.TaskID) + ")"
		}
		out = append(out, text+c.At.line())
	}
	return section("Active work", strings.Join(out, "\n"))
}

// line is what a claim's line says of its working copy.
func (w *Worktree) line() string {
	if w == nil {
		return ""
	}
	out := " · worktree " + code(string(w.ID[:min(len(w.ID), 8)]))
	if w.DirtyFiles != nil {
		out += fmt.Sprintf(", %d uncommitted", *w.DirtyFiles)
	}
	if w.Ahead != nil && w.Behind != nil {
		out += fmt.Sprintf(", %d ahead and %d behind", *w.Ahead, *w.Behind)
		if w.Against != nil {
			out += " of " + code(*w.Against)
		}
	}
	return out
}

func (s State) divergence(v View) string {
	if s.Divergence == nil {
		return ""
	}
	var out []string
	for _, p := range s.Divergence.Pairs {
		if v.Compact {
			out = append(out, "- main and "+code(p.Branch)+" decide otherwise")
			continue
		}
		text := "### main and " + code(p.Branch) + " (" + code(p.Hash[:7]) + ")"
		if len(p.OnlyMain) > 0 {
			text += "\nOnly on main:\n" + bullets(p.OnlyMain)
		}
		if len(p.OnlyBranch) > 0 {
			text += "\nOnly on " + code(p.Branch) + ":\n" + bullets(p.OnlyBranch)
		}
		out = append(out, text)
	}
	if v.Compact {
		return section("Divergence signal", strings.Join(out, "\n"))
	}
	return section("Divergence signal", strings.Join(out, "\n\n"))
}

// bullets are texts as a list, each on one line.
func bullets(texts []string) string {
	var out []string
	for _, t := range texts {
		out = append(out, "- "+line(t))
	}
	return strings.Join(out, "\n")
}

// line is a text on one line, which is no heading or list of its own.
func line(s string) string { return plain(strings.Join(strings.Fields(s), " ")) }

// prose is a text of several lines, none of which is a heading.
func prose(s string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(s, "\r", "\n")), "\n")
	for n, l := range lines {
		lines[n] = strings.TrimRight(plain(l), " \t")
	}
	return strings.Join(lines, "\n")
}

// plain takes from the beginning of a line what makes it, or the one before it, a
// heading, and what opens a block in which the rest of the document would stand.
func plain(s string) string {
	body := strings.TrimLeft(s, " \t")
	at := len(s) - len(body)
	switch {
	case strings.HasPrefix(body, "#"), strings.HasPrefix(body, "```"), strings.HasPrefix(body, "~~~"), strings.HasPrefix(body, "<"),
		body != "" && (strings.Trim(body, "= ") == "" || strings.Trim(body, "- ") == "" && len(body) > 1):
		return s[:at] + `\` + body
	}
	return s
}

// code is a name as code. A backtick in it would end that.
func code(s string) string {
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "`", "'") + "`"
}

// fenced is a text as a block that nothing in it ends.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(s, "\n") + "\n" + fence
}
