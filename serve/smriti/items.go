package smriti

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
)

// texts is a list of texts.
type texts []string

// UnmarshalJSON says which of them is none.
func (t *texts) UnmarshalJSON(b []byte) error {
	return unmarshalEach(b, t, func(raw json.RawMessage) (s string, err error) {
		if err := json.Unmarshal(raw, &s); err != nil || string(raw) == "null" {
			return "", &elementFault{fault{Msg: "Input should be a valid string", Type: "string_type"}}
		}
		return s, unicodeFault(s)
	})
}

// tasks are texts or objects.
type tasks []agents.Task

// UnmarshalJSON takes both forms; what an object says beyond is passed over.
func (t *tasks) UnmarshalJSON(b []byte) error {
	return unmarshalEach(b, t, func(raw json.RawMessage) (task agents.Task, err error) {
		if err := json.Unmarshal(raw, &task); err != nil || string(raw) == "null" {
			return task, &elementFault{fault{Msg: "Input should be a valid string or a task object", Type: "union_type"}}
		}
		if raw[0] == '{' && strings.TrimSpace(task.Text) == "" {
			return task, &elementFault{fault{Loc: []any{"text"}, Msg: "Field required", Type: "missing"}}
		}
		return task, unicodeFault(task.Text, task.ID, task.Intent, task.BlockedBy, task.Status)
	})
}

// artifacts are texts that are attached to a checkpoint.
type artifacts []agents.Artifact

// UnmarshalJSON says which of them is none.
func (t *artifacts) UnmarshalJSON(b []byte) error {
	return unmarshalEach(b, t, func(raw json.RawMessage) (a agents.Artifact, err error) {
		if err := json.Unmarshal(raw, &a); err != nil || string(raw) == "null" {
			return a, &elementFault{fault{Msg: "Input should be a valid artifact object", Type: "dict_type"}}
		}
		return a, unicodeFault(a.ID, a.Type, a.Label, a.Content)
	})
}

// unmarshalEach reads a list, and places a fault in it.
func unmarshalEach[S ~[]E, E any](b []byte, into *S, read func(json.RawMessage) (E, error)) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	out := make(S, 0, len(raw))
	for n, r := range raw {
		v, err := read(r)
		if f, ok := err.(*elementFault); ok {
			f.Loc = append([]any{n}, f.Loc...)
		}
		if err != nil {
			return err
		}
		out = append(out, v)
	}
	*into = out
	return nil
}

func unicodeFault(all ...string) error {
	for _, s := range all {
		if !clean(s) {
			return &elementFault{fault{Msg: "Input should be a valid string", Type: "string_unicode"}}
		}
	}
	return nil
}

func (t texts) items() (out []ledger.ItemInput) {
	for _, s := range t {
		out = append(out, ledger.ItemInput{Text: s})
	}
	return out
}

// items are the tasks as a checkpoint has them: intents and states that are none
// are left out.
func (t tasks) items() (out []ledger.ItemInput) {
	for _, task := range t {
		item := ledger.ItemInput{Text: task.Text}
		add := func(name, value string, known ...string) {
			if known != nil {
				if value = strings.ToLower(strings.TrimSpace(value)); !slices.Contains(known, value) {
					return
				}
			}
			if value != "" {
				item.Attrs = append(item.Attrs, dhruva.Attr{Name: name, Value: value})
			}
		}
		add(dhruva.AttrSlug, task.ID)
		add(dhruva.AttrIntent, task.Intent, ledger.Intents()...)
		add(dhruva.AttrBlockedBy, task.BlockedBy)
		add(dhruva.AttrStatus, task.Status, "open", "done")
		out = append(out, item)
	}
	return out
}

func (t artifacts) items() (out []ledger.ItemInput) {
	for _, a := range t {
		item := ledger.ItemInput{Text: a.Content}
		for _, attr := range []dhruva.Attr{{Name: dhruva.AttrSlug, Value: a.ID}, {Name: dhruva.AttrType, Value: a.Type}, {Name: dhruva.AttrLabel, Value: a.Label}} {
			if attr.Value != "" {
				item.Attrs = append(item.Attrs, attr)
			}
		}
		out = append(out, item)
	}
	return out
}

// Draft is a proposal for a checkpoint.
type Draft struct {
	Title         string        `json:"title"`
	Objective     string        `json:"objective"`
	Summary       string        `json:"summary"`
	Decisions     []string      `json:"decisions"`
	Assumptions   []string      `json:"assumptions"`
	Tasks         []agents.Task `json:"tasks"`
	OpenQuestions []string      `json:"open_questions"`
	Entities      []string      `json:"entities"`
}

func draftOf(d memory.Draft) Draft {
	text := func(i memory.DraftItem) string { return i.Text }
	return Draft{
		Title: d.Title, Objective: d.Objective, Summary: d.Summary,
		Decisions: each(d.Decisions, text), Assumptions: each(d.Assumptions, text), Tasks: each(d.Tasks, draftTask),
		OpenQuestions: each(d.OpenQuestions, text), Entities: each(d.Entities, text),
	}
}

func draftTask(i memory.DraftItem) agents.Task {
	return agents.Task{Text: i.Text, ID: i.Attr(dhruva.AttrSlug), Intent: i.Attr(dhruva.AttrIntent), BlockedBy: i.Attr(dhruva.AttrBlockedBy)}
}

func draftArtifact(i memory.DraftItem) agents.Artifact {
	return agents.Artifact{ID: i.Attr(dhruva.AttrSlug), Type: i.Attr(dhruva.AttrType), Label: i.Attr(dhruva.AttrLabel), Content: i.Text}
}
