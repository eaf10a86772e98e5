package memstore

import (
	"cmp"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// home is the space that a turn is in: its session's, which may have moved
// since, or the one it was written with while there is no such session.
func (t *tx) home(id dhruva.SessionID, written dhruva.SpaceID) dhruva.SpaceID {
	if row, ok := t.sessions[sessionKey{t.reach.Tenant, id}]; ok {
		return row.Space
	}
	return written
}

// turn is a stored row as it is seen now, and whether it is seen at all.
func (t *tx) turn(row dhruva.Turn) (dhruva.Turn, bool) {
	row.Space = t.home(row.Session, row.Space)
	return row, t.reach.Holds(row.Space)
}

func findTurn(rows []dhruva.Turn, seq int64) (int, bool) {
	return slices.BinarySearchFunc(rows, seq, func(r dhruva.Turn, seq int64) int { return cmp.Compare(r.Seq, seq) })
}

func (t *tx) Turn(id dhruva.SessionID, seq int64) (dhruva.Turn, error) {
	rows := t.turns[sessionKey{t.reach.Tenant, id}]
	n, ok := findTurn(rows, seq)
	if !ok {
		return absent[dhruva.Turn]("turn")
	}
	row, ok := t.turn(rows[n])
	if !ok {
		return absent[dhruva.Turn]("turn")
	}
	return row, nil
}

func (t *tx) AppendTurn(row dhruva.Turn) error {
	if err := row.Validate(); err != nil {
		return invalid("turn", err)
	}
	if err := t.write("turn", t.reach.Covers(row.Tenant, row.Space) && t.reach.Holds(t.home(row.Session, row.Space)), 1); err != nil {
		return err
	}
	key := sessionKey{row.Tenant, row.Session}
	rows := t.turns[key]
	n, exists := findTurn(rows, row.Seq)
	if exists {
		return conflict("turn")
	}
	if n < len(rows) { // out of order: do not shift what an undo may put back
		rows = slices.Clone(rows)
	}
	put(t, t.turns, key, slices.Insert(rows, n, row.Canonical()))
	return nil
}

// RedactTurn replaces the list, since a turn in it is never changed in place.
func (t *tx) RedactTurn(id dhruva.SessionID, seq int64) error {
	key := sessionKey{t.reach.Tenant, id}
	n, ok := findTurn(t.turns[key], seq)
	covered := t.reach.Tenant != ""
	if ok {
		_, covered = t.turn(t.turns[key][n])
	}
	if err := t.write("turn", covered, 1); err != nil {
		return err
	}
	if !ok {
		_, err := absent[dhruva.Turn]("turn")
		return err
	}
	rows := slices.Clone(t.turns[key])
	rows[n].Content, rows[n].Redacted = "", true
	put(t, t.turns, key, rows)
	return nil
}

func (t *tx) ListTurns(q dhruva.TurnQuery) ([]dhruva.Turn, error) {
	var out []dhruva.Turn
	for _, row := range t.turns[sessionKey{t.reach.Tenant, q.Session}] {
		row, ok := t.turn(row)
		if ok && row.Seq > q.After && (q.Through == 0 || row.Seq <= q.Through) {
			out = append(out, row)
		}
	}
	if q.Newest {
		slices.Reverse(out)
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit:q.Limit]
	}
	return out, nil
}

func (t *tx) Seams(id dhruva.SessionID, after, through int64) ([]dhruva.Seam, error) {
	rows, err := t.ListTurns(dhruva.TurnQuery{Session: id, After: after, Through: through})
	var out []dhruva.Seam
	for _, row := range rows {
		if seam, ok := row.Seam(); ok {
			out = append(out, seam)
		}
	}
	return out, err
}
