// Package recallbench measures how well package recall finds the turns that
// answer a question: no model, no judge, gold turn ids only.
//
// Rules it keeps:
//
//  1. One conversation is one space. Its turns are indexed as given, without
//     the marks that a generator left in them.
//  2. A query's category and gold are read after its ranking is fixed; its answer is never read.
//  3. Queries without gold are left out of the averages; n says how many remain.
//  4. Plain BM25 runs on the same turns in the same run.
//
// It stores nothing; WriteArtefact writes one line a query. Run is safe to call
// from several goroutines.
package recallbench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva/recall"
)

// Options change a run.
type Options struct {
	K       int            // length of the ranking; 10 when not positive
	Profile recall.Profile // Auto lets each index choose
	Binary  string         // what the report calls the measured program
}

// Latency is in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Gate is a label measured as a classifier: AUROC of answerable queries over
// those that it should warn of, and the percentage of the latter that still
// pass at the threshold where 90 percent of the answerable ones pass.
type Gate struct {
	Name        string  `json:"-"`
	N           int     `json:"-"` // answerable queries
	Negatives   int     `json:"-"`
	AUROC       float64 `json:"auroc"`
	FalseInject float64 `json:"false_inject_rate"`
}

// Report is the outcome of a run. It marshals to the object of `dhruva bench
// recall --json`: rates in percent, AUROC in 0..1, gate null where the set has
// nothing to tell apart.
type Report struct {
	Set        string             `json:"set"`
	Unit       string             `json:"unit"`
	N          int                `json:"n"`
	NoGold     int                `json:"-"` // queries left out of the averages
	Turns      int                `json:"-"`
	Profile    string             `json:"-"`
	Overall    Metrics            `json:"overall"`
	Categories map[string]Metrics `json:"categories"`
	Tokens     float64            `json:"tokens_per_query"`
	LatencyMS  Latency            `json:"latency_ms"`
	Gate       *Gate              `json:"gate"`
	Baseline   Baseline           `json:"baseline"`
	Dataset    string             `json:"dataset_sha256"`
	Binary     string             `json:"binary"`

	queries []QueryResult
}

// Baseline is plain BM25 over the same turns.
type Baseline struct {
	Name       string             `json:"name"`
	Overall    Metrics            `json:"overall"`
	Categories map[string]Metrics `json:"categories"`
	Tokens     float64            `json:"tokens_per_query"`
}

// QueryResult is what happened to one query.
type QueryResult struct {
	QID       string   `json:"qid"`
	Conv      string   `json:"conv"`
	Category  string   `json:"category"`
	Gold      []string `json:"gold"`
	Ranking   []string `json:"ranking"`
	Baseline  []string `json:"baseline"`
	Tokens    int      `json:"tokens"`
	LatencyMS float64  `json:"latency_ms"`
	Metrics   *Metrics `json:"metrics,omitempty"` // nil without gold

	baseTokens int
	margin     *float64
	restate    float64
}

// Run reads a set and measures it.
func Run(ctx context.Context, dir string, o Options) (Report, error) {
	d, err := load(dir)
	if err != nil {
		return Report{}, fmt.Errorf("recall bench: %w", err)
	}
	if o.K <= 0 {
		o.K = 10
	}
	r := Report{Set: d.set, Unit: d.unit, Dataset: d.sha256, Binary: o.Binary}
	if r.Binary == "" {
		r.Binary = runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	}
	for _, conv := range d.convs {
		if err := r.conversation(ctx, d, conv, o); err != nil {
			return Report{}, err
		}
	}
	r.summarize()
	return r, nil
}

// space is one conversation under test.
type space struct {
	index  *recall.Index
	plain  *plainBM25
	texts  map[string]string
	tokens map[string]int
}

func build(docs []recall.Doc) *space {
	s := &space{index: recall.New(), plain: newPlainBM25(docs), texts: map[string]string{}, tokens: map[string]int{}}
	for _, d := range docs {
		s.index.Add(d)
		s.texts[d.Ref] = d.Text
		s.tokens[d.Ref] = estimateTokens(d.Text)
	}
	return s
}

func (r *Report) conversation(ctx context.Context, d *dataset, conv string, o Options) error {
	s := build(d.turns[conv])
	r.Turns += len(d.turns[conv])
	for _, q := range d.queries {
		if q.Conv != conv {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		res, profile := s.ask(q.Question, o)
		r.Profile = profile.String()
		res.QID, res.Conv, res.Category, res.Gold = q.QID, conv, q.Category, q.gold()
		if len(res.Gold) > 0 {
			m := score(res.Ranking, res.Gold)
			res.Metrics = &m
		}
		r.queries = append(r.queries, res)
	}
	return nil
}

// ask sees only the question.
func (s *space) ask(question string, o Options) (QueryResult, recall.Profile) {
	start := time.Now()
	found := s.index.Evaluate(recall.Query{Text: question, K: o.K, Profile: o.Profile})
	res := QueryResult{LatencyMS: float64(time.Since(start).Nanoseconds()) / 1e6}
	for _, h := range found.Hits {
		res.Ranking = append(res.Ranking, h.Ref)
		res.Tokens += s.tokens[h.Ref]
	}
	res.Baseline = s.plain.search(question, o.K)
	for _, ref := range res.Baseline {
		res.baseTokens += s.tokens[ref]
	}
	if found.Attribution.Known {
		res.margin = &found.Attribution.Margin
	}
	var texts []string
	for _, ref := range res.Ranking {
		texts = append(texts, s.texts[ref])
	}
	res.restate = s.index.Restatement(recall.Query{Text: question}, texts)
	return res, found.Profile
}

// estimateTokens is a quarter of the ASCII bytes, and every other character.
func estimateTokens(text string) int {
	ascii, other := 0, 0
	for _, c := range text {
		if c < 0x80 {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

func (r *Report) summarize() {
	all, base := bySet{}, bySet{}
	var times []float64
	for _, q := range r.queries {
		times = append(times, q.LatencyMS)
		r.Tokens += float64(q.Tokens)
		r.Baseline.Tokens += float64(q.baseTokens)
		if q.Metrics == nil {
			r.NoGold++
			continue
		}
		r.N++
		all.add(q.Category, *q.Metrics)
		base.add(q.Category, score(q.Baseline, q.Gold))
	}
	slices.Sort(times)
	r.LatencyMS = Latency{P50: percentile(times, 50), P95: percentile(times, 95), P99: percentile(times, 99)}
	n := float64(max(len(r.queries), 1))
	r.Tokens, r.Baseline.Tokens = round2(r.Tokens/n), round2(r.Baseline.Tokens/n)
	r.Overall, r.Categories = all.means()
	r.Baseline.Name = plainName
	r.Baseline.Overall, r.Baseline.Categories = base.means()
	r.Gate = r.gate()
}

// bySet collects scores by category.
type bySet map[string][]Metrics

func (b bySet) add(category string, m Metrics) {
	b[category] = append(b[category], m)
}

func (b bySet) means() (Metrics, map[string]Metrics) {
	var all []Metrics
	categories := map[string]Metrics{}
	for name, scores := range b {
		all = append(all, scores...)
		categories[name] = mean(scores)
	}
	return mean(all), categories
}
