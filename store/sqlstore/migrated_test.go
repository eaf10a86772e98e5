package sqlstore

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
)

// old makes a file as the program of the first migration left it.
func old(t *testing.T, path string) {
	t.Helper()
	d, err := sqliteDialect(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := fs.ReadFile(d.schema, "0001_spine.sql")
	if err != nil {
		t.Fatal(err)
	}
	d.schema = fstest.MapFS{"0001_spine.sql": {Data: first}}
	s, err := open(context.Background(), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile("testdata/0001_rows.sql")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(context.Background(), []dhruva.Scope{dhruva.TenantScope("t")}, func(row dhruva.Tx) error {
		return row.(*tx).c.script(string(rows))
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRowsAreMigrated: rows of the first schema are found by the columns of the
// second, and read as before.
func TestRowsAreMigrated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	old(t, path)
	s := openTest(t, path)
	err := s.View(context.Background(), dhruva.TenantScope("t"), func(tx dhruva.Tx) error {
		return errors.Join(receiptsMigrated(t, tx), epochMigrated(t, tx), rowsMigrated(t, tx))
	})
	if err != nil {
		t.Error(err)
	}
	if err := s.Integrity(context.Background()); err != nil {
		t.Error(err)
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func receiptsMigrated(t *testing.T, tx dhruva.Tx) error {
	at := time.UnixMicro(1_790_000_000_000_000).UTC()
	never := time.Time{}
	for _, c := range []struct {
		state  string
		before time.Time
		want   []dhruva.ReceiptID
	}{
		{"", never, []dhruva.ReceiptID{"r6", "r5", "r4", "r3", "r2", "r1"}},
		{"open", never, []dhruva.ReceiptID{"r6", "r4", "r1"}},
		{"final", never, []dhruva.ReceiptID{"r2"}},
		{"interrupted", never, []dhruva.ReceiptID{"r3"}},
		{"", at, []dhruva.ReceiptID{"r6", "r5"}},
		{"", at.Add(time.Microsecond), []dhruva.ReceiptID{"r6", "r5", "r1"}},
		{"", at.Add(101 * time.Microsecond), []dhruva.ReceiptID{"r6", "r5", "r3", "r1"}},
		{"", at.Add(123456 * time.Microsecond), []dhruva.ReceiptID{"r6", "r5", "r3", "r1"}},
		{"", at.Add(123457 * time.Microsecond), []dhruva.ReceiptID{"r6", "r5", "r3", "r2", "r1"}},
		{"open", at.Add(500 * time.Millisecond), []dhruva.ReceiptID{"r6", "r1"}},
		{"", time.UnixMicro(-1), []dhruva.ReceiptID{"r5"}},
		{"", time.UnixMicro(0), []dhruva.ReceiptID{"r6", "r5"}},
	} {
		rows, err := tx.ListReceipts(dhruva.ReceiptQuery{State: c.state, Before: c.before})
		if err != nil {
			return err
		}
		var ids []dhruva.ReceiptID
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		same(t, "receipts "+c.state+" before "+c.before.String(), ids, c.want)
	}
	return nil
}

func epochMigrated(t *testing.T, tx dhruva.Tx) error {
	e, err := tx.Epoch("s")
	same(t, "epoch", e, dhruva.Epoch{Space: "s", Generation: 2, Fence: 1, ACLVersion: 3, Head: 2})
	return err
}

func rowsMigrated(t *testing.T, tx dhruva.Tx) error {
	at := time.UnixMicro(1_790_000_000_000_000).UTC()
	turns, err1 := tx.ListTurns(dhruva.TurnQuery{Session: "ses", Through: math.MaxInt64})
	same(t, "turns", turns, []dhruva.Turn{
		{Tenant: "t", Space: "s", Session: "ses", Seq: 1, ID: "t1", Role: dhruva.RoleUser, Content: `what was said, it's "so"`, CreatedAt: at},
		{Tenant: "t", Space: "s", Session: "ses", Seq: 2, ID: "t2", Parent: 1, BeganAfter: 1, Role: dhruva.RoleAssistant, Content: "an answer",
			Provider: "echo", Model: "echo-1", Interim: true, Backfill: true, CreatedAt: at.Add(time.Microsecond)},
	})
	home, err2 := tx.HomeSpace("p")
	same(t, "home", string(home.ID), "home")
	held, err3 := tx.ListSources(dhruva.SourceQuery{Space: "s", Generation: 2, State: dhruva.SourceHeld})
	if len(held) != 1 || held[0].ID != "flagged" {
		t.Errorf("held: %v", held)
	}
	sessions, err4 := tx.ListSessions(dhruva.SessionQuery{})
	checkpoints, err5 := tx.ListCheckpoints(dhruva.CheckpointQuery{})
	if len(sessions) != 1 || len(checkpoints) != 1 || len(checkpoints[0].Items) != 1 {
		t.Errorf("sessions %v, checkpoints %v", sessions, checkpoints)
	}
	return errors.Join(err1, err2, err3, err4, err5)
}
