package sqlstore

import "github.com/dhruva-memory/dhruva"

const (
	deleteReference  = "DELETE" + ofSource + " AND session = $5 AND seq = $6 AND checkpoint = $7 AND item = $8"
	deleteReferences = "DELETE" + ofSource
	deleteSource     = "DELETE FROM sources WHERE tenant = $1 AND space = $2 AND generation = $3 AND id = $4"
)

func (t *tx) DropReference(row dhruva.Reference) error {
	if err := row.Validate(); err != nil {
		return invalid("reference", err)
	}
	if err := t.allow("reference", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	return t.drop("reference", deleteReference, string(t.reach.Tenant), string(row.Space), row.Generation, string(row.Source),
		string(row.Session), row.Seq, digest(row.Checkpoint), string(row.Item))
}

func (t *tx) DropSource(s dhruva.SpaceID, g int64, id dhruva.SourceID) error {
	if err := t.allow("source", t.reach.Holds(s), 1); err != nil {
		return err
	}
	if err := t.drop("references", deleteReferences, string(t.reach.Tenant), string(s), g, string(id)); err != nil {
		return err
	}
	return t.drop("source", deleteSource, string(t.reach.Tenant), string(s), g, string(id))
}
