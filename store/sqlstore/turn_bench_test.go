package sqlstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// BenchmarkListTurns is a view of a thousand turns of 200 bytes: the longest
// window that a prompt is made of.
func BenchmarkListTurns(b *testing.B) {
	s, err := sqlstore.Open(context.Background(), filepath.Join(b.TempDir(), "dhruva.db"), sqlstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	listTurns(b, s)
}

const turns = 1000

// listTurns is the benchmark on any store.
func listTurns(b *testing.B, s dhruva.Store) {
	scope, session := fillTurns(b, s)
	b.ReportAllocs()
	for b.Loop() {
		err := s.View(context.Background(), scope, func(tx dhruva.Tx) error {
			rows, err := tx.ListTurns(dhruva.TurnQuery{Session: session})
			if len(rows) != turns {
				return fmt.Errorf("%d turns: %w", len(rows), err)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// fillTurns makes a session with them.
func fillTurns(b *testing.B, s dhruva.Store) (dhruva.Scope, dhruva.SessionID) {
	ctx, scope := context.Background(), dhruva.SpaceScope("01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058")
	session := dhruva.Session{Tenant: scope.Tenant(), Space: scope.Space(), ID: "01890a5d-ac96-774b-bcce-b302099a8059", LastSeq: turns}
	for seq := int64(1); seq <= turns; seq += 500 {
		err := s.Update(ctx, []dhruva.Scope{scope}, func(tx dhruva.Tx) error {
			if err := tx.PutSession(session); err != nil {
				return err
			}
			for n := seq; n < seq+500; n++ {
				if err := tx.AppendTurn(longTurn(session, n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return scope, session.ID
}

func longTurn(s dhruva.Session, n int64) dhruva.Turn {
	return dhruva.Turn{Tenant: s.Tenant, Space: s.Space, Session: s.ID, Seq: n, Parent: n - 1, BeganAfter: n - 1, ID: dhruva.TurnID(fmt.Sprintf("01890a5d-ac96-774b-bcce-%012d", n)),
		Role: dhruva.RoleAssistant, Content: strings.Repeat("some words that were said ", 8)[:200], Provider: "anthropic", Model: "some-model-of-theirs",
		CreatedAt: time.UnixMicro(1_700_000_000_000_000 + n)}
}
