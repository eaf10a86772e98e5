package sqlstore

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

const (
	selectReceipts = "SELECT doc FROM receipts WHERE tenant = $1"
	selectReceipt  = selectReceipts + " AND id = $2"
	receiptSpace   = "SELECT space FROM receipts WHERE tenant = $1 AND id = $2"
	insertReceipt  = `INSERT INTO receipts (tenant, id, space, session, kind, state, created_at, doc) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (tenant, id) DO UPDATE SET session = excluded.session, kind = excluded.kind, state = excluded.state,
		created_at = excluded.created_at, doc = excluded.doc, space = `
	upsertReceipt = insertReceipt + "excluded.space"
	// These two leave one alone that is in another space: the one touches no row,
	// the other breaks the constraint that a space is not NULL.
	replaceReceipt = insertReceipt + "excluded.space WHERE receipts.space = excluded.space"
	guessReceipt   = insertReceipt + "CASE WHEN receipts.space = excluded.space THEN excluded.space END"
	newestReceipts = ` AND (CAST($4 AS TEXT) = '' OR kind = $4) AND id < $5
		AND (CAST($6 AS TEXT) = '' OR state = $6) AND created_at < $7 ORDER BY id DESC LIMIT $8`
	receiptsOfAll     = selectReceipts + " AND CAST($2 AS TEXT) = '' AND CAST($3 AS TEXT) = ''" + newestReceipts
	receiptsOfSpace   = selectReceipts + " AND space = $2 AND CAST($3 AS TEXT) = ''" + newestReceipts
	receiptsOfSession = selectReceipts + " AND (CAST($2 AS TEXT) = '' OR space = $2) AND session = $3 AND session <> ''" + newestReceipts
	// Open ones are few, and have an index of their own.
	openReceipts = selectReceipts + " AND (CAST($2 AS TEXT) = '' OR space = $2) AND (CAST($3 AS TEXT) = '' OR session = $3) AND state = 'open'" + newestReceipts
)

// beyond is greater than every id.
var beyond = strings.Repeat("\U0010ffff", dhruva.MaxKeyBytes/4+1)

func scanReceipt(r scanner) (row dhruva.Receipt, err error) {
	err = r.Scan(document{&row})
	return row.Canonical(), err
}

func (t *tx) Receipt(id dhruva.ReceiptID) (dhruva.Receipt, error) {
	row, err := one(t, "receipt", scanReceipt, selectReceipt, string(t.reach.Tenant), string(id))
	if err == nil && !t.reach.Covers(row.Tenant, row.Space) {
		return absent[dhruva.Receipt]("receipt")
	}
	return row, err
}

// PutReceipt needs the place of the receipt that it replaces, too: with one
// space only one in the same place is replaced.
func (t *tx) PutReceipt(row dhruva.Receipt) error {
	if err := row.Validate(); err != nil {
		return invalid("receipt", err)
	}
	here := !t.reach.Whole && len(t.reach.Within) == 1
	covered := !t.dead && t.reach.Covers(row.Tenant, row.Space)
	if covered && !t.reach.Whole && !here {
		old, err := collect(t, "receipt", scanSpaceID, receiptSpace, string(t.reach.Tenant), string(row.ID))
		if err != nil {
			return err
		}
		covered = len(old) == 0 || t.reach.Holds(old[0])
	}
	if err := t.allow("receipt", covered, 1); err != nil {
		return err
	}
	row = row.Canonical()
	args := []any{string(row.Tenant), string(row.ID), string(row.Space), string(row.Session), row.Kind, row.State, row.CreatedAt.UnixMicro(), asJSON(row)}
	switch {
	case !here:
		return t.send("put receipt", upsertReceipt, args...)
	case !t.careful:
		return t.race("put receipt", guessReceipt, args...)
	}
	n, err := t.exec("put receipt", replaceReceipt, args...)
	if err == nil && n == 0 {
		return fmt.Errorf("sqlstore: put receipt: %w", dhruva.ErrDenied)
	}
	return err
}

func (t *tx) ListReceipts(q dhruva.ReceiptQuery) ([]dhruva.Receipt, error) {
	id, before := cmp.Or(q.After, beyond), int64(math.MaxInt64)
	if !q.Before.IsZero() {
		before = q.Before.UnixMicro()
	}
	newest := func(a, b dhruva.Receipt) int { return cmp.Compare(b.ID, a.ID) }
	return gather(t, q.Space, q.Size(), newest, func(s dhruva.SpaceID) ([]dhruva.Receipt, error) {
		query := receiptsOfSpace
		switch {
		case q.State == "open":
			query = openReceipts
		case q.Session != "":
			query = receiptsOfSession
		case s == "":
			query = receiptsOfAll
		}
		return collect(t, "receipts", scanReceipt, query, string(t.reach.Tenant), string(s), string(q.Session), q.Kind, id, q.State, before, q.Size())
	})
}
