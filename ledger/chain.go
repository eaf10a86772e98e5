package ledger

import (
	"encoding/binary"
	"errors"

	"github.com/dhruva-memory/dhruva"
)

// How a proxied request finds its session. A client resends its conversation
// with every call and does not say which one it is. With a hint, it is the
// session that was bound to the hint. Else each prefix of human turns has a
// hash, chain_i = MAC(chain_{i-1}, normalised text i), and the longest prefix
// that is known names the session.
//
// Every human turn stores two links: one by the chain alone, which finds the
// session, and one by chain and session, which tells whether a session holds
// that position. Both are bound to the principal: two people who begin with
// the same words do not share a session.

// mac makes a key of length-prefixed parts.
func (l *Ledger) mac(p dhruva.Principal, parts ...string) (out dhruva.Hash) {
	msg := []byte("dhruva.conversation.v1\n")
	for _, s := range parts {
		msg = binary.BigEndian.AppendUint64(msg, uint64(len(s)))
		msg = append(msg, s...)
	}
	copy(out[:], l.Keys.MAC(dhruva.PurposeConversation, p.Tenant, msg))
	return out
}

// hintKey names a client's hint, always together with the key that sent it.
func (l *Ledger) hintKey(p dhruva.Principal, hint string) dhruva.Hash {
	return l.mac(p, "hint", string(p.ID), string(p.Key), hint)
}

// links are the chain's hashes, one for each human turn.
func (l *Ledger) links(p dhruva.Principal, space dhruva.SpaceID, texts []string) []dhruva.Hash {
	prev := l.mac(p, "chain", string(space), string(p.ID))
	out := make([]dhruva.Hash, 0, len(texts))
	for _, text := range texts {
		prev = l.mac(p, "link", string(prev[:]), dhruva.Normalize(text))
		out = append(out, prev)
	}
	return out
}

// held is a link's key within one session.
func (l *Ledger) held(p dhruva.Principal, s dhruva.SessionID, link dhruva.Hash) dhruva.Hash {
	return l.mac(p, "held", string(s), string(link[:]))
}

// find is the live session that a request belongs to; a zero one when it is new.
func (l *Ledger) find(tx dhruva.Tx, p dhruva.Principal, space dhruva.SpaceID, hint string, links []dhruva.Hash) (dhruva.Session, error) {
	if hint != "" {
		id, err := tx.SessionHint(space, l.hintKey(p, hint))
		if err != nil {
			return dhruva.Session{}, ignoreMissing(err)
		}
		return sessionOr(tx, p, space, id)
	}
	for i := len(links) - 1; i >= 0; i-- {
		c, err := tx.Chain(space, links[i])
		if errors.Is(err, dhruva.ErrNotFound) {
			continue
		}
		if err != nil {
			return dhruva.Session{}, err
		}
		if s, err := sessionOr(tx, p, space, c.Session); err != nil || s.ID != "" {
			return s, err
		}
	}
	return dhruva.Session{}, nil
}

// sessionOr is a live session of the space, or a zero one.
func sessionOr(tx dhruva.Tx, p dhruva.Principal, space dhruva.SpaceID, id dhruva.SessionID) (dhruva.Session, error) {
	s, err := liveSession(tx, p, id)
	if err != nil {
		return dhruva.Session{}, ignoreMissing(err)
	}
	if s.Space != space {
		return dhruva.Session{}, nil
	}
	return s, nil
}

// known is the longest prefix of the chain that a session holds, and the number
// of the human turn that ends it; 0 and 0 when it holds none.
func (l *Ledger) known(tx dhruva.Tx, p dhruva.Principal, s dhruva.Session, links []dhruva.Hash) (int, int64, error) {
	for i := len(links) - 1; i >= 0; i-- {
		c, err := tx.Chain(s.Space, l.held(p, s.ID, links[i]))
		if errors.Is(err, dhruva.ErrNotFound) {
			continue
		}
		return i + 1, c.Seq, err
	}
	return 0, 0, nil
}

// link stores both links of a human turn.
func (l *Ledger) link(tx dhruva.Tx, p dhruva.Principal, t dhruva.Turn, hash dhruva.Hash) error {
	c := dhruva.Chain{Space: t.Space, Hash: hash, Session: t.Session, Seq: t.Seq}
	own := c
	own.Hash = l.held(p, t.Session, hash)
	return firstOf(tx.PutChain(c), tx.PutChain(own))
}
