package ledger

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// The kinds of things that a call makes, as an Outcome names them: "kind:id".
const (
	MadeSpace      = "space"
	MadeSession    = "session"
	MadeCheckpoint = "checkpoint" // by its hash
	MadeReceipt    = "receipt"
	MadeKey        = "key"
	// MadeSource is space/id.
	MadeSource = "source"
	// MadeTurns is session/first-last, a range of numbers.
	MadeTurns = "turns"
)

// recorder is the Tx that the functions of a call's Updates see: it notes what
// they make.
type recorder struct {
	dhruva.Tx
	made made
	more bool
}

// more marks the Update that runs as one that others of its operation follow.
// Outside of a call it does nothing.
func more(tx dhruva.Tx) {
	if r, ok := tx.(*recorder); ok {
		r.more = true
	}
}

// names notes something that a call made or found made, where the rows that it
// writes do not tell.
func names(tx dhruva.Tx, kind, id string) {
	if r, ok := tx.(*recorder); ok {
		r.made.add(kind + ":" + id)
	}
}

// sourceRef is the id of a source as an Outcome names it.
func sourceRef(s dhruva.Source) string { return string(s.Space) + "/" + string(s.ID) }

// PutSpace notes the space.
func (r *recorder) PutSpace(s dhruva.Space) error {
	names(r, MadeSpace, string(s.ID))
	return r.Tx.PutSpace(s)
}

// PutSession notes the session.
func (r *recorder) PutSession(s dhruva.Session) error {
	names(r, MadeSession, string(s.ID))
	return r.Tx.PutSession(s)
}

// AppendTurn notes the turn.
func (r *recorder) AppendTurn(t dhruva.Turn) error {
	r.made.turn(t.Session, t.Seq)
	return r.Tx.AppendTurn(t)
}

// PutCheckpoint notes the checkpoint.
func (r *recorder) PutCheckpoint(c dhruva.Checkpoint) error {
	names(r, MadeCheckpoint, c.Hash.String())
	return r.Tx.PutCheckpoint(c)
}

// PutReceipt notes the receipt.
func (r *recorder) PutReceipt(c dhruva.Receipt) error {
	names(r, MadeReceipt, string(c.ID))
	return r.Tx.PutReceipt(c)
}

// PutKey notes the key.
func (r *recorder) PutKey(k dhruva.Key) error {
	names(r, MadeKey, string(k.ID))
	return r.Tx.PutKey(k)
}

// made is a list of references; the latest stands last, and once.
type made struct{ refs []string }

func (m *made) add(ref string) {
	for i, r := range m.refs {
		if r == ref {
			m.refs = append(m.refs[:i], m.refs[i+1:]...)
			break
		}
	}
	m.refs = append(m.refs, ref)
}

// turn adds a turn, to the last range when it goes on there.
func (m *made) turn(id dhruva.SessionID, seq int64) {
	for i, ref := range m.refs {
		session, first, last, ok := turnsOf(ref)
		if ok && session == id && last+1 == seq {
			m.refs[i] = turnsRef(session, first, seq)
			return
		}
	}
	m.add(turnsRef(id, seq, seq))
}

func turnsRef(id dhruva.SessionID, first, last int64) string {
	return fmt.Sprintf("%s:%s/%d-%d", MadeTurns, id, first, last)
}

func turnsOf(ref string) (id dhruva.SessionID, first, last int64, ok bool) {
	rest, ok := strings.CutPrefix(ref, MadeTurns+":")
	slash := strings.LastIndexByte(rest, '/')
	if !ok || slash < 0 {
		return "", 0, 0, false
	}
	from, through, _ := strings.Cut(rest[slash+1:], "-")
	first, err := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(through, 10, 64)
	return dhruva.SessionID(rest[:slash]), first, last, err == nil && err2 == nil
}

// Turns counts the turns that a call made.
func (o Outcome) Turns() (n int) {
	for _, ref := range o.Made {
		if _, first, last, ok := turnsOf(ref); ok {
			n += int(last-first) + 1
		}
	}
	return n
}

// LastTurn is the number of the last turn that a call made, 0 when there is none.
func (o Outcome) LastTurn() (seq int64) {
	for _, ref := range o.Made {
		if _, _, last, ok := turnsOf(ref); ok {
			seq = last
		}
	}
	return seq
}

// Source is the last source that a call made.
func (o Outcome) Source() (dhruva.SpaceID, dhruva.SourceID) {
	space, id, _ := strings.Cut(o.Last(MadeSource), "/")
	return dhruva.SpaceID(space), dhruva.SourceID(id)
}
