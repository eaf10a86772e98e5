package sqlstore

import "github.com/dhruva-memory/dhruva"

const (
	keyColumns      = "tenant, id, hash, name, label, test, scopes, space, spaces, provider, owner, maker, created_at, expires_at, revoked_at"
	selectKeys      = "SELECT " + keyColumns + " FROM keys WHERE "
	selectKeyByHash = selectKeys + "hash = $1"
	selectKey       = selectKeys + "tenant = $1 AND id = $2"
	listKeys        = selectKeys + "tenant = $1 AND id > $2 ORDER BY id LIMIT $3"
	upsertKey       = "INSERT INTO keys (" + keyColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (tenant, id) DO UPDATE SET hash = excluded.hash, name = excluded.name, label = excluded.label,
		test = excluded.test, scopes = excluded.scopes, space = excluded.space, spaces = excluded.spaces,
		provider = excluded.provider, owner = excluded.owner, maker = excluded.maker, created_at = excluded.created_at,
		expires_at = excluded.expires_at, revoked_at = excluded.revoked_at`
)

func scanKey(r scanner) (row dhruva.Key, err error) {
	return row, r.Scan(&row.Tenant, &row.ID, &row.Hash, &row.Name, &row.Label, boolean{&row.Test}, document{&row.Scopes}, &row.Space,
		document{&row.Spaces}, &row.Provider, &row.Owner, &row.Maker, micros{&row.CreatedAt}, micros{&row.ExpiresAt}, micros{&row.RevokedAt})
}

func (t *tx) KeyByHash(h []byte) (dhruva.Key, error) {
	if !t.reach.System {
		return absent[dhruva.Key]("key")
	}
	return one(t, "key", scanKey, selectKeyByHash, blob(h))
}

func (t *tx) Key(id dhruva.KeyID) (dhruva.Key, error) {
	if !t.reach.Whole {
		return absent[dhruva.Key]("key")
	}
	return one(t, "key", scanKey, selectKey, string(t.reach.Tenant), string(id))
}

// PutKey: a hash names one key of the installation. It is looked up first,
// since a violated constraint would end the transaction on Postgres.
func (t *tx) PutKey(row dhruva.Key) error {
	if err := row.Validate(); err != nil {
		return invalid("key", err)
	}
	if err := t.allow("key", t.reach.Covers(row.Tenant, ""), 1); err != nil {
		return err
	}
	var taken []dhruva.Key
	err := t.wide("put key", func() (err error) {
		taken, err = collect(t, "put key", scanKey, selectKeyByHash, row.Hash)
		return err
	})
	if err != nil {
		return err
	}
	if len(taken) > 0 && (taken[0].Tenant != row.Tenant || taken[0].ID != row.ID) {
		return conflict("key")
	}
	row = row.Canonical()
	err = t.send("put key", upsertKey, string(row.Tenant), string(row.ID), row.Hash, row.Name, row.Label, flag(row.Test),
		asJSON(row.Scopes), string(row.Space), asJSON(row.Spaces), row.Provider, string(row.Owner), string(row.Maker),
		row.CreatedAt.UnixMicro(), optional(row.ExpiresAt), optional(row.RevokedAt))
	return err
}

func (t *tx) ListKeys(p dhruva.Page) ([]dhruva.Key, error) {
	if !t.reach.Whole {
		return nil, nil
	}
	return collect(t, "keys", scanKey, listKeys, string(t.reach.Tenant), p.After, p.Size())
}
