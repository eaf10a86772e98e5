package sqlstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// TestCloseWhileWriting: every update is either acknowledged and kept, or
// ErrUnavailable.
func TestCloseWhileWriting(t *testing.T) {
	closeWhileWriting(t, filepath.Join(t.TempDir(), "dhruva.db"))
}

func closeWhileWriting(t *testing.T, path string) {
	s := open(t, path, sqlstore.Options{})
	var mu sync.Mutex
	var acknowledged []string
	var wg sync.WaitGroup
	enough := make(chan struct{}, noteWriters)
	for w := range noteWriters {
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
	for range noteWriters {
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
