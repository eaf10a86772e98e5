package sqlstore

import "github.com/dhruva-memory/dhruva"

const (
	providerColumns = "tenant, name, dialect, base_url, default_model, enabled, allow_private, sealed, label, version, created_at, updated_at"
	selectProviders = "SELECT " + providerColumns + " FROM providers WHERE tenant = $1"
	selectProvider  = selectProviders + " AND name = $2"
	listProviders   = selectProviders + " ORDER BY name"
	upsertProvider  = "INSERT INTO providers (" + providerColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (tenant, name) DO UPDATE SET dialect = excluded.dialect, base_url = excluded.base_url,
		default_model = excluded.default_model, enabled = excluded.enabled, allow_private = excluded.allow_private,
		sealed = excluded.sealed, label = excluded.label, version = excluded.version, created_at = excluded.created_at,
		updated_at = excluded.updated_at`
	deleteProvider = "DELETE FROM providers WHERE tenant = $1 AND name = $2"
)

func scanProvider(r scanner) (row dhruva.ProviderConfig, err error) {
	err = r.Scan(&row.Tenant, &row.Name, &row.Dialect, &row.BaseURL, &row.DefaultModel, boolean{&row.Enabled}, boolean{&row.AllowPrivate},
		&row.Sealed, &row.Label, &row.Version, micros{&row.CreatedAt}, micros{&row.UpdatedAt})
	if len(row.Sealed) == 0 {
		row.Sealed = nil
	}
	return row, err
}

func (t *tx) Provider(name string) (dhruva.ProviderConfig, error) {
	if !t.reach.Whole {
		return absent[dhruva.ProviderConfig]("provider")
	}
	return one(t, "provider", scanProvider, selectProvider, string(t.reach.Tenant), name)
}

func (t *tx) PutProvider(row dhruva.ProviderConfig) error {
	if err := row.Validate(); err != nil {
		return invalid("provider", err)
	}
	if err := t.allow("provider", t.reach.Covers(row.Tenant, ""), 1); err != nil {
		return err
	}
	err := t.send("put provider", upsertProvider, string(row.Tenant), row.Name, string(row.Dialect), row.BaseURL, row.DefaultModel,
		flag(row.Enabled), flag(row.AllowPrivate), blob(row.Sealed), row.Label, row.Version, row.CreatedAt.UnixMicro(), row.UpdatedAt.UnixMicro())
	return err
}

func (t *tx) ListProviders() ([]dhruva.ProviderConfig, error) {
	if !t.reach.Whole {
		return nil, nil
	}
	return collect(t, "providers", scanProvider, listProviders, string(t.reach.Tenant))
}

func (t *tx) DropProvider(name string) error {
	if err := t.allow("provider", t.reach.Whole, 1); err != nil {
		return err
	}
	return t.drop("provider", deleteProvider, string(t.reach.Tenant), name)
}
