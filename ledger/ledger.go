package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Ledger is the write model over a store, made by New. What New does not set is
// optional.
type Ledger struct {
	Store dhruva.Store
	Keys  dhruva.Keyring
	// Redact replaces the secrets of a text that is about to be stored, and counts
	// them. It is a pure function, and redacting twice changes nothing. New sets
	// one; Verbatim is none.
	Redact func(text string) (string, int)
	Now    func() time.Time // nil: time.Now
	Limits Limits           // zero fields: the defaults
	Upkeep Upkeep           // zero fields: the defaults
	// Node is the process that the ledger is used in, as it is registered.
	Node dhruva.NodeID
	// Rand draws from [0, 1), to spread retries; nil: the system's randomness.
	Rand func() float64
}

// New returns a ledger over a store.
func New(store dhruva.Store, keys dhruva.Keyring) *Ledger {
	return &Ledger{Store: store, Keys: keys, Redact: secrets()}
}

// Limits bound what is taken in. A zero field means its default. What a client
// sends to our own API beyond a limit is ErrTooLarge; captured text is cut and
// marked as truncated, because the model call it came from has already happened.
type Limits struct {
	// TurnBytes bounds the text of one turn. Default 1 MiB.
	TurnBytes int
	// CaptureBytes bounds the text of one turn of a proxied call; of a longer one
	// head and tail are kept. Default 64 KiB.
	CaptureBytes int
	// RememberBytes bounds the text of Remember. Default 64 KiB.
	RememberBytes int
	// Items bounds the items of one checkpoint. Default 200, also the most that
	// fits one Update.
	Items int
	// ItemBytes bounds the text of one item, objective or summary. Default 256 KiB.
	ItemBytes int
	// History is how many of the latest history messages of a captured request
	// are looked at. Default 2,000.
	History int
	// ImportTurns bounds the turns of one imported conversation. Default 100,000.
	ImportTurns int
	// ForkTurns bounds the turns that a fork copies. Default 400, also the most that
	// fits one Update with their references.
	ForkTurns int
	// CallKept is how long a call with an idempotency key is remembered. Default
	// 24 hours.
	CallKept time.Duration
	// CallTime is how long such a call may go on after each of its steps before it
	// is taken for dead and may be run again. Default a minute.
	CallTime time.Duration
}

// Fixed limits, in characters. They are part of the formats that clients see.
const (
	maxName   = 200
	maxTitle  = 255
	maxDetail = 4096
	// chunk is how many turns one Update may append.
	chunk = 100
)

func (l *Ledger) limits() Limits {
	out := l.Limits
	for _, f := range []struct {
		field *int
		def   int
	}{
		{&out.TurnBytes, 1 << 20}, {&out.CaptureBytes, 64 << 10}, {&out.RememberBytes, 64 << 10}, {&out.Items, 200},
		{&out.ItemBytes, 256 << 10}, {&out.History, 2000}, {&out.ImportTurns, 100_000}, {&out.ForkTurns, 400},
	} {
		if *f.field <= 0 {
			*f.field = f.def
		}
	}
	out.Items, out.ForkTurns = min(out.Items, 200), min(out.ForkTurns, 400)
	if out.CallKept <= 0 {
		out.CallKept = 24 * time.Hour
	}
	if out.CallTime <= 0 {
		out.CallTime = time.Minute
	}
	return out
}

// over is the ledger over another store.
func (l *Ledger) over(store dhruva.Store) *Ledger {
	out := *l
	out.Store = store
	return &out
}

func (l *Ledger) now() time.Time {
	if l.Now != nil {
		return dhruva.Micros(l.Now())
	}
	return dhruva.Micros(time.Now())
}

// principal is who acts, if they hold at least one of the rights. No rights
// asked means that being known is enough.
func principal(ctx context.Context, rights ...dhruva.KeyScope) (dhruva.Principal, error) {
	p, err := dhruva.PrincipalFrom(ctx)
	if err != nil {
		return p, err
	}
	if p.Tenant == "" || p.ID == "" { // an empty tenant would name the System scope
		return p, fmt.Errorf("%w: a principal without tenant or id", dhruva.ErrUnauthenticated)
	}
	if len(rights) > 0 && !slices.ContainsFunc(rights, p.May) {
		return p, fmt.Errorf("%w: this needs %s", dhruva.ErrDenied, rights[0])
	}
	return p, nil
}

// view runs fn over a snapshot of all that the principal's tenant has; what
// the principal may see of it is checked row by row.
func (l *Ledger) view(ctx context.Context, p dhruva.Principal, fn func(dhruva.Tx) error) error {
	return l.Store.View(ctx, p.Scope(), fn)
}

// update runs fn alone in one space, which must be live and within reach.
func (l *Ledger) update(ctx context.Context, p dhruva.Principal, s dhruva.SpaceID, fn func(dhruva.Tx) error) error {
	if s == "" {
		return fmt.Errorf("%w: no space", dhruva.ErrInvalid)
	}
	return l.Store.Update(ctx, []dhruva.Scope{p.In(s)}, func(tx dhruva.Tx) error {
		if _, err := liveSpace(tx, p, s); err != nil {
			return err
		}
		return fn(tx)
	})
}

// liveSpace is a space that is there for the principal: of its tenant, within
// its reach, not hidden; a home only for its owner, by a key that is not limited
// to named spaces.
func liveSpace(tx dhruva.Tx, p dhruva.Principal, id dhruva.SpaceID) (dhruva.Space, error) {
	s, err := tx.Space(id)
	if err != nil {
		return s, notFound(err, "space", string(id))
	}
	if s.Tenant != p.Tenant || !s.DeletedAt.IsZero() || !reaches(p, s) {
		return dhruva.Space{}, missing("space", string(id))
	}
	return s, nil
}

// reaches reports whether a space is within a principal's reach. A home is on
// nobody's list of spaces: a key limited to a list has none.
func reaches(p dhruva.Principal, s dhruva.Space) bool {
	if s.Home {
		return s.Owner == p.ID && len(p.Spaces) == 0
	}
	return p.Reaches(s.ID)
}

// liveSession is a session that is there for the principal.
func liveSession(tx dhruva.Tx, p dhruva.Principal, id dhruva.SessionID) (dhruva.Session, error) {
	s, err := tx.Session(id)
	if err != nil {
		return s, notFound(err, "session", string(id))
	}
	if s.Tenant != p.Tenant || !s.DeletedAt.IsZero() {
		return dhruva.Session{}, missing("session", string(id))
	}
	if _, err := liveSpace(tx, p, s.Space); err != nil {
		if errors.Is(err, dhruva.ErrNotFound) {
			err = missing("session", string(id))
		}
		return dhruva.Session{}, err
	}
	return s, nil
}

// locate finds a session and thereby the space whose lock its writes take.
func (l *Ledger) locate(ctx context.Context, p dhruva.Principal, id dhruva.SessionID) (s dhruva.Session, err error) {
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		s, err = liveSession(tx, p, id)
		return err
	})
	return s, err
}

// editSession changes one session alone in its space.
func (l *Ledger) editSession(ctx context.Context, p dhruva.Principal, id dhruva.SessionID, edit func(dhruva.Tx, *dhruva.Session) error) (dhruva.Session, error) {
	at, err := l.locate(ctx, p, id)
	if err != nil {
		return at, err
	}
	var out dhruva.Session
	err = l.update(ctx, p, at.Space, func(tx dhruva.Tx) error {
		if out, err = liveSession(tx, p, id); err != nil {
			return err
		}
		if err := edit(tx, &out); err != nil {
			return err
		}
		return tx.PutSession(out)
	})
	if err != nil {
		return dhruva.Session{}, err
	}
	return out, nil
}

// missing is the one answer for what is absent, foreign, hidden or denied.
func missing(what, id string) error {
	return fmt.Errorf("%w: no %s %q", dhruva.ErrNotFound, what, clip(id, 80))
}

// notFound gives a store's ErrNotFound our words, so that absent and foreign
// read alike; other errors pass.
func notFound(err error, what, id string) error {
	if errors.Is(err, dhruva.ErrNotFound) {
		return missing(what, id)
	}
	return err
}

// wrap marks an error as the ledger's, once.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ledger: %s: %w", op, err)
}

// filled collects visible rows page by page until one more than size is there
// or the source is dry; so a caller sees full pages although rows are left out.
func filled[T any](page dhruva.Page, fetch func(dhruva.Page) ([]T, error), id func(T) string, keep func(T) (bool, error)) ([]T, string, error) {
	var out []T
	size := page.Size()
	for ask := (dhruva.Page{After: page.After, Limit: min(size+1, 1000)}); ; {
		rows, err := fetch(ask)
		if err != nil {
			return nil, "", err
		}
		for _, r := range rows {
			ok, err := keep(r)
			if err != nil {
				return nil, "", err
			}
			if ok {
				out = append(out, r)
			}
			if len(out) > size {
				return out[:size], id(out[size-1]), nil
			}
		}
		if len(rows) < ask.Size() {
			return out, "", nil
		}
		ask.After = id(rows[len(rows)-1])
	}
}

// always keeps every row.
func always[T any](T) (bool, error) { return true, nil }
