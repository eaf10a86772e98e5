package memstore

import (
	"cmp"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Session(id dhruva.SessionID) (dhruva.Session, error) {
	row, ok := t.sessions[sessionKey{t.reach.Tenant, id}]
	if !ok || !t.reach.Covers(row.Tenant, row.Space) {
		return absent[dhruva.Session]("session")
	}
	return row.Canonical(), nil
}

// PutSession needs both places to be covered when it moves a session.
func (t *tx) PutSession(row dhruva.Session) error {
	if err := row.Validate(); err != nil {
		return invalid("session", err)
	}
	key := sessionKey{row.Tenant, row.ID}
	old, had := t.sessions[key]
	if err := t.write("session", t.reach.Covers(row.Tenant, row.Space) && (!had || t.reach.Holds(old.Space)), 1); err != nil {
		return err
	}
	put(t, t.sessions, key, row.Canonical())
	return nil
}

// newestSession orders by descending (UpdatedAt, ID).
func newestSession(a, b dhruva.Session) int {
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
}

func (t *tx) ListSessions(q dhruva.SessionQuery) ([]dhruva.Session, error) {
	after, err := t.Session(dhruva.SessionID(q.After))
	if q.After != "" && err != nil {
		return nil, nil
	}
	var out []dhruva.Session
	for _, row := range t.sessions {
		if t.reach.Covers(row.Tenant, row.Space) && row.DeletedAt.IsZero() &&
			(q.Space == "" || row.Space == q.Space) && (q.Kind == "" || row.Kind == q.Kind) &&
			(q.After == "" || newestSession(after, row) < 0) {
			out = append(out, row.Canonical())
		}
	}
	return page(out, newestSession, q.Size()), nil
}

func (t *tx) Chain(s dhruva.SpaceID, h dhruva.Hash) (dhruva.Chain, error) {
	links := t.chains[chainKey{t.in(s), h}]
	if !t.reach.Holds(s) || len(links) == 0 {
		return absent[dhruva.Chain]("chain")
	}
	return slices.MaxFunc(links, func(a, b dhruva.Chain) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Session, b.Session))
	}), nil
}

func (t *tx) PutChain(row dhruva.Chain) error {
	if err := row.Validate(); err != nil {
		return invalid("chain", err)
	}
	if err := t.write("chain", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	key := chainKey{t.in(row.Space), row.Hash}
	if !slices.Contains(t.chains[key], row) {
		put(t, t.chains, key, append(t.chains[key], row))
	}
	return nil
}

func (t *tx) SessionHint(s dhruva.SpaceID, h dhruva.Hash) (dhruva.SessionID, error) {
	id, ok := t.hints[chainKey{t.in(s), h}]
	if !ok || !t.reach.Holds(s) {
		return absent[dhruva.SessionID]("hint")
	}
	return id, nil
}

func (t *tx) BindHint(s dhruva.SpaceID, h dhruva.Hash, id dhruva.SessionID) error {
	if err := (dhruva.Chain{Space: s, Session: id}).Validate(); err != nil {
		return invalid("hint", err)
	}
	if err := t.write("hint", t.reach.Holds(s), 1); err != nil {
		return err
	}
	put(t, t.hints, chainKey{t.in(s), h}, id)
	return nil
}
