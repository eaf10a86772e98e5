package dhruva

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxUpdateRows is how many rows one Update may write before a store answers
// ErrTooLarge. A write counts one unless its method says otherwise, and a
// checkpoint one more for each item. A write that is ErrConflict counts, one that
// is ErrInvalid or ErrDenied does not. Long work is chunked.
const MaxUpdateRows = 1000

// MaxKeyBytes is how long a part of a key may be, and a text that rows are
// found by (a name, an address, a kind). An index entry of a database is of
// limited size, and the widest one holds five of them. A longer one is
// ErrInvalid.
const MaxKeyBytes = 512

// SortScopes is the form in which a store takes the scopes of an Update:
// sorted in Compare order, without duplicates. No scope, a space without a
// tenant, an id that no row can have, and scopes of two tenants are ErrInvalid.
func SortScopes(scopes []Scope) ([]Scope, error) {
	out := slices.Clone(scopes)
	slices.SortFunc(out, Scope.Compare)
	out = slices.Compact(out)
	var tenant TenantID
	for _, s := range out {
		if s.tenant == "" && s.space != "" {
			return nil, fmt.Errorf("%w: space %s without a tenant", ErrInvalid, s.space)
		}
		if err := validRef("scope", string(s.tenant), string(s.space)); err != nil {
			return nil, err
		}
		if tenant != "" && s.tenant != tenant {
			return nil, fmt.Errorf("%w: scopes of two tenants", ErrInvalid)
		}
		tenant = s.tenant
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: no scope", ErrInvalid)
	}
	return out, nil
}

// Every row has two methods that all stores share, so that they cannot differ
// in what they take and what they give back:
//
//   - Validate answers ErrInvalid for a row no store takes: an empty key, one
//     of more than MaxKeyBytes, text that is not UTF-8 or holds NUL, a time
//     outside the years 1 to 9999.
//   - Canonical is the row as a store gives it back: a deep copy, times in UTC
//     to the microsecond, empty lists nil.

// ValidText answers ErrInvalid unless all texts are UTF-8 without NUL.
func ValidText(what string, texts ...string) error {
	for _, s := range texts {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("%w: %s: text holds a NUL", ErrInvalid, what)
		}
		if !utf8.ValidString(s) {
			return fmt.Errorf("%w: %s: text is not UTF-8", ErrInvalid, what)
		}
	}
	return nil
}

// validKey answers ErrInvalid when a part of a key is empty or too long.
func validKey(what string, parts ...string) error {
	if slices.Contains(parts, "") {
		return fmt.Errorf("%w: %s: empty key", ErrInvalid, what)
	}
	return validRef(what, parts...)
}

// validRef is validKey for what may be empty: a reference to a row that may not
// be, a text that rows are found by.
func validRef(what string, parts ...string) error {
	for _, s := range parts {
		if len(s) > MaxKeyBytes {
			return fmt.Errorf("%w: %s: key of %d bytes, at most %d", ErrInvalid, what, len(s), MaxKeyBytes)
		}
	}
	return ValidText(what, parts...)
}

func validTime(what string, times ...time.Time) error {
	for _, t := range times {
		if y := t.UTC().Year(); y < 1 || y > 9999 {
			return fmt.Errorf("%w: %s: year %d", ErrInvalid, what, y)
		}
	}
	return nil
}

// ValidTime answers ErrInvalid for a time that is none, and for one that no row
// can hold.
func ValidTime(what string, at time.Time) error {
	if Micros(at).IsZero() {
		return fmt.Errorf("%w: %s: no time", ErrInvalid, what)
	}
	return validTime(what, at)
}

func validTexts[T ~string](what string, texts []T) error {
	for _, s := range texts {
		if err := ValidText(what, string(s)); err != nil {
			return err
		}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// list copies a slice; an empty one becomes nil.
func list[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return slices.Clone(s)
}

// Validate is as said above.
func (t Tenant) Validate() error {
	return firstError(validKey("tenant", string(t.ID)), ValidText("tenant", t.Name, t.KID), validTime("tenant", t.CreatedAt))
}

// Canonical is as said above.
func (t Tenant) Canonical() Tenant {
	t.CreatedAt = Micros(t.CreatedAt)
	return t
}

// Validate is as said above.
func (s Space) Validate() error {
	return firstError(validKey("space", string(s.Tenant), string(s.ID)),
		validRef("space", s.Name, string(s.Owner)), ValidText("space", s.Description, s.ProjectRoot),
		validTime("space", s.CreatedAt, s.UpdatedAt, s.DeletedAt))
}

// Canonical is as said above.
func (s Space) Canonical() Space {
	s.CreatedAt, s.UpdatedAt, s.DeletedAt = Micros(s.CreatedAt), Micros(s.UpdatedAt), Micros(s.DeletedAt)
	return s
}

// Validate is as said above.
func (e Epoch) Validate() error { return validKey("epoch", string(e.Space)) }

// Validate is as said above. The number is the store's and is not looked at.
func (c Change) Validate() error {
	return firstError(ValidText("change", string(c.Kind), c.Ref), validTime("change", c.At))
}

// Canonical is as said above.
func (c Change) Canonical() Change {
	c.At = Micros(c.At)
	return c
}

// Validate is as said above.
func (s Session) Validate() error {
	at := time.Time{}
	if s.Mount != nil {
		at = s.Mount.At
	}
	return firstError(validKey("session", string(s.Tenant), string(s.Space), string(s.ID)),
		validRef("session", string(s.Kind)), ValidText("session", s.Title, s.Provider, s.Model, s.Branch, string(s.ForkedSession), string(s.Owner)),
		validTime("session", s.CreatedAt, s.UpdatedAt, s.DeletedAt, at))
}

// Canonical is as said above.
func (s Session) Canonical() Session {
	s.CreatedAt, s.UpdatedAt, s.DeletedAt = Micros(s.CreatedAt), Micros(s.UpdatedAt), Micros(s.DeletedAt)
	if s.Mount != nil {
		m := *s.Mount
		m.At = Micros(m.At)
		s.Mount = &m
	}
	return s
}

// Validate is as said above.
func (c Chain) Validate() error {
	return validKey("chain", string(c.Space), string(c.Session))
}

// Validate is as said above; numbers start at 1.
func (t Turn) Validate() error {
	if t.Seq < 1 {
		return fmt.Errorf("%w: turn: number %d", ErrInvalid, t.Seq)
	}
	return firstError(validKey("turn", string(t.Tenant), string(t.Space), string(t.Session)),
		ValidText("turn", string(t.ID), string(t.Role), t.Speaker, t.Content, t.Provider, t.Model), validTime("turn", t.CreatedAt))
}

// Canonical is as said above.
func (t Turn) Canonical() Turn {
	t.CreatedAt = Micros(t.CreatedAt)
	return t
}

// Validate is as said above. It does not verify the hash; VerifyCheckpoint does.
func (c Checkpoint) Validate() error {
	if c.Hash.IsZero() {
		return fmt.Errorf("%w: checkpoint: empty hash", ErrInvalid)
	}
	for _, i := range c.Items {
		if err := i.validate(); err != nil {
			return err
		}
	}
	return firstError(validKey("checkpoint", string(c.Tenant), string(c.Space), string(c.ID)),
		validRef("checkpoint", c.Branch, string(c.Window.Session)), ValidText("checkpoint", c.Author), validTime("checkpoint", c.CreatedAt, c.HiddenAt))
}

func (i Item) validate() error {
	for _, a := range i.Attrs {
		if err := ValidText("item", a.Name, a.Value); err != nil {
			return err
		}
	}
	return firstError(validRef("item", string(i.ID)), ValidText("item", string(i.Kind), i.Text))
}

// Canonical is as said above.
func (c Checkpoint) Canonical() Checkpoint {
	c.CreatedAt, c.HiddenAt = Micros(c.CreatedAt), Micros(c.HiddenAt)
	c.Parents = list(c.Parents)
	c.Items = list(c.Items)
	for n := range c.Items {
		c.Items[n].Attrs = list(c.Items[n].Attrs)
		c.Items[n].Cites = list(c.Items[n].Cites)
	}
	return c
}

// Validate is as said above; a head is never the absent hash.
func (b Branch) Validate() error {
	if b.Head.IsZero() {
		return fmt.Errorf("%w: branch: empty head", ErrInvalid)
	}
	return firstError(validKey("branch", string(b.Space), b.Name), ValidText("branch", b.Disposition), validTime("branch", b.UpdatedAt))
}

// Canonical is as said above.
func (b Branch) Canonical() Branch {
	b.UpdatedAt = Micros(b.UpdatedAt)
	return b
}

// Validate is as said above.
func (s Source) Validate() error {
	return firstError(validKey("source", string(s.Tenant), string(s.Space), string(s.ID)),
		validRef("source", string(s.Class), string(s.State)), ValidText("source", s.HeldFor, string(s.Role), s.KID),
		validTime("source", s.EventTime, s.CreatedAt))
}

// Canonical is as said above.
func (s Source) Canonical() Source {
	s.EventTime, s.CreatedAt, s.MAC = Micros(s.EventTime), Micros(s.CreatedAt), list(s.MAC)
	return s
}

// Validate is as said above.
func (r Reference) Validate() error {
	return firstError(validKey("reference", string(r.Space), string(r.Source)), validRef("reference", string(r.Session), string(r.Item)))
}

// Validate is as said above.
func (t Tombstone) Validate() error {
	return firstError(validKey("tombstone", string(t.Space), string(t.Source)), ValidText("tombstone", t.State), validTime("tombstone", t.CreatedAt))
}

// Canonical is as said above.
func (t Tombstone) Canonical() Tombstone {
	t.CreatedAt = Micros(t.CreatedAt)
	return t
}

// Validate is as said above. Only the tenant and the id are required.
func (r Receipt) Validate() error {
	for _, e := range r.Edits {
		if err := ValidText("receipt", string(e.Kind)); err != nil {
			return err
		}
	}
	return firstError(validKey("receipt", string(r.Tenant), string(r.ID)),
		validRef("receipt", string(r.Space), string(r.Session), r.Kind, r.State),
		ValidText("receipt", r.RequestID, string(r.Principal), string(r.Key), string(r.Node), r.Subject, r.Path,
			string(r.Dialect), r.Provider, r.Model, r.ModeRequested, r.ModeEffective, string(r.Memory),
			string(r.Continuity), string(r.Recall.Status), string(r.Recall.Reason), r.Recall.Note, r.Ingest,
			r.Tokens.UsageSource, r.Bytes.ClientBody, r.Bytes.ForwardedBody, r.Upstream.RequestID,
			string(r.Upstream.Terminal), r.Upstream.Error),
		validTexts("receipt", r.TurnIDs), validTexts("receipt", r.Recall.Sources), r.Context.validate(),
		validTime("receipt", r.CreatedAt, r.FinishedAt))
}

func (c *ContextUsed) validate() error {
	if c == nil {
		return nil
	}
	return firstError(ValidText("receipt", string(c.Mode)), validTexts("receipt", c.Evidence))
}

// Canonical is as said above.
func (r Receipt) Canonical() Receipt {
	r.CreatedAt, r.FinishedAt = Micros(r.CreatedAt), Micros(r.FinishedAt)
	r.Edits, r.TurnIDs, r.Recall.Sources = list(r.Edits), list(r.TurnIDs), list(r.Recall.Sources)
	if r.Context != nil {
		c := *r.Context
		c.Checkpoints, c.Turns, c.Evidence = list(c.Checkpoints), list(c.Turns), list(c.Evidence)
		r.Context = &c
	}
	return r
}

// Validate is as said above; the hash is a key too.
func (k Key) Validate() error {
	if len(k.Hash) == 0 || len(k.Hash) > MaxKeyBytes {
		return fmt.Errorf("%w: key: hash of %d bytes", ErrInvalid, len(k.Hash))
	}
	return firstError(validKey("key", string(k.Tenant), string(k.ID)),
		ValidText("key", k.Name, k.Label, string(k.Space), k.Provider, string(k.Owner), string(k.Maker)),
		validTexts("key", k.Scopes), validTexts("key", k.Spaces),
		validTime("key", k.CreatedAt, k.ExpiresAt, k.RevokedAt))
}

// Canonical is as said above.
func (k Key) Canonical() Key {
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = Micros(k.CreatedAt), Micros(k.ExpiresAt), Micros(k.RevokedAt)
	k.Hash, k.Scopes, k.Spaces = bytes.Clone(k.Hash), list(k.Scopes), list(k.Spaces)
	return k
}
