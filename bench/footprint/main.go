// Command footprint measures the built binary: its size, the time from start
// to the line that says it listens (empty store), and resident memory when
// idle.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

type result struct {
	BinaryMB float64 `json:"binary_mb"`
	ReadyMs  float64 `json:"ready_ms"`
	RSSMiB   float64 `json:"idle_rss_mib"`
	N        int     `json:"n"`
	Machine  string  `json:"machine"`
}

func main() {
	binary := flag.String("binary", "bin/dhruva", "the binary to start")
	n := flag.Int("n", 5, "starts; the median is reported")
	idle := flag.Duration("idle", 2*time.Second, "how long it idles before memory is read")
	asJSON := flag.Bool("json", false, "one JSON object")
	flag.Parse()
	r, err := run(*binary, *n, *idle)
	if err != nil {
		fmt.Fprintln(os.Stderr, "footprint:", err)
		os.Exit(1)
	}
	if *asJSON {
		_ = json.NewEncoder(os.Stdout).Encode(r)
		return
	}
	fmt.Printf("binary %.1f MB  ready %.0f ms (median of %d, empty store)  idle RSS %.1f MiB  %s\n", r.BinaryMB, r.ReadyMs, r.N, r.RSSMiB, r.Machine)
}

func run(binary string, n int, idle time.Duration) (result, error) {
	info, err := os.Stat(binary)
	if err != nil {
		return result{}, err
	}
	var ready, rss []float64
	for range n {
		ms, mib, err := start(binary, idle)
		if err != nil {
			return result{}, err
		}
		ready, rss = append(ready, ms), append(rss, mib)
	}
	slices.Sort(ready)
	slices.Sort(rss)
	return result{
		BinaryMB: float64(info.Size()) / 1e6, ReadyMs: ready[n/2], RSSMiB: rss[n/2], N: n,
		Machine: fmt.Sprintf("%s/%s %d cpu", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
	}, nil
}

// start runs the binary on an empty data directory once.
func start(binary string, idle time.Duration) (readyMs, rssMiB float64, err error) {
	dir, err := os.MkdirTemp("", "dhruva-footprint-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(binary, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "listening on ") {
		return 0, 0, fmt.Errorf("it said %q: %v", line, err)
	}
	readyMs = float64(time.Since(began).Microseconds()) / 1000
	time.Sleep(idle)
	rssMiB, err = resident(cmd.Process.Pid)
	return readyMs, rssMiB, err
}

// resident reads VmRSS of a process, in MiB; Linux only.
func resident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS")
}
