package sqlstore

import (
	"math"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

const (
	turnColumns = "seq, id, parent, began_after, role, speaker, content, provider, model, created_at"
	turnFlags   = "interim + 2 * truncated + 4 * backfill + 8 * redacted"
	turnsOf     = " FROM turns WHERE tenant = $1 AND session = $2"
	turnRange   = turnsOf + " AND seq > $3 AND seq <= $4"
	oldestFirst = turnRange + " ORDER BY seq LIMIT $5"
	newestFirst = turnRange + " ORDER BY seq DESC LIMIT $5"
	selectTurns = "SELECT " + turnColumns + ", " + turnFlags
	oldestTurns = selectTurns + oldestFirst
	newestTurns = selectTurns + newestFirst
	// Turns of which there is no session are where they were written.
	selectStrays = selectTurns + ", space"
	selectTurn   = selectStrays + turnsOf + " AND seq = $3"
	oldestStrays = selectStrays + oldestFirst
	newestStrays = selectStrays + newestFirst
	// The condition is that of an index.
	selectSeams = "SELECT seq, parent, began_after, role, redacted, space" + turnRange + `
		AND (parent <> seq - 1 OR began_after < seq - 2 OR redacted = 1 OR role NOT IN ('user', 'assistant')) ORDER BY seq`
	// A turn behind its session's last one is taken to be new, and not waited for.
	insertNewTurn = "INSERT INTO turns (" + turnColumns + `, interim, truncated, backfill, redacted, space, tenant, session)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`
	insertTurn = insertNewTurn + " ON CONFLICT DO NOTHING"
	redactTurn = "UPDATE turns SET content = '', redacted = 1 WHERE tenant = $1 AND session = $2 AND seq = $3"
)

// turnInto is where the columns of a turn go. Lists of turns are long, and each
// column costs: tenant, session and, where it is known, space are not read, and
// the flags are one number.
func turnInto(row *dhruva.Turn) []any {
	return []any{&row.Seq, named[dhruva.TurnID]{&row.ID}, &row.Parent, &row.BeganAfter, named[dhruva.Role]{&row.Role}, &row.Speaker,
		&row.Content, &row.Provider, &row.Model, micros{&row.CreatedAt}, flags{&row.Interim, &row.Truncated, &row.Backfill, &row.Redacted}}
}

// list reads rows one after another into the same row, which into points into.
// Unlike with collect nothing but the texts is allocated for each.
func list[T any](t *tx, what string, row *T, into []any, query string, args ...any) ([]T, error) {
	var out []T
	_, err := collect(t, what, func(r scanner) (struct{}, error) {
		if len(out) == cap(out) { // append would grow by a quarter
			out = slices.Grow(out, len(out)+1)
		}
		err := r.Scan(into...)
		out = append(out, *row)
		return struct{}{}, err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// strays reads turns with their space: that of their session, or the one in
// which each was written.
func (t *tx) strays(session dhruva.SessionID, query string, args ...any) ([]dhruva.Turn, error) {
	row := dhruva.Turn{Tenant: t.reach.Tenant, Session: session}
	rows, err := list(t, "turns", &row, append(turnInto(&row), named[dhruva.SpaceID]{&row.Space}), query, args...)
	for n := range rows {
		if rows[n].Space, err = t.home(session, rows[n].Space); err != nil {
			return nil, err
		}
	}
	return rows, err
}

// turn is one that is stored, whether the scopes cover it or not.
func (t *tx) turn(session dhruva.SessionID, seq int64) (dhruva.Turn, error) {
	rows, err := t.strays(session, selectTurn, string(t.reach.Tenant), string(session), seq)
	if err != nil {
		return dhruva.Turn{}, err
	}
	if len(rows) == 0 {
		return absent[dhruva.Turn]("turn")
	}
	return rows[0], nil
}

func (t *tx) Turn(session dhruva.SessionID, seq int64) (dhruva.Turn, error) {
	row, err := t.turn(session, seq)
	if err == nil && !t.reach.Holds(row.Space) {
		return absent[dhruva.Turn]("turn")
	}
	return row, err
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
	args := []any{row.Seq, string(row.ID), row.Parent, row.BeganAfter, string(row.Role), row.Speaker,
		row.Content, row.Provider, row.Model, row.CreatedAt.UnixMicro(), flag(row.Interim), flag(row.Truncated), flag(row.Backfill),
		flag(row.Redacted), string(row.Space), string(row.Tenant), string(row.Session)}
	if last, known := t.last[row.Session]; known && row.Seq > last && !t.careful {
		t.last[row.Session] = row.Seq
		return t.race("put turn", insertNewTurn, args...)
	}
	n, err := t.exec("put turn", insertTurn, args...)
	if err == nil && n == 0 {
		return conflict("turn")
	}
	return err
}

func (t *tx) ListTurns(q dhruva.TurnQuery) ([]dhruva.Turn, error) {
	home, err := t.home(q.Session, "")
	if err != nil || home != "" && !t.reach.Holds(home) {
		return nil, err
	}
	through, limit := q.Through, q.Limit
	if through == 0 {
		through = math.MaxInt64
	}
	if limit <= 0 || home == "" { // strays are filtered, then cut
		limit = math.MaxInt64
	}
	args := []any{string(t.reach.Tenant), string(q.Session), q.After, through, limit}
	if home == "" {
		return t.coveredStrays(q, args)
	}
	query := oldestTurns
	if q.Newest {
		query = newestTurns
	}
	row := dhruva.Turn{Tenant: t.reach.Tenant, Space: home, Session: q.Session}
	return list(t, "turns", &row, turnInto(&row), query, args...)
}

func (t *tx) coveredStrays(q dhruva.TurnQuery, args []any) ([]dhruva.Turn, error) {
	query := oldestStrays
	if q.Newest {
		query = newestStrays
	}
	rows, err := t.strays(q.Session, query, args...)
	rows = slices.DeleteFunc(rows, func(row dhruva.Turn) bool { return !t.reach.Holds(row.Space) })
	if q.Limit > 0 && len(rows) > q.Limit {
		rows = rows[:q.Limit:q.Limit]
	}
	return rows, err
}

func (t *tx) RedactTurn(session dhruva.SessionID, seq int64) error {
	if err := t.allow("turn", t.reach.Tenant != "", 0); err != nil {
		return err
	}
	row, err := t.turn(session, seq)
	if err != nil {
		return err
	}
	if err := t.allow("turn", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	return t.send("redact turn", redactTurn, string(t.reach.Tenant), string(session), seq)
}

// seam is one with the space in which its turn was written.
type seam struct {
	dhruva.Seam
	space dhruva.SpaceID
}

func (t *tx) Seams(session dhruva.SessionID, after, through int64) ([]dhruva.Seam, error) {
	home, err := t.home(session, "")
	if err != nil || home != "" && !t.reach.Holds(home) {
		return nil, err
	}
	if through == 0 {
		through = math.MaxInt64
	}
	var row seam
	rows, err := list(t, "seams", &row, []any{&row.Seq, &row.Parent, &row.BeganAfter, named[dhruva.Role]{&row.Role}, boolean{&row.Redacted},
		named[dhruva.SpaceID]{&row.space}}, selectSeams, string(t.reach.Tenant), string(session), after, through)
	var out []dhruva.Seam
	for _, row := range rows {
		if home != "" || t.reach.Holds(row.space) {
			out = append(out, row.Seam)
		}
	}
	return out, err
}
