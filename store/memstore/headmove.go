package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) AppendHeadMove(row dhruva.HeadMove) error {
	if err := row.Validate(); err != nil {
		return invalid("head move", err)
	}
	if err := t.write("head move", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	rows := within(t, t.moves, t.in(row.Space))
	if _, exists := rows[row.Seq]; exists {
		return conflict("head move")
	}
	put(t, rows, row.Seq, row.Canonical())
	return nil
}

func (t *tx) HeadMoves(q dhruva.HeadMoveQuery) ([]dhruva.HeadMove, error) {
	var out []dhruva.HeadMove
	for _, row := range t.moves[t.in(q.Space)] {
		if t.reach.Covers(row.Tenant, row.Space) && (q.Branch == "" || row.Branch == q.Branch) && (q.Before == 0 || row.Seq < q.Before) {
			out = append(out, row)
		}
	}
	return page(out, func(a, b dhruva.HeadMove) int { return cmp.Compare(b.Seq, a.Seq) }, dhruva.Page{Limit: q.Limit}.Size()), nil
}
