package ledger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"crypto/rand"

	"github.com/dhruva-memory/dhruva"
)

// A call with an idempotency key has one effect, however often it is made.
//
// The call's row is written in the Updates that do its work: the last of them
// makes it done, with references to what was made. So whatever became of a
// reply or of a commit, repeating the call tells: either the row is there, and
// so is the work, or neither is. Operations of several Updates (a long import)
// leave the row begun between them; they are written so that running again adds
// nothing twice, and go on where they were.
//
// What each Update of an operation is, its function says: it is the last one
// unless it calls more. One after the last is a mistake of the operation's and
// fails.

// MaxCallKey bounds an idempotency key, in bytes.
const MaxCallKey = 255

// retryAfter is after how long at most a call that is running is looked for
// again.
const retryAfter = 2 * time.Second

// Call names a call that may be repeated.
type Call struct {
	// Route is what is called, without ids ("POST /spaces/{space}/remember").
	Route string
	// Key is the caller's own: 1 to 255 visible ASCII characters.
	Key string
	// Request is all that the call asks, in one form: another one under the same
	// key is another call. Neither is stored; their keyed hashes are.
	Request []byte
	// Rights are those of which the principal must hold one, so that nobody is
	// told what was made who may not make it. None: being known is enough.
	Rights []dhruva.KeyScope
	// Claim, when not zero, has the call noted as running before the operation
	// begins, because that does more than write (it asks a model), and says how
	// long it may take until it is taken for dead. Else the first Update notes it.
	Claim time.Duration
	// Forever: the call is never forgotten.
	Forever bool
}

// Outcome is what became of a call.
type Outcome struct {
	// Replayed: it was done before, or meanwhile by somebody else, and nothing
	// that the operation did now is kept.
	Replayed bool
	// Made names what it made, in the order in which it was written.
	Made []string
}

// Running says that the same call has begun and has not ended. It is an
// ErrConflict.
type Running struct{ After time.Duration }

// Error is what a caller is told.
func (r *Running) Error() string {
	return fmt.Sprintf("%v: a call with this idempotency key is still running", dhruva.ErrConflict)
}

// Unwrap is ErrConflict.
func (r *Running) Unwrap() error { return dhruva.ErrConflict }

// RetryAfter is when looking again makes sense.
func (r *Running) RetryAfter() time.Duration { return r.After }

// Advice is a name for it and what to do.
func (r *Running) Advice() (code, hint string) {
	return "call_running", "repeat the call with the same idempotency key in a moment"
}

// Reused says that a key was used for another request. It is an ErrConflict.
type Reused struct{}

// Error is what a caller is told.
func (*Reused) Error() string {
	return fmt.Sprintf("%v: this idempotency key was used for another request", dhruva.ErrConflict)
}

// Unwrap is ErrConflict.
func (*Reused) Unwrap() error { return dhruva.ErrConflict }

// Advice is a name for it and what to do.
func (*Reused) Advice() (code, hint string) {
	return "key_reused", "use a new idempotency key for another request, and the same one only to repeat a call"
}

// Once runs an operation that has one effect however often its call is made.
// op is given a ledger that writes as it does, except that its Updates carry the
// call's row; everything that op writes must go through it.
//
// When the call was done before, op is not run, and the Outcome names what was
// made. When it is running, and not taken for dead, the error is a Running; when
// the key was used for another request, a Reused. An operation that fails before
// anything was written leaves its key free. One that fails later may be repeated
// at once, as the same request. A call that was taken for dead and comes back
// finds its Update refused, and is told what the other one made.
//
// Errors of op come back as they are. Without a key use op directly.
func (l *Ledger) Once(ctx context.Context, call Call, op func(*Ledger) error) (Outcome, error) {
	p, err := principal(ctx, call.Rights...)
	if err != nil {
		return Outcome{}, wrap("once", err)
	}
	a, out, err := l.attempt(ctx, p, call)
	if err != nil || out.Replayed {
		return out, wrap("once", err)
	}
	if err := a.run(ctx, op); err != nil {
		return Outcome{}, err
	}
	if !a.lost {
		return Outcome{Made: a.row.Results}, nil
	}
	out, err = l.outrun(ctx, a)
	return out, wrap("once", err)
}

// attempt looks what is known of a call, and prepares to run it unless it was
// done or is running.
func (l *Ledger) attempt(ctx context.Context, p dhruva.Principal, call Call) (*attempt, Outcome, error) {
	if err := call.valid(); err != nil {
		return nil, Outcome{}, err
	}
	a := l.newAttempt(p, call)
	old, err := l.called(ctx, a)
	switch {
	case errors.Is(err, dhruva.ErrNotFound):
		return a, Outcome{}, nil
	case err != nil:
		return nil, Outcome{}, err
	}
	out, err := verdict(old, a.row.Request, l.now())
	if err == nil && !out.Replayed {
		a.resume(old)
	}
	return a, out, err
}

// verdict tells what a known call means for the same or another request: it was
// done, it is running, it may be run again (a zero Outcome), or it was another.
// One that was begun and made nothing binds its key to no request.
func verdict(row dhruva.Idempotency, request dhruva.Hash, now time.Time) (Outcome, error) {
	left := row.Until.Sub(now)
	dead := row.State != dhruva.CallDone && left <= 0
	switch {
	case row.Request != request && (!dead || len(row.Results) > 0):
		return Outcome{}, &Reused{}
	case row.State == dhruva.CallDone:
		return Outcome{Replayed: true, Made: row.Results}, nil
	case !dead:
		return Outcome{}, &Running{After: min(left, retryAfter)}
	}
	return Outcome{}, nil
}

// outrun is what a call is told that another attempt was faster than, or that
// was taken for dead: what became of that one.
func (l *Ledger) outrun(ctx context.Context, a *attempt) (Outcome, error) {
	row, err := l.called(ctx, a)
	if err == nil {
		out, err := verdict(row, a.row.Request, l.now())
		if err != nil || out.Replayed {
			return out, err
		}
	}
	if err == nil || errors.Is(err, dhruva.ErrNotFound) { // it gave up meanwhile
		err = &Running{After: retryAfter}
	}
	return Outcome{}, err
}

// called reads the row of a call. One that may be forgotten is.
func (l *Ledger) called(ctx context.Context, a *attempt) (row dhruva.Idempotency, err error) {
	err = l.view(ctx, a.principal, func(tx dhruva.Tx) error {
		row, err = tx.Idempotency(a.row.Principal, a.row.Route, a.row.Key)
		return err
	})
	now := l.now()
	if err != nil || row.ExpiresAt.IsZero() || !row.ExpiresAt.Before(now) {
		return row, err
	}
	if err := l.forget(ctx, a.principal, now); err != nil {
		return dhruva.Idempotency{}, err
	}
	return dhruva.Idempotency{}, missing("call", a.row.Route)
}

// forget removes the tenant's calls that expired before a time.
func (l *Ledger) forget(ctx context.Context, p dhruva.Principal, before time.Time) error {
	const most = 500
	for n := most; n == most; {
		err := l.Store.Update(ctx, []dhruva.Scope{p.Scope()}, func(tx dhruva.Tx) (err error) {
			n, err = tx.ExpireIdempotency(before, most)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// AsMaker is the context in which the answer of a call that was done before is
// made again: whoever made a thing was shown it, with or without the right to
// read. What it reaches stays as it is.
func AsMaker(ctx context.Context) context.Context {
	p, err := dhruva.PrincipalFrom(ctx)
	if err != nil {
		return ctx
	}
	p.Scopes = append(slices.Clone(p.Scopes), dhruva.StateRead, dhruva.MemoryRead, dhruva.ReceiptRead)
	return dhruva.WithPrincipal(ctx, p)
}

func (c Call) valid() error {
	visible := func(r rune) bool { return r > ' ' && r < 0x7F }
	switch {
	case c.Route == "":
		return fmt.Errorf("%w: a call without a route", dhruva.ErrInvalid)
	case c.Key == "" || len(c.Key) > MaxCallKey || strings.ContainsFunc(c.Key, func(r rune) bool { return !visible(r) }):
		return fmt.Errorf("%w: an idempotency key is 1 to %d visible ASCII characters", dhruva.ErrInvalid, MaxCallKey)
	}
	return nil
}

// newAttempt is a first attempt, made ready: its hashes, fence and times. A
// fence begins anywhere, so that an attempt whose outcome is unknown can be told
// from another's.
func (l *Ledger) newAttempt(p dhruva.Principal, call Call) *attempt {
	now := l.now()
	row := dhruva.Idempotency{
		Tenant: p.Tenant, Principal: p.ID, Route: call.Route, State: dhruva.CallBegun, CreatedAt: now, Fence: anyFence(),
		Key:     l.callHash(p, "key", string(p.ID), call.Route, call.Key),
		Request: l.callHash(p, "request", string(p.ID), call.Route, string(call.Request)),
	}
	return &attempt{Store: l.Store, ledger: l, principal: p, call: call, row: row}
}

// callHash is a keyed hash of length-prefixed parts.
func (l *Ledger) callHash(p dhruva.Principal, parts ...string) (out dhruva.Hash) {
	msg := []byte("dhruva.idempotency.v1\n")
	for _, s := range parts {
		msg = binary.BigEndian.AppendUint64(msg, uint64(len(s)))
		msg = append(msg, s...)
	}
	copy(out[:], l.Keys.MAC(dhruva.PurposeIdempotency, p.Tenant, msg))
	return out
}

// anyFence is a number with room above it.
func anyFence() int64 {
	var b [8]byte
	rand.Read(b[:]) // never fails; it ends the program instead
	return int64(binary.BigEndian.Uint64(b[:]) % (math.MaxInt64 / 2))
}

// Last is the id of the last thing of a kind that a call made, "" when there is
// none.
func (o Outcome) Last(kind string) string {
	for _, ref := range slices.Backward(o.Made) {
		if id, ok := strings.CutPrefix(ref, kind+":"); ok {
			return id
		}
	}
	return ""
}
