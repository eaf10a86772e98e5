package recallbench

import "slices"

// gate measures the label that the set has negatives for.
func (r *Report) gate() *Gate {
	var keep, warn []float64
	for _, q := range r.queries {
		if q.margin == nil {
			continue
		}
		if q.Category == "adversarial" {
			warn = append(warn, *q.margin)
		} else if q.Metrics != nil {
			keep = append(keep, *q.margin)
		}
	}
	return classify("attribution margin", keep, warn)
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
