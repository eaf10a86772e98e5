// Command store measures durable appends: writers append exchanges to sessions
// of one space through the ledger on a SQLite file, as Send and Capture do
// (turns, sources, references, changes and a receipt in one Update), each
// waiting until its commit is durable.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// result is one row of the table.
type result struct {
	Writers      int     `json:"writers"`
	Turns        int     `json:"turns"`
	TurnsPerSec  float64 `json:"turns_per_second"`
	CommitP50Ms  float64 `json:"exchange_p50_ms"`
	CommitP99Ms  float64 `json:"exchange_p99_ms"`
	StoreBytes   int64   `json:"store_bytes"`
	Machine      string  `json:"machine"`
	DurationSecs float64 `json:"seconds"`
}

func main() {
	seconds := flag.Duration("time", 5*time.Second, "how long each row runs")
	asJSON := flag.Bool("json", false, "one JSON object a row")
	flag.Parse()
	for _, writers := range []int{1, 32} {
		r, err := run(writers, *seconds)
		if err != nil {
			fmt.Fprintln(os.Stderr, "store:", err)
			os.Exit(1)
		}
		if *asJSON {
			_ = json.NewEncoder(os.Stdout).Encode(r)
			continue
		}
		fmt.Printf("durable appends  writers %2d  n %6d turns  %8.0f turns/s  exchange p50 %.2f ms p99 %.2f ms  %s\n",
			r.Writers, r.Turns, r.TurnsPerSec, r.CommitP50Ms, r.CommitP99Ms, r.Machine)
	}
}

func run(writers int, length time.Duration) (result, error) {
	dir, err := os.MkdirTemp("", "dhruva-bench-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	ctx := dhruva.WithPrincipal(context.Background(), dhruva.Principal{Tenant: "bench", ID: "bench", Scopes: []dhruva.KeyScope{dhruva.Admin}})
	store, err := sqlstore.Open(ctx, filepath.Join(dir, "dhruva.db"), sqlstore.Options{})
	if err != nil {
		return result{}, err
	}
	defer store.Close()
	l := ledger.New(store, auth.NewKeyring(make([]byte, 32)))
	sessions, err := prepare(ctx, l, writers)
	if err != nil {
		return result{}, err
	}
	began := time.Now()
	times, err := hammer(ctx, l, sessions, began.Add(length))
	if err != nil {
		return result{}, err
	}
	took := time.Since(began)
	slices.Sort(times)
	info, err := os.Stat(filepath.Join(dir, "dhruva.db"))
	if err != nil {
		return result{}, err
	}
	return result{
		Writers: writers, Turns: 2 * len(times), TurnsPerSec: float64(2*len(times)) / took.Seconds(),
		CommitP50Ms: ms(times[len(times)/2]), CommitP99Ms: ms(times[len(times)*99/100]), StoreBytes: info.Size(),
		Machine: fmt.Sprintf("%s/%s %d cpu", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), DurationSecs: took.Seconds(),
	}, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func prepare(ctx context.Context, l *ledger.Ledger, n int) ([]dhruva.SessionID, error) {
	space, err := l.CreateSpace(ctx, ledger.SpaceInput{Name: "bench"})
	if err != nil {
		return nil, err
	}
	var out []dhruva.SessionID
	for range n {
		s, err := l.CreateSession(ctx, ledger.SessionInput{Space: space.ID})
		if err != nil {
			return nil, err
		}
		out = append(out, s.ID)
	}
	return out, nil
}

// hammer appends exchanges, one writer a session, until the deadline, and
// returns how long each took.
func hammer(ctx context.Context, l *ledger.Ledger, sessions []dhruva.SessionID, deadline time.Time) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var wg sync.WaitGroup
	for w, id := range sessions {
		wg.Go(func() {
			times, err := writer(ctx, l, w, id, deadline)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
			if err != nil {
				failed = err
			}
		})
	}
	wg.Wait()
	return all, failed
}

func writer(ctx context.Context, l *ledger.Ledger, w int, id dhruva.SessionID, deadline time.Time) (times []time.Duration, err error) {
	for i := 0; time.Now().Before(deadline); i++ {
		began := time.Now()
		state, err := l.Begin(ctx, id)
		if err != nil {
			return times, err
		}
		receipt := dhruva.Receipt{Tenant: "bench", Space: state.Session.Space, ID: dhruva.ReceiptID(dhruva.NewID()), Kind: "send", State: "final", CreatedAt: began, FinishedAt: began}
		_, err = l.AppendExchange(ctx, state, ledger.Exchange{
			User:      ledger.Unit{Role: dhruva.RoleUser, Text: fmt.Sprintf("Writer %d asks for the %dth time how the harbour lights are wired.", w, i)},
			Assistant: &ledger.Unit{Role: dhruva.RoleAssistant, Text: fmt.Sprintf("Answer %d to writer %d: in series, from the pier to the lighthouse, over a 48 V feed.", i, w)},
			Provider:  "bench", Model: "bench", Receipt: &receipt,
		})
		if err != nil {
			return times, err
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}
