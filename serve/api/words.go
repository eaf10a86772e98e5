package api

import (
	"errors"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// Words is what an error says to people: without the names of the packages it
// came through, and without its class, which a status or an exit code says.
func Words(err error) string {
	for {
		inner := within(err)
		if inner == nil || slices.Contains(sentinels(), inner) || !internal(layer(err, inner)) {
			break
		}
		err = inner
	}
	return withoutClass(withoutPackage(err.Error()))
}

// within is what an error wraps when it is one.
func within(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		if all := joined.Unwrap(); len(all) == 1 {
			return all[0]
		}
		return nil
	}
	return errors.Unwrap(err)
}

// layer is what an error says before the words of the one within; "…" when it
// says something after them.
func layer(err, inner error) string {
	before, ok := strings.CutSuffix(err.Error(), inner.Error())
	if !ok {
		return "…"
	}
	return before
}

// internal: the words of a layer that name a package and its verb, or none.
func internal(layer string) bool {
	name, _, _ := strings.Cut(layer, ": ")
	return layer == "" || slices.Contains([]string{"ledger", "memory", "auth", "recall", "agents"}, name)
}

func withoutPackage(s string) string {
	for _, name := range []string{"ledger", "memory", "auth", "recall", "agents", "sqlstore", "memstore", "client", "egress", "llm"} {
		s = strings.TrimPrefix(s, name+": ")
	}
	return s
}

func withoutClass(s string) string {
	for _, class := range sentinels() {
		if rest, ok := strings.CutPrefix(s, class.Error()+": "); ok {
			return rest
		}
	}
	return s
}

func sentinels() []error {
	return []error{
		dhruva.ErrNotFound, dhruva.ErrConflict, dhruva.ErrInvalid, dhruva.ErrDenied, dhruva.ErrUnauthenticated,
		dhruva.ErrFenced, dhruva.ErrUnavailable, dhruva.ErrTooLarge,
	}
}

// worded is an error that speaks in Words.
type worded struct{ error }

// Error is as said above.
func (w worded) Error() string { return Words(w.error) }

// Unwrap is the error itself.
func (w worded) Unwrap() error { return w.error }
