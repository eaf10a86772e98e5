package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Provider(name string) (dhruva.ProviderConfig, error) {
	row, ok := t.providers[providerKey{t.reach.Tenant, name}]
	if !ok || !t.reach.Whole {
		return absent[dhruva.ProviderConfig]("provider")
	}
	return row.Canonical(), nil
}

func (t *tx) PutProvider(row dhruva.ProviderConfig) error {
	if err := row.Validate(); err != nil {
		return invalid("provider", err)
	}
	if err := t.write("provider", t.reach.Covers(row.Tenant, ""), 1); err != nil {
		return err
	}
	put(t, t.providers, providerKey{row.Tenant, row.Name}, row.Canonical())
	return nil
}

func (t *tx) ListProviders() ([]dhruva.ProviderConfig, error) {
	var out []dhruva.ProviderConfig
	for _, row := range t.providers {
		if t.reach.Covers(row.Tenant, "") {
			out = append(out, row.Canonical())
		}
	}
	return page(out, func(a, b dhruva.ProviderConfig) int { return cmp.Compare(a.Name, b.Name) }, len(out)), nil
}

func (t *tx) DropProvider(name string) error {
	if err := t.write("provider", t.reach.Whole, 1); err != nil {
		return err
	}
	remove(t, t.providers, providerKey{t.reach.Tenant, name})
	return nil
}
