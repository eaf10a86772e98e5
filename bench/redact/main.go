// Command redact measures the redaction of secrets over conversations: how many
// are replaced for each 1,000 turns (in texts without secrets each is one too
// many), and how fast it goes, turn by turn.
package main

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/dhruva-memory/dhruva/redact"
)

// result is what one set gives.
type result struct {
	Set        string         `json:"set"`
	Turns      int            `json:"turns"`
	Bytes      int            `json:"bytes"`
	Redactions int            `json:"redactions"`
	Per1000    float64        `json:"redactions_per_1000_turns"`
	Kinds      map[string]int `json:"kinds"`
	MBps       float64        `json:"mb_per_s"`
	SlowestUs  int64          `json:"slowest_turn_us"`
	SHA256     string         `json:"dataset_sha256"`
	Machine    string         `json:"machine"`
}

func main() {
	data := flag.String("data", "", "directory with a turns.jsonl.gz, or with directories that have one")
	show := flag.Bool("show", false, "print every turn's text around what was replaced")
	corpus := flag.String("files", "", "directories of code and documents instead, separated as in PATH")
	flag.Parse()
	measure := func() error { return run(*data, *show) }
	if *corpus != "" {
		measure = func() error { return runFiles(*corpus, *show) }
	}
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "redact:", err)
		os.Exit(1)
	}
}

func run(data string, show bool) error {
	files, err := filepath.Glob(filepath.Join(data, "*", "turns.jsonl.gz"))
	if err != nil {
		return err
	}
	if one := filepath.Join(data, "turns.jsonl.gz"); len(files) == 0 {
		files = []string{one}
	}
	for _, path := range files {
		texts, sum, err := read(path)
		if err != nil {
			return err
		}
		r := measure(texts, show)
		r.Set, r.SHA256 = filepath.Base(filepath.Dir(path)), sum
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// read gives the texts of a set, and the hash of its file.
func read(path string) (texts []string, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	h := sha256.New()
	z, err := gzip.NewReader(io.TeeReader(f, h))
	if err != nil {
		return nil, "", err
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var turn struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &turn); err != nil {
			return nil, "", err
		}
		texts = append(texts, turn.Text)
	}
	return texts, hex.EncodeToString(h.Sum(nil)), lines.Err()
}

func measure(texts []string, show bool) result {
	r := redact.New()
	r.Redact("") // reads the rules
	out := result{Turns: len(texts), Kinds: map[string]int{}, Machine: fmt.Sprintf("%s/%s %d cpu", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}
	began := time.Now()
	for _, text := range texts {
		at := time.Now()
		clean, found := r.Redact(text)
		out.SlowestUs = max(out.SlowestUs, time.Since(at).Microseconds())
		out.Bytes += len(text)
		for _, f := range found {
			out.Kinds[f.Kind] += f.Count
		}
		out.Redactions += redact.Total(found)
		if show && found != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s\n\n", found, clean)
		}
	}
	took := time.Since(began)
	out.Per1000 = 1000 * float64(out.Redactions) / float64(max(1, out.Turns))
	out.MBps = float64(out.Bytes) / 1e6 / took.Seconds()
	return out
}
