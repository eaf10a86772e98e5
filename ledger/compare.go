package ledger

import (
	"context"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// Comparison says in what two checkpoints differ.
type Comparison struct {
	A, B dhruva.Checkpoint
	// Kinds stand in canonical order, all of them.
	Kinds []KindComparison
	// CommonAncestor is the lowest one over all parents, of several the newest; nil
	// when they are unrelated. A checkpoint is its own ancestor.
	CommonAncestor *dhruva.Outline
}

// Same reports whether the two say the same in everything but their titles.
func (c *Comparison) Same() bool {
	return !slices.ContainsFunc(c.Kinds, func(k KindComparison) bool {
		return k.Kind != dhruva.KindTitle && len(k.OnlyA)+len(k.OnlyB)+len(k.Changed) > 0
	})
}

// KindComparison compares the items of one kind. OnlyA, Shared and Changed stand
// in the order of A, OnlyB in that of B.
type KindComparison struct {
	Kind         dhruva.ItemKind
	OnlyA, OnlyB []dhruva.Item
	Shared       []ItemPair
	// Changed have the same id, and another text or other attributes.
	Changed []ItemPair
}

// ItemPair is one item as two checkpoints have it.
type ItemPair struct{ A, B dhruva.Item }

// Compare compares two checkpoints by the ids of their items, and then by what
// the others say within their kind, whatever its case and end marks. Title,
// objective and summary are one slot each, whatever their ids. Needs state:read.
func (l *Ledger) Compare(ctx context.Context, a, b string) (out Comparison, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return out, wrap("compare", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out = Comparison{}
		if out.A, err = checkpointIn(tx, p, "", a); err != nil {
			return err
		}
		if out.B, err = checkpointIn(tx, p, "", b); err != nil {
			return err
		}
		out.Kinds = CompareItems(out.A.Items, out.B.Items)
		out.CommonAncestor, err = commonAncestor(tx, out.A, out.B)
		return err
	})
	if err != nil {
		return Comparison{}, wrap("compare", err)
	}
	return out, nil
}

func commonAncestor(tx dhruva.Tx, a, b dhruva.Checkpoint) (*dhruva.Outline, error) {
	if a.Space != b.Space {
		return nil, nil
	}
	of, err := reachedFrom(tx, a.Space, a.Hash)
	if err != nil {
		return nil, err
	}
	with, err := reachedFrom(tx, b.Space, b.Hash)
	if err != nil {
		return nil, err
	}
	common, related := of.common(with)
	if !related {
		return nil, nil
	}
	return &common, nil
}

// CompareItems compares the items of two checkpoints, kind by kind. It is a pure
// function.
func CompareItems(a, b []dhruva.Item) []KindComparison {
	out := make([]KindComparison, 0, len(dhruva.ItemKinds()))
	for _, kind := range dhruva.ItemKinds() {
		out = append(out, compareKind(kind, ofKind(a, kind), ofKind(b, kind)))
	}
	return out
}

func ofKind(items []dhruva.Item, kind dhruva.ItemKind) (out []dhruva.Item) {
	for _, i := range items {
		if i.Kind == kind {
			out = append(out, i)
		}
	}
	return out
}

func compareKind(kind dhruva.ItemKind, a, b []dhruva.Item) KindComparison {
	out := KindComparison{Kind: kind}
	paired := pairItems(a, b)
	taken := map[int]bool{}
	for n, i := range a {
		m, ok := paired[n]
		if !ok {
			out.OnlyA = append(out.OnlyA, i)
			continue
		}
		taken[m] = true
		pair := ItemPair{i, b[m]}
		switch {
		case sameItem(i, b[m]), i.ID != b[m].ID && !slot(kind):
			out.Shared = append(out.Shared, pair)
		default:
			out.Changed = append(out.Changed, pair)
		}
	}
	for m, i := range b {
		if !taken[m] {
			out.OnlyB = append(out.OnlyB, i)
		}
	}
	return out
}

// pairItems pairs the items of one kind, by their places: those of one id, then
// those that say the same, then those that say it in the same words but for case
// and end marks; each once, in order.
func pairItems(a, b []dhruva.Item) map[int]int {
	out, taken := map[int]int{}, map[int]bool{}
	for _, likeness := range []func(dhruva.Item) (string, bool){byID, bySaying, byWords} {
		free := map[string][]int{}
		for m, y := range b {
			if key, ok := likeness(y); ok && !taken[m] {
				free[key] = append(free[key], m)
			}
		}
		for n, x := range a {
			key, ok := likeness(x)
			if _, done := out[n]; done || !ok || len(free[key]) == 0 {
				continue
			}
			m := free[key][0]
			out[n], taken[m], free[key] = m, true, free[key][1:]
		}
	}
	return out
}

// byID: the one item of a slot is itself whatever its id.
func byID(i dhruva.Item) (string, bool) {
	if slot(i.Kind) {
		return "", true
	}
	return string(i.ID), true
}

func bySaying(i dhruva.Item) (string, bool) {
	if i.Kind == dhruva.KindArtifact {
		return i.Text, !i.Redacted
	}
	return dhruva.Normalize(i.Text), !i.Redacted
}

func byWords(i dhruva.Item) (string, bool) {
	return plainly(i.Text), !i.Redacted && i.Kind != dhruva.KindArtifact
}

// sameText: the two say the same. Artifacts do only byte for byte.
func sameText(a, b dhruva.Item) bool {
	if a.Kind == dhruva.KindArtifact || a.Text == b.Text {
		return a.Text == b.Text
	}
	return dhruva.Normalize(a.Text) == dhruva.Normalize(b.Text)
}

// sameItem: the two say the same, and have the same attributes. A stub is the
// same as no text.
func sameItem(a, b dhruva.Item) bool {
	return a.Redacted == b.Redacted && sameText(a, b) && slices.Equal(a.Attrs, b.Attrs)
}
