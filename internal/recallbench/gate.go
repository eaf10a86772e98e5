package recallbench

import "slices"

// Categories whose queries cannot be answered from the space, and the label
// that should tell: adversarial ones credit a statement to the wrong person,
// abstention ones ask for what was never said.
const (
	adversarial = "adversarial"
	abstention  = "abstention"
)

// gate measures the label that the set has negatives for.
func (r *Report) gate() *Gate {
	var keep, warn, keepWeak, warnWeak []float64
	for _, q := range r.queries {
		switch {
		case q.Category == abstention:
			warnWeak = append(warnWeak, q.restate)
		case q.Category == adversarial:
			warn = appendKnown(warn, q.margin)
		case q.Metrics != nil:
			keep = appendKnown(keep, q.margin)
			keepWeak = append(keepWeak, q.restate)
		}
	}
	if g := classify("restatement", keepWeak, warnWeak); g != nil {
		return g
	}
	return classify("attribution margin", keep, warn)
}

func appendKnown(to []float64, v *float64) []float64 {
	if v == nil {
		return to
	}
	return append(to, *v)
}

// classify is nil when there is nothing to tell apart.
func classify(name string, keep, warn []float64) *Gate {
	if len(keep) == 0 || len(warn) == 0 {
		return nil
	}
	slices.Sort(keep)
	threshold := percentile(keep, 10)
	passed := 0
	for _, v := range warn {
		if v >= threshold {
			passed++
		}
	}
	return &Gate{
		Name: name, N: len(keep), Negatives: len(warn),
		AUROC: auroc(keep, warn), FalseInject: round2(100 * float64(passed) / float64(len(warn))),
	}
}
