package api

import (
	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
)

func commitInput(space dhruva.SpaceID, in client.CheckpointInput) ledger.CommitInput {
	return ledger.CommitInput{
		Space: space, Session: in.Session, Branch: in.Branch, Parents: in.Parents,
		Title: in.Title, Objective: in.Objective, Summary: in.Summary,
		Decisions: each(in.Decisions, itemInput), Assumptions: each(in.Assumptions, itemInput), Tasks: each(in.Tasks, taskInput),
		OpenQuestions: each(in.Questions, itemInput), Entities: each(in.Entities, itemInput), Artifacts: each(in.Artifacts, artifactInput),
		Author: in.Author,
	}
}

func itemInput(i client.Item) ledger.ItemInput { return newItem(i.Text, i.ID, i.Cites) }

func taskInput(t client.Task) ledger.ItemInput {
	i := newItem(t.Text, t.ID, t.Cites)
	return withAttrs(i, dhruva.AttrIntent, t.Intent, dhruva.AttrBlockedBy, t.BlockedBy, dhruva.AttrStatus, t.Status)
}

func artifactInput(a client.Artifact) ledger.ItemInput {
	i := newItem(a.Content, a.ID, a.Cites)
	return withAttrs(i, dhruva.AttrType, a.Type, dhruva.AttrLabel, a.Label)
}

// newItem keeps the caller's id as an attribute, so that it comes back as it
// was sent; a UUID is the item's identity down the lineage as well.
func newItem(text, id string, cites []client.Cite) ledger.ItemInput {
	i := ledger.ItemInput{Text: text}
	for _, c := range cites {
		i.Cites = append(i.Cites, dhruva.Cite(c))
	}
	if uuid.Validate(id) == nil {
		i.ID = dhruva.ItemID(id)
	}
	return withAttrs(i, dhruva.AttrSlug, id)
}

func withAttrs(i ledger.ItemInput, namesAndValues ...string) ledger.ItemInput {
	for n := 0; n < len(namesAndValues); n += 2 {
		if v := namesAndValues[n+1]; v != "" {
			i.Attrs = append(i.Attrs, dhruva.Attr{Name: namesAndValues[n], Value: v})
		}
	}
	return i
}

func itemView(i dhruva.Item) client.Item {
	return client.Item{Text: i.Text, ID: i.Attr(dhruva.AttrSlug), Cites: citeViews(i)}
}

func taskView(i dhruva.Item) client.Task {
	return client.Task{
		Text: i.Text, ID: i.Attr(dhruva.AttrSlug), Intent: i.Attr(dhruva.AttrIntent), BlockedBy: i.Attr(dhruva.AttrBlockedBy),
		Status: i.Attr(dhruva.AttrStatus), Cites: citeViews(i),
	}
}

func artifactView(i dhruva.Item) client.Artifact {
	return client.Artifact{
		Content: i.Text, ID: i.Attr(dhruva.AttrSlug), Type: i.Attr(dhruva.AttrType), Label: i.Attr(dhruva.AttrLabel), Cites: citeViews(i),
	}
}

func detailView(i dhruva.Item) client.ItemDetail {
	d := client.ItemDetail{ID: i.ID, Kind: i.Kind, Text: i.Text, Cites: citeViews(i), Digest: i.Digest, Redacted: i.Redacted}
	for _, a := range i.Attrs {
		if d.Attrs == nil {
			d.Attrs = map[string]string{}
		}
		d.Attrs[a.Name] = a.Value
	}
	return d
}

// citeViews is nil for an item without cites, which may then be a plain string.
func citeViews(i dhruva.Item) []client.Cite {
	var out []client.Cite
	for _, c := range i.Cites {
		out = append(out, client.Cite(c))
	}
	return out
}

// The wire forms of items, which package client decides in code that huma
// cannot see: a string, or the object.
type (
	itemSchema     struct{}
	taskSchema     struct{}
	artifactSchema struct{}
)

type itemForm client.Item
type taskForm client.Task
type artifactForm client.Artifact

// Schema is the schema of a client.Item.
func (itemSchema) Schema(r huma.Registry) *huma.Schema {
	return stringOr(huma.SchemaFromType(r, typeOf[itemForm]()))
}

// Schema is the schema of a client.Task.
func (taskSchema) Schema(r huma.Registry) *huma.Schema {
	return stringOr(huma.SchemaFromType(r, typeOf[taskForm]()))
}

// Schema is the schema of a client.Artifact.
func (artifactSchema) Schema(r huma.Registry) *huma.Schema {
	return stringOr(huma.SchemaFromType(r, typeOf[artifactForm]()))
}

func stringOr(object *huma.Schema) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeString}, object}}
}
