package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/internal/testkit"
)

// A process killed during 200 concurrent captures has every one that it
// acknowledged: a remember that answered 2xx, and a proxied exchange whose
// receipt was final.
func TestKillDuringCaptures(t *testing.T) {
	for name, store := range map[string]func(*testing.T) string{
		"sqlite":   func(*testing.T) string { return "" },
		"postgres": func(t *testing.T) string { return pgtest.Start(t, pgtest.Options{Durable: true}).URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			at := place{t.TempDir(), store(t)}
			cycles, acked := testkit.Count(2, 2, 50), int64(0)
			for cycle := range cycles {
				acked += killDuringCaptures(t, at, cycle)
			}
			testkit.Figure(t, "%d kills of a server, %d captures acknowledged, all kept", cycles, acked)
		})
	}
}

const captures = 200

func killDuringCaptures(t *testing.T, at place, cycle int) int64 {
	s := startAt(t, at, nil)
	key := s.key("crash")
	acked := &ledgerOfAcks{receipts: map[dhruva.ReceiptID]bool{}, texts: map[string]bool{}}
	enough := make(chan struct{})
	var wg sync.WaitGroup
	for i := range captures {
		wg.Go(func() {
			if s.captureOnce(key, cycle, i, acked) && acked.n.Add(1) == captures/3 {
				close(enough)
			}
		})
	}
	<-enough
	s.kill()
	wg.Wait()

	s = startAt(t, at, nil)
	defer s.stop()
	acked.check(s)
	if report, err := s.admin().Verify(context.Background(), "crash"); err != nil || !report.OK {
		t.Errorf("verify: %+v %v", report, err)
	}
	t.Logf("cycle %d: killed after %d of %d acknowledgements", cycle, acked.n.Load(), captures)
	return acked.n.Load()
}

// ledgerOfAcks is what the server said it had kept.
type ledgerOfAcks struct {
	n        atomic.Int64
	mu       sync.Mutex
	receipts map[dhruva.ReceiptID]bool
	texts    map[string]bool
}

// captureOnce does one capture, half of them by proxy, and records it when it
// is acknowledged. Errors are what a killed server gives.
func (s *server) captureOnce(key string, cycle, i int, acked *ledgerOfAcks) bool {
	ctx, c := context.Background(), &client.Client{BaseURL: s.URL, Key: key}
	text := fmt.Sprintf("Fact %d of cycle %d: crate %d stands in hall %d.", i, cycle, 7000+i, cycle)
	if i%2 == 0 {
		out, err := c.Remember(ctx, "crash", client.RememberInput{Text: text})
		if err != nil {
			return false
		}
		acked.add(out.Receipt, text)
		return true
	}
	id, err := s.chat(key, text)
	if err != nil {
		return false
	}
	for { // the receipt becomes final when the capture has committed
		r, err := c.Receipt(ctx, id)
		switch {
		case err == nil && r.State == "final" && r.Ingest == "stored":
			acked.add(id, text)
			return true
		case err != nil && !errors.Is(err, dhruva.ErrNotFound):
			return false
		}
	}
}

func (a *ledgerOfAcks) add(id dhruva.ReceiptID, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.receipts[id], a.texts[text] = true, true
}

// check finds every acknowledged receipt and text in the store again.
func (a *ledgerOfAcks) check(s *server) {
	s.Helper()
	ctx, c := context.Background(), s.admin()
	for id := range a.receipts {
		if r, err := c.Receipt(ctx, id); err != nil || r.State != "final" {
			s.Errorf("receipt %s: %v %v", id, r.State, err)
		}
	}
	kept := map[string]bool{}
	f := client.SourceFilter{Page: dhruva.Page{Limit: 1000}}
	for {
		page, err := c.Sources(ctx, "crash", f)
		s.must(err)
		for _, src := range page.Items {
			kept[src.Text] = true
		}
		if page.Next == "" {
			break
		}
		f.After = page.Next
	}
	for text := range a.texts {
		if !kept[text] {
			s.Errorf("acknowledged and lost: %q", text)
		}
	}
}

// chat sends one message through the proxy and returns its receipt's id.
func (s *server) chat(key, text string) (dhruva.ReceiptID, error) {
	resp, err := do(s.URL+"/v1/chat/completions", key, fmt.Sprintf(`{"model":"echo-1","messages":[{"role":"user","content":%q}]}`, text))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != 200 {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return dhruva.ReceiptID(resp.Header.Get("X-Dhruva-Receipt-Id")), err
}
