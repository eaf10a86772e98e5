package sqlstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// holds wants everything acknowledged to be there, and every invariant.
func holds(t *testing.T, s *sqlstore.Store, acknowledged []string) {
	t.Helper()
	ctx := context.Background()
	err := s.View(ctx, shared, func(tx dhruva.Tx) error {
		turns, err := tx.ListTurns(dhruva.TurnQuery{Session: "s"})
		if err != nil {
			return err
		}
		have := map[string]bool{}
		for _, row := range turns {
			have[row.Content] = true
		}
		for _, id := range acknowledged {
			_, err1 := tx.Source("shared", 1, dhruva.SourceID(id))
			_, err2 := tx.Receipt(dhruva.ReceiptID(id))
			if !have[id] || err1 != nil || err2 != nil {
				t.Errorf("%s was acknowledged: turn %v, source %v, receipt %v", id, have[id], err1, err2)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := storetest.Check(ctx, s, shared); err != nil {
		t.Error(err)
	}
	if err := s.Integrity(ctx); err != nil {
		t.Error(err)
	}
}

func lines(text string) []string { return strings.Fields(text) }

// TestKilledProcessLosesNothingAcknowledged kills a writing process, again and
// again, on one file.
func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	var acknowledged []string
	for cycle := range *kills {
		cmd := command(path, fmt.Sprint(cycle), 1_000_000)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		for range 40 + 37*cycle {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatalf("the child ended: %v", err)
			}
			acknowledged = append(acknowledged, lines(line)...)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(r)
		cmd.Wait()
		acknowledged = append(acknowledged, lines(string(rest))...)
		s := open(t, path, sqlstore.Options{})
		holds(t, s, acknowledged)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d acknowledged", *kills, len(acknowledged))
}

// TestTwoProcessesOnOneFile: their updates of one scope are serialized.
func TestTwoProcessesOnOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	const each = 15
	var outs [2]strings.Builder
	first, second := command(path, "p", each), command(path, "q", each)
	first.Stdout, second.Stdout = &outs[0], &outs[1]
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, sqlstore.Options{}) // and a third
	for n := range each {
		if err := noteOne(s, fmt.Sprint("here-", n)); err != nil {
			t.Error(err)
		}
	}
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
	if err := second.Wait(); err != nil {
		t.Error(err)
	}
	all := append(lines(outs[0].String()), lines(outs[1].String())...)
	if len(all) != 2*childWriters*each {
		t.Errorf("%d acknowledged, want %d", len(all), 2*childWriters*each)
	}
	holds(t, s, all)
}

// TestCloseWhileWriting: every update is either acknowledged and kept, or
// ErrUnavailable.
func TestCloseWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dhruva.db")
	s := open(t, path, sqlstore.Options{})
	var mu sync.Mutex
	var acknowledged []string
	var wg sync.WaitGroup
	enough := make(chan struct{}, childWriters)
	for w := range childWriters {
		wg.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%d-%d", w, n)
				err := noteOne(s, id)
				if err != nil {
					if !errors.Is(err, dhruva.ErrUnavailable) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, id)
				mu.Unlock()
				if n == 5 {
					enough <- struct{}{}
				}
			}
		})
	}
	for range childWriters {
		<-enough
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	holds(t, open(t, path, sqlstore.Options{}), acknowledged)
}

// TestReopen: after Close, and from a copy of the files of a store in use, as
// a machine that lost power leaves them.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dhruva.db")
	s := open(t, path, sqlstore.Options{})
	var ids []string
	add := func(s *sqlstore.Store, prefix string) {
		for n := range 20 {
			id := fmt.Sprint(prefix, n)
			if err := noteOne(s, id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
	}
	add(s, "first-")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, sqlstore.Options{})
	holds(t, s, ids)
	add(s, "second-")
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} { // not -shm: memory is lost
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, open(t, copied, sqlstore.Options{}), ids)
	holds(t, s, ids)
}
