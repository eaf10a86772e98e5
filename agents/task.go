package agents

import (
	"encoding/json"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// Task is a task of a checkpoint. In JSON one that is nothing but its text is a
// string.
type Task struct {
	Text      string `json:"text"`
	ID        string `json:"id,omitempty"`
	Intent    string `json:"intent_hint,omitempty"`
	BlockedBy string `json:"blocked_by,omitempty"`
	Status    string `json:"status,omitempty"`
}

func taskOf(i dhruva.Item) Task {
	return Task{
		Text: i.Text, ID: i.Attr(dhruva.AttrSlug), Intent: i.Attr(dhruva.AttrIntent), BlockedBy: i.Attr(dhruva.AttrBlockedBy), Status: i.Attr(dhruva.AttrStatus),
	}
}

// MarshalJSON is a string or an object.
func (t Task) MarshalJSON() ([]byte, error) {
	if t == (Task{Text: t.Text}) {
		return json.Marshal(t.Text)
	}
	type object Task
	return json.Marshal(object(t))
}

// UnmarshalJSON reads both.
func (t *Task) UnmarshalJSON(b []byte) error {
	*t = Task{}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &t.Text)
	}
	type object Task
	return json.Unmarshal(b, (*object)(t))
}

// Done: nothing is left to do. A task that says nothing about it is open.
func (t Task) Done() bool { return strings.EqualFold(t.Status, "done") }
