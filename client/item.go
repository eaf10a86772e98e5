package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/dhruva-memory/dhruva"
)

// Cite names turns of a checkpoint's window.
type Cite struct {
	From    int64 `json:"from"`
	Through int64 `json:"through"`
}

// Item is a decision, an assumption, an open question or an entity. On the wire
// it is a plain string, or an object when it carries more than its text.
type Item struct {
	Text  string `json:"text" doc:"What was concluded."`
	ID    string `json:"id,omitempty" doc:"Id the item keeps down the lineage, or the caller's own id."`
	Cites []Cite `json:"cites,omitempty" doc:"Turns of the window it was drawn from."`
}

// Task is an item that is to be done.
type Task struct {
	Text      string `json:"text" doc:"What is to be done."`
	ID        string `json:"id,omitempty" doc:"Id the item keeps down the lineage, or the caller's own id."`
	Intent    string `json:"intent_hint,omitempty"`
	BlockedBy string `json:"blocked_by,omitempty" doc:"A free label."`
	Status    string `json:"status,omitempty" doc:"open or done."`
	Cites     []Cite `json:"cites,omitempty" doc:"Turns of the window it was drawn from."`
}

// Artifact is a text that belongs to a checkpoint.
type Artifact struct {
	ID      string `json:"id,omitempty" doc:"Id the item keeps down the lineage, or the caller's own id."`
	Type    string `json:"type,omitempty"`
	Label   string `json:"label,omitempty"`
	Content string `json:"content"`
	Cites   []Cite `json:"cites,omitempty" doc:"Turns of the window it was drawn from."`
}

// The object forms, without the methods that choose the form.
type (
	itemObject     Item
	taskObject     Task
	artifactObject Artifact
)

// MarshalJSON writes a plain string when there is only a text.
func (i Item) MarshalJSON() ([]byte, error) {
	return stringOr(i.Text, i.ID == "" && len(i.Cites) == 0, itemObject(i))
}

// UnmarshalJSON reads a string or an object.
func (i *Item) UnmarshalJSON(b []byte) error {
	return readStringOr(b, &i.Text, (*itemObject)(i))
}

// MarshalJSON writes a plain string when there is only a text.
func (t Task) MarshalJSON() ([]byte, error) {
	plain := t.ID+t.Intent+t.BlockedBy+t.Status == "" && len(t.Cites) == 0
	return stringOr(t.Text, plain, taskObject(t))
}

// UnmarshalJSON reads a string or an object.
func (t *Task) UnmarshalJSON(b []byte) error {
	return readStringOr(b, &t.Text, (*taskObject)(t))
}

// MarshalJSON writes a plain string when there is only a content.
func (a Artifact) MarshalJSON() ([]byte, error) {
	return stringOr(a.Content, a.ID+a.Type+a.Label == "" && len(a.Cites) == 0, artifactObject(a))
}

// UnmarshalJSON reads a string or an object.
func (a *Artifact) UnmarshalJSON(b []byte) error {
	return readStringOr(b, &a.Content, (*artifactObject)(a))
}

func stringOr(text string, plain bool, object any) ([]byte, error) {
	if plain {
		return json.Marshal(text)
	}
	return json.Marshal(object)
}

func readStringOr(b []byte, text *string, object any) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, text)
	}
	if len(b) == 0 || b[0] != '{' {
		return errors.New("expected a string or an object")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(object); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("trailing data")
	}
	return nil
}

// ItemDetail is everything that is stored of an item.
type ItemDetail struct {
	ID       dhruva.ItemID     `json:"id"`
	Kind     dhruva.ItemKind   `json:"kind"`
	Text     string            `json:"text"`
	Attrs    map[string]string `json:"attrs,omitempty"`
	Cites    []Cite            `json:"cites,omitempty"`
	Digest   dhruva.Hash       `json:"digest"`
	Redacted bool              `json:"redacted,omitempty" doc:"The text was purged; the digest stays."`
}
