package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
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

// outcome is one row of the table of errors: the exit code, and what to do
// when nothing more exact is known.
type outcome struct {
	is   error
	code int
	fix  string
}

func outcomes() []outcome {
	return []outcome{
		{context.Canceled, exitInterrupted, ""},
		{errPartial, exitPartial, "repeat the command: what is done already is skipped"},
		{dhruva.ErrInvalid, exitUsage, "see `dhruva --help`"},
		{dhruva.ErrNotFound, exitNotFound, "list what there is, for example with `dhruva space list`"},
		{dhruva.ErrUnauthenticated, exitAuth, "give a key with --key or DHRUVA_KEY, or run the command where DIR/admin.key can be read"},
		{dhruva.ErrDenied, exitAuth, "use a key that holds the right; `dhruva key list` shows each key's"},
		{dhruva.ErrFenced, exitConflict, "begin again: the space was cleared meanwhile"},
		{dhruva.ErrConflict, exitConflict, "read again, then repeat with what is there now"},
		{dhruva.ErrTooLarge, exitLimit, "send less"},
		{dhruva.ErrUnavailable, exitUpstream, "`dhruva doctor` shows what is wrong"},
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

// complain prints an error and ends with the fix.
func complain(w io.Writer, err error) {
	fmt.Fprintf(w, "dhruva: %v\n", err)
	if fix := fixOf(err); fix != "" {
		fmt.Fprintf(w, "fix: %s\n", fix)
	}
}

func fixOf(err error) string {
	var f *fixed
	if errors.As(err, &f) {
		return f.fix
	}
	var p *client.Problem
	if errors.As(err, &p) && p.Hint != "" {
		return p.Hint
	}
	for _, o := range outcomes() {
		if errors.Is(err, o.is) {
			return o.fix
		}
	}
	return "run `dhruva doctor`; the server's log on standard error has more"
}
