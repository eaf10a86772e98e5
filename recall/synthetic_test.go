package recall

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// synthetic makes a space of n turns whose words follow Zipf's law, as those of
// a language do, in sessions of 25 turns between two people.
func synthetic(n int, role bool) []Doc {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.07, 4, 20_000)
	docs := make([]Doc, 0, n)
	for i := range n {
		var text strings.Builder
		for range 8 + r.IntN(24) {
			fmt.Fprintf(&text, "%s ", syntheticWord(zipf.Uint64()))
		}
		d := Doc{
			Ref: fmt.Sprint("t", i), Group: fmt.Sprint("s", i/25), Pos: int64(i % 25),
			Time: time.Date(2023, 1, 1+i/25, 0, 0, 0, 0, time.UTC), Text: text.String(),
		}
		switch {
		case role && i%2 == 0:
			d.Role = User
		case role:
			d.Role = Responder
		default:
			d.Speaker = [...]string{"Caroline", "Melanie"}[i%2]
		}
		docs = append(docs, d)
	}
	return docs
}

// syntheticWord spells a rank in syllables, so that words share 4-grams.
func syntheticWord(rank uint64) string {
	syllables := [...]string{"ka", "ro", "mi", "ten", "lu", "sha", "per", "ing", "do", "va", "est", "no", "ri", "ba", "con", "ly"}
	var b strings.Builder
	for rank += 16; rank > 0; rank /= 16 {
		b.WriteString(syllables[rank%16])
	}
	return b.String()
}

func benchmarkSearch(b *testing.B, turns int, role bool) {
	x := New()
	for _, d := range synthetic(turns, role) {
		x.Add(d)
	}
	r := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(r, 1.07, 40, 20_000)
	queries := make([]string, 200)
	for i := range queries {
		queries[i] = fmt.Sprintf("When did Caroline %s the %s %s with %s and %s?", syntheticWord(zipf.Uint64()),
			syntheticWord(zipf.Uint64()), syntheticWord(zipf.Uint64()), syntheticWord(zipf.Uint64()), syntheticWord(zipf.Uint64()))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		x.Search(Query{Text: queries[i%len(queries)]})
	}
}

func BenchmarkSearchPeer10k(b *testing.B)      { benchmarkSearch(b, 10_000, false) }
func BenchmarkSearchAssistant10k(b *testing.B) { benchmarkSearch(b, 10_000, true) }
func BenchmarkSearchPeer100k(b *testing.B)     { benchmarkSearch(b, 100_000, false) }

func BenchmarkAdd(b *testing.B) {
	docs := synthetic(10_000, false)
	x := New()
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		d := docs[i%len(docs)]
		d.Ref, d.Group = fmt.Sprint(i), fmt.Sprint(i/25)
		x.Add(d)
	}
}
