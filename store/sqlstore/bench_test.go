package sqlstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// onBoth measures both engines in one run, each as it is durable.
func onBoth(b *testing.B, run func(b *testing.B, s *sqlstore.Store)) {
	for name, at := range map[string]func(*testing.B) string{
		"sqlite":   func(b *testing.B) string { return filepath.Join(b.TempDir(), "dhruva.db") },
		"postgres": func(b *testing.B) string { return pgtest.Start(b, pgtest.Options{Durable: true}).URL(b) },
	} {
		b.Run(name, func(b *testing.B) {
			s, err := sqlstore.Open(context.Background(), at(b), sqlstore.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			run(b, s)
		})
	}
}

// capture is what a proxied call writes at its end: two turns, the session,
// two sources with a reference and a change each, and a receipt.
func capture(s *sqlstore.Store, scope dhruva.Scope, session dhruva.SessionID, worker, n int) error {
	now := time.Now()
	t, sp, text := scope.Tenant(), scope.Space(), strings.Repeat("some words that were said ", 8)
	id := fmt.Sprintf("%04d-%08d", worker, n)
	return s.Update(context.Background(), []dhruva.Scope{scope}, func(tx dhruva.Tx) error {
		row, err := tx.Session(session)
		if err != nil {
			row = dhruva.Session{Tenant: t, Space: sp, ID: session, Kind: dhruva.SessionProxy, CreatedAt: now}
		}
		if _, err := tx.Epoch(sp); err != nil {
			return err
		}
		for _, role := range []dhruva.Role{dhruva.RoleUser, dhruva.RoleAssistant} {
			row.LastSeq++
			src := dhruva.SourceID(id + string(role))
			if err := tx.AppendTurn(dhruva.Turn{Tenant: t, Space: sp, Session: session, Seq: row.LastSeq, Parent: row.LastSeq - 1,
				BeganAfter: row.LastSeq - 1, ID: dhruva.TurnID(id), Role: role, Content: text, CreatedAt: now}); err != nil {
				return err
			}
			if err := tx.PutSource(dhruva.Source{Tenant: t, Space: sp, Generation: 1, ID: src, Class: dhruva.ClassUserTyped,
				State: dhruva.SourceReady, Role: role, Size: len(text), EventTime: now, CreatedAt: now, MAC: make([]byte, 32), KID: "k"}); err != nil {
				return err
			}
			if err := tx.AddReference(dhruva.Reference{Space: sp, Generation: 1, Source: src, Session: session, Seq: row.LastSeq}); err != nil {
				return err
			}
			if _, err := tx.AppendChange(sp, dhruva.Change{Kind: dhruva.ChangeSource, Ref: string(src), At: now}); err != nil {
				return err
			}
		}
		row.UpdatedAt = now
		if err := tx.PutSession(row); err != nil {
			return err
		}
		return tx.PutReceipt(dhruva.Receipt{Tenant: t, Space: sp, ID: dhruva.ReceiptID(id), Kind: "proxy", State: "final", Session: session, CreatedAt: now})
	})
}

// BenchmarkCapture is durable captures with 32 writers in 4 spaces; turns/s is
// the figure of quality.md.
func BenchmarkCapture(b *testing.B) {
	onBoth(b, func(b *testing.B, s *sqlstore.Store) {
		var next atomic.Int64
		var wg sync.WaitGroup
		b.ResetTimer()
		for w := range 32 {
			wg.Go(func() {
				scope := dhruva.SpaceScope("tenant", dhruva.SpaceID(fmt.Sprintf("01890a5d-ac96-774b-bcce-b302099a8%03d", w%4)))
				session := dhruva.SessionID(fmt.Sprintf("01890a5d-ac96-774b-bcce-b302099a%04d", w))
				for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
					if err := capture(s, scope, session, w, int(n)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		b.ReportMetric(2*float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	})
}

// BenchmarkCaptureAlone is one writer: a commit for each.
func BenchmarkCaptureAlone(b *testing.B) {
	onBoth(b, func(b *testing.B, s *sqlstore.Store) {
		for n := 0; b.Loop(); n++ {
			if err := capture(s, dhruva.SpaceScope("tenant", "space"), "session", 0, n); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPointReads is what the gate does: a source, its references, a turn.
func BenchmarkPointReads(b *testing.B) {
	onBoth(b, func(b *testing.B, s *sqlstore.Store) {
		scope := dhruva.SpaceScope("tenant", "space")
		for n := range 1000 {
			if err := capture(s, scope, "session", 0, n); err != nil {
				b.Fatal(err)
			}
		}
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for n := 0; pb.Next(); n++ {
				if err := pointRead(s, scope, n%1000); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

func pointRead(s *sqlstore.Store, scope dhruva.Scope, n int) error {
	return s.View(context.Background(), scope, func(tx dhruva.Tx) error {
		id := dhruva.SourceID(fmt.Sprintf("%04d-%08duser", 0, n))
		if _, err := tx.Source("space", 1, id); err != nil {
			return err
		}
		refs, err := tx.References("space", 1, id)
		if err != nil {
			return err
		}
		_, err = tx.Turn(refs[0].Session, refs[0].Seq)
		return err
	})
}

// BenchmarkThousandTurns is a View of a whole session.
func BenchmarkThousandTurns(b *testing.B) {
	onBoth(b, func(b *testing.B, s *sqlstore.Store) {
		scope := dhruva.SpaceScope("tenant", "space")
		for n := range 500 {
			if err := capture(s, scope, "session", 0, n); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			err := s.View(context.Background(), scope, func(tx dhruva.Tx) error {
				rows, err := tx.ListTurns(dhruva.TurnQuery{Session: "session"})
				if err == nil && len(rows) != 1000 {
					err = fmt.Errorf("%d turns", len(rows))
				}
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOpen is making an empty store and closing it.
func BenchmarkOpen(b *testing.B) {
	server := pgtest.Start(b, pgtest.Options{Durable: true})
	dir := b.TempDir()
	for name, at := range map[string]func(n int) string{
		"sqlite":   func(n int) string { return filepath.Join(dir, fmt.Sprint(n)) },
		"postgres": func(int) string { return server.URL(b) },
	} {
		b.Run(name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				s, err := sqlstore.Open(context.Background(), at(n), sqlstore.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
