package recallbench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteTable prints the report for people: unit, set, categories and n on every line.
func (r Report) WriteTable(w io.Writer) error {
	names := make([]string, 0, len(r.Categories))
	for name := range r.Categories {
		names = append(names, name)
	}
	slices.Sort(names)
	scope := fmt.Sprintf("all %d categories", len(names))
	t := table{w: w, set: r.Set, unit: r.Unit}
	t.printf("%-10s %-8s %-10s %-26s %5s  %6s %6s %6s %6s %7s %6s\n",
		"set", "unit", "ranker", "categories", "n", "rec@5", "rec@10", "any@10", "all@10", "nDCG@10", "MRR")
	t.row("recall", scope, r.Overall)
	for _, name := range names {
		t.row("recall", name, r.Categories[name])
	}
	t.row("baseline", scope, r.Baseline.Overall)
	for _, name := range names {
		t.row("baseline", name, r.Baseline.Categories[name])
	}
	all := len(r.queries)
	t.printf("%s, %s, %s, n %d queries: tokens per query %.0f (baseline %.0f)\n", r.Set, r.Unit, scope, all, r.Tokens, r.Baseline.Tokens)
	t.printf("%s, %s, %s, n %d queries: latency ms p50 %.3f p95 %.3f p99 %.3f\n",
		r.Set, r.Unit, scope, all, r.LatencyMS.P50, r.LatencyMS.P95, r.LatencyMS.P99)
	if g := r.Gate; g != nil {
		t.printf("%s, %s, gate %s, n %d answerable and %d not: AUROC %.3f, false inject %.1f%% at 90%% answerable kept\n",
			r.Set, r.Unit, g.Name, g.N, g.Negatives, g.AUROC, g.FalseInject)
	}
	t.printf("%s: %d turns, %d queries without gold left out of the averages, profile %s, baseline %s\n",
		r.Set, r.Turns, r.NoGold, r.Profile, r.Baseline.Name)
	t.printf("%s: dataset sha256 %s, %s\n", r.Set, r.Dataset, r.Binary)
	return t.err
}

// table keeps the first error of a run of prints.
type table struct {
	w         io.Writer
	set, unit string
	err       error
}

func (t *table) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *table) row(ranker, category string, m Metrics) {
	t.printf("%-10s %-8s %-10s %-26s %5d  %6.1f %6.1f %6.1f %6.1f %7.1f %6.1f\n", t.set, t.unit, ranker,
		strings.ReplaceAll(category, " ", "_"), m.N, m.Rec5, m.Rec10, m.Any10, m.All10, m.NDCG, m.MRR)
}

// WriteArtefact writes one JSON line a query, without any text of the set.
func (r Report) WriteArtefact(w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, q := range r.queries {
		if err := enc.Encode(q); err != nil {
			return err
		}
	}
	return nil
}
