package memstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

func TestUpdateUndoesEverything(t *testing.T) {
	ctx, s := context.Background(), memstore.New()
	scope := []dhruva.Scope{dhruva.SpaceScope("t", "s")}
	boom := errors.New("boom")
	write := func(tx dhruva.Tx) error {
		for _, err := range []error{
			tx.PutSession(dhruva.Session{Tenant: "t", Space: "s", ID: "x", UpdatedAt: time.Unix(1, 0)}),
			tx.AppendTurn(dhruva.Turn{Tenant: "t", Space: "s", Session: "x", Seq: 1, Content: "a"}),
			tx.AppendTurn(dhruva.Turn{Tenant: "t", Space: "s", Session: "x", Seq: 2, Content: "b"}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := tx.AppendChange("s", dhruva.Change{Kind: dhruva.ChangeSource})
		return err
	}
	if err := s.Update(ctx, scope, func(tx dhruva.Tx) error { return errors.Join(write(tx), boom) }); !errors.Is(err, boom) {
		t.Fatalf("err = %v, want fn's own", err)
	}
	err := s.View(ctx, scope[0], func(tx dhruva.Tx) error {
		if _, err := tx.Session("x"); !errors.Is(err, dhruva.ErrNotFound) {
			t.Errorf("session: %v", err)
		}
		if rows, _ := tx.ListTurns(dhruva.TurnQuery{Session: "x"}); len(rows) != 0 {
			t.Errorf("turns: %v", rows)
		}
		if e, _ := tx.Epoch("s"); e.Head != 0 {
			t.Errorf("head: %d", e.Head)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(ctx, scope, write); err != nil {
		t.Fatal(err)
	}
}
