package sqlstore

import (
	"cmp"
	"database/sql"
	"math"

	"github.com/dhruva-memory/dhruva"
)

const (
	sessionColumns = `tenant, id, space, kind, fresh, title, provider, model, branch, seeded, forked_from, forked_session,
		forked_seq, mount_checkpoint, mount_depth, mount_base, mount_at, last_seq, tip, owner, created_at, updated_at, deleted_at`
	selectSessions  = "SELECT " + sessionColumns + " FROM sessions WHERE tenant = $1"
	selectSession   = selectSessions + " AND id = $2"
	selectHomeOf    = "SELECT space FROM sessions WHERE tenant = $1 AND id = $2"
	recentSessions  = " AND (CAST($3 AS TEXT) = '' OR kind = $3) AND (updated_at, id) < ($4, $5) AND deleted_at IS NULL ORDER BY updated_at DESC, id DESC LIMIT $6"
	sessionsInSpace = selectSessions + " AND space = $2" + recentSessions
	sessionsInAll   = selectSessions + " AND CAST($2 AS TEXT) = ''" + recentSessions
	upsertSession   = "INSERT INTO sessions (" + sessionColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
		$11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)
		ON CONFLICT (tenant, id) DO UPDATE SET space = excluded.space, kind = excluded.kind, fresh = excluded.fresh,
		title = excluded.title, provider = excluded.provider, model = excluded.model, branch = excluded.branch,
		seeded = excluded.seeded, forked_from = excluded.forked_from, forked_session = excluded.forked_session,
		forked_seq = excluded.forked_seq, mount_checkpoint = excluded.mount_checkpoint,
		mount_depth = excluded.mount_depth, mount_base = excluded.mount_base, mount_at = excluded.mount_at,
		last_seq = excluded.last_seq, tip = excluded.tip, owner = excluded.owner, created_at = excluded.created_at,
		updated_at = excluded.updated_at, deleted_at = excluded.deleted_at`

	selectChain = "SELECT space, hash, session, seq FROM chains WHERE tenant = $1 AND space = $2 AND hash = $3 ORDER BY seq DESC, session DESC LIMIT 1"
	insertChain = "INSERT INTO chains (tenant, space, hash, seq, session) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"
	selectHint  = "SELECT session FROM hints WHERE tenant = $1 AND space = $2 AND hint = $3"
	upsertHint  = `INSERT INTO hints (tenant, space, hint, session) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant, space, hint) DO UPDATE SET session = excluded.session`
)

func scanSession(r scanner) (row dhruva.Session, err error) {
	var mount dhruva.Mount
	var depth, base sql.NullInt64
	err = r.Scan(&row.Tenant, &row.ID, &row.Space, &row.Kind, boolean{&row.Fresh}, &row.Title, &row.Provider, &row.Model,
		&row.Branch, hash{&row.Seeded}, hash{&row.ForkedFrom}, &row.ForkedSession, &row.ForkedSeq,
		hash{&mount.Checkpoint}, &depth, &base, micros{&mount.At}, &row.LastSeq, &row.Tip, &row.Owner,
		micros{&row.CreatedAt}, micros{&row.UpdatedAt}, micros{&row.DeletedAt})
	if depth.Valid {
		mount.Depth, mount.Base = int(depth.Int64), base.Int64
		row.Mount = &mount
	}
	return row, err
}

func (t *tx) Session(id dhruva.SessionID) (dhruva.Session, error) {
	row, err := one(t, "session", scanSession, selectSession, string(t.reach.Tenant), string(id))
	if err == nil {
		t.homes[id], t.last[id] = row.Space, row.LastSeq
	}
	if err == nil && !t.reach.Holds(row.Space) {
		return absent[dhruva.Session]("session")
	}
	return row, err
}

func scanSpaceID(r scanner) (s dhruva.SpaceID, err error) { return s, r.Scan(&s) }

// home is the space that a session is in, or written when there is no such
// session.
func (t *tx) home(id dhruva.SessionID, written dhruva.SpaceID) (dhruva.SpaceID, error) {
	if s, ok := t.homes[id]; ok {
		return s, nil
	}
	rows, err := collect(t, "session", scanSpaceID, selectHomeOf, string(t.reach.Tenant), string(id))
	if err != nil || len(rows) == 0 {
		return written, err
	}
	t.homes[id] = rows[0]
	return rows[0], nil
}

// PutSession needs both places to be covered when it moves a session.
func (t *tx) PutSession(row dhruva.Session) error {
	if err := row.Validate(); err != nil {
		return invalid("session", err)
	}
	covered := !t.dead && t.reach.Covers(row.Tenant, row.Space)
	if covered {
		old, err := t.home(row.ID, row.Space)
		if err != nil {
			return err
		}
		covered = t.reach.Holds(old)
	}
	if err := t.allow("session", covered, 1); err != nil {
		return err
	}
	args := []any{string(row.Tenant), string(row.ID), string(row.Space), string(row.Kind), flag(row.Fresh), row.Title,
		row.Provider, row.Model, row.Branch, digest(row.Seeded), digest(row.ForkedFrom), string(row.ForkedSession), row.ForkedSeq}
	args = append(args, mountColumns(row.Mount)...)
	args = append(args, row.LastSeq, row.Tip, string(row.Owner), row.CreatedAt.UnixMicro(), row.UpdatedAt.UnixMicro(), optional(row.DeletedAt))
	if err := t.send("put session", upsertSession, args...); err != nil {
		return err
	}
	t.homes[row.ID] = row.Space
	return nil
}

func mountColumns(m *dhruva.Mount) []any {
	if m == nil {
		return []any{nil, nil, nil, nil}
	}
	return []any{digest(m.Checkpoint), m.Depth, m.Base, m.At.UnixMicro()}
}

// newestSession orders by descending (UpdatedAt, ID).
func newestSession(a, b dhruva.Session) int {
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
}

func (t *tx) ListSessions(q dhruva.SessionQuery) ([]dhruva.Session, error) {
	before, id := int64(math.MaxInt64), ""
	if q.After != "" {
		row, err := t.Session(dhruva.SessionID(q.After))
		if err != nil {
			return nil, unlessAbsent(err)
		}
		before, id = row.UpdatedAt.UnixMicro(), q.After
	}
	return gather(t, q.Space, q.Size(), newestSession, func(s dhruva.SpaceID) ([]dhruva.Session, error) {
		query := sessionsInSpace
		if s == "" {
			query = sessionsInAll
		}
		return collect(t, "sessions", scanSession, query, string(t.reach.Tenant), string(s), string(q.Kind), before, id, q.Size())
	})
}

func scanChain(r scanner) (row dhruva.Chain, err error) {
	return row, r.Scan(&row.Space, hash{&row.Hash}, &row.Session, &row.Seq)
}

func (t *tx) Chain(s dhruva.SpaceID, h dhruva.Hash) (dhruva.Chain, error) {
	if !t.reach.Holds(s) {
		return absent[dhruva.Chain]("chain")
	}
	return one(t, "chain", scanChain, selectChain, string(t.reach.Tenant), string(s), digest(h))
}

func (t *tx) PutChain(row dhruva.Chain) error {
	if err := row.Validate(); err != nil {
		return invalid("chain", err)
	}
	if err := t.allow("chain", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	err := t.send("put chain", insertChain, string(t.reach.Tenant), string(row.Space), digest(row.Hash), row.Seq, string(row.Session))
	return err
}

func (t *tx) SessionHint(s dhruva.SpaceID, h dhruva.Hash) (dhruva.SessionID, error) {
	if !t.reach.Holds(s) {
		return absent[dhruva.SessionID]("hint")
	}
	return one(t, "hint", func(r scanner) (id dhruva.SessionID, err error) { return id, r.Scan(&id) },
		selectHint, string(t.reach.Tenant), string(s), digest(h))
}

func (t *tx) BindHint(s dhruva.SpaceID, h dhruva.Hash, id dhruva.SessionID) error {
	if err := (dhruva.Chain{Space: s, Session: id}).Validate(); err != nil {
		return invalid("hint", err)
	}
	if err := t.allow("hint", t.reach.Holds(s), 1); err != nil {
		return err
	}
	err := t.send("put hint", upsertHint, string(t.reach.Tenant), string(s), digest(h), string(id))
	return err
}
