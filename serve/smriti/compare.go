package smriti

import (
	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// Comparison are two checkpoints and what they do not say alike.
type Comparison struct {
	A    Commit     `json:"checkpoint_a"`
	B    Commit     `json:"checkpoint_b"`
	Diff Difference `json:"diff"`
}

// Difference compares texts. An item that says something else on each side is
// among those that only one has.
type Difference struct {
	SummaryA          string               `json:"summary_a"`
	SummaryB          string               `json:"summary_b"`
	ObjectiveA        string               `json:"objective_a"`
	ObjectiveB        string               `json:"objective_b"`
	DecisionsOnlyA    []string             `json:"decisions_only_a"`
	DecisionsOnlyB    []string             `json:"decisions_only_b"`
	DecisionsShared   []string             `json:"decisions_shared"`
	AssumptionsOnlyA  []string             `json:"assumptions_only_a"`
	AssumptionsOnlyB  []string             `json:"assumptions_only_b"`
	AssumptionsShared []string             `json:"assumptions_shared"`
	TasksOnlyA        []string             `json:"tasks_only_a"`
	TasksOnlyB        []string             `json:"tasks_only_b"`
	TasksShared       []string             `json:"tasks_shared"`
	CommonAncestor    *dhruva.CheckpointID `json:"common_ancestor_commit_id"`
}

func (a *api) compare(c *call) (any, error) {
	one, err := c.pathID("a")
	if err != nil {
		return nil, err
	}
	two, err := c.pathID("b")
	if err != nil {
		return nil, err
	}
	cmp, err := a.ledger.Compare(c.ctx(), one, two)
	if err != nil {
		return nil, err
	}
	var out Comparison
	if out.A, err = a.commit(c.ctx(), cmp.A); err != nil {
		return nil, err
	}
	if out.B, err = a.commit(c.ctx(), cmp.B); err != nil {
		return nil, err
	}
	out.Diff = differenceOf(cmp)
	return out, nil
}

func differenceOf(cmp ledger.Comparison) Difference {
	d := Difference{
		SummaryA: cmp.A.Text(dhruva.KindSummary), SummaryB: cmp.B.Text(dhruva.KindSummary),
		ObjectiveA: cmp.A.Text(dhruva.KindObjective), ObjectiveB: cmp.B.Text(dhruva.KindObjective),
	}
	if cmp.CommonAncestor != nil {
		d.CommonAncestor = orNull(cmp.CommonAncestor.ID)
	}
	d.DecisionsOnlyA, d.DecisionsOnlyB, d.DecisionsShared = sides(cmp, dhruva.KindDecision)
	d.AssumptionsOnlyA, d.AssumptionsOnlyB, d.AssumptionsShared = sides(cmp, dhruva.KindAssumption)
	d.TasksOnlyA, d.TasksOnlyB, d.TasksShared = sides(cmp, dhruva.KindTask)
	return d
}

// sides are the texts of one kind that A, B or both say. Purged ones say nothing.
func sides(cmp ledger.Comparison, kind dhruva.ItemKind) (onlyA, onlyB, shared []string) {
	onlyA, onlyB, shared = []string{}, []string{}, []string{}
	say := func(to *[]string, i dhruva.Item) {
		if !i.Redacted {
			*to = append(*to, i.Text)
		}
	}
	for _, k := range cmp.Kinds {
		if k.Kind != kind {
			continue
		}
		for _, i := range k.OnlyA {
			say(&onlyA, i)
		}
		for _, i := range k.OnlyB {
			say(&onlyB, i)
		}
		for _, p := range k.Shared {
			say(&shared, p.A)
		}
		for _, p := range k.Changed {
			if dhruva.Normalize(p.A.Text) == dhruva.Normalize(p.B.Text) { // only their attributes differ
				say(&shared, p.A)
				continue
			}
			say(&onlyA, p.A)
			say(&onlyB, p.B)
		}
	}
	return onlyA, onlyB, shared
}
