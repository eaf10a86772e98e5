package recallbench

import (
	"math"
	"slices"
	"sort"
)

// Metrics are averages over queries with gold, in percent.
type Metrics struct {
	N     int     `json:"n"`
	Rec5  float64 `json:"rec@5"`
	Rec10 float64 `json:"rec@10"`
	Any10 float64 `json:"any@10"`
	All10 float64 `json:"all@10"`
	NDCG  float64 `json:"ndcg@10"`
	MRR   float64 `json:"mrr"`
}

// score measures one ranking against its gold. Every value lies in 0..1; MRR
// reads the ranking as far as it goes.
func score(ranking, gold []string) Metrics {
	m := Metrics{N: 1}
	ideal, found10 := 0.0, 0.0
	for i := range min(len(gold), 10) {
		ideal += 1 / math.Log2(float64(i)+2)
	}
	share := 1 / float64(len(gold))
	for i, ref := range ranking {
		if !slices.Contains(gold, ref) {
			continue
		}
		if m.MRR == 0 {
			m.MRR = 1 / float64(i+1)
		}
		if i < 5 {
			m.Rec5 += share
		}
		if i < 10 {
			m.Rec10 += share
			found10++
			m.NDCG += 1 / math.Log2(float64(i)+2) / ideal
		}
	}
	if found10 > 0 {
		m.Any10 = 1
	}
	if int(found10) == len(gold) {
		m.All10 = 1
	}
	return m
}

// mean averages scores and turns them into percent.
func mean(scores []Metrics) Metrics {
	out := Metrics{N: len(scores)}
	if out.N == 0 {
		return out
	}
	for _, s := range scores {
		out.Rec5 += s.Rec5
		out.Rec10 += s.Rec10
		out.Any10 += s.Any10
		out.All10 += s.All10
		out.NDCG += s.NDCG
		out.MRR += s.MRR
	}
	f := 100 / float64(out.N)
	for _, v := range [...]*float64{&out.Rec5, &out.Rec10, &out.Any10, &out.All10, &out.NDCG, &out.MRR} {
		*v = round2(*v * f)
	}
	return out
}

func round2(v float64) float64 { return math.Round(v*100) / 100 }

// percentile is the nearest-rank percentile of sorted values.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(p/100*float64(len(sorted)))) - 1
	return sorted[max(i, 0)]
}

// auroc is the chance that a positive scores above a negative, ties half.
func auroc(positive, negative []float64) float64 {
	type item struct {
		v   float64
		pos bool
	}
	items := make([]item, 0, len(positive)+len(negative))
	for _, v := range positive {
		items = append(items, item{v, true})
	}
	for _, v := range negative {
		items = append(items, item{v, false})
	}
	sort.Slice(items, func(i, j int) bool { return items[i].v < items[j].v })
	wins, below := 0.0, 0.0
	for i := 0; i < len(items); {
		j, pos, neg := i, 0.0, 0.0
		for ; j < len(items) && items[j].v == items[i].v; j++ {
			if items[j].pos {
				pos++
			} else {
				neg++
			}
		}
		wins += pos * (below + neg/2)
		below += neg
		i = j
	}
	return wins / (float64(len(positive)) * float64(len(negative)))
}
