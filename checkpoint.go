package dhruva

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"time"
)

// Hash is the identity of an immutable thing: SHA-256 over a documented
// canonical encoding (docs/format.md).
type Hash [sha256.Size]byte

// IsZero reports whether h is the absent hash.
func (h Hash) IsZero() bool { return h == Hash{} }

// String is 64 hexadecimal digits, or "" for the absent hash.
func (h Hash) String() string {
	if h.IsZero() {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// Short is the first 7 digits, as shown to people.
func (h Hash) Short() string {
	if h.IsZero() {
		return "none"
	}
	return hex.EncodeToString(h[:])[:7]
}

// Compare orders hashes by their bytes.
func (h Hash) Compare(o Hash) int { return bytes.Compare(h[:], o[:]) }

// ParseHash reads 64 hexadecimal digits; "" is the absent hash.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if s == "" {
		return h, nil
	}
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("%w: %q is not a 64-digit hexadecimal hash", ErrInvalid, s)
	}
	copy(h[:], b)
	return h, nil
}

// MarshalText and UnmarshalText give JSON and flags the hexadecimal form.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText is the reverse of MarshalText.
func (h *Hash) UnmarshalText(b []byte) (err error) {
	*h, err = ParseHash(string(b))
	return err
}

// ItemKind names a field of a checkpoint. The first three are single texts.
type ItemKind string

// The kinds, in canonical order.
const (
	KindTitle      ItemKind = "title"
	KindObjective  ItemKind = "objective"
	KindSummary    ItemKind = "summary"
	KindDecision   ItemKind = "decision"
	KindAssumption ItemKind = "assumption"
	KindTask       ItemKind = "task"
	KindQuestion   ItemKind = "open_question"
	KindEntity     ItemKind = "entity"
	KindArtifact   ItemKind = "artifact"
)

// ItemKinds is the canonical order in which items stand in a checkpoint.
func ItemKinds() []ItemKind {
	return []ItemKind{KindTitle, KindObjective, KindSummary, KindDecision, KindAssumption, KindTask, KindQuestion, KindEntity, KindArtifact}
}

// Attribute names that an item may carry besides its text.
const (
	AttrSlug      = "id"          // task: the caller's own id; artifact: id
	AttrIntent    = "intent_hint" // task
	AttrBlockedBy = "blocked_by"  // task
	AttrStatus    = "status"      // task: open | done
	AttrType      = "type"        // artifact
	AttrLabel     = "label"       // artifact
)

// Attr is one attribute of an item.
type Attr struct{ Name, Value string }

// Cite names the turns of the checkpoint's window that an item was drawn from.
type Cite struct{ From, Through int64 }

// Item is one thing concluded. Title, objective and summary are items too, so
// that all text of a checkpoint is digested and erased in one way.
type Item struct {
	ID   ItemID
	Kind ItemKind
	Text string
	// Attrs are sorted by name.
	Attrs []Attr
	Cites []Cite
	// Salt makes the digest useless for guessing once the text is gone.
	Salt [16]byte
	// Digest is over salt, text, attributes and cites; see DigestItem.
	Digest Hash
	// Redacted: text, attributes and salt were purged, the digest stays.
	Redacted bool
}

// Attr returns the value of an attribute, "" when absent.
func (i Item) Attr(name string) string {
	for _, a := range i.Attrs {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// Checkpoint is an immutable snapshot of what was concluded.
type Checkpoint struct {
	Tenant TenantID
	Space  SpaceID
	ID     CheckpointID
	Hash   Hash
	// Parents has none at the root, two after a merge. The first is the one
	// that ancestor walks follow.
	Parents []Hash
	// Branch is the branch it was saved on; a name, outside the hash.
	Branch    string
	CreatedAt time.Time
	Author    string
	// Window is what it was drawn from; an empty session means none.
	Window Window
	// Items stand in canonical kind order and, within a kind, in the order given.
	Items      []Item
	Generation int64
	// HiddenAt is set when it was deleted: it is shown nowhere and no walk passes
	// it, but a lineage still verifies. Outside the hash.
	HiddenAt time.Time
}

// Parent is the first parent, zero at the root.
func (c *Checkpoint) Parent() Hash {
	if len(c.Parents) == 0 {
		return Hash{}
	}
	return c.Parents[0]
}

// Of returns the items of one kind, in order.
func (c *Checkpoint) Of(kind ItemKind) []Item {
	var out []Item
	for _, i := range c.Items {
		if i.Kind == kind {
			out = append(out, i)
		}
	}
	return out
}

// Text returns the text of a single-text kind, "" when absent.
func (c *Checkpoint) Text(kind ItemKind) string {
	for _, i := range c.Items {
		if i.Kind == kind {
			return i.Text
		}
	}
	return ""
}

// checkpointMagic and itemMagic open the two encodings; a change of format is
// a new magic.
const (
	checkpointMagic = "dhruva.checkpoint.v1\n"
	itemMagic       = "dhruva.item.v1\n"
)

// DigestItem computes the salted digest of an item's content. Shape:
// magic, salt, text, count and (name, value) of attributes, count and
// (from, through) of cites; strings are preceded by their length in bytes,
// all integers are 8 bytes big-endian.
func DigestItem(i Item) Hash {
	e := newEncoder(itemMagic)
	e.h.Write(i.Salt[:])
	e.string(i.Text)
	e.int(int64(len(i.Attrs)))
	for _, a := range i.Attrs {
		e.string(a.Name)
		e.string(a.Value)
	}
	e.int(int64(len(i.Cites)))
	for _, c := range i.Cites {
		e.int(c.From)
		e.int(c.Through)
	}
	return e.sum()
}

// HashCheckpoint computes the identity of a checkpoint over: magic, space id,
// count and parents, creation time in microseconds since 1970, author, window
// (session, base, through), count of items and for each kind, id and digest.
// Tenant, UUID, branch, generation and the time it was hidden are outside.
func HashCheckpoint(c *Checkpoint) Hash {
	e := newEncoder(checkpointMagic)
	e.string(string(c.Space))
	e.int(int64(len(c.Parents)))
	for _, p := range c.Parents {
		e.h.Write(p[:])
	}
	e.int(c.CreatedAt.UnixMicro())
	e.string(c.Author)
	e.string(string(c.Window.Session))
	e.int(c.Window.Base)
	e.int(c.Window.Through)
	e.int(int64(len(c.Items)))
	for _, i := range c.Items {
		e.string(string(i.Kind))
		e.string(string(i.ID))
		e.h.Write(i.Digest[:])
	}
	return e.sum()
}

// VerifyCheckpoint recomputes every digest and the hash. Redacted items keep
// their digest, so that a lineage verifies after an erasure.
func VerifyCheckpoint(c *Checkpoint) error {
	for _, i := range c.Items {
		if i.Redacted {
			if i.Text != "" || len(i.Attrs)+len(i.Cites) > 0 || i.Salt != [16]byte{} {
				return fmt.Errorf("%w: checkpoint %s: redacted item %s still has content", ErrInvalid, c.Hash.Short(), i.ID)
			}
			continue
		}
		if DigestItem(i) != i.Digest {
			return fmt.Errorf("%w: checkpoint %s: %s %s does not match its digest", ErrInvalid, c.Hash.Short(), i.Kind, i.ID)
		}
	}
	if HashCheckpoint(c) != c.Hash {
		return fmt.Errorf("%w: checkpoint %s does not match its hash", ErrInvalid, c.Hash.Short())
	}
	return nil
}

type encoder struct{ h hash.Hash }

func newEncoder(magic string) encoder {
	e := encoder{sha256.New()}
	e.h.Write([]byte(magic))
	return e
}

func (e encoder) int(n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	e.h.Write(b[:])
}

func (e encoder) string(s string) {
	e.int(int64(len(s)))
	e.h.Write([]byte(s))
}

func (e encoder) sum() (out Hash) {
	e.h.Sum(out[:0])
	return out
}

// Branch is a named head. Heads move by compare-and-swap.
type Branch struct {
	Space       SpaceID
	Name        string
	Head        Hash
	Disposition string // active | integrated | abandoned
	UpdatedAt   time.Time
}
