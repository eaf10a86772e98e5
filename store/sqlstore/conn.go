package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// conn is one connection and the transaction on it. It is for one goroutine at
// a time. Its errors are ours where the database's own can be told apart.
type conn interface {
	// exec runs a statement and says how many rows it touched.
	exec(query string, args ...any) (int64, error)
	// send runs a statement whose result nobody needs. It may go out with the
	// next one that is waited for; its failure is then that one's, or comes at
	// the end.
	send(query string, args ...any) error
	// race is send of a write that breaks a constraint only when another
	// transaction was there first: then everything runs again.
	race(query string, args ...any) error
	// query runs a statement that gives rows. They are read to their end, or
	// closed, before anything else.
	query(query string, args ...any) (rows, error)
	// ahead asks what will be asked soon, by texts and numbers, where the answer
	// then costs no wait: it comes with that of the next query.
	ahead(query string, args ...any)
	// knows says whether that is so of a query.
	knows(query string, args ...any) bool
	// script runs statements without parameters that are not worth keeping
	// prepared.
	script(text string) error

	// begin opens a write transaction that holds the locks of scopes, snapshot
	// one that reads.
	begin(scopes []dhruva.Scope) error
	snapshot(scopes []dhruva.Scope) error
	// part begins the next update of a transaction; undo takes back what it
	// wrote, release keeps it. With a savepoint, which costs something once
	// something is written, undo can do that. Otherwise it can when nothing was
	// written, and fails: then the transaction can only be rolled back.
	part(savepoint bool)
	undo() error
	release() error
	// settle waits for everything that was sent.
	settle() error
	commit() error
	rollback() error

	// bound ends what is waited for when the context does; the connection may be
	// lost by that.
	bound(context.Context)
	// lost: it cannot be used again. stale: it was lost before it answered
	// anything in this transaction, as when it had been idle while the server
	// went away.
	lost() bool
	stale() bool
	close() error
}

// rows are read in order.
type rows interface {
	Next() bool
	scanner
	Err() error
	Close() error
}

// scanner is a row.
type scanner interface{ Scan(...any) error }

// errNoSavepoint: there is nothing to go back to.
var errNoSavepoint = errors.New("written without a savepoint")

// again is why an update has to run again: nothing of it was kept, and it is
// not its own fault.
type again struct{ cause error }

func (a *again) Error() string   { return "to be run again: " + a.cause.Error() }
func (a *again) Unwrap() []error { return []error{dhruva.ErrUnavailable, a.cause} }

func isAgain(err error) bool {
	var a *again
	return errors.As(err, &a)
}

// ended says that a context has ended, as both its own error and ours.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", dhruva.ErrUnavailable, context.Cause(ctx))
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
