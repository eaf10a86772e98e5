// Command store measures the durable stores, SQLite and PostgreSQL in one run:
// the engine's own commit and an update of one row beside it; captures as a
// proxied call writes them (two turns, two sources with a reference and a change
// each, session and receipt in one Update), by one writer and by 32 in four
// spaces, each waiting until its commit is durable; how far a follower of the
// feeds, woken by hints, is behind the commits under that load, in the process
// that writes and beside it; exchanges through the ledger; a View of 1,000 turns.
//
// PostgreSQL is a private server with fsync and synchronous_commit on.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// row is one line of the table. Times are in milliseconds.
type row struct {
	Engine  string  `json:"engine"`
	What    string  `json:"what"`
	Writers int     `json:"writers,omitempty"`
	N       int     `json:"n"`
	PerSec  float64 `json:"turns_per_second,omitempty"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Note    string  `json:"note,omitempty"`
}

func main() {
	length := flag.Duration("time", 5*time.Second, "how long each load runs")
	asJSON := flag.Bool("json", false, "one JSON object a row")
	only := flag.String("engine", "", "sqlite or postgres; both when empty")
	flag.Parse()
	if err := run(*only, *length, printer(*asJSON)); err != nil {
		fmt.Fprintln(os.Stderr, "store:", err)
		os.Exit(1)
	}
}

func printer(asJSON bool) func(row) {
	if asJSON {
		return func(r row) { _ = json.NewEncoder(os.Stdout).Encode(r) }
	}
	fmt.Printf("%s/%s, %d CPUs\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	return func(r row) {
		line := fmt.Sprintf("%-9s %-28s", r.Engine, r.What)
		load := ""
		if r.Writers > 0 {
			load = fmt.Sprintf("%2d writers", r.Writers)
		}
		if r.PerSec > 0 {
			load += fmt.Sprintf(" %8.0f turns/s", r.PerSec)
		}
		line += fmt.Sprintf(" %-27s", load)
		fmt.Printf("%s  p50 %7.3f ms  p99 %7.3f ms  n %d  %s\n", line, r.P50, r.P99, r.N, r.Note)
	}
}

func run(only string, length time.Duration, show func(row)) error {
	for _, e := range engines() {
		if only != "" && only != e.name {
			continue
		}
		if err := e.measure(context.Background(), length, show); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

// summary fills in the percentiles of times.
func (r row) summary(times []time.Duration) row {
	if r.N = len(times); r.N == 0 {
		return r
	}
	slices.Sort(times)
	r.P50, r.P99 = ms(times[len(times)/2]), ms(times[len(times)*99/100])
	return r
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
