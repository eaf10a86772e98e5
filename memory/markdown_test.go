package memory_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/memory"
)

// hostile are pieces of which texts are made that try to be taken for the form.
var hostile = []string{
	"a", "Use SQLite", " ", "\n", "\n\n", "# ", "## Decisions", "## Summary", "### x", "- ", "* ", "1. ", "  ", "    ", "\t", "\\", "\\# ", "```", "````", "~~~", "`",
	"- id: x", "- label: \"\"", "[x] ", "[ ] ", "\r\n", "\r", "日本", "naïve", "\u2028", "\u00a0", "-->", "\"", ": ", "{", "}", "|", "Title", "- \"k\": \"v\"", "\n - ", "\n  \\-",
}

func rough(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(hostile), 0, 8).Draw(t, label), "")
}

// said is a text as a checkpoint holds it.
func said(t *rapid.T, label string) string { return strings.TrimSpace(rough(t, label)) }

func listOf(t *rapid.T, label string, names ...string) (out []memory.DraftItem) {
	for range rapid.IntRange(0, 3).Draw(t, label+" items") {
		i := memory.DraftItem{Text: said(t, label), Uncited: true}
		for _, name := range names {
			if v := rough(t, name); v != "" && rapid.Bool().Draw(t, "has "+name) {
				i.Attrs = append(i.Attrs, dhruva.Attr{Name: name, Value: v})
			}
		}
		slices.SortFunc(i.Attrs, func(a, b dhruva.Attr) int { return strings.Compare(a.Name, b.Name) })
		if i.Text != "" {
			out = append(out, i)
		}
	}
	return out
}

func someDraft(t *rapid.T) memory.Draft {
	d := memory.Draft{
		Title: strings.Join(strings.Fields(rough(t, "title")), " "), Objective: said(t, "objective"), Summary: said(t, "summary"),
		Decisions: listOf(t, "decision", "odd name"), Assumptions: listOf(t, "assumption"),
		Tasks:         listOf(t, "task", dhruva.AttrBlockedBy, dhruva.AttrSlug, dhruva.AttrIntent, dhruva.AttrStatus),
		OpenQuestions: listOf(t, "question"), Entities: listOf(t, "entity"),
		Artifacts: listOf(t, "artifact", dhruva.AttrSlug, dhruva.AttrLabel, dhruva.AttrType),
	}
	for i := range d.Artifacts { // kept byte for byte
		d.Artifacts[i].Text = rough(t, "content")
	}
	d.Artifacts = slices.DeleteFunc(d.Artifacts, func(i memory.DraftItem) bool { return strings.TrimSpace(i.Text) == "" && len(i.Attrs) == 0 })
	for i := range d.Tasks {
		if rapid.Bool().Draw(t, "done") {
			d.Tasks[i].Attrs = slices.DeleteFunc(d.Tasks[i].Attrs, func(a dhruva.Attr) bool { return a.Name == dhruva.AttrStatus })
			d.Tasks[i].Attrs = append(d.Tasks[i].Attrs, dhruva.Attr{Name: dhruva.AttrStatus, Value: "done"})
		}
	}
	return d
}

var sameDraft = cmp.Options{cmpopts.EquateEmpty()}

// A checkpoint as Markdown reads back as it was, whatever its texts look like.
func TestMarkdownReadsBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := someDraft(rt)
		text := d.Markdown()
		got, ok := memory.ParseMarkdown(text)
		if diff := cmp.Diff(d, got, sameDraft); diff != "" {
			rt.Fatalf("%s\n%s", diff, text)
		}
		empty := d.Objective+d.Summary == "" && len(d.Decisions)+len(d.Assumptions)+len(d.Tasks)+len(d.OpenQuestions)+len(d.Entities)+len(d.Artifacts) == 0
		if ok == empty {
			rt.Fatalf("recognised: %t\n%s", ok, text)
		}
	})
}

// What people write is read: other words, other bullets, Windows line ends.
func TestMarkdownOfPeople(t *testing.T) {
	text := "# Storage work\n\nWe met on Monday.\n\n## Key Decisions:\n\n* Use SQLite\n  because it is one file\n* Keep one writer\nat a time\n\n" +
		"## Next steps\n1. [ ] Write the backup\n2. [X] Choose a name\n   - id: name\n\n## Entities\n\nSQLite\n\nLitestream\n\n" +
		"## Attached artifacts\n\n### schema\n\n```sql\n# not a heading\nCREATE TABLE t(x);\n```\n\n## Weather\n\nIt rained.\n\n### Details\n\nA lot.\n\n## Open questions\n- Which region?\n"
	want := memory.Draft{
		Title: "Storage work", Summary: "We met on Monday.", LeftOut: "not recognised: Weather",
		Decisions:     []memory.DraftItem{{Text: "Use SQLite\nbecause it is one file", Uncited: true}, {Text: "Keep one writer\nat a time", Uncited: true}},
		Tasks:         []memory.DraftItem{{Text: "Write the backup", Uncited: true}, {Text: "Choose a name", Uncited: true, Attrs: []dhruva.Attr{{Name: "id", Value: "name"}, {Name: "status", Value: "done"}}}},
		OpenQuestions: []memory.DraftItem{{Text: "Which region?", Uncited: true}},
		Entities:      []memory.DraftItem{{Text: "SQLite", Uncited: true}, {Text: "Litestream", Uncited: true}},
		Artifacts: []memory.DraftItem{{Text: "# not a heading\nCREATE TABLE t(x);", Uncited: true,
			Attrs: []dhruva.Attr{{Name: "label", Value: "schema"}, {Name: "type", Value: "sql"}}}},
	}
	for name, in := range map[string]string{"as it is": text, "windows": strings.ReplaceAll(text, "\n", "\r\n"), "byte order mark": "\ufeff" + text} {
		got, ok := memory.ParseMarkdown(in)
		if diff := cmp.Diff(want, got, sameDraft); diff != "" || !ok {
			t.Errorf("%s: %t\n%s", name, ok, diff)
		}
	}
	for _, in := range []string{"", "hello", "# Only a title\n\ntext", "## Weather\n\n- rain"} {
		if got, ok := memory.ParseMarkdown(in); ok {
			t.Errorf("%q is recognised: %+v", in, got)
		}
	}
}

// One golden file fixes the form.
func TestMarkdownGolden(t *testing.T) {
	d := memory.Draft{Title: "Storage", Objective: "Ship the service", Summary: "We keep data in one file.\n# not a heading",
		Decisions: []memory.DraftItem{{Text: "Use SQLite\n- and nothing else"}},
		Tasks: []memory.DraftItem{{Text: "Write the backup", Attrs: []dhruva.Attr{{Name: "blocked_by", Value: "the disk"}, {Name: "id", Value: "backup"}, {Name: "intent_hint", Value: "implement"}}},
			{Text: "Choose a name", Attrs: []dhruva.Attr{{Name: "status", Value: "done"}}}},
		Artifacts: []memory.DraftItem{{Text: "```go\n```", Attrs: []dhruva.Attr{{Name: "label", Value: "sample"}, {Name: "type", Value: "markdown"}}}},
	}
	golden := filepath.Join("testdata", "checkpoint.md")
	if *update {
		if err := os.WriteFile(golden, []byte(d.Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), d.Markdown()); diff != "" {
		t.Error(diff)
	}
}

// Whatever the document, what is read of it is a draft that can be saved, and
// written again it reads back the same.
func FuzzParseMarkdown(f *testing.F) {
	f.Add("# T\n\n## Decisions\n- a\n  - id: x\n\n## Artifacts\n### l\n```go\nx\n```\n")
	f.Add("## Summary\n```\n# x\n\\# y\n## Tasks\n- [x] a\n\n  b\n~~~\n")
	f.Add("# A\n# Decisions\r\n1) x\r\n\ty\n##\t Entities\n*  z \u2028\n")
	f.Add("## Artifacts\ntext\n````\n```\n````\n~~~\nmore\n~~~\n### a\n- label: \"\"\n- \"k\": \"v\"\nplain\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := memory.ParseMarkdown(text)
		if err := savable(got); err != nil {
			t.Fatal(err)
		}
		got.LeftOut = ""
		again, _ := memory.ParseMarkdown(got.Markdown())
		if diff := cmp.Diff(got, again, sameDraft); diff != "" {
			t.Fatalf("%s\n%s", diff, got.Markdown())
		}
	})
}

// savable says what keeps a draft from being a checkpoint.
func savable(d memory.Draft) error {
	in := d.Commit()
	if err := dhruva.ValidText("draft", in.Title, in.Objective, in.Summary); err != nil {
		return err
	}
	for _, list := range [][]memory.DraftItem{d.Decisions, d.Assumptions, d.Tasks, d.OpenQuestions, d.Entities, d.Artifacts} {
		for _, i := range list {
			if err := dhruva.ValidText("item", i.Text); err != nil {
				return err
			}
			for _, a := range i.Attrs {
				if err := dhruva.ValidText("attribute", a.Name, a.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
