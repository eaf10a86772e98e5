package sqlstore

import (
	"math"

	"github.com/dhruva-memory/dhruva"
)

const (
	headMoveColumns = "tenant, space, branch, seq, from_head, to_head, act, undoes, moved_by, at"
	selectHeadMoves = "SELECT " + headMoveColumns + " FROM head_moves WHERE tenant = $1 AND space = $2"
	newestHeadMoves = " AND seq <= $4 ORDER BY seq DESC LIMIT $5"
	movesOfSpace    = selectHeadMoves + " AND CAST($3 AS TEXT) = ''" + newestHeadMoves
	movesOfBranch   = selectHeadMoves + " AND branch = $3" + newestHeadMoves
	insertHeadMove  = "INSERT INTO head_moves (" + headMoveColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING"
)

func scanHeadMove(r scanner) (row dhruva.HeadMove, err error) {
	return row, r.Scan(&row.Tenant, &row.Space, &row.Branch, &row.Seq, hash{&row.From}, hash{&row.To}, &row.Act, &row.Undoes, &row.By,
		micros{&row.At})
}

func (t *tx) AppendHeadMove(row dhruva.HeadMove) error {
	if err := row.Validate(); err != nil {
		return invalid("head move", err)
	}
	if err := t.allow("head move", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	n, err := t.exec("put head move", insertHeadMove, string(row.Tenant), string(row.Space), row.Branch, row.Seq, digest(row.From),
		digest(row.To), row.Act, row.Undoes, string(row.By), row.At.UnixMicro())
	if err == nil && n == 0 {
		return conflict("head move")
	}
	return err
}

func (t *tx) HeadMoves(q dhruva.HeadMoveQuery) ([]dhruva.HeadMove, error) {
	if !t.reach.Holds(q.Space) {
		return nil, nil
	}
	query, last := movesOfSpace, int64(math.MaxInt64)
	if q.Branch != "" {
		query = movesOfBranch
	}
	if q.Before != 0 {
		last = max(q.Before, 1) - 1
	}
	return collect(t, "head moves", scanHeadMove, query, string(t.reach.Tenant), string(q.Space), q.Branch, last,
		dhruva.Page{Limit: q.Limit}.Size())
}
