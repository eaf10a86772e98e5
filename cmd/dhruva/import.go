package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	return group("import", "Bring conversations from elsewhere", "  dhruva import jsonl turns.jsonl --space work", p.making(p.importJSONL()))
}

func (p *program) importJSONL() *cobra.Command {
	var space string
	c := &cobra.Command{Use: "jsonl PATH", Short: "Import turns, one JSON object a line", Args: cobra.ExactArgs(1),
		Example: "  dhruva import jsonl turns.jsonl --space work\n  dhruva import jsonl turns.jsonl.gz --space work --json\n  dhruva import jsonl - --space work < turns.jsonl",
		Long: `Each line is {"role": "user" or "assistant", "text": …} with, if known, "time", "speaker" and "session".
Lines with the same "session" are one conversation, whichever file they stand in. Lines without one are one
conversation per file, told from others by how it begins: the role, text and time of its first line. So a
renamed copy, or the same lines on standard input, add nothing; and it may be repeated: what is there already
is skipped. With -q it prints four numbers: sessions, new turns, skipped, errors.`,
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
	Sessions int `json:"sessions"`
	NewTurns int `json:"new_turns"`
	Skipped  int `json:"skipped"`
	// Redactions counts the secrets that were replaced in the new turns.
	Redactions int `json:"redactions,omitempty"`
	// Errors are the first maxErrors, ErrorCount how many there were.
	Errors     []string `json:"errors"`
	ErrorCount int      `json:"error_count"`
}

func (i *imported) fail(format string, args ...any) {
	if i.ErrorCount++; len(i.Errors) < maxErrors {
		i.Errors = append(i.Errors, fmt.Sprintf(format, args...))
	}
}

func (p *program) importFile(ctx context.Context, path, space string) error {
	in, err := p.openImport(path)
	if err != nil {
		return withFix(fmt.Errorf("%w: %w", dhruva.ErrInvalid, err), "give an existing JSON Lines file, or - for standard input")
	}
	defer in.Close()
	out := imported{Errors: []string{}}
	conversations, err := readLines(in, fileTitle(path), &out)
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
	counts := func(format string) func(io.Writer) {
		return func(w io.Writer) { fmt.Fprintf(w, format, out.Sessions, out.NewTurns, out.Skipped, out.ErrorCount) }
	}
	err := p.printBare(out, counts("%d sessions, %d new turns, %d skipped, %d errors\n"), counts("%d %d %d %d\n"))
	p.sayRedacted(out.Redactions)
	if out.ErrorCount == 0 || err != nil {
		return err
	}
	for _, e := range out.Errors {
		p.say("%s", e)
	}
	if more := out.ErrorCount - len(out.Errors); more > 0 {
		p.say("and %d more", more)
	}
	return withFix(fmt.Errorf("%w: %d of them", errPartial, out.ErrorCount), "correct those and repeat the command: what is done already is skipped")
}

// sayRedacted tells how many secrets were not stored.
func (p *program) sayRedacted(n int) {
	if n > 0 {
		p.say("%d %s replaced by a placeholder, and not stored", n, plural(n, "secret was", "secrets were"))
	}
}

// fileTitle is the title of a conversation that has no name of its own.
func fileTitle(path string) string {
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
func readLines(r io.Reader, title string, out *imported) ([]*client.ImportInput, error) {
	var order []*client.ImportInput
	bySession := map[string]*client.ImportInput{}
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
		c := bySession[l.Session]
		if c == nil {
			c = &client.ImportInput{Key: conversationKey(l.Session, turn), Title: or(l.Session, title)}
			bySession[l.Session], order = c, append(order, c)
		}
		c.Turns = append(c.Turns, turn)
	}
	if err := s.Err(); err != nil {
		return nil, withFix(fmt.Errorf("%w: %w", dhruva.ErrInvalid, err), "check that the file is JSON Lines (or gzip when it ends in .gz)")
	}
	return order, nil
}

// conversationKey names a conversation by what it holds, never by the file it
// came in: its own name, else how it begins.
func conversationKey(session string, first client.ImportTurn) string {
	if session != "" {
		return "jsonl:session:" + session
	}
	at := ""
	if !first.Time.IsZero() {
		at = first.Time.UTC().Format(time.RFC3339Nano)
	}
	begins := sha256.Sum256([]byte(string(first.Role) + "\n" + at + "\n" + dhruva.Normalize(first.Text)))
	return "jsonl:begins:" + hex.EncodeToString(begins[:])
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

// againFix is what to do about an import that was broken off.
func (p *program) againFix() string {
	const again = "repeat the command: what is done already is skipped"
	if p.asked == "" {
		return again
	}
	return "see that the server at " + p.asked + " runs, and " + again
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
			out.Redactions += r.Redactions
		case errors.As(err, &problem) && (errors.Is(err, dhruva.ErrInvalid) || errors.Is(err, dhruva.ErrTooLarge)):
			out.fail("session %s: %v", oneLine(c.Title, 60), err)
		case errors.Is(err, dhruva.ErrUnavailable) || ctx.Err() != nil:
			return withFix(err, "%s", p.againFix())
		default:
			return err
		}
		if (n+1)%25 == 0 || n+1 == len(all) {
			p.say("%d of %d sessions, %d new turns", n+1, len(all), out.NewTurns)
		}
	}
	return nil
}
