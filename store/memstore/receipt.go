package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Receipt(id dhruva.ReceiptID) (dhruva.Receipt, error) {
	row, ok := t.receipts[receiptKey{t.reach.Tenant, id}]
	if !ok || !t.reach.Covers(row.Tenant, row.Space) {
		return absent[dhruva.Receipt]("receipt")
	}
	return row.Canonical(), nil
}

func (t *tx) PutReceipt(row dhruva.Receipt) error {
	if err := row.Validate(); err != nil {
		return invalid("receipt", err)
	}
	key := receiptKey{row.Tenant, row.ID}
	old, had := t.receipts[key]
	if err := t.write("receipt", t.reach.Covers(row.Tenant, row.Space) && (!had || t.reach.Holds(old.Space)), 1); err != nil {
		return err
	}
	put(t, t.receipts, key, row.Canonical())
	return nil
}

// earlier is the reverse of beyond.
func earlier[ID ~string](after string, id ID) bool {
	return string(id) < after && dhruva.ValidText("cursor", after) == nil
}

func (t *tx) ListReceipts(q dhruva.ReceiptQuery) ([]dhruva.Receipt, error) {
	var out []dhruva.Receipt
	for _, row := range t.receipts {
		if t.reach.Covers(row.Tenant, row.Space) && (q.Space == "" || row.Space == q.Space) &&
			(q.Session == "" || row.Session == q.Session) && (q.Kind == "" || row.Kind == q.Kind) &&
			(q.State == "" || row.State == q.State) && (q.Before.IsZero() || row.CreatedAt.Before(dhruva.Micros(q.Before))) &&
			(q.After == "" || earlier(q.After, row.ID)) {
			out = append(out, row.Canonical())
		}
	}
	return page(out, func(a, b dhruva.Receipt) int { return cmp.Compare(b.ID, a.ID) }, q.Size()), nil
}
