package main

import (
	"bytes"
	"context"
	_ "embed" // the source that a tool result holds
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// target is one way to the mock.
type target struct {
	name, url, key string
	pid            int // 0: not ours to look at
	latencies      []time.Duration
	cpu            time.Duration
}

// sizes are the bodies of the comparison; share is the part of the rounds.
func sizes() []struct {
	name  string
	bytes int
	share int
} {
	return []struct {
		name  string
		bytes int
		share int
	}{{"0.2 KB", 200, 1}, {"100 KB", 100 << 10, 4}, {"1 MB", 1 << 20, 10}}
}

func compare(ctx context.Context, o options) (rep report, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	at, err := listen(ctx, o.mock, http.HandlerFunc(mock))
	if err != nil {
		return rep, err
	}
	reverse, err := start(ctx, "reverse", at)
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, reverse.stop()) }()
	dhruva := &target{name: "dhruva", url: o.dhruva, key: o.key}
	if o.dhruva == "" {
		c, err := start(ctx, "dhruva", at)
		if err != nil {
			return rep, err
		}
		defer func() { err = errors.Join(err, c.stop()) }()
		dhruva.url, dhruva.key, dhruva.pid = c.url, c.key, c.cmd.Process.Pid
	}
	targets := []*target{
		{name: "direct", url: at, key: "-"},
		{name: "reverse", url: reverse.url, key: "-", pid: reverse.cmd.Process.Pid},
		dhruva,
	}
	rep = report{Go: runtime.Version(), CPUs: runtime.NumCPU(), Mode: "memory off, JSON, one request at a time, interleaved"}
	for _, size := range sizes() {
		row, err := measure(ctx, targets, size.name, body(size.bytes), max(10, o.rounds/size.share))
		if err != nil {
			return rep, err
		}
		rep.Rows = append(rep.Rows, row)
	}
	return rep, nil
}

//go:embed servers.go
var source string

// body is an agent's conversation: questions, tool calls, a file of source code
// as each tool result, and answers.
func body(size int) []byte {
	const head, tail = `{"model":"m","messages":[`, `{"role":"user","content":"And what did we decide about the cache?"}]}`
	file, err := json.Marshal(source)
	if err != nil {
		panic(err) // a string always encodes
	}
	turn := `{"role":"user","content":"Why does \"build\" fail in C:\\src?\nSee <log> & trace – 青い."},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read","arguments":"{\"path\":\"main.go\"}"}}]},` +
		`{"role":"tool","tool_call_id":"call_1","content":` + string(file) + `},` +
		`{"role":"assistant","content":"` + strings.Repeat("The path holds an unescaped backslash; quote it. ", 8) + `"},`
	var b strings.Builder
	b.WriteString(head)
	for b.Len()+len(turn)+len(tail) <= size {
		b.WriteString(turn)
	}
	b.WriteString(tail)
	return []byte(b.String())
}

func measure(ctx context.Context, targets []*target, name string, payload []byte, rounds int) (row, error) {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	for _, t := range targets {
		t.latencies = t.latencies[:0]
		for range max(5, rounds/20) { // connections, caches, the heap's size
			if _, err := once(ctx, client, t, payload); err != nil {
				return row{}, err
			}
		}
		t.cpu = -cpuOf(t.pid)
	}
	for i := range rounds {
		for j := range targets {
			t := targets[(i+j)%len(targets)] // nobody is always first
			d, err := once(ctx, client, t, payload)
			if err != nil {
				return row{}, err
			}
			t.latencies = append(t.latencies, d)
		}
	}
	for _, t := range targets {
		t.cpu = (t.cpu + cpuOf(t.pid)) / time.Duration(rounds)
	}
	return summarise(name, len(payload), rounds, targets), nil
}

func once(ctx context.Context, client *http.Client, t *target, payload []byte) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url+"/v1/chat/completions", bytes.NewReader(payload))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+t.key)
	req.Header.Set("Content-Type", "application/json")
	if t.name == "dhruva" {
		req.Header.Set("X-Dhruva-Memory", "off")
		if t.pid == 0 {
			req.Header.Set("X-Dhruva-Provider", "generic")
		}
	}
	began := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	got, err := io.ReadAll(res.Body)
	took := time.Since(began)
	res.Body.Close()
	if err == nil && (res.StatusCode != http.StatusOK || string(got) != answer) {
		err = fmt.Errorf("%s answered %d: %.200s", t.name, res.StatusCode, got)
	}
	return took, err
}

// cpuOf is the time that a process has run, from Linux's scheduler; 0 elsewhere.
func cpuOf(pid int) (total time.Duration) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || pid == 0 {
		return 0
	}
	for _, f := range files {
		var ns int64
		if text, err := os.ReadFile(f); err == nil { // a thread may have ended
			_, _ = fmt.Sscan(string(text), &ns)
		}
		total += time.Duration(ns)
	}
	return total
}

// report is what is printed; all times are microseconds.
type report struct {
	Go   string `json:"go"`
	CPUs int    `json:"cpus"`
	Mode string `json:"mode"`
	Rows []row  `json:"rows"`
}

type row struct {
	Body   string `json:"body"`
	Bytes  int    `json:"bytes"`
	Rounds int    `json:"n"`
	Direct figure `json:"direct"`
	// Added is the gateway's percentile less the direct one's.
	Reverse gateway `json:"reverse_proxy"`
	Dhruva  gateway `json:"dhruva"`
	// Ratio50 and Ratio99 are Dhruva's added time over ReverseProxy's.
	Ratio50 float64 `json:"ratio_p50"`
	Ratio99 float64 `json:"ratio_p99"`
}

type figure struct {
	P50 float64 `json:"p50_us"`
	P99 float64 `json:"p99_us"`
}

type gateway struct {
	figure
	Added50 float64 `json:"added_p50_us"`
	Added99 float64 `json:"added_p99_us"`
	CPU     float64 `json:"cpu_us,omitempty"`
}

func summarise(name string, size, rounds int, targets []*target) row {
	direct, reverse, dhruva := percentiles(targets[0]), percentiles(targets[1]), percentiles(targets[2])
	r := row{
		Body: name, Bytes: size, Rounds: rounds, Direct: direct,
		Reverse: gateway{reverse, reverse.P50 - direct.P50, reverse.P99 - direct.P99, us(targets[1].cpu)},
		Dhruva:  gateway{dhruva, dhruva.P50 - direct.P50, dhruva.P99 - direct.P99, us(targets[2].cpu)},
	}
	r.Ratio50, r.Ratio99 = r.Dhruva.Added50/r.Reverse.Added50, r.Dhruva.Added99/r.Reverse.Added99
	return r
}

func percentiles(t *target) figure {
	sorted := slices.Sorted(slices.Values(t.latencies))
	at := func(p int) float64 { return us(sorted[min(len(sorted)-1, len(sorted)*p/100)]) }
	return figure{at(50), at(99)}
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func (r report) json(out io.Writer) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func (r report) table(out io.Writer) error {
	fmt.Fprintf(out, "%s; %s, %d CPUs; microseconds, added over direct\n", r.Mode, r.Go, r.CPUs)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "body\tn\tdirect p50\tReverseProxy p50\tp99\tCPU\tDhruva p50\tp99\tCPU\tratio p50\tp99\t")
	for _, x := range r.Rows {
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\t\n", x.Body, x.Rounds, x.Direct.P50,
			x.Reverse.Added50, x.Reverse.Added99, x.Reverse.CPU, x.Dhruva.Added50, x.Dhruva.Added99, x.Dhruva.CPU, x.Ratio50, x.Ratio99)
	}
	return w.Flush()
}
