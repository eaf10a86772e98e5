package sqlstore

import (
	"math"

	"github.com/dhruva-memory/dhruva"
)

const (
	turnColumns = `tenant, session, seq, space, id, parent, began_after, role, speaker, content, provider, model, interim,
		truncated, backfill, redacted, created_at`
	selectTurns = "SELECT " + turnColumns + " FROM turns WHERE tenant = $1 AND session = $2"
	selectTurn  = selectTurns + " AND seq = $3"
	turnRange   = selectTurns + " AND seq > $3 AND seq <= $4"
	oldestTurns = turnRange + " ORDER BY seq LIMIT $5"
	newestTurns = turnRange + " ORDER BY seq DESC LIMIT $5"
	insertTurn  = "INSERT INTO turns (" + turnColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
		$13, $14, $15, $16, $17) ON CONFLICT DO NOTHING`
	redactTurn = "UPDATE turns SET content = '', redacted = 1 WHERE tenant = $1 AND session = $2 AND seq = $3"
)

func scanTurn(r scanner) (row dhruva.Turn, err error) {
	return row, r.Scan(&row.Tenant, &row.Session, &row.Seq, &row.Space, &row.ID, &row.Parent, &row.BeganAfter, &row.Role,
		&row.Speaker, &row.Content, &row.Provider, &row.Model, boolean{&row.Interim}, boolean{&row.Truncated}, boolean{&row.Backfill}, boolean{&row.Redacted},
		micros{&row.CreatedAt})
}

// seen are those of a session's turns that the scopes cover, in the space
// where the session is now.
func (t *tx) seen(session dhruva.SessionID, rows []dhruva.Turn, err error) ([]dhruva.Turn, error) {
	var out []dhruva.Turn
	for _, row := range rows {
		home, err := t.home(session, row.Space)
		if err != nil {
			return nil, err
		}
		if t.reach.Holds(home) {
			row.Space = home
			out = append(out, row)
		}
	}
	return out, err
}

func (t *tx) Turn(session dhruva.SessionID, seq int64) (dhruva.Turn, error) {
	rows, err := collect(t, "turn", scanTurn, selectTurn, string(t.reach.Tenant), string(session), seq)
	rows, err = t.seen(session, rows, err)
	if err != nil {
		return dhruva.Turn{}, err
	}
	if len(rows) == 0 {
		return absent[dhruva.Turn]("turn")
	}
	return rows[0], nil
}

func (t *tx) AppendTurn(row dhruva.Turn) error {
	if err := row.Validate(); err != nil {
		return invalid("turn", err)
	}
	covered := !t.dead && t.reach.Covers(row.Tenant, row.Space)
	if covered {
		home, err := t.home(row.Session, row.Space)
		if err != nil {
			return err
		}
		covered = t.reach.Holds(home)
	}
	if err := t.allow("turn", covered, 1); err != nil {
		return err
	}
	n, err := t.exec("put turn", insertTurn, string(row.Tenant), string(row.Session), row.Seq, string(row.Space),
		string(row.ID), row.Parent, row.BeganAfter, string(row.Role), row.Speaker, row.Content, row.Provider, row.Model,
		flag(row.Interim), flag(row.Truncated), flag(row.Backfill), flag(row.Redacted), row.CreatedAt.UnixMicro())
	if err == nil && n == 0 {
		return conflict("turn")
	}
	return err
}

func (t *tx) ListTurns(q dhruva.TurnQuery) ([]dhruva.Turn, error) {
	through, limit, query := q.Through, q.Limit, oldestTurns
	if through == 0 {
		through = math.MaxInt64
	}
	if limit <= 0 {
		limit = math.MaxInt64
	}
	if q.Newest {
		query = newestTurns
	}
	home, err := t.home(q.Session, "")
	if err != nil || home != "" && !t.reach.Holds(home) {
		return nil, err
	}
	if home == "" { // turns without a session stand where each was written: filter, then cut
		limit = math.MaxInt64
	}
	rows, err := collect(t, "turns", scanTurn, query, string(t.reach.Tenant), string(q.Session), q.After, through, limit)
	rows, err = t.seen(q.Session, rows, err)
	if q.Limit > 0 && len(rows) > q.Limit {
		rows = rows[:q.Limit:q.Limit]
	}
	return rows, err
}

func (t *tx) RedactTurn(session dhruva.SessionID, seq int64) error {
	if err := t.allow("turn", t.reach.Tenant != "", 0); err != nil {
		return err
	}
	row, err := one(t, "turn", scanTurn, selectTurn, string(t.reach.Tenant), string(session), seq)
	if err != nil {
		return err
	}
	home, err := t.home(session, row.Space)
	if err != nil {
		return err
	}
	if err := t.allow("turn", t.reach.Holds(home), 1); err != nil {
		return err
	}
	err = t.send("redact turn", redactTurn, string(t.reach.Tenant), string(session), seq)
	return err
}
