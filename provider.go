package dhruva

import (
	"bytes"
	"time"
)

// ProviderConfig is a provider as a tenant has set it up. The key at the
// provider is sealed by the vault under a key that is not in the store.
type ProviderConfig struct {
	Tenant       TenantID
	Name         string
	Dialect      Dialect // "" follows the name
	BaseURL      string
	DefaultModel string
	Enabled      bool
	AllowPrivate bool
	// Sealed is the key, encrypted; Label its last four characters. Version rises
	// with every change.
	Sealed    []byte
	Label     string
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// ProviderRows are the providers of the tenant, in Tenant scope.
type ProviderRows interface {
	Provider(string) (ProviderConfig, error)
	// PutProvider inserts or replaces.
	PutProvider(ProviderConfig) error
	// ListProviders lists by name.
	ListProviders() ([]ProviderConfig, error)
	// DropProvider removes a provider. What is absent is left alone.
	DropProvider(string) error
}

// Validate is as said in row.go.
func (p ProviderConfig) Validate() error {
	return firstError(validKey("provider", string(p.Tenant), p.Name),
		ValidText("provider", string(p.Dialect), p.BaseURL, p.DefaultModel, p.Label), validTime("provider", p.CreatedAt, p.UpdatedAt))
}

// Canonical is as said in row.go.
func (p ProviderConfig) Canonical() ProviderConfig {
	p.CreatedAt, p.UpdatedAt, p.Sealed = Micros(p.CreatedAt), Micros(p.UpdatedAt), bytes.Clone(p.Sealed)
	if len(p.Sealed) == 0 {
		p.Sealed = nil
	}
	return p
}
