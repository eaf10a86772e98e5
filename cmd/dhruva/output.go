package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// print writes a value: as JSON or as bare ids when asked for, else in words.
func (p *program) print(v any, words func(io.Writer)) error {
	if p.flags.quiet && !p.flags.json {
		return printIDs(p.stdout, v, words)
	}
	if !p.flags.json {
		words(p.stdout)
		return nil
	}
	if p.replayed != nil && p.replayed() {
		var err error
		if v, err = asReplayed(v); err != nil {
			return err
		}
	}
	enc := json.NewEncoder(p.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// asReplayed adds "replayed": true to an object, behind what it has.
func asReplayed(v any) (json.RawMessage, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	object := bytes.TrimSpace(text.Bytes())
	if len(object) <= len("{}") || object[0] != '{' {
		return object, nil
	}
	return append(object[:len(object)-1], `,"replayed":true}`...), nil
}

// printBare is print for what has no ids: bare writes the bare fact for --quiet.
func (p *program) printBare(v any, words, bare func(io.Writer)) error {
	if p.flags.quiet && !p.flags.json {
		bare(p.stdout)
		return nil
	}
	return p.print(v, words)
}

// printIDs writes what names a value, or each value of a list, a line each: its
// hash, else its id. What has neither is written in words.
func printIDs(w io.Writer, v any, words func(io.Writer)) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	type named struct{ Hash, ID string }
	var one struct {
		named
		Items []named
	}
	if json.Unmarshal(text, &one) != nil || one.Items == nil && one.named == (named{}) {
		words(w)
		return nil
	}
	if one.named != (named{}) {
		one.Items = []named{one.named}
	}
	for _, n := range one.Items {
		fmt.Fprintln(w, or(n.Hash, n.ID))
	}
	return nil
}

// say writes talk, which is never data; quiet keeps it back.
func (p *program) say(format string, args ...any) {
	if p.flags.quiet {
		return
	}
	fmt.Fprintf(p.stderr, format+"\n", args...)
}

// warn tells of something that is wrong and does not stop the command; quiet
// does not keep it back.
func (p *program) warn(format string, args ...any) {
	fmt.Fprintf(p.stderr, "dhruva: warning: "+format+"\n", args...)
}

// cellWidth is how much of a cell people see; cellWhole is all of it, for pipes.
const (
	cellWidth = 60
	cellWhole = math.MaxInt
)

// table writes rows in columns. Only a terminal gets its cells cut: in a pipe a
// path is a path.
func table(w io.Writer, head string, rows [][]string) {
	width := cellWhole
	if terminal(w) {
		width = cellWidth
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, strings.ReplaceAll(head, " ", "\t"))
	for _, r := range rows {
		for i, cell := range r {
			r[i] = oneLine(cell, width)
		}
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	_ = t.Flush() // what cannot be written cannot be told either
}

// oneLine shows a text of somebody else's in one line of at most n characters,
// without anything a terminal would obey.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(plain(s)), " ")
	r := []rune(s)
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// plain takes out of a text of somebody else's what a terminal obeys, and what
// turns the order of the letters around it; lines and tabs stay. Joiners and marks
// stay as well: without them emoji, Hindi and Persian are other texts.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || reorders(r) {
			return -1
		}
		return r
	}, s)
}

// reorders: the embeddings, overrides and isolates of bidirectional text.
func reorders(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// errorsOnly drops log lines below a warning: JSON lines that say so.
type errorsOnly struct{ w io.Writer }

// Write passes warnings and errors on.
func (e errorsOnly) Write(b []byte) (int, error) {
	var l struct{ Level string }
	if json.Unmarshal(b, &l) == nil && (l.Level == "INFO" || l.Level == "DEBUG") {
		return len(b), nil
	}
	return e.w.Write(b)
}
