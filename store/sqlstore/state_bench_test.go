package sqlstore

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
)

// The sizes of what a large space holds.
const (
	longSession = 100_000
	longLineage = 10_000
	largePage   = 1_000
	ofEach      = 10 // items of a checkpoint
)

var largeScope = dhruva.SpaceScope("01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058")

// onLarge measures reads of a large space on both engines.
func onLarge(b *testing.B, fill func(b *testing.B, s *Store), read func(dhruva.Tx) (rows int, err error), want int) {
	for name, at := range map[string]func() string{
		"sqlite":   func() string { return filepath.Join(b.TempDir(), "dhruva.db") },
		"postgres": func() string { return pgtest.Start(b, pgtest.Options{}).URL(b) },
	} {
		b.Run(name, func(b *testing.B) {
			s, err := Open(context.Background(), at(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			fill(b, s)
			b.ReportAllocs()
			for b.Loop() {
				err := s.View(context.Background(), largeScope, func(tx dhruva.Tx) error {
					n, err := read(tx)
					if err == nil && n != want {
						err = fmt.Errorf("%d rows, want %d", n, want)
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// chunks writes n rows, each of weight rows, and then has the database look at
// them, as a server does by itself within a minute.
func chunks(b *testing.B, s *Store, n, weight int, put func(tx dhruva.Tx, n int) error) {
	b.Helper()
	for from := 0; from < n; {
		to := min(from+dhruva.MaxUpdateRows/weight, n)
		err := s.Update(context.Background(), []dhruva.Scope{largeScope}, func(tx dhruva.Tx) error {
			for i := from; i < to; i++ {
				if err := put(tx, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		from = to
	}
	if strings.HasPrefix(s.d.name, "postgres") {
		if err := s.Update(context.Background(), []dhruva.Scope{largeScope}, func(row dhruva.Tx) error { return row.(*tx).c.script("ANALYZE") }); err != nil {
			b.Fatal(err)
		}
	}
}

func fillSession(b *testing.B, s *Store) {
	text := strings.Repeat("some words that were said ", 8)
	chunks(b, s, longSession, 1, func(tx dhruva.Tx, n int) error {
		seq := int64(n + 1)
		return tx.AppendTurn(dhruva.Turn{Tenant: largeScope.Tenant(), Space: largeScope.Space(), Session: "session", Seq: seq, Parent: seq - 1,
			BeganAfter: seq - 1, ID: dhruva.TurnID(fmt.Sprintf("01890a5d-ac96-774b-bcce-%012d", n)), Role: dhruva.RoleAssistant, Content: text,
			CreatedAt: time.UnixMicro(int64(n))})
	})
}

func lineageHash(n int) dhruva.Hash {
	return dhruva.DigestItem(dhruva.Item{Text: fmt.Sprint(n)})
}

func fillLineage(b *testing.B, s *Store) {
	chunks(b, s, longLineage, ofEach+1, func(tx dhruva.Tx, n int) error {
		c := dhruva.Checkpoint{Tenant: largeScope.Tenant(), Space: largeScope.Space(), ID: dhruva.CheckpointID(fmt.Sprintf("01890a5d-ac96-774b-bcce-%012d", n)),
			Hash: lineageHash(n), Branch: "main", CreatedAt: time.UnixMicro(int64(n)), Author: "me", Generation: 1,
			Window: dhruva.Window{Session: "01890a5d-ac96-774b-bcce-b302099a8059", Through: int64(n)}}
		if n > 0 {
			c.Parents = []dhruva.Hash{lineageHash(n - 1)}
		}
		for i := range ofEach {
			kind := dhruva.KindTask
			if i == 0 {
				kind = dhruva.KindTitle
			}
			c.Items = append(c.Items, dhruva.Item{ID: dhruva.ItemID(fmt.Sprintf("01890a5d-ac96-774b-%04d-%012d", i, n/10)), Kind: kind,
				Text: strings.Repeat("what is to be done ", 5), Attrs: []dhruva.Attr{{Name: dhruva.AttrStatus, Value: "open"}}, Cites: []dhruva.Cite{{From: 1, Through: 2}}})
		}
		return tx.PutCheckpoint(c)
	})
}

// BenchmarkSeams is a session of 100,000 turns that simply go on.
func BenchmarkSeams(b *testing.B) {
	onLarge(b, fillSession, func(tx dhruva.Tx) (int, error) {
		rows, err := tx.Seams("session", 0, 0)
		return len(rows), err
	}, 0)
}

// BenchmarkAncestry walks 10,000 checkpoints.
func BenchmarkAncestry(b *testing.B) {
	onLarge(b, fillLineage, func(tx dhruva.Tx) (int, error) {
		rows, err := tx.Ancestry(lineageHash(longLineage-1), longLineage)
		return len(rows), err
	}, longLineage)
}

// BenchmarkShortAncestry is what a prompt shows.
func BenchmarkShortAncestry(b *testing.B) {
	onLarge(b, fillLineage, func(tx dhruva.Tx) (int, error) {
		rows, err := tx.Ancestry(lineageHash(longLineage/2), 3)
		return len(rows), err
	}, 3)
}

// BenchmarkListOutlines is a page from the middle of 10,000.
func BenchmarkListOutlines(b *testing.B) {
	page := dhruva.Page{After: lineageHash(longLineage / 2).String(), Limit: largePage}
	onLarge(b, fillLineage, func(tx dhruva.Tx) (int, error) {
		rows, err := tx.ListOutlines(dhruva.OutlineQuery{Space: largeScope.Space(), Page: page})
		return len(rows), err
	}, largePage)
}

// BenchmarkListCheckpoints is the same with 10 items each.
func BenchmarkListCheckpoints(b *testing.B) {
	page := dhruva.Page{After: lineageHash(longLineage / 2).String(), Limit: largePage}
	onLarge(b, fillLineage, func(tx dhruva.Tx) (int, error) {
		rows, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: largeScope.Space(), Page: page})
		return len(rows), err
	}, largePage)
}

// BenchmarkCheckpointsOfItem is those ten that carried an item on.
func BenchmarkCheckpointsOfItem(b *testing.B) {
	onLarge(b, fillLineage, func(tx dhruva.Tx) (int, error) {
		rows, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: largeScope.Space(), Item: "01890a5d-ac96-774b-0003-000000000500"})
		return len(rows), err
	}, 10)
}
