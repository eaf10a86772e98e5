package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/llm"
)

// ReviewInput names a checkpoint to be looked at.
type ReviewInput struct {
	Checkpoint string // hash, prefix of one, or UUID
	By
}

// Review is what a model has to say about a checkpoint.
type Review struct {
	Checkpoint dhruva.Checkpoint
	// Issues and Suggestions are at most five each.
	Issues      []Issue
	Suggestions []string
	// LeftOut says in words what the model was not given.
	LeftOut string
	// Provider, Model, Receipt and At are empty when no model was asked: there was
	// nothing to look at.
	Provider, Model string
	Receipt         dhruva.ReceiptID
	At              time.Time
}

// Issue is one thing that is wrong with a checkpoint.
type Issue struct {
	// Type is contradiction, hidden_assumption, resolved_question or unused_entity.
	Type, Description string
}

// mostFindings bounds issues and suggestions.
const mostFindings = 5

// Review asks the model for background work to look a checkpoint over. Held and
// purged items are left out. It keeps nothing but a receipt. Needs state:write.
func (m *Memory) Review(ctx context.Context, in ReviewInput) (Review, error) {
	if err := mayAsk(ctx); err != nil {
		return Review{}, err
	}
	c, err := m.Ledger.Checkpoint(ctx, in.Checkpoint)
	if err != nil {
		return Review{}, err
	}
	out := Review{Checkpoint: c}
	held, err := m.withoutHeld(ctx, &c)
	if err != nil {
		return Review{}, err
	}
	out.LeftOut = leftOut("", held)
	c.Items = slices.DeleteFunc(slices.Clone(c.Items), func(i dhruva.Item) bool { return i.Redacted })
	if len(c.Items) == 0 {
		return out, nil
	}
	text := out.reviewed(&c, m.Limits.withDefaults())
	p, err := m.by(ctx, in.By)
	if err != nil {
		return Review{}, err
	}
	r := m.receipt(ctx, "review", "api", c.Space)
	r.Checkpoint = c.Hash
	out.Receipt, err = m.ask(ctx, p, r, reviewRequest(text), func(res llm.Response) error {
		a, err := readAnswer(p.Name, res, "issues", "suggestions")
		out.Issues, out.Suggestions = a.issues(), a.suggestions()
		return err
	})
	if err != nil {
		return Review{}, err
	}
	out.Provider, out.Model, out.At = p.Name, p.DefaultModel, r.CreatedAt
	return out, nil
}

// reviewed is a checkpoint as the model gets it, within the budgets of a prompt.
func (r *Review) reviewed(c *dhruva.Checkpoint, l Limits) string {
	one := []dhruva.Checkpoint{*c}
	if over := withinBudget(one, l.ArtifactTokens); over > 0 {
		r.LeftOut = also(r.LeftOut, fmt.Sprintf("%d artifacts are left out for their length.", over))
	}
	for n, i := range one[0].Items {
		if i.Kind == dhruva.KindArtifact {
			one[0].Items[n].Text = cut(i.Text, artifactRunes)
		}
	}
	text := Markdown(&one[0])
	if most := 4 * l.HistoryTokens; len(text) > most {
		r.LeftOut = also(r.LeftOut, "The end of the checkpoint is left out for its length.")
		text = clip(text, most)
	}
	return text
}

func issueTypes() []string {
	return []string{"contradiction", "hidden_assumption", "resolved_question", "unused_entity"}
}

// issues are those of the known types, without duplicates.
func (a answer) issues() (out []Issue) {
	for _, e := range a.entries("issues") {
		i := Issue{Type: e.fields.line("type"), Description: e.text}
		if len(out) < mostFindings && i.Description != "" && slices.Contains(issueTypes(), i.Type) && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}

func (a answer) suggestions() (out []string) {
	for _, i := range a.items("suggestions", nil, nil) {
		if len(out) < mostFindings {
			out = append(out, i.Text)
		}
	}
	return out
}
