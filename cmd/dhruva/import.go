package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// maxLine bounds one line of a file that is imported.
const maxLine = 16 << 20

// maxErrors bounds how many faults are told one by one.
const maxErrors = 20

func (p *program) importCommand() *cobra.Command {
	return group("import", "Bring conversations from elsewhere", "  dhruva import jsonl turns.jsonl --space work", p.importJSONL())
}

func (p *program) importJSONL() *cobra.Command {
	var space string
	c := &cobra.Command{Use: "jsonl PATH", Short: "Import turns, one JSON object a line", Args: cobra.ExactArgs(1),
		Example: "  dhruva import jsonl turns.jsonl --space work\n  dhruva import jsonl turns.jsonl.gz --space work --json\n  dhruva import jsonl - --space work < turns.jsonl",
		Long: `Each line is {"role": "user" or "assistant", "text": …} with, if known, "time", "speaker" and "session".
Lines of one session become one session here. It may be repeated: what is there already is skipped.`,
		RunE: func(c *cobra.Command, args []string) error { return p.importFile(c.Context(), args[0], space) },
	}
	c.Flags().StringVarP(&space, "space", "s", "", "id or name of the space; made if missing")
	return c
}

// line is one line of the file.
type line struct {
	Role    string `json:"role"`
	Text    string `json:"text"`
	Time    string `json:"time"`
	Speaker string `json:"speaker"`
	Session string `json:"session"`
}

// imported is what an import prints.
type imported struct {
	Sessions int      `json:"sessions"`
	NewTurns int      `json:"new_turns"`
	Skipped  int      `json:"skipped"`
	Errors   []string `json:"errors"`
}

func (i *imported) fail(format string, args ...any) {
	i.Errors = append(i.Errors, fmt.Sprintf(format, args...))
}

func (p *program) importFile(ctx context.Context, path, space string) error {
	in, err := p.openImport(path)
	if err != nil {
		return withFix(fmt.Errorf("%w: %w", dhruva.ErrInvalid, err), "give an existing JSON Lines file, or - for standard input")
	}
	defer in.Close()
	out := imported{Errors: []string{}}
	conversations, err := readLines(in, importKey(path), &out)
	if err != nil {
		return err
	}
	err = p.with(ctx, func(api *client.Client) error {
		name, err := ensureSpace(ctx, api, space)
		if err != nil {
			return err
		}
		return p.importAll(ctx, api, name, conversations, &out)
	})
	if err != nil {
		return err
	}
	return p.reportImport(out)
}

func (p *program) reportImport(out imported) error {
	err := p.print(out, func(w io.Writer) {
		fmt.Fprintf(w, "%d sessions, %d new turns, %d skipped, %d errors\n", out.Sessions, out.NewTurns, out.Skipped, len(out.Errors))
	})
	if len(out.Errors) == 0 || err != nil {
		return err
	}
	for _, e := range out.Errors[:min(len(out.Errors), maxErrors)] {
		p.say("%s", e)
	}
	return withFix(fmt.Errorf("%w: %d of them", errPartial, len(out.Errors)), "correct those and repeat the command: what is done already is skipped")
}

// importKey names a file's conversations: repeating it from another directory
// adds nothing.
func importKey(path string) string {
	if path == "-" {
		return "stdin"
	}
	return strings.TrimSuffix(filepath.Base(path), ".gz")
}

func (p *program) openImport(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(p.stdin), nil
	}
	f, err := os.Open(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return f, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// readLines gathers the turns of each session, in the order in which sessions
// first appear. A line that cannot be read is told and left out.
func readLines(r io.Reader, file string, out *imported) ([]*client.ImportInput, error) {
	var order []*client.ImportInput
	byKey := map[string]*client.ImportInput{}
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxLine)
	for n := 1; s.Scan(); n++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		l, turn, err := parseLine(s.Bytes())
		if err != nil {
			out.fail("line %d: %v", n, err)
			continue
		}
		key := "jsonl:" + file + ":" + l.Session
		c := byKey[key]
		if c == nil {
			c = &client.ImportInput{Key: key, Title: or(l.Session, file)}
			byKey[key], order = c, append(order, c)
		}
		c.Turns = append(c.Turns, turn)
	}
	if err := s.Err(); err != nil {
		return nil, withFix(fmt.Errorf("%w: %w", dhruva.ErrInvalid, err), "check that the file is JSON Lines (or gzip when it ends in .gz)")
	}
	return order, nil
}

func parseLine(b []byte) (line, client.ImportTurn, error) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return l, client.ImportTurn{}, errors.New("not a JSON object as expected")
	}
	t := client.ImportTurn{Text: l.Text, Speaker: l.Speaker}
	switch l.Role {
	case "user", "human":
		t.Role = dhruva.RoleUser
	case "assistant", "ai":
		t.Role = dhruva.RoleAssistant
	default:
		return l, t, fmt.Errorf("role %q is neither user nor assistant", oneLine(l.Role, 40))
	}
	if strings.TrimSpace(l.Text) == "" {
		return l, t, errors.New("no text")
	}
	if l.Time != "" {
		var err error
		if t.Time, err = parseTime(l.Time); err != nil {
			return l, t, err
		}
	}
	return l, t, nil
}

func parseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("time %q is not as in 2024-05-06T07:08:09Z", oneLine(s, 40))
}

// ensureSpace finds a space, and makes the one that is named but missing.
func ensureSpace(ctx context.Context, api *client.Client, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	s, err := api.Space(ctx, name)
	if errors.Is(err, dhruva.ErrNotFound) {
		s, err = api.CreateSpace(ctx, client.SpaceInput{Name: name})
	}
	return string(s.ID), err
}

// importAll sends each conversation. What is refused is told; a server that is
// gone ends it.
func (p *program) importAll(ctx context.Context, api *client.Client, space string, all []*client.ImportInput, out *imported) error {
	for n, c := range all {
		r, err := api.Import(ctx, space, *c)
		var problem *client.Problem
		switch {
		case err == nil:
			out.Sessions, out.NewTurns, out.Skipped = out.Sessions+1, out.NewTurns+r.New, out.Skipped+r.Skipped
		case errors.As(err, &problem) && (errors.Is(err, dhruva.ErrInvalid) || errors.Is(err, dhruva.ErrTooLarge)):
			out.fail("session %s: %v", oneLine(c.Title, 60), err)
		default:
			return err
		}
		if (n+1)%25 == 0 || n+1 == len(all) {
			p.say("%d of %d sessions, %d new turns", n+1, len(all), out.NewTurns)
		}
	}
	return nil
}
