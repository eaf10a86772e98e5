package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// owner is the tenant of everything that these tests write.
const owner dhruva.TenantID = "t1"

// place is where a note stands: the turn, and the change that tells of it.
type place struct {
	space   dhruva.SpaceID
	session dhruva.SessionID
	seq     int64
	change  int64
}

// note appends, in one Update, a turn to a session in each of some spaces. The
// turn's content is the id; a source of that id refers to it, a change tells of
// it, and there is a receipt. A session's id is its space's name and a word.
func note(ctx context.Context, s dhruva.Store, id, word string, spaces ...string) (at []place, err error) {
	var scopes []dhruva.Scope
	for _, space := range spaces {
		scopes = append(scopes, dhruva.SpaceScope(owner, dhruva.SpaceID(space)))
	}
	err = s.Update(ctx, scopes, func(tx dhruva.Tx) error {
		at = nil // fn may run again
		for _, space := range spaces {
			p, err := noteIn(tx, id, dhruva.SpaceID(space), word)
			if err != nil {
				return err
			}
			at = append(at, p)
		}
		return tx.PutReceipt(dhruva.Receipt{Tenant: owner, Space: at[0].space, ID: dhruva.ReceiptID(id), Session: at[0].session})
	})
	return at, err
}

func noteIn(tx dhruva.Tx, id string, space dhruva.SpaceID, word string) (at place, err error) {
	at = place{space: space, session: dhruva.SessionID(string(space) + "-" + word)}
	row, err := tx.Session(at.session)
	if errors.Is(err, dhruva.ErrNotFound) {
		row = dhruva.Session{Tenant: owner, Space: space, ID: at.session}
	} else if err != nil {
		return at, err
	}
	row.LastSeq++
	at.seq = row.LastSeq
	src := dhruva.SourceID(id)
	at.change, err = tx.AppendChange(space, dhruva.Change{Kind: dhruva.ChangeSource, Ref: id})
	return at, errors.Join(err, tx.PutSession(row),
		tx.AppendTurn(dhruva.Turn{Tenant: owner, Space: space, Session: row.ID, Seq: row.LastSeq, Parent: row.LastSeq - 1, BeganAfter: row.LastSeq - 1,
			ID: dhruva.TurnID(id + "@" + string(space)), Content: id}),
		tx.PutSource(dhruva.Source{Tenant: owner, Space: space, Generation: 1, ID: src, State: dhruva.SourceReady}),
		tx.AddReference(dhruva.Reference{Space: space, Generation: 1, Source: src, Session: row.ID, Seq: row.LastSeq}))
}

// acknowledged is a note that its writer was told is kept.
type acknowledged struct {
	id string
	at []place
}

func (a acknowledged) String() string {
	words := []string{a.id}
	for _, p := range a.at {
		words = append(words, string(p.space), string(p.session), strconv.FormatInt(p.seq, 10), strconv.FormatInt(p.change, 10))
	}
	return strings.Join(words, " ")
}

// parseAck reads what String wrote.
func parseAck(line string) (a acknowledged, err error) {
	words := strings.Fields(line)
	if len(words)%4 != 1 {
		return a, fmt.Errorf("not an acknowledgement: %q", line)
	}
	a.id = words[0]
	for w := words[1:]; len(w) > 0; w = w[4:] {
		seq, err1 := strconv.ParseInt(w[2], 10, 64)
		change, err2 := strconv.ParseInt(w[3], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return a, err
		}
		a.at = append(a.at, place{dhruva.SpaceID(w[0]), dhruva.SessionID(w[1]), seq, change})
	}
	return a, nil
}

// kept says what of an acknowledged note is not there, or not where it was said
// to be.
func (a acknowledged) kept(tx dhruva.Tx) error {
	id := dhruva.SourceID(a.id)
	if _, err := tx.Receipt(dhruva.ReceiptID(a.id)); err != nil {
		return fmt.Errorf("%s was acknowledged: %w", a.id, err)
	}
	for _, p := range a.at {
		turn, err := tx.Turn(p.session, p.seq)
		if err != nil || turn.Content != a.id || turn.Space != p.space {
			return fmt.Errorf("%s was acknowledged as turn %d of %s, where %q is: %v", a.id, p.seq, p.session, turn.Content, err)
		}
		if _, err := tx.Source(p.space, 1, id); err != nil {
			return fmt.Errorf("%s was acknowledged: %w", a.id, err)
		}
		refs, err := tx.References(p.space, 1, id)
		if err != nil || len(refs) != 1 || refs[0].Session != p.session || refs[0].Seq != p.seq {
			return fmt.Errorf("%s was acknowledged: references %v, %v", a.id, refs, err)
		}
	}
	return nil
}

// allKept wants every one of some acknowledged notes.
func allKept(t *testing.T, s dhruva.Store, acks []acknowledged) {
	t.Helper()
	err := s.View(context.Background(), dhruva.TenantScope(owner), func(tx dhruva.Tx) error {
		for _, a := range acks {
			if err := a.kept(tx); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// shared is the space of tests that need only one.
var shared = dhruva.SpaceScope(owner, "shared")

// noteOne makes a note in the shared space.
func noteOne(s dhruva.Store, id string) error {
	_, err := note(context.Background(), s, id, "s", "shared")
	return err
}

// holds wants everything acknowledged in the shared space to be there, and
// every invariant.
func holds(t *testing.T, s *sqlstore.Store, ids []string) {
	t.Helper()
	ctx := context.Background()
	err := s.View(ctx, shared, func(tx dhruva.Tx) error {
		for _, id := range ids {
			refs, err := tx.References("shared", 1, dhruva.SourceID(id))
			if err != nil || len(refs) != 1 {
				t.Errorf("%s was acknowledged: references %v, %v", id, refs, err)
				continue
			}
			a := acknowledged{id, []place{{space: "shared", session: refs[0].Session, seq: refs[0].Seq}}}
			if err := a.kept(tx); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := storetest.Check(ctx, s, shared); err != nil {
		t.Error(err)
	}
	if err := s.Integrity(ctx); err != nil {
		t.Error(err)
	}
}
