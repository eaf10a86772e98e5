package memory

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/llm"
)

// answer is the JSON object that a model gave. It is read as far as it makes
// sense: what is of a wrong type is left out, never guessed.
type answer map[string]json.RawMessage

// readAnswer finds the object in a response. One that has none of the fields that
// were asked for is no answer.
func readAnswer(provider string, res llm.Response, fields ...string) (answer, error) {
	var a answer
	raw, ok := llm.JSON(res.Text)
	known := func(name string) bool { _, ok := a[name]; return ok }
	if !ok || json.Unmarshal(raw, &a) != nil || !slices.ContainsFunc(fields, known) {
		return nil, llm.NotJSON(provider, res.FinishReason)
	}
	return a, nil
}

// maxText bounds a text of a model's, so that it can be saved.
const maxText = 64 << 10

// text is a field that should be one text. An array of texts is one too, a line
// for each.
func (a answer) text(name string) string {
	var lines []string
	for _, e := range a.entries(name) {
		if e.text != "" {
			lines = append(lines, e.text)
		}
	}
	return clip(strings.Join(lines, "\n"), maxText)
}

// entry is one element of a list: a text, with further fields when the model
// gave an object.
type entry struct {
	text   string
	fields answer
}

// entries are the elements of a field that should be an array; one element
// stands for an array of one, and null for an empty one.
func (a answer) entries(name string) (out []entry) {
	raw := a[name]
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		elements = []json.RawMessage{raw}
	}
	for _, e := range elements {
		if got := entryOf(e); got.text != "" || got.fields != nil {
			out = append(out, got)
		}
	}
	return out
}

func entryOf(raw json.RawMessage) (e entry) {
	if json.Unmarshal(raw, &e.fields) != nil || e.fields == nil {
		return entry{text: mended(scalar(raw))}
	}
	for _, name := range []string{"text", "description", "name", "title", "question"} {
		if e.text = mended(scalar(e.fields[name])); e.text != "" {
			break
		}
	}
	return e
}

// scalar is a string's value or a number as it stands; "" for any other value.
func scalar(raw json.RawMessage) string {
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(raw, &s) == nil:
		return s
	case json.Unmarshal(raw, &n) == nil:
		return n.String()
	}
	return ""
}

// mended is a text without what shows nothing, trimmed.
func mended(s string) string { return clip(strings.TrimSpace(plainLines(s)), maxText) }

// line is a field that should be a short name: one line of at most 200
// characters. An array is put in a row.
func (a answer) line(name string) string {
	var parts []string
	for _, e := range a.entries(name) {
		if e.text != "" {
			parts = append(parts, e.text)
		}
	}
	return oneLine(strings.Join(parts, ", "), 200)
}

// oneLine puts a text on one line of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > n {
		s = strings.TrimSpace(string(runes[:n]))
	}
	return s
}

// clip bounds a text in bytes, on a rune border.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.TrimSpace(strings.ToValidUTF8(s[:most], ""))
}

// items are the elements of a list as items: stripped, without duplicates, in
// the order given. attrs, when given, reads what an object says besides its text.
func (a answer) items(name string, shown []int64, attrs func(answer) []dhruva.Attr) (out []DraftItem) {
	at := map[string]int{}
	turns := map[int]map[int64]bool{}
	for _, e := range a.entries(name) {
		same := dhruva.Normalize(e.text)
		if same == "" {
			continue
		}
		i, twice := at[same]
		if !twice {
			i = len(out)
			at[same], turns[i] = i, map[int64]bool{}
			out = append(out, DraftItem{Text: e.text})
			if attrs != nil {
				out[i].Attrs = attrs(e.fields)
			}
		}
		e.fields.cite("turns", shown, turns[i])
	}
	for i := range out {
		out[i].Cites = ranges(turns[i])
		out[i].Uncited = len(out[i].Cites) == 0
	}
	return out
}

// named finds the numbers and ranges that a citation may be written as.
var named = regexp.MustCompile(`(\d+)(?:\s*(?:-|–|to)\s*(\d+))?`)

// cite adds the turns that a field names, as far as they are among those shown.
func (a answer) cite(field string, shown []int64, to map[int64]bool) {
	for _, e := range a.entries(field) {
		for _, m := range named.FindAllStringSubmatch(e.text, -1) {
			from, err := strconv.ParseInt(m[1], 10, 64)
			through := from
			if err == nil && m[2] != "" {
				through, err = strconv.ParseInt(m[2], 10, 64)
			}
			if err != nil {
				continue
			}
			for _, seq := range shown {
				if from <= seq && seq <= through {
					to[seq] = true
				}
			}
		}
	}
}

// ranges are numbers as the cites that a checkpoint keeps.
func ranges(turns map[int64]bool) (out []dhruva.Cite) {
	var all []int64
	for seq := range turns {
		all = append(all, seq)
	}
	slices.Sort(all)
	for _, seq := range all {
		if last := len(out) - 1; last >= 0 && out[last].Through == seq-1 {
			out[last].Through = seq
			continue
		}
		out = append(out, dhruva.Cite{From: seq, Through: seq})
	}
	return out
}

// intents are what a task may hint at.
var intents = []string{"implement", "review", "investigate", "docs", "test"}

// taskAttrs are what a draft keeps of a task besides its text; a status is not:
// what a model takes for done has to be looked at.
func taskAttrs(a answer) []dhruva.Attr {
	intent := strings.ToLower(a.line(dhruva.AttrIntent))
	if !slices.Contains(intents, intent) {
		intent = ""
	}
	return attrs(dhruva.AttrBlockedBy, a.line(dhruva.AttrBlockedBy), dhruva.AttrSlug, a.line(dhruva.AttrSlug), dhruva.AttrIntent, intent)
}

// attrs are names and values in order of the names, without empty ones.
func attrs(kv ...string) (out []dhruva.Attr) {
	for i := 0; i < len(kv); i += 2 {
		if kv[i+1] != "" {
			out = append(out, dhruva.Attr{Name: kv[i], Value: kv[i+1]})
		}
	}
	slices.SortFunc(out, func(a, b dhruva.Attr) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// artifacts are the elements of the field of that name. Their content is kept as
// it stands.
func (a answer) artifacts() (out []DraftItem) {
	seen := map[string]bool{}
	for _, e := range a.entries("artifacts") {
		content := e.text
		if e.fields != nil {
			content = scalar(e.fields["content"])
			if content == "" {
				content = scalar(e.fields["text"])
			}
		}
		content = clip(strings.ReplaceAll(content, "\x00", ""), maxText)
		item := DraftItem{Text: content, Uncited: true, Attrs: attrs(dhruva.AttrSlug, e.fields.line(dhruva.AttrSlug),
			dhruva.AttrLabel, e.fields.line(dhruva.AttrLabel), dhruva.AttrType, e.fields.line(dhruva.AttrType))}
		same := content + "\x00" + item.Attr(dhruva.AttrLabel)
		if strings.TrimSpace(content) == "" || seen[same] {
			continue
		}
		seen[same] = true
		out = append(out, item)
	}
	return out
}
