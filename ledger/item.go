package ledger

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// ItemInput is one item of a checkpoint to be saved.
type ItemInput struct {
	// ID is kept when the first parent has an item of this kind with it; any
	// other is replaced, so that ids cannot be made up.
	ID    dhruva.ItemID
	Text  string
	Attrs []dhruva.Attr
	// Cites name turns inside the checkpoint's window.
	Cites []dhruva.Cite
}

// drafted are the items in canonical order, each with a fresh id and salt.
func (in *CommitInput) drafted(lim Limits) ([]dhruva.Item, error) {
	var out []dhruva.Item
	for _, kind := range dhruva.ItemKinds() {
		for _, i := range in.of(kind) {
			item, keep, err := draftItem(kind, i, lim.ItemBytes)
			if err != nil {
				return nil, err
			}
			if keep {
				out = append(out, item)
			}
		}
	}
	if len(out) > lim.Items {
		return nil, fmt.Errorf("%w: %d items, the limit is %d", dhruva.ErrTooLarge, len(out), lim.Items)
	}
	return out, nil
}

// redactItems replaces the secrets in items that are not digested yet, and counts
// them.
func (l *Ledger) redactItems(items []dhruva.Item) (secrets int, err error) {
	replace := func(text *string) {
		out, n := l.Redact(*text)
		*text, secrets = out, secrets+n
	}
	for i := range items {
		replace(&items[i].Text)
		for j := range items[i].Attrs {
			if err := l.notSecret("name of an attribute", items[i].Attrs[j].Name); err != nil {
				return 0, err
			}
			replace(&items[i].Attrs[j].Value)
		}
	}
	return secrets, nil
}

// of are the inputs of one kind.
func (in *CommitInput) of(kind dhruva.ItemKind) []ItemInput {
	switch kind {
	case dhruva.KindTitle:
		return []ItemInput{{Text: in.Title}}
	case dhruva.KindObjective:
		return []ItemInput{{Text: in.Objective}}
	case dhruva.KindSummary:
		return []ItemInput{{Text: in.Summary}}
	case dhruva.KindDecision:
		return in.Decisions
	case dhruva.KindAssumption:
		return in.Assumptions
	case dhruva.KindTask:
		return in.Tasks
	case dhruva.KindQuestion:
		return in.OpenQuestions
	case dhruva.KindEntity:
		return in.Entities
	case dhruva.KindArtifact:
		return in.Artifacts
	}
	return nil
}

// draftItem checks and canonicalises one item. Blank ones are left out, except
// an artifact that has at least a label.
func draftItem(kind dhruva.ItemKind, in ItemInput, max int) (dhruva.Item, bool, error) {
	out := dhruva.Item{ID: in.ID, Kind: kind, Text: in.Text, Cites: slices.Clone(in.Cites)}
	if kind != dhruva.KindArtifact { // an artifact's text is kept byte for byte
		out.Text = strings.TrimSpace(in.Text)
	}
	if err := body(string(kind), out.Text, max); err != nil {
		return out, false, err
	}
	var err error
	if out.Attrs, err = canonicalAttrs(kind, in.Attrs); err != nil {
		return out, false, err
	}
	if strings.TrimSpace(out.Text) == "" && (kind != dhruva.KindArtifact || len(out.Attrs) == 0) {
		return out, false, nil
	}
	rand.Read(out.Salt[:]) // never fails; it ends the program instead
	return out, true, nil
}

func canonicalAttrs(kind dhruva.ItemKind, in []dhruva.Attr) ([]dhruva.Attr, error) {
	var out []dhruva.Attr
	for _, a := range in {
		if a.Value == "" {
			continue
		}
		name, err := label(string(kind)+" attribute", a.Name, maxName, false)
		if err != nil {
			return nil, err
		}
		if err := body(string(kind)+" "+name, a.Value, maxDetail); err != nil {
			return nil, err
		}
		out = append(out, dhruva.Attr{Name: name, Value: a.Value})
	}
	slices.SortFunc(out, func(a, b dhruva.Attr) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(out); i++ {
		if out[i].Name == out[i-1].Name {
			return nil, fmt.Errorf("%w: %s has attribute %q twice", dhruva.ErrInvalid, kind, out[i].Name)
		}
	}
	return out, nil
}

// inherit gives items the ids they have down the lineage: the caller's where
// the first parent has it, else that of the parent's item that its author calls
// alike (a task's own id), else that of the one that says the same, else a fresh
// one. Title, objective and summary are one slot each and keep the
// parent's id whatever they say. No id of the parent is used twice.
func inherit(items []dhruva.Item, parent *dhruva.Checkpoint, fresh []dhruva.ItemID) {
	named, called, saying := map[itemKey]dhruva.Item{}, map[itemKey][]dhruva.ItemID{}, map[itemKey][]dhruva.ItemID{}
	if parent != nil {
		for _, p := range parent.Items {
			named[itemKey{p.Kind, string(p.ID)}] = p
			if k := sayingOf(p); !p.Redacted || slot(p.Kind) {
				saying[k] = append(saying[k], p.ID)
			}
			if k := callOfItem(p); k != (itemKey{}) {
				called[k] = append(called[k], p.ID)
			}
		}
	}
	used := map[dhruva.ItemID]bool{}
	for i, it := range items { // what the caller named goes first
		p, ok := named[itemKey{it.Kind, string(it.ID)}]
		if !ok || used[it.ID] {
			items[i].ID = ""
		} else {
			items[i].Attrs = asNamed(it, p)
		}
		used[items[i].ID] = true
	}
	for _, like := range []struct {
		ids map[itemKey][]dhruva.ItemID
		key func(dhruva.Item) itemKey
	}{{called, callOfItem}, {saying, sayingOf}} {
		for i, it := range items {
			free := slices.IndexFunc(like.ids[like.key(it)], func(id dhruva.ItemID) bool { return !used[id] })
			if items[i].ID == "" && free >= 0 {
				items[i].ID = like.ids[like.key(it)][free]
				used[items[i].ID] = true
			}
		}
	}
	for i := range items {
		if items[i].ID == "" {
			items[i].ID = fresh[i]
		}
	}
}

// asNamed are the attributes of an item that goes on from its parent's. One whose
// caller calls it by its own id has not got another name by that: it keeps the one
// it had, so that an item that was left alone is not a changed one.
func asNamed(i, parent dhruva.Item) []dhruva.Attr {
	if i.Attr(dhruva.AttrSlug) != string(i.ID) {
		return i.Attrs
	}
	out := slices.DeleteFunc(slices.Clone(i.Attrs), func(a dhruva.Attr) bool { return a.Name == dhruva.AttrSlug })
	if slug := parent.Attr(dhruva.AttrSlug); slug != "" {
		out = append(out, dhruva.Attr{Name: dhruva.AttrSlug, Value: slug})
		slices.SortFunc(out, func(a, b dhruva.Attr) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out
}

// itemKey names an item within a checkpoint, by its id or by what it says.
type itemKey struct {
	kind dhruva.ItemKind
	text string
}

func sayingOf(i dhruva.Item) itemKey {
	if slot(i.Kind) {
		return itemKey{kind: i.Kind}
	}
	return itemKey{i.Kind, dhruva.Normalize(i.Text)}
}

// callOfItem is what an item's author calls it, a task's id or an artifact's; the
// zero key when it has no name.
func callOfItem(i dhruva.Item) itemKey {
	if slug := i.Attr(dhruva.AttrSlug); slug != "" {
		return itemKey{i.Kind, slug}
	}
	return itemKey{}
}

func slot(k dhruva.ItemKind) bool {
	return k == dhruva.KindTitle || k == dhruva.KindObjective || k == dhruva.KindSummary
}

// cited checks that every cite lies in the window.
func cited(items []dhruva.Item, w dhruva.Window) error {
	for _, i := range items {
		for _, c := range i.Cites {
			if w.Session == "" || c.From <= w.Base || c.Through < c.From || c.Through > w.Through {
				return fmt.Errorf("%w: %s cites turns %d to %d, outside the window (%d to %d)", dhruva.ErrInvalid, i.Kind, c.From, c.Through, w.Base+1, w.Through)
			}
		}
	}
	return nil
}
