package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/serve/api"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitAuth        = 4
	exitConflict    = 5
	exitLimit       = 6
	exitUpstream    = 7
	exitPartial     = 8
	exitInterrupted = 130
)

// errPartial: some of the work was done, and the output says which.
var errPartial = errors.New("some items failed")

// errDamaged: a backup or a store is not what it must be, whatever was asked for.
var errDamaged = errors.New("damaged")

// damagedData is an error of a backup or a store that is refused.
type damagedData struct{ error }

// Unwrap is the error itself.
func (d damagedData) Unwrap() error { return d.error }

// Is: it is no fault of the command line and no upstream's, whatever its class.
func (damagedData) Is(target error) bool { return target == errDamaged }

// outcome is one row of the table of errors: the exit code, its name for scripts,
// and what to do when nothing more exact is known.
type outcome struct {
	is   error
	code int
	name string
	fix  string
}

func outcomes() []outcome {
	return []outcome{
		{context.Canceled, exitInterrupted, "interrupted", "repeat the command; what was answered before is done"},
		{errDamaged, exitFailure, "damaged", "restore it from a backup"},
		{errPartial, exitPartial, "partial", "repeat the command: what is done already is skipped"},
		{dhruva.ErrInvalid, exitUsage, "invalid", "see `dhruva --help`"},
		{dhruva.ErrNotFound, exitNotFound, "not_found", "list what there is, for example with `dhruva space list`"},
		{dhruva.ErrUnauthenticated, exitAuth, "unauthenticated", "give a key with --key or DHRUVA_KEY, or run the command where DIR/admin.key can be read"},
		{dhruva.ErrDenied, exitAuth, "denied", "use a key that holds the right; `dhruva key list` shows each key's"},
		{dhruva.ErrFenced, exitConflict, "stale_generation", "begin again: the space was cleared meanwhile"},
		{dhruva.ErrConflict, exitConflict, "conflict", "read again, then repeat with what is there now"},
		{dhruva.ErrTooLarge, exitLimit, "too_large", "send less"},
		{dhruva.ErrUnavailable, exitUpstream, "unavailable", "`dhruva doctor` shows what is wrong"},
	}
}

// fixed is an error with its remedy.
type fixed struct {
	error
	fix string
}

// Unwrap is the error itself.
func (f *fixed) Unwrap() error { return f.error }

// withFix adds what to do to an error.
func withFix(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &fixed{err, fmt.Sprintf(format, args...)}
}

// usage is a fault of the command line.
func usage(format string, args ...any) error {
	return fmt.Errorf("%w: %s", dhruva.ErrInvalid, fmt.Sprintf(format, args...))
}

// exitCode says how the process ends.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	var p *client.Problem
	if errors.As(err, &p) && p.Status == http.StatusTooManyRequests {
		return exitLimit
	}
	for _, o := range outcomes() {
		if errors.Is(err, o.is) {
			return o.code
		}
	}
	return exitFailure
}

// complaint is an error of a command as --json prints it, in one line, the last
// one on standard error.
type complaint struct {
	// Code is the API's where it answered, else the name of the row in the table.
	Code      string `json:"code"`
	Message   string `json:"message"`
	Fix       string `json:"fix"`
	ExitCode  int    `json:"exit_code"`
	RequestID string `json:"request_id,omitempty"`
}

// complain prints an error of a command and ends with the fix.
func complain(w io.Writer, err error, command string, asJSON bool) {
	c := complaint{Code: codeOf(err), Message: wordsOf(err), Fix: strings.Replace(fixOf(err), "`dhruva --help`", "`"+command+" --help`", 1), ExitCode: exitCode(err)}
	var p *client.Problem
	if errors.As(err, &p) {
		c.RequestID = p.RequestID
	}
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(map[string]complaint{"error": c}) // what cannot be written cannot be told either
		return
	}
	fmt.Fprintf(w, "dhruva: %s\n", c.Message)
	if c.Fix != "" {
		fmt.Fprintf(w, "fix: %s\n", c.Fix)
	}
}

// codeOf is the name of an error.
func codeOf(err error) string {
	var p *client.Problem
	if errors.As(err, &p) && p.Code != "" {
		return p.Code
	}
	for _, o := range outcomes() {
		if errors.Is(err, o.is) {
			return o.name
		}
	}
	return "failure"
}

// wordsOf is an error as the command line says it: an answer of the server
// speaks of requests, and whoever reads this typed a command.
func wordsOf(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	text := api.Words(err)
	var p *client.Problem
	if errors.As(err, &p) {
		text = strings.Replace(text, p.Error(), problemWords(p), 1)
	}
	return text
}

func problemWords(p *client.Problem) string {
	switch {
	case len(p.Errors) > 0:
		faults := make([]string, 0, len(p.Errors))
		for _, f := range p.Errors {
			faults = append(faults, faultWords(f))
		}
		return strings.Join(faults, "; ")
	case p.Code == "unauthenticated":
		return "the key is not known here, or has ended"
	case p.Code == "too_large":
		return strings.Replace(p.Error(), "the body exceeds", "what was given exceeds", 1)
	}
	return p.Error()
}

// faultWords names a flag where a parameter was at fault, and an argument where
// it was a field.
func faultWords(f client.Fault) string {
	in, name, _ := strings.Cut(f.Location, ".")
	name = strings.ReplaceAll(name, "_", "-")
	switch {
	case name == "":
		return f.Message
	case in == "query":
		name = "--" + name
	}
	return name + ": " + f.Message
}

func fixOf(err error) string {
	var f *fixed
	if errors.As(err, &f) {
		return f.fix
	}
	if path, denied := deniedPath(err); denied {
		return accessFix(path)
	}
	var p *client.Problem
	if errors.As(err, &p) {
		if fix := problemFix(p); fix != "" {
			return fix
		}
	}
	for _, o := range outcomes() {
		if errors.Is(err, o.is) {
			return o.fix
		}
	}
	return "run `dhruva doctor`; the server's log on standard error has more"
}

// problemFix is what to do about an answer of the server that has a name of its
// own. The server's own hint speaks of requests, except where it is about what
// is configured.
func problemFix(p *client.Problem) string {
	switch p.Code {
	case "ambiguous_name":
		return "use an id in place of the name: `dhruva space list` shows them, `dhruva space delete ID --yes` hides one"
	case "name_taken":
		return "use that space, choose another name, or hide it first with `dhruva space delete ID --yes`"
	case codeNoProvider:
		return "add --provider echo, which answers with what it was told, or set " + keyVariables() + " where `dhruva serve` runs"
	case "call_running":
		return "repeat the command in a moment"
	case "key_reused", "result_gone":
		return "give a new --idempotency-key to do another thing; the same one only repeats"
	case "key_shown_once":
		return "if its text was lost, `dhruva key revoke` it and make another with a new --idempotency-key"
	case codeProvider, "upstream", "no_background", "git_failed":
		return p.Hint
	case "internal":
		return "run `dhruva doctor`; the server's log has more, under request " + p.RequestID
	case "not_found":
		return listFix(p.Detail)
	case "conflict":
		return conflictFix(p.Detail)
	case "has_dependents":
		return fixCascade
	}
	return ""
}

// missing finds what an answer says is not there.
var missing = regexp.MustCompile(`^(?:no )?(\w+)`)

// listFix names the command that lists what is there of the kind that was not
// found; "" where the answer names none.
func listFix(detail string) string {
	found := missing.FindStringSubmatch(detail)
	if found == nil {
		return ""
	}
	list := map[string]string{
		"space": "space list", "session": "session list --space SPACE", "checkpoint": "log SPACE", "turn": "session turns SESSION",
		"source": "source list --space SPACE", "receipt": "receipt list", "key": "key list", "job": "job list",
		"branch": "branch list SPACE", "claim": "claim list SPACE", "worktree": "worktree list SPACE", "move": "reflog SPACE", "note": "show CHECKPOINT",
	}[found[1]]
	if list == "" {
		return ""
	}
	return "`dhruva " + list + "` shows what is there"
}
