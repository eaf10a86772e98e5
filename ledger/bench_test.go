package ledger_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
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

// BenchmarkResolve measures the context of a session of 100,000 turns with bounds,
// as a send asks for it: of a plain conversation, and of one whose every fiftieth
// message was edited. p95-ns is the slowest of twenty but one.
func BenchmarkResolve(b *testing.B) {
	const turns = 100_000
	for name, open := range openers {
		for _, every := range []int64{0, 100} {
			b.Run(fmt.Sprintf("%s/edited=%d", name, every), func(b *testing.B) {
				r := newRig(b, open(b))
				s := r.session(r.space("work").ID)
				r.fill(s, turns, every)
				req := ledger.ContextRequest{MaxTurns: 20, MaxTokens: 8000}
				var took []time.Duration
				b.ResetTimer()
				for range b.N {
					began := time.Now()
					if got := r.resolve(s.ID, req); len(got.Turns) != 20 {
						b.Fatalf("%d turns, %d cut", len(got.Turns), got.Cut)
					}
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*95/100]), "p95-ns")
			})
		}
	}
}

// fill writes a session's turns behind the ledger's back; when every is not 0, one
// of so many follows the second turn before it.
func (r *rig) fill(s dhruva.Session, turns, every int64) {
	r.Helper()
	for s.LastSeq < turns {
		r.update(s.Space, func(tx dhruva.Tx) error {
			for range 900 {
				if s.LastSeq++; s.LastSeq > turns {
					s.LastSeq--
					break
				}
				n := s.LastSeq
				t := dhruva.Turn{Tenant: s.Tenant, Space: s.Space, Session: s.ID, Seq: n, Parent: n - 1, BeganAfter: max(0, n-2), ID: dhruva.TurnID(fmt.Sprint(n)),
					Role: dhruva.RoleUser, Content: fmt.Sprintf("turn number %d of a conversation that has gone on for a very long time", n), CreatedAt: r.now}
				if n%2 == 0 {
					t.Role = dhruva.RoleAssistant
				}
				if every > 0 && n%every == 1 && n > 3 {
					t.Parent = n - 3
				}
				if err := tx.AppendTurn(t); err != nil {
					return err
				}
			}
			return tx.PutSession(s)
		})
	}
}
