package recallbench

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva/recall"
)

const (
	turnsFile   = "turns.jsonl.gz"
	queriesFile = "queries.jsonl.gz"
)

// turnRow is a line of turns.jsonl.gz, in either shape.
type turnRow struct {
	Conv    string          `json:"conv"`
	ID      json.RawMessage `json:"id"`
	Session *int64          `json:"session"`
	Seq     int64           `json:"seq"`
	Speaker string          `json:"speaker"`
	Role    string          `json:"role"`
	Time    string          `json:"time"`
	Text    string          `json:"text"`
	Caption string          `json:"caption"`
}

// queryRow is a line of queries.jsonl.gz. The answer is not read at all; the
// category and the gold are read by the scorer only.
type queryRow struct {
	Conv     string            `json:"conv"`
	QID      string            `json:"qid"`
	Category string            `json:"category"`
	Question string            `json:"question"`
	Gold     []json.RawMessage `json:"gold"`
}

// dataset is a benchmark set in memory. Conversations and queries keep the
// order of the files.
type dataset struct {
	set, unit string
	sha256    string
	convs     []string
	turns     map[string][]recall.Doc
	queries   []queryRow
}

func load(dir string) (*dataset, error) {
	d := &dataset{set: filepath.Base(filepath.Clean(dir)), unit: "turn", turns: map[string][]recall.Doc{}}
	hash := sha256.New()
	var lastTime timeKeeper
	err := eachLine(filepath.Join(dir, turnsFile), hash, func(line []byte) error {
		var row turnRow
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
		if row.Role != "" {
			d.unit = "message"
		}
		if _, ok := d.turns[row.Conv]; !ok {
			d.convs = append(d.convs, row.Conv)
		}
		doc, err := row.doc(len(d.turns[row.Conv]), &lastTime)
		d.turns[row.Conv] = append(d.turns[row.Conv], doc)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = eachLine(filepath.Join(dir, queriesFile), hash, func(line []byte) error {
		var row queryRow
		err := json.Unmarshal(line, &row)
		d.queries = append(d.queries, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	d.sha256 = hex.EncodeToString(hash.Sum(nil))
	return d, d.check()
}

// check refuses a set whose queries or gold point nowhere: such a set would
// silently lower every figure.
func (d *dataset) check() error {
	refs := map[string]bool{}
	for conv, docs := range d.turns {
		for _, doc := range docs {
			if refs[conv+"\x00"+doc.Ref] {
				return fmt.Errorf("%s: turn %s occurs twice in %s", d.set, doc.Ref, conv)
			}
			refs[conv+"\x00"+doc.Ref] = true
		}
	}
	for _, q := range d.queries {
		if _, ok := d.turns[q.Conv]; !ok {
			return fmt.Errorf("%s: query %s asks an unknown conversation %q", d.set, q.QID, q.Conv)
		}
		for _, g := range q.gold() {
			if !refs[q.Conv+"\x00"+g] {
				return fmt.Errorf("%s: query %s has gold %s, which is no turn of %s", d.set, q.QID, g, q.Conv)
			}
		}
	}
	return nil
}

func eachLine(path string, hash io.Writer, do func([]byte) error) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, _ = hash.Write(raw) // a hash.Hash never fails
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := do(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// id writes a turn's id, a string in one set and a number in the other.
func id(raw json.RawMessage) string { return strings.Trim(string(raw), `"`) }

func (q *queryRow) gold() []string {
	out := make([]string, 0, len(q.Gold))
	for _, g := range q.Gold {
		out = append(out, id(g))
	}
	return out
}

// generatorMark is what the generator of BEAM leaves at the end of user
// messages. It would tell an index who wrote a message and when.
var generatorMark = regexp.MustCompile(`\s*->->\s*[\d,\s]*$`)

// timeKeeper carries the date of a chat forward: only the first message of a
// batch states it.
type timeKeeper struct {
	conv string
	at   time.Time
}

func (r *turnRow) doc(n int, keep *timeKeeper) (recall.Doc, error) {
	if keep.conv != r.Conv {
		*keep = timeKeeper{conv: r.Conv}
	}
	if r.Time != "" {
		at, err := parseTime(r.Time)
		if err != nil {
			return recall.Doc{}, err
		}
		keep.at = at
	}
	d := recall.Doc{
		Ref: id(r.ID), Group: r.Conv, Pos: int64(n), Speaker: r.Speaker, Time: keep.at,
		TimeText: r.Time, Text: generatorMark.ReplaceAllString(r.Text, ""), Caption: r.Caption,
	}
	if r.Session != nil {
		d.Group = fmt.Sprintf("%s/%d", r.Conv, *r.Session)
	}
	switch r.Role {
	case "":
	case "user":
		d.Role = recall.User
	case "assistant":
		d.Role = recall.Responder
	default:
		d.Role = recall.Other
	}
	return d, nil
}

func parseTime(s string) (time.Time, error) {
	for _, layout := range [...]string{"3:04 pm on 2 January, 2006", "January-02-2006", time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("time %q: no known layout", s)
}
