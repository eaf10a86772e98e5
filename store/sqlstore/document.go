package sqlstore

import (
	"github.com/dhruva-memory/dhruva"
)

const (
	documentColumns    = "tenant, id, space, kind, session, title, text, created_at, updated_at"
	selectDocuments    = "SELECT " + documentColumns + " FROM documents WHERE tenant = $1"
	selectDocument     = selectDocuments + " AND id = $2"
	newestDocuments    = " AND (created_at, id) < ($5, $6) ORDER BY created_at DESC, id DESC LIMIT $7"
	documentsOfSpace   = selectDocuments + " AND space = $2 AND CAST($3 AS TEXT) = '' AND CAST($4 AS TEXT) = ''" + newestDocuments
	documentsOfKind    = selectDocuments + " AND space = $2 AND kind = $3 AND CAST($4 AS TEXT) = ''" + newestDocuments
	documentsOfSession = selectDocuments + " AND space = $2 AND (CAST($3 AS TEXT) = '' OR kind = $3) AND session = $4 AND session <> ''" + newestDocuments
	documentSpot       = "SELECT space, created_at FROM documents WHERE tenant = $1 AND id = $2"
	upsertDocument     = "INSERT INTO documents (" + documentColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (tenant, id) DO UPDATE SET kind = excluded.kind, session = excluded.session, title = excluded.title,
		text = excluded.text, created_at = excluded.created_at, updated_at = excluded.updated_at WHERE documents.space = excluded.space`
	deleteDocument = "DELETE FROM documents WHERE tenant = $1 AND id = $2"
)

func scanDocument(r scanner) (row dhruva.Document, err error) {
	return row, r.Scan(&row.Tenant, &row.ID, &row.Space, &row.Kind, &row.Session, &row.Title, &row.Text, micros{&row.CreatedAt},
		micros{&row.UpdatedAt})
}

func (t *tx) Document(id dhruva.DocumentID) (dhruva.Document, error) {
	row, err := one(t, "document", scanDocument, selectDocument, string(t.reach.Tenant), string(id))
	if err == nil && !t.reach.Holds(row.Space) {
		return absent[dhruva.Document]("document")
	}
	return row, err
}

func (t *tx) PutDocument(row dhruva.Document) error {
	if err := row.Validate(); err != nil {
		return invalid("document", err)
	}
	if err := t.allow("document", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	n, err := t.exec("put document", upsertDocument, string(row.Tenant), string(row.ID), string(row.Space), row.Kind, string(row.Session),
		row.Title, row.Text, row.CreatedAt.UnixMicro(), row.UpdatedAt.UnixMicro())
	if err == nil && n == 0 {
		return conflict("document")
	}
	return err
}

func (t *tx) ListDocuments(q dhruva.DocumentQuery) ([]dhruva.Document, error) {
	if !t.reach.Holds(q.Space) {
		return nil, nil
	}
	at, ok, err := t.before(documentSpot, q.After)
	if !ok {
		return nil, err
	}
	query := documentsOfSpace
	switch {
	case q.Session != "":
		query = documentsOfSession
	case q.Kind != "":
		query = documentsOfKind
	}
	return collect(t, "documents", scanDocument, query, string(t.reach.Tenant), string(q.Space), q.Kind, string(q.Session), at, q.After, q.Size())
}

func (t *tx) DropDocument(id dhruva.DocumentID) error {
	covered, err := t.placed(documentSpot, string(id))
	if err != nil {
		return err
	}
	if err := t.allow("document", covered, 1); err != nil {
		return err
	}
	return t.drop("document", deleteDocument, string(t.reach.Tenant), string(id))
}
