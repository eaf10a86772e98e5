package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Document(id dhruva.DocumentID) (dhruva.Document, error) {
	row, ok := t.documents[documentKey{t.reach.Tenant, id}]
	if !ok || !t.reach.Holds(row.Space) {
		return absent[dhruva.Document]("document")
	}
	return row, nil
}

func (t *tx) PutDocument(row dhruva.Document) error {
	if err := row.Validate(); err != nil {
		return invalid("document", err)
	}
	if err := t.write("document", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	key := documentKey{row.Tenant, row.ID}
	if old, ok := t.documents[key]; ok && old.Space != row.Space {
		return conflict("document")
	}
	put(t, t.documents, key, row.Canonical())
	return nil
}

// newestDocument orders by descending (CreatedAt, ID).
func newestDocument(a, b dhruva.Document) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

func (t *tx) ListDocuments(q dhruva.DocumentQuery) ([]dhruva.Document, error) {
	after, err := t.Document(dhruva.DocumentID(q.After))
	if q.After != "" && err != nil {
		return nil, nil
	}
	var out []dhruva.Document
	for _, row := range t.documents {
		if t.reach.Covers(row.Tenant, row.Space) && row.Space == q.Space && (q.Kind == "" || row.Kind == q.Kind) &&
			(q.Session == "" || row.Session == q.Session) && (q.After == "" || newestDocument(after, row) < 0) {
			out = append(out, row)
		}
	}
	return page(out, newestDocument, q.Size()), nil
}

func (t *tx) DropDocument(id dhruva.DocumentID) error {
	key := documentKey{t.reach.Tenant, id}
	row, ok := t.documents[key]
	if err := t.write("document", t.reach.Tenant != "" && (!ok || t.reach.Holds(row.Space)), 1); err != nil {
		return err
	}
	remove(t, t.documents, key)
	return nil
}
