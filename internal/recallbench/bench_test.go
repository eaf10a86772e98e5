package recallbench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var dataDir = flag.String("data", "", "directory of a benchmark set to measure and print")

func run(t *testing.T, dir string) Report {
	t.Helper()
	r, err := Run(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBench prints the table of -data DIR; without it, it holds the built-in
// sets to what a working ranker reaches on them.
func TestBench(t *testing.T) {
	if *dataDir != "" {
		if err := run(t, *dataDir).WriteTable(t.Output()); err != nil {
			t.Fatal(err)
		}
		return
	}
	people, chats := run(t, peerSet(t)), run(t, chatSet(t))
	for _, c := range []struct {
		what string
		got  float64
		min  float64
	}{
		{"people, single hop rec@5", people.Categories["single_hop"].Rec5, 100},
		{"people, answers beside their question rec@5", people.Categories["open_domain"].Rec5, 100},
		{"people, dates rec@5", people.Categories["temporal"].Rec5, 90},
		{"people, gain over BM25 at rec@5", people.Overall.Rec5 - people.Baseline.Overall.Rec5, 15},
		{"people, attribution AUROC", 100 * people.Gate.AUROC, 90},
		{"chats rec@5", chats.Overall.Rec5, 100},
		{"chats MRR", chats.Overall.MRR, 95},
		{"chats, restatement AUROC", 100 * chats.Gate.AUROC, 80},
	} {
		if c.got < c.min {
			t.Errorf("%s: %.1f, want at least %.1f", c.what, c.got, c.min)
		}
	}
	if people.Profile != "peer" || chats.Profile != "assistant" {
		t.Errorf("profiles %s and %s", people.Profile, chats.Profile)
	}
	if people.N != 48 || people.NoGold != 1 || chats.N != 12 || chats.NoGold != 12 {
		t.Errorf("n %d+%d and %d+%d", people.N, people.NoGold, chats.N, chats.NoGold)
	}
}

func rankings(r Report) map[string][]string {
	out := map[string][]string{}
	for _, q := range r.queries {
		out[q.QID] = append(slices.Clone(q.Ranking), q.Baseline...)
	}
	return out
}

// A ranking may not depend on what only the scorer may know.
func TestCategoryAnswerAndGoldAreNotReadAtQueryTime(t *testing.T) {
	dir := peerSet(t)
	before := rankings(run(t, dir))
	blind := []row{}
	err := eachLine(filepath.Join(dir, queriesFile), &bytes.Buffer{}, func(line []byte) error {
		var q row
		err := json.Unmarshal(line, &q)
		blind = append(blind, row{"conv": q["conv"], "qid": q["qid"], "question": q["question"], "category": "other", "gold": []string{}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	writeLines(t, filepath.Join(dir, queriesFile), blind)
	if diff := cmp.Diff(before, rankings(run(t, dir))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGeneratorMarkIsNotIndexed(t *testing.T) {
	d, err := load(chatSet(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range d.turns["k"] {
		if strings.Contains(doc.Text, "->") {
			t.Errorf("marked text %q", doc.Text)
		}
	}
	if d.turns["k"][3].Time.IsZero() {
		t.Error("the date of a batch does not reach its later messages")
	}
}

func TestJSONShape(t *testing.T) {
	raw, err := json.Marshal(run(t, chatSet(t)))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := "baseline binary categories dataset_sha256 gate latency_ms n overall set tokens_per_query unit"
	if diff := cmp.Diff(want, names(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{
		"overall": "all@10 any@10 mrr n ndcg@10 rec@10 rec@5", "latency_ms": "p50 p95 p99", "gate": "auroc false_inject_rate",
		"baseline": "categories name overall tokens_per_query",
	} {
		if diff := cmp.Diff(want, names(got[key].(map[string]any))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if len(got["dataset_sha256"].(string)) != 64 {
		t.Errorf("dataset_sha256 %v", got["dataset_sha256"])
	}
}

func names(m map[string]any) string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestTableSaysSetUnitCategoriesAndN(t *testing.T) {
	var b strings.Builder
	r := run(t, peerSet(t))
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(b.String()) {
		f := strings.Fields(line)
		if len(f) == 11 && (f[2] == "recall" || f[2] == "baseline") {
			rows++
			if f[0] != "people" || f[1] != "turn" {
				t.Errorf("line %q", line)
			}
		}
	}
	if want := 2 * (1 + len(r.Categories)); rows != want {
		t.Errorf("%d rows, want %d:\n%s", rows, want, b.String())
	}
}

func TestArtefactHoldsEveryQueryAndNoText(t *testing.T) {
	var b bytes.Buffer
	r := run(t, peerSet(t))
	if err := r.WriteArtefact(&b); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte("\n")); n != 49 {
		t.Errorf("%d lines, want 49", n)
	}
	if bytes.Contains(b.Bytes(), []byte("kayak")) {
		t.Error("the artefact quotes the set")
	}
}

func TestBadSetsAreRefused(t *testing.T) {
	turn := row{"conv": "c", "id": "1", "text": "x", "time": "1:56 pm on 8 May, 2023", "speaker": "A"}
	ask := func(conv, gold string) row {
		return row{"conv": conv, "qid": "q", "question": "x?", "category": "k", "gold": []string{gold}}
	}
	for name, dir := range map[string]string{
		"missing":         filepath.Join(t.TempDir(), "nowhere"),
		"unknown gold":    writeSet(t, "a", []row{turn}, []row{ask("c", "2")}),
		"unknown conv":    writeSet(t, "b", []row{turn}, []row{ask("d", "1")}),
		"turn twice":      writeSet(t, "c", []row{turn, turn}, []row{ask("c", "1")}),
		"unreadable time": writeSet(t, "d", []row{{"conv": "c", "id": "1", "time": "noonish"}}, nil),
	} {
		if _, err := Run(t.Context(), dir, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Run(t.Context(), filepath.Join(t.TempDir(), "nowhere"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, peerSet(t), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestScore(t *testing.T) {
	got := score([]string{"x", "a", "y", "z", "w", "b"}, []string{"a", "b", "c"})
	ideal := 1 + 1/math.Log2(3) + .5
	want := Metrics{N: 1, Rec5: 1. / 3, Rec10: 2. / 3, Any10: 1, NDCG: (1/math.Log2(3) + 1/math.Log2(7)) / ideal, MRR: .5}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := score(nil, []string{"a"}); got != (Metrics{N: 1}) {
		t.Errorf("nothing found: %+v", got)
	}
	if got := score([]string{"a"}, []string{"a"}); got.All10 != 1 || math.Abs(got.NDCG-1) > 1e-12 {
		t.Errorf("all found: %+v", got)
	}
}

func TestAUROC(t *testing.T) {
	for _, c := range []struct {
		pos, neg []float64
		want     float64
	}{
		{[]float64{3, 4}, []float64{1, 2}, 1},
		{[]float64{1, 2}, []float64{3, 4}, 0},
		{[]float64{1, 1}, []float64{1, 1}, .5},
		{[]float64{2, 0}, []float64{1, 0}, .625},
	} {
		if got := auroc(c.pos, c.neg); got != c.want {
			t.Errorf("auroc(%v, %v) = %v, want %v", c.pos, c.neg, got, c.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	v := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for p, want := range map[float64]float64{50: 5, 95: 10, 99: 10, 10: 1, 0: 1} {
		if got := percentile(v, p); got != want {
			t.Errorf("p%v = %v, want %v", p, got, want)
		}
	}
}

func TestEstimateTokens(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abcd": 1, "abcde": 2, "日本": 2, "ab日": 2} {
		if got := estimateTokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
