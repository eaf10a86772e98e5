package ledger_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dhruva-memory/dhruva/ledger"
)

// BenchmarkAppendExchange measures durable turns with 32 writers, each with a
// session of its own, in one space.
func BenchmarkAppendExchange(b *testing.B) {
	for name, open := range openers {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, open(b))
			r.l.Store = r.store
			sp := r.space("work")
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range 32 {
				s := r.session(sp.ID)
				wg.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						began, err := r.l.Begin(r.ctx(), s.ID)
						if err == nil {
							_, err = r.l.AppendExchange(r.ctx(), began, exchange(fmt.Sprintf("question %d of the benchmark", i), fmt.Sprintf("answer %d of the benchmark", i)))
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(2*b.N)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}

// BenchmarkImport measures the write model's part of an import.
func BenchmarkImport(b *testing.B) {
	for name, open := range openers {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, open(b))
			r.l.Store = r.store
			in := ledger.ImportInput{Space: r.space("work").ID, Key: "k"}
			for i := range b.N {
				in.Turns = append(in.Turns, ledger.ImportedTurn{Role: "user", Text: fmt.Sprintf("line %d of a long conversation about many things", i)})
			}
			r.l.Limits.ImportTurns = b.N
			b.ResetTimer()
			if _, err := r.l.ImportTurns(r.ctx(), in); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}
